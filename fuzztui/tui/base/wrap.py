"""Wraps or cuts styled lines to a width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from fuzztui.tui.base.canvas import Line, TextSpan, width_of
from fuzztui.tui.base.text import fit


def wrap(line: Line, width: int) -> Iterable[Line]:
    """Yield ``line`` in pieces of at most ``width`` cells.

    Breaks at blanks, and no later piece begins with one; a word longer than a line breaks after a
    dot or a slash (a name, a path), else anywhere (bytes). The text after labels (the first spans
    that end with a blank) is indented by their width.
    """
    if width <= 0:
        return
    label = _label(line, width)
    indent = [TextSpan(" " * label)] if label else []
    hang = width - label
    piece: list[TextSpan] = []
    room = width
    is_first = True
    for span in line:
        text = span.text
        while text:
            if not is_first and len(piece) == len(indent):
                text = text.lstrip(" ")
                if not text:
                    break
            head = _words(text, room, hang)
            if not head and len(piece) <= len(indent) and room in (width, hang):
                head = text[0]  # wider than the pane: cut it rather than lose it
            if head:
                piece.append(TextSpan(head, span.style, span.click))
                room -= cell_len(head)
                text = text[len(head) :]
            if text:
                yield piece
                piece, room, is_first = [*indent], hang, False
    if is_first or len(piece) > len(indent):
        yield piece


def flow(head: Line, parts: Sequence[Line], width: int, indent: int) -> list[Line]:
    """Return ``head`` and ``parts`` in lines of at most ``width`` cells, if each part has fewer.

    Lines break between parts; the lines after the first one are indented.
    """
    lines: list[list[TextSpan]] = [[*head]]
    for part in parts:
        if width_of([*lines[-1], *part]) > width and (len(lines) > 1 or len(lines[-1]) > len(head)):
            lines.append([TextSpan(" " * indent)])
        lines[-1] += part
    return [*lines]


def cut(line: Line, width: int) -> Line:
    """Return ``line`` cut to ``width`` cells; a cut text ends with an ellipsis."""
    *words, last = line or [TextSpan("")]
    if last.style == "rule":
        line = [*words, last._replace(text=last.text[: max(0, width - width_of(words))])]
    if width_of(line) <= width:
        return line
    out: list[TextSpan] = []
    room = width - 1
    for span in line:
        if cell_len(span.text) > room:
            return [*out, span._replace(text=fit(f"{span.text} ", room + 1))]
        out.append(span)
        room -= cell_len(span.text)
    return out


def _label(line: Line, width: int) -> int:
    """Cells of the labels; the rest of a line must have room for a wide character."""
    label = 0
    for span in line[:-1]:
        wide = label + cell_len(span.text)
        if not span.text.endswith(" ") or wide > min(width // 2, width - 2):
            break
        label = wide
    return label


def _words(text: str, room: int, line: int) -> str:
    """The whole words of ``text`` that fit into ``room``; ``line``: cells of a new line."""
    head = _take(text, room)
    rest = text[len(head) :]
    if not rest or rest[0] == " ":
        return head
    begin = head.rfind(" ") + 1
    fits = cell_len(head[begin:] + rest.split(" ", 1)[0]) <= line
    if fits and (head[:begin].strip() or room < line):
        return head[:begin]
    joint = max(head.rfind("."), head.rfind("/")) + 1
    return head[:joint] if joint > max(begin + 1, len(head) // 2) else head


def _take(text: str, room: int) -> str:
    if room <= 0:
        return ""
    if text.isascii():
        return text[:room]
    used = 0
    for i, ch in enumerate(text):
        used += cell_len(ch)
        if used > room:
            return text[:i]
    return text
