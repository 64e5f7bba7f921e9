"""Untrusted text in Markdown, shown as it is."""

from __future__ import annotations

import re
from typing import Final

from fuzztui.kernel.base.text import brief, visible

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]#|~])")
_IN_CODE: Final = re.compile(r"([\\`*_{}\[\]#|~@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
_BLOCK: Final = re.compile(r"^([-+](?=[-\s]|$)|=|\d+(?=[.)](?:\s|$)))|^\s+")
"""The start of a list, of a rule or of a code block; not a number such as ``92.1%`` or ``+3``."""
_CALLS: Final = re.compile(
    r"([@#!~%$](?=\w)|:(?=//)|(?<![^\W_])(?:www|GH|mailto|xmpp)(?=[.:-]))", re.IGNORECASE
)
"""Where GitHub or GitLab would notify a person or a team, refer to an issue, or link an address:
also if the character is written as an entity or with a backslash."""
_MAX_CODE: Final = 200


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it is, and without mentions and links."""
    apart = _CALLS.sub("\\1\u200b", visible(text))
    escaped = apart.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = _SPECIAL.sub(r"\\\1", escaped).replace("\u200b", "&#8203;")
    return _BLOCK.sub(lambda match: _entities(match[0]), shown)


def _entities(text: str) -> str:
    return "".join(f"&#{ord(ch)};" for ch in text)


def markdown_code(text: str, limit: int = _MAX_CODE) -> str:
    """Return a code span of at most ``limit`` characters, which may be in a table."""
    shown = brief(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = _IN_CODE.sub(lambda match: _entities(match[1]), shown)
    return f"<code>{shown}</code>"


def fenced(text: str) -> list[str]:
    """Return the lines of a code block; its fence is longer than any within the text."""
    shown = visible(text, lines=True)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return [f"{fence}text", *shown.split("\n"), fence]
