"""The source text of a module, to show mutants to users."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Sequence
from io import BytesIO
from tokenize import detect_encoding
from typing import Any, Final, NamedTuple

from fuzztui.engines.instrument.segments import ModuleLines

_MAX_CHARS: Final = 120
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_COMMENT: Final = re.compile(rb"#[^\n]*")
_OPENED: Final = re.compile(rb"([(\[{,=:]|\breturn)\s*\Z")
_CLOSED: Final = re.compile(rb"[ \t]*([)\]},:;#\n]|\Z)")


class Cut(NamedTuple):
    """Replace the bytes from ``start`` to ``end`` (of the whole module's text) by ``new``."""

    start: int
    end: int
    new: str


class Region(NamedTuple):
    """Where a node is: lines and columns from 1. The end column is the one after the node."""

    line: int
    column: int
    end_line: int
    end_column: int


class ModuleText(ModuleLines):
    """The text of a module, by nodes of its tree."""

    __slots__ = ("_ascii",)

    def __init__(self, source: bytes) -> None:
        """Raises SyntaxError or UnicodeDecodeError if the source cannot be decoded."""
        super().__init__(source)
        self._ascii = self.data.isascii()

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The byte offsets of the node's start and end."""
        at: Any = node
        return (
            self.offset(at.lineno, at.col_offset),
            self.offset(at.end_lineno, at.end_col_offset),
        )

    def region(self, node: ast.AST) -> Region:
        """The node's first and last line, and the columns there, in characters."""
        at: Any = node
        return Region(
            at.lineno,
            self._column(at.lineno, at.col_offset),
            at.end_lineno,
            self._column(at.end_lineno, at.end_col_offset),
        )

    def _column(self, line: int, offset: int) -> int:
        if self._ascii:  # else lines of a megabyte would be decoded for each expression
            return offset + 1
        start = self._starts[line - 1]
        return len(self.data[start : start + offset].decode("utf-8", "replace")) + 1

    def of(self, node: ast.AST) -> str:
        """The text of the node."""
        start, end = self.span(node)
        return self.data[start:end].decode("utf-8", "replace")

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> Cut:
        """The cut that replaces the operator ``old`` between two operands."""
        start, end = self.span(left)[1], self.span(right)[0]
        # A comment may contain the operator, so comments are blanked, at the same length.
        gap = _COMMENT.sub(lambda m: b" " * len(m[0]), self.data[start:end])
        pattern = rb"[\s\\]+".join(re.escape(word.encode()) for word in old.split())
        found = re.search(pattern, gap)
        if found is None:
            return Cut(start, end, f" {new} ")
        return Cut(start + found.start(), start + found.end(), new)

    def stands_alone(self, node: ast.AST) -> bool:
        """Whether brackets, commas or the like surround the node, so that it needs no brackets."""
        start, end = self.span(node)
        before, after = self.data[max(0, start - 200) : start], self.data[end : end + 200]
        return bool(_OPENED.search(before) and _CLOSED.match(after))

    def changed(self, node: ast.AST, cuts: Sequence[Cut]) -> str:
        """The node's text after applying the cuts, which are inside the node."""
        start, end = self.span(node)
        return _cut(self.data[start:end], cuts, start).decode("utf-8", "replace")

    def after(self, cuts: Sequence[Cut]) -> str:
        """The whole module's text after applying the cuts."""
        return _cut(self.data, cuts, 0).decode("utf-8", "surrogatepass")

    def file_after(self, cuts: Sequence[Cut]) -> bytes:
        """The file after applying the cuts, in its own encoding and with its own line ends.

        Only lines with cuts change.
        """
        first = bisect_right(self._starts, min(cut.start for cut in cuts)) - 1
        last = bisect_right(self._starts, max(cut.end for cut in cuts)) - 1
        every = self.after(cuts).split("\n")
        lines = every[first : len(every) - (len(self._starts) - 1 - last)]
        encoding = detect_encoding(BytesIO(self.source).readline)[0]
        mark = BOM_UTF8 if encoding == "utf-8-sig" else b""
        ends = list(_LINE_END.finditer(self.source, len(mark)))
        starts = [len(mark), *(end.end() for end in ends)]
        words = [end[0] for end in ends[first : last + 1]]
        words += [b""] * (last + 1 - first - len(words))
        words[:-1] = words[: len(lines) - 1]  # the replaced lines may be fewer
        codec = encoding.removesuffix("-sig")
        new = b"".join(line.encode(codec) + end for line, end in zip(lines, words, strict=True))
        rest = self.source[starts[last + 1] :] if last + 1 < len(starts) else b""
        return self.source[: starts[first]] + new + rest


def _cut(data: bytes, cuts: Sequence[Cut], offset: int) -> bytes:
    for cut in sorted(cuts, reverse=True):
        new = cut.new.encode()
        data = data[: cut.start - offset] + new + data[cut.end - offset :]
    return data


def one_line(text: str) -> str:
    """The text for a table row: white space collapsed, at most 120 characters."""
    text = " ".join(text.split())
    return text if len(text) <= _MAX_CHARS else text[: _MAX_CHARS - 1] + "…"
