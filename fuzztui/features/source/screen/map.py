"""The map of the target: files and functions as boxes, filled by what is covered of them."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import BindingType
from textual.message import Message

from fuzztui.features.source.tree import CodeNode
from fuzztui.features.source.treemap import Box, code_map
from fuzztui.kernel.base.text import several
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, merged
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.frame.actions import bindings

_SIGNS = [
    TextSpan(" █", "valid"), TextSpan(" covered ", "muted"),
    TextSpan(" ▓", "alive"), TextSpan(" covered, mutants survive ", "muted"),
    TextSpan(" ░", "gauge"), TextSpan(" not covered ", "muted"),
    TextSpan(" ✗", "crash"), TextSpan(" findings", "muted"),
]  # fmt: skip
_NAMED = 4
"""Cells from which on a box has room for a name."""


class CodeMap(Canvas, can_focus=True):
    """Files and functions by the number of their statements; the covered part of each is filled.

    With ✗, and red: findings end there; checked, and yellow: mutants survive there. The arrow keys
    go from box to box.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("map"), *bindings("table")]

    class Selected(Message):
        """Enter was pressed on a box, or it was clicked twice."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Moved(Message):
        """Another box has the cursor."""

    def __init__(self) -> None:
        super().__init__(id="map")
        self._rows: Mapping[str, CodeNode] = {}
        self._nothing = ""
        self._boxes: dict[str, Box] = {}
        self._laid_out: tuple[int, int, dict[str, int]] | None = None
        """Width, height, and statements by key, that the boxes were made for."""
        self._divided: Set[str] = frozenset()
        """Paths of the files whose functions have boxes."""
        self.cursor = ""
        """The key of the box with the cursor; an empty string: there is none."""

    def show(self, rows: Mapping[str, CodeNode], nothing: str) -> None:
        """Draw the files and functions; ``nothing``: what to show if none has a box."""
        self._rows, self._nothing = rows, nothing
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw all boxes, files before the functions in them, the signs, what is at the cursor."""
        height -= 2
        statements = {key: row.statements for key, row in self._rows.items()}
        if self._laid_out != (size := (width, height, statements)):
            self._laid_out = size
            self._boxes = code_map(self._rows, width, height)
            functions = (self._rows[key] for key in self._boxes if self._rows[key].function)
            self._divided = {row.path for row in functions}
        if self.cursor not in self._boxes:
            self.cursor = next((key for key in self._boxes if self._rows[key].function), "")
        cells = [[(" ", "")] * width for _ in range(height)]
        for key, box in self._boxes.items():
            self._paint_box(cells, self._rows[key], box)
        return [*map(merged, cells), *[_SIGNS] * bool(self._boxes), self._legend(width)]

    def _legend(self, width: int) -> Line:
        """What the box with the cursor is."""
        row = self._rows.get(self.cursor)
        if row is None:
            return [TextSpan(fit(f" {plain(self._nothing)}", width), "muted")]
        where = f"{row.name}:{row.first} {row.function}".rstrip()
        share = format.share(max(0, row.covered) / row.statements)
        parts = [f"{share} of {several(row.statements, 'statement')}"]
        parts += [f"{row.frontier:,} on the frontier"] if row.frontier else []
        parts += (
            [f"{row.killed:,} of {several(row.mutants, 'mutant')} killed"] if row.mutants else []
        )
        parts += [several(row.findings, "finding")] if row.findings else []
        text = fit(f" {', '.join(parts)}: {plain(where)}", width)
        return [TextSpan(text, _style(row))]

    def _paint_box(self, cells: list[list[tuple[str, str]]], row: CodeNode, box: Box) -> None:
        style, here = _style(row), row.key == self.cursor
        sign = "✗" if row.findings else ""
        name = sign + plain(row.function.rpartition(".")[2] if row.function else row.name)
        if not row.function:
            bar = fit(f" {name} ", min(box.width, cell_len(name) + 2)).ljust(box.width, "─")
            look = "bold reverse primary" if here else "bold"
            _write(cells[box.top], box.left, bar, look)
            if row.path not in self._divided:
                _fill(cells, row, Box(box.left, box.top + 1, box.right, box.bottom), style)
            return
        _fill(cells, row, box, style)
        if here:
            look = f"bold reverse {style}"
        elif box.width >= _NAMED + 1:
            look = f"bold {style}"
        else:
            return
        room = max(1, box.width - 1)
        _write(cells[box.top], box.left, fit(name, min(room, cell_len(name))), look)

    # ------------------------------------------------------------- actions

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the clicked box; open it with a second click."""
        inside = [key for key, box in self._boxes.items() if box.contains(event.x, event.y)]
        if inside and inside[-1] == self.cursor and event.chain > 1:
            self.do_table_select()
        elif inside:
            self.move_to(inside[-1])

    def do_table_select(self) -> None:
        """Open the function or file."""
        if self.cursor:
            self.post_message(self.Selected(self.cursor))

    def do_table_rows(self, by: int) -> None:
        """Go to the nearest box below, or above."""
        self._go(0, by)

    def do_map_move(self, by: int) -> None:
        """Go to the nearest box on the right, or on the left."""
        self._go(by, 0)

    def do_table_columns(self, by: int) -> None:
        """Go to the nearest box on the right, or on the left."""
        self._go(by, 0)

    def move_to(self, key: str) -> None:
        """Put the cursor on a box."""
        if key != self.cursor and key in self._boxes:
            self.cursor = key
            self.post_message(self.Moved())
            self.repaint()

    def _go(self, right: int, down: int) -> None:
        here = self._boxes.get(self.cursor)
        if here is None:
            return
        x, y = here.left + here.right, here.top + here.bottom

        def distance(box: Box) -> float:
            """Twice the distance of the centres; across the direction it counts three times."""
            dx, dy = box.left + box.right - x, 2 * (box.top + box.bottom - y)
            ahead, across = (dx * right, dy) if right else (dy * down, dx)
            return ahead + 3 * abs(across) if ahead > 0 else float("inf")

        inner = {key: box for key, box in self._boxes.items() if self._rows[key].function}
        best = min(inner, key=lambda key: distance(inner[key]), default="")
        if best and distance(inner[best]) < float("inf"):
            self.move_to(best)


def _style(row: CodeNode) -> str:
    """The colour of a box: what is worst about the code."""
    if row.findings:
        return "crash"
    return "alive" if row.survivors else "valid"


def _write(line: list[tuple[str, str]], at: int, text: str, style: str) -> None:
    """Put text into cells; a wide character takes two of them."""
    for char in text:
        wide = cell_len(char)
        if not wide or at + wide > len(line):
            continue
        line[at] = (char, style)
        line[at + 1 : at + wide] = [("", style)] * (wide - 1)
        at += wide


def _fill(cells: list[list[tuple[str, str]]], row: CodeNode, box: Box, style: str) -> None:
    """Fill the covered share of a box from the left; half a cell is left out below and right."""
    right = box.right - (box.width > 1)
    share = max(0, row.covered) / row.statements
    full = round(share * (right - box.left))
    if share > 0 and not full:
        full = 1
    for y in range(box.top, box.bottom):
        last = y == box.bottom - 1 and box.height > 1
        done, left = ("▀", " ") if last else ("▓" if row.survivors else "█", "░")
        for x in range(box.left, right):
            is_done = x - box.left < full
            cells[y][x] = (done, style) if is_done else (left, "gauge")
