"""The tiles: seven or more totals, each with a related number or bar."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from fuzztui.kernel.model.finding_tallies import FindingTally, listed
from fuzztui.kernel.model.mutants import Summary
from fuzztui.kernel.wire.finding_kinds import CRASH, FindingKind
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import gauge
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import fit
from fuzztui.tui.frame.strip import StatusCanvas
from fuzztui.tui.labels.status import AFL, Status


@dataclass(frozen=True, slots=True)
class Tile:
    """Label and value; below: a bar (``share`` >= 0), or the longest of ``below`` that fits.

    A text of ``below`` that does not fit is replaced by a shorter one and never cut, because a text
    that has lost words may say something else of its number.
    """

    label: str
    value: str
    style: str
    below: Sequence[str] = ("",)
    share: float = -1.0


class Tiles(StatusCanvas):
    """All tiles side by side in three lines."""

    DEFAULT_CSS = "Tiles { height: 3; }"

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw labels, values, and the lines below."""
        top: list[TextSpan] = [TextSpan(" ")]
        middle: list[TextSpan] = [TextSpan(" ")]
        bottom: list[TextSpan] = [TextSpan(" ")]
        for tile, room in fitting(tiles_of(self._status), width - 1):
            top.append(TextSpan(fit(tile.label, room) + " ", "muted"))
            middle.append(TextSpan(fit(tile.value, room) + " ", _ink(tile)))
            bottom += _below(tile, room)
            bottom.append(TextSpan(" "))
        return [top, middle, bottom]


DISPENSABLE = ("cycles", "valid", "3rd party", "hangs", "corpus", "exec/s", "execs", "edges")
"""Labels of tiles in the order in which they are left out, if there is no room; then the rest."""


