"""What mutators and replaced comparisons have brought: a strip above the corpus, and tables."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.features.comparisons.fold import COMPARE, ComparisonRow, OperationYield, totals_of
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, OneLine, TextSpan, width_of
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.labels.details import title

PLACES = 200
"""Maximal number of listed places."""

_NAMES = {COMPARE: "comparisons", "other": "other trials"}
_NAME, _NUMBER, _SHARE = 16, 11, 8
"""Cells of names, numbers and percentages."""
_PLACE = 34


class YieldStrip(Canvas):
    """Each operation's shares of entries and trials. Hidden without comparisons."""

    DEFAULT_CSS = "YieldStrip { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._yields: Sequence[OperationYield] = ()

    def show(self, yields: Sequence[OperationYield]) -> None:
        """Draw ``yields``; hide the strip if none of them is of comparisons."""
        self._yields = yields
        self.display = any(y.name == COMPARE for y in yields)
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw one line."""
        return [yield_spans(self._yields, width)]


def yield_spans(yields: Sequence[OperationYield], width: int) -> list[TextSpan]:
    """Return each operation's shares of the new entries and of the trials, as many as fit."""
    entries, trials = totals_of(yields)
    line = [TextSpan(" share of new entries / of trials ", "muted")]
    if width < 100:
        line = [TextSpan(" entries / trials ", "muted")]
    for y in _comparisons_first(yields):
        if not (y.entries and y.trials >= 0):
            continue
        shares = f"{_share(y.entries, entries)} / {_share(y.trials, trials)}"
        spans = [TextSpan(f" {plain(_name(y))} ", "muted"), TextSpan(shares), TextSpan(" ")]
        if width_of([*line, *spans]) > width:
            break
        line += spans
    return line


def _comparisons_first(yields: Sequence[OperationYield]) -> list[OperationYield]:
    return sorted(yields, key=lambda y: y.name != COMPARE)


def yield_lines(
    yields: Sequence[OperationYield], rows: Sequence[ComparisonRow], width: int
) -> list[Line]:
    """Return a table of operations, and one of the comparisons' places."""
    lines: list[Line] = [title("new entries, and the trials that they took")]
    lines.append([TextSpan(_cells("operation", "entries", "", "trials", "", "in 1,000"), "muted")])
    entries, trials = totals_of(yields)
    for y in _comparisons_first(yields):
        known = y.trials >= 0
        text = _cells(
            plain(_name(y)),
            format.count(y.entries),
            _share(y.entries, entries),
            format.count(y.trials) if known else format.NONE,
            _share(y.trials, trials) if known else "",
            format.rate(y.rate) if y.rate >= 0 else format.NONE,
        )
        lines.append([TextSpan(text, "bold" if y.name == COMPARE else "")])
    if not yields:
        lines.append([TextSpan("no entry was made by an operation yet", "muted")])
    return [*lines, [], *_place_lines(rows, width)]


def _place_lines(rows: Sequence[ComparisonRow], width: int) -> list[Line]:
    lines: list[Line] = [title("comparisons of the target, by place")]
    if not rows:
        why = "No engine has reported comparisons: in-process engines record them, unless"
        return [*lines, [TextSpan(f"{why} engine.comparisons is off.", "muted")]]
    place = min(_PLACE, max(len(row.place) for row in rows[:PLACES]))
    head = f"{'place':<{place}}  entries  tokens  operands and tokens"
    lines.append([TextSpan(head, "muted")])
    for row in rows[:PLACES]:
        examples = [*dict.fromkeys(e.operand for e in row.entries), *map(repr, row.tokens)]
        room = max(0, width - place - 19)
        shown = row.place if len(row.place) <= place else "…" + row.place[1 - place :]
        spans = [
            TextSpan(fit(plain(shown), place), "bold"),
            TextSpan(f"{len(row.entries):>9,}", "corpus" if row.entries else "muted"),
            TextSpan(f"{len(row.tokens):>8,}  ", "" if row.tokens else "muted"),
            TextSpan(fit(plain(", ".join(examples[:20])), room), "muted"),
        ]
        lines.append(OneLine(spans))
    if len(rows) > PLACES:
        lines.append([TextSpan(f"… {len(rows) - PLACES:,} more: fuzztui comparisons", "muted")])
    return lines


def _name(y: OperationYield) -> str:
    return _NAMES.get(y.name, y.name)


def _share(part: int, whole: int) -> str:
    return format.percent(part, whole) if whole else ""


def _cells(name: str, *numbers: str) -> str:
    wide = (_NUMBER, _SHARE, _NUMBER, _SHARE, _NUMBER)
    cells = [fit(text, n, "right") for text, n in zip(numbers, wide, strict=True)]
    return fit(name, _NAME) + "".join(cells)
