"""Themes from TOML files. No Textual in here: ``fuzztui themes`` lists them fast.

A theme file::

    title = "Midwatch: calm and dark"
    dark = true             # default true
    ansi = false            # true: colours are ansi_* names, the terminal's palette

    [colors]                # all of BASE
    primary = "#6cb6ff"
    [semantic]              # any of SEMANTIC; the rest follows [colors]
    crash = "#ff6b6b"

The file's stem is the theme's name. Themes of the user live in
``$XDG_CONFIG_HOME/fuzztui/themes`` and replace built-in ones of the same name.
"""

from __future__ import annotations

import difflib
import re
import stat
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fuzztui
from fuzztui.kernel.base.user_dirs import config_dir

DEFAULT = "midwatch"
LIGHT = "daylight"
"""The theme on a terminal with a light background, unless the user has chosen one."""
PLAIN = "ansi"
"""The theme if ``NO_COLOR`` is set: without colours it still has text and shapes."""

BASE = (
    "primary",
    "secondary",
    "accent",
    "success",
    "warning",
    "error",
    "foreground",
    "background",
    "surface",
    "panel",
)
"""The colours that a theme must define."""

SEMANTIC: dict[str, str] = {
    "crash": "error",
    "hang": "warning",
    "differs": "accent",
    "edge": "primary",
    "valid": "success",
    "corpus": "accent",
    "rate": "warning",
    "running": "success",
    "paused": "warning",
    "stalled": "warning",
    "finished": "primary",
    "failed": "error",
    "promoted": "accent",
    "skipped": "secondary",
    "demoted": "secondary",
    "pending": "warning",
    "imported": "secondary",
    "killed": "success",
    "alive": "warning",
    "equivalent": "accent",
    "invalid": "secondary",
    "removed": "error",
    "added": "success",
    "muted": "secondary",
    "rule": "secondary",
    "gauge": "panel",
}
"""Meanings that have a colour on the screens, and the base colour that is the default of each."""

MAX_BYTES = 64 * 1024

_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})\Z")
_HUES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_ANSI = {"ansi_default", *(f"ansi_{b}{h}" for h in _HUES for b in ("", "bright_"))}


@dataclass(frozen=True, slots=True)
class ThemeFile:
    """One valid theme. ``semantic`` is complete: missing colours have their defaults."""

    name: str
    title: str
    file: Path
    dark: bool = True
    ansi: bool = False
    colors: dict[str, str] = field(default_factory=dict)
    semantic: dict[str, str] = field(default_factory=dict)


class ThemeError(ValueError):
    """A theme file that cannot be used; the message names the key."""


def theme_dirs() -> list[Path]:
    """Return the directories of themes; later ones replace themes of earlier ones."""
    return [
        Path(fuzztui.__file__).resolve().parent / "themes",
        config_dir() / "themes",
    ]


def load_themes(dirs: Iterable[Path] | None = None) -> tuple[dict[str, ThemeFile], list[str]]:
    """Return all themes by name, and one message for each broken file."""
    themes: dict[str, ThemeFile] = {}
    problems: list[str] = []
    for directory in theme_dirs() if dirs is None else dirs:
        try:
            files = sorted(p for p in directory.iterdir() if p.suffix == ".toml")
        except OSError:
            continue  # the directory is optional
        for file in files:
            try:
                themes[file.stem] = parse_theme(file.stem, _read(file), file)
            except ThemeError as e:
                problems.append(f"{file}: {e}")
    return themes, problems


def _read(file: Path) -> str:
    try:
        # Opening a FIFO would block: check the type first.
        info = file.stat()
        if not stat.S_ISREG(info.st_mode):
            raise ThemeError("is not a regular file; remove it or put a theme there")
        if info.st_size > MAX_BYTES:
            raise ThemeError(f"is larger than {MAX_BYTES // 1024} KiB; a theme needs less than 2")
        return file.read_text("utf-8")
    except OSError as e:
        raise ThemeError(f"cannot be read: {e.strerror}") from None
    except UnicodeDecodeError:
        raise ThemeError("is not UTF-8; save it as UTF-8") from None


def parse_theme(name: str, text: str, file: Path) -> ThemeFile:
    """Parse a theme. Raises :class:`ThemeError` with the key and the allowed values."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as e:
        raise ThemeError(f"is not TOML: {e}") from None
    _known(data, ("title", "dark", "ansi", "colors", "semantic"), "")
    title = _typed(data, "title", str, name)
    dark = _typed(data, "dark", bool, True)
    ansi = _typed(data, "ansi", bool, False)
    colors = _table(data, "colors", BASE, ansi)
    missing = [key for key in BASE if key not in colors]
    if missing:
        raise ThemeError(
            f"[colors] lacks {', '.join(missing)}; all of {', '.join(BASE)} are needed"
        )
    semantic = {key: colors[base] for key, base in SEMANTIC.items()}
    semantic |= _table(data, "semantic", tuple(SEMANTIC), ansi)
    return ThemeFile(name, title, file, dark, ansi, colors, semantic)


def _typed(data: dict[str, Any], key: str, kind: type, default: Any) -> Any:
    value = data.get(key, default)
    if not isinstance(value, kind):
        raise ThemeError(f"{key} = {value!r} is not a {kind.__name__}")
    return value


def _table(
    data: dict[str, Any], section: str, allowed: tuple[str, ...], ansi: bool
) -> dict[str, str]:
    table = data.get(section, {})
    if not isinstance(table, dict):
        raise ThemeError(f"{section} must be a table: [{section}]")
    _known(table, allowed, f"[{section}] ")
    for key, value in table.items():
        if not isinstance(value, str) or not (value in _ANSI if ansi else _HEX.match(value)):
            want = "a name like ansi_red or ansi_bright_blue" if ansi else 'a colour like "#6cb6ff"'
            raise ThemeError(f"[{section}] {key} = {value!r} is not {want}")
    return table


def _known(table: dict[str, Any], allowed: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in allowed:
            near = difflib.get_close_matches(key, allowed, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(allowed)}"
            raise ThemeError(f"{where}{key!r} is not a known key{hint}")
