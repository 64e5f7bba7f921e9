"""Figures over time from rows of experiments: the median, and the 95% interval of the median.

    python experiments/plots.py rows/zest_third.jsonl -o third.svg

One panel a subject, one line an engine, one SVG a file of rows. It draws

- branches (or cells) over CPU time, from rows of zest_peers.py,
- mutants killed over CPU time, from rows of mu2_kills.py (Mu2, Figure 8),
- cells over trials, from rows of spoton_tables.py (SpotOn, Figures 8 to 14),
- edges over campaign time, from rows of campaigns.py: at the marks of the plan, and at the end.

Of each subject and engine, the runs of the version and length that were measured last are drawn.
Fewer than six runs give no interval of 95%: the band is then from the least run to the best, and
the title says so.
"""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from lab.figures import interval
from lab.rows import Rows

ENOUGH = 6
"""Runs from which on the least and the best enclose the median with 95% (2 / 2^n < 5%)."""

_POINTS = 40
_COLUMNS = 3


@dataclass(frozen=True)
class Curve:
    """One run: how much it had found at each moment."""

    subject: str
    engine: str
    sources: str
    """The same for runs that may be drawn together: their version and length."""
    moments: Sequence[float]
    """Rising; seconds of CPU, or trials. What is found stays found until the next moment."""
    found: Sequence[int]

    def at(self, moment: float) -> int:
        """How much the run had found at that moment."""
        done = bisect_right(self.moments, moment)
        return self.found[done - 1] if done else 0


@dataclass(frozen=True)
class Kind:
    """What a program's rows hold over time, and how the axes are named."""

    x: str
    y: str
    curve: Callable[[dict[str, Any]], Curve]


def _zest(row: dict[str, Any]) -> Curve:
    over = row.get("branches_over") or row["over"]
    marks = sorted((float(at), found) for at, found in over.items())
    return Curve(row["subject"], row["engine"], _sources(row), *_split(marks))


def _mu2(row: dict[str, Any]) -> Curve:
    return Curve(
        row["subject"], row["kind"], _sources(row), *_split(_counted(row["killed_s"].values()))
    )


def _spoton(row: dict[str, Any]) -> Curve:
    record = row["record"]
    marks = _counted(trial for _, trial, *_ in record["cells"])
    end = (float(record["trials"]), len(record["cells"]))
    return Curve(row["handler"], row["variant"], _sources(row), *_split([*marks, end]))


def _campaigns(row: dict[str, Any]) -> Curve:
    marks = [(row["elapsed_s"] if at == "end" else float(at), figures["edges"])
             for at, figures in row["marks"].items()]  # fmt: skip
    return Curve(row["subject"], row["arm"], f"{row['budget']} {row['keys']}", *_split(marks))


def _sources(row: dict[str, Any]) -> str:
    return f"{row.get('version', '')} {row['seconds']:g} s"


def _counted(moments: Iterable[float]) -> list[tuple[float, int]]:
    return [(float(moment), n) for n, moment in enumerate(sorted(moments), 1)]


def _split(marks: Sequence[tuple[float, int]]) -> tuple[list[float], list[int]]:
    return [moment for moment, _ in marks], [found for _, found in marks]


KINDS = {
    "over": Kind("seconds of CPU", "branches", _zest),
    "killed_s": Kind("seconds of CPU", "mutants killed", _mu2),
    "record": Kind("trials", "cells", _spoton),
    "marks": Kind("seconds of campaign time", "edges", _campaigns),
}
"""By the key that only the rows of that program have."""


def read(file: Path) -> tuple[Kind, list[Curve]]:
    """The curves of a file of rows; :exc:`ValueError` if none of them is over time."""
    rows = list(Rows("plots", file).read())
    key = next((key for key in KINDS if any(row.get(key) for row in rows)), None)
    if key is None:
        raise ValueError(f"{file}: no row has figures over time ({', '.join(KINDS)})")
    curves = [KINDS[key].curve(row) for row in rows if row.get(key)]
    latest = {(c.subject, c.engine): c.sources for c in curves}
    return KINDS[key], [c for c in curves if c.sources == latest[c.subject, c.engine]]


