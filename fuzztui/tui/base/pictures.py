"""Pictures of the screen: SVG that fetches nothing, PNG by a converter, always in a new file."""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path
from typing import Final
from unicodedata import east_asian_width

CONVERTER: Final = ("rsvg-convert", "--format=png")
"""Reads an SVG on stdin and writes a PNG to stdout."""

INSTALL: Final = "apt-get install librsvg2-bin fonts-firacode"
"""Installs the converter, and the font that the pictures ask for."""

CONVERT_S: Final = 60
"""Seconds after which a converter is ended."""

MAX_SAME: Final = 1000
"""Pictures of the same second and screen."""

_FONT = re.compile(r"@font-face \{[^}]*\}\s*")
_TEXT = re.compile(
    r'<text (?P<before>class="[^"]*") x="(?P<x>[\d.]+)" (?P<y>y="[\d.]+") '
    r'textLength="(?P<length>[\d.]+)"(?P<after>[^>]*)>(?P<text>[^<]*)</text>'
)


class NoPicture(Exception):
    """The picture cannot be made or saved; the message is for the user."""


def portable(svg: str) -> str:
    """Return Textual's SVG without the fonts that a viewer would fetch from a server."""
    return _FONT.sub("", svg)


def in_cells(svg: str) -> str:
    """Return an SVG in which each character has its own place, whatever font it comes from."""
    return _TEXT.sub(_characters, svg)


def _characters(match: re.Match[str]) -> str:
    text = html.unescape(match["text"])
    widths = [2 if east_asian_width(c) in "WF" else 1 for c in text]
    cell = float(match["length"]) / max(1, sum(widths))
    at, found = float(match["x"]), []
    for character, width in zip(text, widths, strict=True):
        if not character.isspace():
            tag = f'<text {match["before"]} x="{at:g}" {match["y"]}{match["after"]}>'
            found.append(f"{tag}{html.escape(character)}</text>")
        at += cell * width
    return "".join(found)


def png(svg: str) -> bytes:
    """Return the picture as PNG. Blocking. Raises :class:`NoPicture` without a converter."""
    try:
        done = subprocess.run(
            CONVERTER, input=in_cells(svg).encode(), capture_output=True, timeout=CONVERT_S,
            check=True,
        )  # fmt: skip
    except FileNotFoundError:
        raise NoPicture(f"PNG needs {CONVERTER[0]} ({INSTALL}); SVG needs nothing") from None
    except (OSError, subprocess.SubprocessError) as e:
        raise NoPicture(f"the picture cannot be converted to PNG: {e}") from None
    return done.stdout


def save_new(name: str, suffix: str, data: bytes) -> Path:
    """Write a new file in the current directory, or in the user's home where that is read-only.

    A file that exists is never replaced: the new one gets a number. Raises :class:`NoPicture`.
    """
    why = ""
    for directory in (Path.cwd, Path.home):
        try:
            return _save_in(directory(), name, suffix, data)
        except (OSError, RuntimeError) as e:  # RuntimeError: there is no home
            why = str(e)
    raise NoPicture(why)


def _save_in(directory: Path, name: str, suffix: str, data: bytes) -> Path:
    for number in ("", *(f"-{n}" for n in range(2, MAX_SAME))):
        path = directory / f"{name}{number}{suffix}"
        try:
            file = path.open("xb")
        except FileExistsError:
            continue
        try:
            with file:
                file.write(data)
        except OSError:  # the disk is full
            path.unlink()
            raise
        return path
    raise OSError(f"{name}{suffix}: there are too many of that name")
