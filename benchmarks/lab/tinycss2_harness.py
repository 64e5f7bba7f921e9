"""tinycss2: a style sheet parsed, its parts as text, its colours, and the whole printed again."""

import tinycss2
import tinycss2.color3
import tinycss2.color4
import tinycss2.nth


def read(text: str) -> list[object]:
    rules = tinycss2.parse_stylesheet(text, skip_whitespace=True)
    return [*map(_plain, rules), *map(_printed, rules)]


def _plain(node) -> tuple:
    said = (node.type, node.source_line, node.source_column, getattr(node, "message", ""))
    parts = []
    if getattr(node, "content", None) is not None:
        parts = [_plain(p) for p in tinycss2.parse_blocks_contents(node.content)]
    if node.type == "declaration":
        colors = [tinycss2.color3.parse_color(v) for v in node.value]
        colors += [str(tinycss2.color4.parse_color(v)) for v in node.value]
        return (*said, node.name, node.important, tinycss2.serialize(node.value), colors)
    if node.type in ("qualified-rule", "at-rule"):
        return (
            *said,
            tinycss2.serialize(node.prelude),
            tinycss2.nth.parse_nth(node.prelude),
            parts,
        )
    return (*said, _printed(node))


def _printed(node) -> str:
    """A node as CSS; what is no CSS cannot be printed, and the library says so by a TypeError."""
    try:
        return node.serialize()
    except TypeError as e:
        return str(e)