@dataclass(frozen=True)
class Line:
    """The runs of one engine on one subject together."""

    runs: int
    x: list[float]
    middle: list[float]
    low: list[float]
    high: list[float]

    @classmethod
    def of(cls, curves: Sequence[Curve], moments: Sequence[float]) -> Line:
        """At those moments, up to the end of the shortest run, and at that end."""
        end = min(curve.moments[-1] for curve in curves)
        x = [*(moment for moment in moments if moment < end), end]
        found = [[curve.at(moment) for curve in curves] for moment in x]
        enough = len(curves) >= ENOUGH
        bands = [interval(f) if enough else (min(f), max(f)) for f in found]
        return cls(
            len(curves), x, [median(f) for f in found], [b[0] for b in bands], [b[1] for b in bands]
        )


def lines(curves: Sequence[Curve]) -> dict[str, dict[str, Line]]:
    """The lines by subject and engine, all at the same moments: the marks, or a grid of 40."""
    moments = sorted({moment for curve in curves for moment in curve.moments})
    found: dict[str, dict[str, list[Curve]]] = defaultdict(lambda: defaultdict(list))
    for curve in curves:
        if curve.moments:
            found[curve.subject][curve.engine].append(curve)
    if len(moments) > _POINTS:
        low, high = max(moments[0], moments[-1] / 1000), moments[-1]
        moments = [low * (high / low) ** (n / (_POINTS - 1)) for n in range(_POINTS)]
    return {
        subject: {engine: Line.of(runs, moments) for engine, runs in engines.items()}
        for subject, engines in found.items()
    }


def draw(file: Path, out: Path) -> None:
    """Draw a file of rows as SVG. The same rows give the same bytes."""
    import matplotlib  # of the extra `bench`

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.hashsalt": "fuzztui", "svg.fonttype": "none"}
    from matplotlib import pyplot
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    kind, curves = read(file)
    panels = lines(curves)
    runs = sorted({line.runs for panel in panels.values() for line in panel.values()})
    rows = -(-len(panels) // _COLUMNS)
    size = (4 * min(_COLUMNS, len(panels)), 2.6 * rows + 0.8)
    figure, axes = pyplot.subplots(rows, min(_COLUMNS, len(panels)), figsize=size, squeeze=False)
    engines = sorted({engine for panel in panels.values() for engine in panel})
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, (subject, panel) in zip(axes.flat, sorted(panels.items()), strict=False):
        for engine, line in panel.items():
            colour = f"C{engines.index(engine)}"
            axis.plot(line.x, line.middle, color=colour, label=engine)
            axis.fill_between(line.x, line.low, line.high, color=colour, alpha=0.2, linewidth=0)
        axis.set(title=subject, xlabel=kind.x, ylabel=kind.y, xscale="log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter(EngFormatter(sep=""))
        axis.xaxis.set_minor_formatter(NullFormatter())
    handles = {h.get_label(): h for a in axes.flat for h in a.get_legend_handles_labels()[0]}
    figure.legend(handles.values(), handles.keys(), loc="lower center", ncols=len(handles))
    n = f"n = {runs[0]}" if len(runs) == 1 else f"n = {runs[0]} to {runs[-1]}"
    band = "95% interval of the median" if runs[0] >= ENOUGH else f"least and best below {ENOUGH}"
    figure.suptitle(f"Median and {band}; {n}")
    figure.tight_layout(rect=(0, 0.4 / size[1], 1, 1))
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", type=Path, metavar="ROWS.jsonl")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.svg")
    args = parser.parse_args()
    try:
        draw(args.rows, args.output)
    except (OSError, ValueError) as error:
        sys.exit(f"plots: {error}")
    except ImportError:
        sys.exit("plots: needs matplotlib: python -m pip install -e '.[bench]'")


if __name__ == "__main__":
    main()
