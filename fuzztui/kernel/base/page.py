"""The parts of a page, whatever format it is written in.

Texts are untrusted and unescaped: the writer of each format escapes all of them. Their length is
limited where a page is made.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from fuzztui.kernel.base.text import clock

MAX_POINTS: Final = 600
"""Points of one line of a chart."""


@dataclass(frozen=True, slots=True)
class Code:
    """A text in the font of code: a name, a path, an input."""

    text: str


Cell = str | Code


@dataclass(frozen=True, slots=True)
class Facts:
    """Names, each with a value."""

    rows: Sequence[tuple[str, Cell]]


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph."""

    text: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table: each row has one cell per head."""

    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    numbers: frozenset[int] = frozenset()
    """The columns with numbers: aligned to the right, from 0."""
    left_out: int = 0
    """Rows that are not shown."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of text as they are: a stack, a command."""

    text: str


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A figure over campaign time."""

    name: str
    times: Sequence[float]
    values: Sequence[float]
    colour: int = 0
    """The number of its colour: equal for the runs of one group."""
    is_smooth: bool = False
    """Whether the figure grows between two points: executions do, edges do not."""


@dataclass(frozen=True, slots=True)
class PageChart:
    """Figures over campaign time, from 0 to ``end_s``."""

    title: str
    lines: Sequence[ChartLine]
    end_s: float
    marks: Sequence[tuple[float, str]] = ()
    """Times with a name: a phase that begins."""
    legend: Sequence[tuple[str, int]] = ()
    """Names and colours, if the lines are not named one by one."""


@dataclass(frozen=True, slots=True)
class Folded:
    """Parts that a reader opens if the summary is of interest."""

    summary: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Item:
    """Parts under a title of their own, with short labels."""

    title: str
    parts: Sequence[Part]
    labels: Sequence[str] = ()


class Gutter(Enum):
    """The mark next to a line of source."""

    NONE = ""
    COVERED = "covered"
    MISSED = "missed"
    REACHED = "reached"
    """Only a finding has reached the line."""


@dataclass(frozen=True, slots=True)
class ListedLine:
    """A line of a source file."""

    number: int
    text: str
    gutter: Gutter = Gutter.NONE
    killed: int = 0
    survivors: int = 0
    is_finding: bool = False
    notes: Sequence[str] = ()
    """Lines of text below the line."""


@dataclass(frozen=True, slots=True)
class SourceLines:
    """A source file with its gutter. Only HTML has room for one."""

    lines: Sequence[ListedLine]


Part = Facts | Note | Table | Block | PageChart | Folded | Item | SourceLines


@dataclass(frozen=True, slots=True)
class Section:
    """A main part of the page."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report."""

    title: str
    about: str
    """One line below the title."""
    sections: Sequence[Section]
    end: str
    """One line at the end: what has written the page, and when."""


def thinned(times: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    """Return at most :data:`MAX_POINTS` of the points, the first and the last among them.

    Time is divided into equal stretches, and the last point of each is kept, as in a Series.
    """
    points = list(zip(times, values, strict=True))
    if len(points) <= MAX_POINTS:
        return points
    start, whole = points[0][0], points[-1][0] - points[0][0]
    stretches = MAX_POINTS - 1
    last: dict[int, tuple[float, float]] = {}
    for t, value in points[1:]:
        at = min(stretches - 1, int((t - start) / whole * stretches)) if whole > 0 else 0
        last[at] = (t, value)
    return [points[0], *last.values()]


def moment(t: float, end_s: float) -> str:
    """Format a campaign time; in tenths of a second if the axis ends (``end_s``) before 60 s."""
    return f"{t:.1f} s" if end_s < 60 else clock(t)


def value_at(line: ChartLine, t: float) -> float:
    """Return the value of a line at campaign time ``t``; 0 before its first point."""
    n = bisect_right(line.times, t)
    return line.values[n - 1] if n else 0.0