def fitting(tiles: Sequence[Tile], width: int) -> list[tuple[Tile, int]]:
    """Return the tiles that fit whole, each with its cells; a blank follows each.

    No cut number is shown: half a number is a wrong number. All tiles are equally wide if possible.
    """
    rest = [*tiles]
    while rest and sum(_least(tile) + 1 for tile in rest) > width:
        rest.remove(min(rest, key=_rank))
    if not rest:
        return []
    edges = [width * n // len(rest) for n in range(len(rest) + 1)]
    rooms = [end - start - 1 for start, end in itertools.pairwise(edges)]
    if any(_least(tile) > room for tile, room in zip(rest, rooms, strict=True)):
        more, odd = divmod(width - sum(_least(tile) + 1 for tile in rest), len(rest))
        rooms = [_least(tile) + more + (n < odd) for n, tile in enumerate(rest)]
    return [*zip(rest, rooms, strict=True)]


def _least(tile: Tile) -> int:
    return max(cell_len(tile.label), cell_len(tile.value))


def _rank(tile: Tile) -> int:
    return DISPENSABLE.index(tile.label) if tile.label in DISPENSABLE else len(DISPENSABLE)


def _ink(tile: Tile) -> str:
    """The value's style: zero is muted."""
    return "muted" if tile.value in ("0", format.NONE) else f"bold {tile.style}"


def _below(tile: Tile, width: int) -> list[TextSpan]:
    # No text rather than a cut one: half a number is a wrong number.
    words = next((text for text in tile.below if cell_len(text) <= width), "")
    text = f" {words}"
    room = min(16, width - 1 - cell_len(text))
    if tile.share < 0 or room < 3:
        return [TextSpan(fit(words, width), "muted")]
    full, rest = gauge(tile.share, room)
    pad = " " * (width - room - cell_len(text))
    return [TextSpan(full, tile.style), TextSpan(rest, "gauge"), TextSpan(text + pad, "muted")]


def tiles_of(s: Status) -> list[Tile]:
    """Return the tiles; mutants only if there are any, AFL's own numbers for AFL."""
    whole = [
        Tile("execs", format.executions(s.stats.execs, s.stats.corpus), ""),
        _rate(s),
        Tile("corpus", format.count(s.stats.corpus), "corpus", _since("new", s.last_entry_t, s)),
        _edges(s),
        _cycles(s) if s.engine == AFL else Tile("valid", _share(s), "valid", _valid_edges(s)),
        *(_findings(s, kind, tally) for kind, tally in listed(s.found)),
        *([_libraries(s)] if s.stats.edges_third_party >= 0 else []),
        *([_killed(s.mutants)] if s.mutants is not None else []),
    ]
    # Figures of a part of the log are wrong ones.
    return whole if s.caught_up >= 1 else [Tile(tile.label, "…", "") for tile in whole]


def _killed(m: Summary) -> Tile:
    """Killed mutants, of those that the score counts."""
    value = "/".join(map(format.count, m.scored))
    score = format.score(m.score)
    below = (f"at least {score}", f"≥{score}") if m.at_least else (score,)
    return Tile("killed", value, "killed", below, m.score or 0.0)


def _rate(s: Status) -> Tile:
    """The rate; none if no supervisor runs."""
    rate = format.rate(s.execs_per_sec)
    if s.orphaned:
        return Tile("exec/s", format.NONE, "rate", (f"was {rate}",))
    return Tile("exec/s", rate, "rate", _rate_note(s))


def _rate_note(s: Status) -> Sequence[str]:
    if s.over and s.campaigns > 1:
        return (f"over {format.clock(s.running_s)}", "average")
    if s.over:
        return ("on average", "average")
    return ("paused" if s.state == "paused" else "",)


def _findings(s: Status, kind: FindingKind, tally: FindingTally) -> Tile:
    """Number of groups, which estimates the bugs; below, the number of files if larger."""
    # An engine counts a file before the log contains its name.
    more = "≥" if s.stats.findings_not_saved > 0 and tally.files else ""  # engine.max_findings
    value = more + format.count(tally.groups or tally.files)
    last = _since("last", tally.last_t, s)
    if tally.files > max(tally.groups, 1):
        left = format.count(tally.unexamined)
        words = [f"{left} not examined", f"{left} not run"]  # the second one: on a narrow screen
        if not tally.groups:  # the number is the files', and will fall as groups become known
            words = ["files, not examined", "files"]
        elif not tally.unexamined:
            words = [f"{format.count(tally.files)} files"]
        below = [f"{words[0]}, {text}" for text in last if text] + [*words]
    else:
        none = "none" if s.over else "none yet"
        below = [*last] if tally.files or kind is not CRASH else [none]
    return Tile(kind.label, value, kind.category, below)


def _since(word: str, t: float, s: Status) -> Sequence[str]:
    """Texts for the time ``t``, longest first: with ``word``, without it, and without "at "."""
    return ("",) if t < 0 else (f"{word} {s.when(t)}", s.when(t), s.when(t).removeprefix("at "))


def _edges(s: Status) -> Tile:
    edges, total = s.stats.edges, s.stats.edges_total
    value = format.count(edges)
    if edges < 0 or total <= 0:
        return Tile("edges", value, "edge")
    return Tile("edges", value, "edge", (format.percent(edges, total),), edges / total)


def _libraries(s: Status) -> Tile:
    """Executed code outside the application; it never causes an input to be kept."""
    return Tile("3rd party", format.count(s.stats.edges_third_party), "imported", ("executed",))


def _cycles(s: Status) -> Tile:
    """Fewest and most cycles through the queue of any instance."""
    fewest, most = (format.count(n) for n in s.cycles)
    value = fewest if fewest == most else f"{fewest}–{most}"
    stable = f"{format.percent(s.stats.stability, 100.0)} stable" if s.stats.stability >= 0 else ""
    return Tile("cycles", value, "valid", (stable, ""))


def _share(s: Status) -> str:
    return format.percent(s.valid_share, 1.0)


def _valid_edges(s: Status) -> Sequence[str]:
    return (f"edges {format.count(s.stats.edges_valid)}" if s.stats.edges_valid >= 0 else "",)
