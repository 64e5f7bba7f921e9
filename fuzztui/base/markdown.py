"""Untrusted text in Markdown, shown as it is."""

from __future__ import annotations

import re
from typing import Final

from fuzztui.base.text import brief, visible

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]#|~@])")
_MAX_CODE: Final = 200


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it is."""
    escaped = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", escaped)


def markdown_code(text: str, limit: int = _MAX_CODE) -> str:
    """Return a code span of at most ``limit`` characters, which may be in a table."""
    shown = brief(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = _SPECIAL.sub(lambda match: f"&#{ord(match[1])};", shown)
    return f"<code>{shown}</code>"


def fenced(text: str) -> list[str]:
    """Return the lines of a code block; its fence is longer than any within the text."""
    shown = visible(text, lines=True)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return [f"{fence}text", *shown.split("\n"), fence]
