"""Find the line of a key in a TOML text: the TOML parser does not report lines."""

from __future__ import annotations

import re

import tomli

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")


def key_lines(text: str) -> dict[str, int]:
    """Return the line (from 1) of every dotted key and table header of a valid TOML text.

    A line begins a statement exactly if the text before the line parses. This test needs no
    second TOML grammar; it is quadratic, but campaign files are short.
    """
    lines = text.splitlines(keepends=True)
    found: dict[str, int] = {}
    table = ""
    before = ""
    for number, line in enumerate(lines, start=1):
        if _parses(before):
            if header := _HEADER.match(line):
                table = _dotted(header.group(1))
                found.setdefault(table, number)
            elif key := _KEY.match(line):
                name = _dotted(key.group(1))
                found.setdefault(f"{table}.{name}" if table else name, number)
        before += line
    return found


def _dotted(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))


def _parses(text: str) -> bool:
    try:
        tomli.loads(text)
    except tomli.TOMLDecodeError:
        return False
    return True
