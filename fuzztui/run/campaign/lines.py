"""Find the line of a key in a TOML text: the TOML parser does not report lines."""

from __future__ import annotations

import re

import tomli

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_NAME = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")


def key_lines(text: str, prefix: str = "") -> dict[str, int]:
    """Return the line (from 1) of every dotted key and table header of a valid TOML text.

    With a ``prefix`` only of those that begin with it, and without it.

    A line begins a statement exactly if the lines since the last beginning parse. This test needs
    no second TOML grammar; it is quadratic in the lines of one statement.
    """
    found: dict[str, int] = {}
    table = statement = ""
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        if not statement:
            if header := _HEADER.match(line):
                table = _dotted(header.group(1))
                found.setdefault(table, number)
            elif key := _KEY.match(line):
                name = _dotted(key.group(1))
                found.setdefault(f"{table}.{name}" if table else name, number)
        statement += line
        if _parses(statement):
            statement = ""
    return {k.removeprefix(prefix): n for k, n in found.items() if k.startswith(prefix)}


def _dotted(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))


def _parses(text: str) -> bool:
    try:
        tomli.loads(text)
    except tomli.TOMLDecodeError:
        return False
    return True
