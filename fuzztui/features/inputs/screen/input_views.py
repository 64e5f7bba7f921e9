"""An input as people know it: its text, a generated value or image, bytes, what changed. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fuzztui.features.inputs.screen.hexview import Preview, hex_rows, text_lines
from fuzztui.features.inputs.screen.pretty import laid_out
from fuzztui.kernel.wire.events import InputShown
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain, plain_lines
from fuzztui.tui.labels.details import title

INPUT, BYTES, CHANGES = "input", "bytes", "changes"
VIEWS: Final = (INPUT, BYTES, CHANGES)
"""The views of an input, in the order in which a key goes through them."""

_MAX_COMPARED: Final = 4096
"""Characters or bytes of two inputs that are compared."""

_PRINTABLE = frozenset({*b"\t\n\r", *range(0x20, 0x7F)})

_PICTURE = re.compile(r"([1-9]\d?)x([1-9]\d?):((?:[0-9a-f]{6})+)")


@dataclass(frozen=True, slots=True)
class InputContent:
    """An input's file, the generated input if the file contains choices, and the parent's."""

    file: Preview
    shown: InputShown | None = None
    parent: InputContent | None = None

    @property
    def name(self) -> str:
        """What the bytes of the file are: ``choices`` of a generator, or the ``input`` itself."""
        return "choices" if self.shown is not None else "input"


def editable(content: InputContent) -> bytes:
    """Return what an editor shows of an input: what a generator made, else the file's bytes."""
    shown = content.shown
    if shown is None or shown.form == "image":
        return content.file.data
    lines = laid_out(shown.text, 100) if shown.form == "value" else [shown.text]
    return ("\n".join(lines) + "\n" * (shown.form == "value")).encode("utf-8", "backslashreplace")


def input_lines(content: InputContent, width: int, view: str = INPUT) -> list[Line]:
    """Return an input in one of :data:`VIEWS`, for ``width`` cells, below a title."""
    if view == CHANGES:
        return _changes(content)
    if content.shown is not None and view == INPUT:
        return _shown(content.shown, width)
    return file_lines(content.file, width, content.name, as_bytes=view == BYTES)


def value_preview(text: str) -> str:
    """Return the start of a generated input for one line."""
    return " ".join(text.split())


def bytes_preview(data: bytes) -> str:
    """Return the start of a file for one line: its text, or its bytes in hexadecimal.

    A text with few other bytes, as mutations make them, is text with escapes.
    """
    if Preview(data, len(data)).is_text:
        return " ".join(data.decode(errors="replace").split())
    start = data[:24]
    if 4 * sum(byte in _PRINTABLE for byte in start) >= 3 * len(start) > 0:
        return " ".join(data.decode(errors="backslashreplace").split())
    return start.hex(" ", 1)


def _shown(shown: InputShown, width: int) -> list[Line]:
    size = f"{shown.length:,} characters"
    lines: list[Line] = [[], title(f"{shown.form}, {size}")]
    if shown.form == "image":
        return [*lines, *picture_lines(shown.picture), [TextSpan(plain(shown.text))]]
    texts = laid_out(shown.text, width) if shown.form == "value" else shown.text.split("\n")
    lines += [[TextSpan(text)] for part in texts for text in plain_lines(part)]
    if shown.length > len(shown.text):
        rest = shown.length - len(shown.text)
        lines.append([TextSpan(f"… {rest:,} more characters", "muted")])
    return lines


def picture_lines(picture: str) -> list[Line]:
    """Return a thumbnail, two pixels per cell, one above the other; nothing if it is malformed."""
    match = _PICTURE.fullmatch(picture)
    if match is None or len(match[3]) != 6 * int(match[1]) * int(match[2]):
        return []
    width, height = int(match[1]), int(match[2])
    pixels = [f"#{match[3][i : i + 6]}" for i in range(0, len(match[3]), 6)]
    lines: list[Line] = []
    for y in range(0, height, 2):
        upper = pixels[y * width : (y + 1) * width]
        lower = pixels[(y + 1) * width : (y + 2) * width]
        lines.append(
            [TextSpan("▀", f"{top} on {lower[x]}" if lower else top) for x, top in enumerate(upper)]
        )
    return lines


def file_lines(
    preview: Preview, width: int, name: str = "input", *, as_bytes: bool = False
) -> list[Line]:
    """Return a file as text, or as bytes if it is no text, or ``as_bytes``."""
    lines: list[Line] = [[], title(f"{name}, {format.size(preview.size)}")]
    if preview.problem:
        return [*lines, [TextSpan(plain(preview.problem), "hang")]]
    if not preview.data:
        return [*lines, [TextSpan("empty file", "muted")]]
    if preview.is_text and not as_bytes:
        lines += [[TextSpan(text)] for text in text_lines(preview)]
    else:
        lines += byte_rows(preview.data, width)
    if preview.size > len(preview.data):
        rest = format.size(preview.size - len(preview.data))
        lines.append([TextSpan(f"… {rest} more", "muted")])
    return lines


def byte_rows(data: bytes, width: int) -> list[Line]:
    """Return bytes as offset, hexadecimal digits and ASCII."""
    per_row = 16 if width >= 76 else 8 if width >= 44 else 4
    return [
        [TextSpan(f"{offset}  ", "muted"), TextSpan(f"{data}  "), TextSpan(chars, "valid")]
        for offset, data, chars in hex_rows(data, per_row)
    ]


# ------------------------------------------------------------------- changes


def _changes(content: InputContent) -> list[Line]:
    """The difference to the parent: ``[-removed-]``, ``{+added+}``, as git's word diff marks it."""
    lines: list[Line] = [[], title("changes against its parent")]
    parent = content.parent
    if parent is None:
        return [*lines, [TextSpan("the log contains no parent of this input", "muted")]]
    for one in (parent, content):
        if one.shown is None and one.file.problem:
            return [*lines, [TextSpan(plain(one.file.problem), "hang")]]
    before, after = _comparable(parent), _comparable(content)
    if before == after:
        return [*lines, [TextSpan("no difference in what is shown of the two", "muted")]]
    row: list[TextSpan] = []
    for span in _marked(before, after):
        first, *more = span.text.split("\n")
        row.append(TextSpan(plain(first), span.style))
        for part in more:
            lines.append(row)
            row = [TextSpan(plain(part), span.style)]
    lines.append(row)
    if max(len(before), len(after)) >= _MAX_COMPARED:
        lines.append([TextSpan(f"… only the first {_MAX_COMPARED:,} are compared", "muted")])
    return lines


def _comparable(content: InputContent) -> str:
    """The input as text; bytes that are none as rows of hexadecimal digits."""
    if content.shown is not None:
        return content.shown.text[:_MAX_COMPARED]
    data = content.file.data[:_MAX_COMPARED]
    if content.file.is_text or not data:
        return data.decode(errors="replace").replace("\r", "\\r").replace("\t", "    ")
    return data[: _MAX_COMPARED // 3].hex(" ")


def _marked(before: str, after: str) -> Sequence[TextSpan]:
    spans: list[TextSpan] = []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            spans.append(TextSpan(after[c:d]))
            continue
        if b > a:
            spans.append(TextSpan(f"[-{before[a:b]}-]", "crash"))
        if d > c:
            spans.append(TextSpan(f"{{+{after[c:d]}+}}", "valid"))
    return spans
