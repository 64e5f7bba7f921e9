"""The user's configuration file: reading it, and checking its values. Pure but for the reading.

``$XDG_CONFIG_HOME/fuzztui/config.toml``, which fuzztui never writes. A wrong value is left out and
becomes a problem: the screens open with what is right.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzztui.kernel.base.suggest import meant, near
from fuzztui.kernel.base.text import brief

FILE = "config.toml"

MAX_BYTES = 32 * 1024

AUTO = "auto"
"""The theme that fits the background of the terminal."""

MIN_HZ, MAX_HZ = 0.1, 60.0
"""Limits of polls per second."""

Problem = tuple[str, str]
"""A dotted key, "" for the whole file, and a message for the user."""

_KEYS = ("theme", "refresh", "tour", "notify", "keys", "columns")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The checked values of the file; :mod:`fuzztui.tui.frame.keymap` checks those of ``keys``."""

    theme: str = ""
    """A theme's name or :data:`AUTO`; an empty string: not set."""
    refresh: float = 0.0
    """Polls of the log per second; 0: not set."""
    tour: bool = True
    """Whether the first start of a campaign's screens offers a tour."""
    bell: bool = True
    """Whether the terminal's bell announces news."""
    desktop: bool = True
    """Whether the terminal is sent desktop notifications."""
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Keys, as users name them, by the id of the action; none: the action has no key."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The columns of a screen's tables: see :func:`~fuzztui.tui.base.columns.chosen`."""


def read_config_file(path: Path) -> tuple[str, str]:
    """Return the file's text and an empty string, or an empty string and what is wrong.

    Both are empty if there is no file. Never blocks; reads at most :data:`MAX_BYTES`.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(fd, "rb") as stream:
            if not stat.S_ISREG(os.fstat(fd).st_mode):  # a symlink is followed: dotfiles often are
                return "", f"{path}: is not a regular file; remove it or put a configuration there"
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return "", ""
    except OSError as e:
        return "", f"{path}: cannot be read: {e.strerror}"
    if len(data) > MAX_BYTES:
        return "", f"{path}: is larger than {MAX_BYTES // 1024} KiB; a configuration needs less"
    try:
        return data.decode(), ""
    except UnicodeDecodeError as e:
        line = data[: e.start].count(b"\n") + 1
        return "", f"{path}:{line}: is not UTF-8; save it as UTF-8"


def parse_config(
    text: str, themes: Iterable[str], columns: Mapping[str, Iterable[str]]
) -> tuple[ConfigFile, list[Problem]]:
    """Check the text of the file. Returns the valid values, and all problems.

    ``themes``: names of themes. ``columns``: ids of columns by screen.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        return ConfigFile(), [("", f"is not TOML: {e}")]
    except RecursionError:
        return ConfigFile(), [("", "is not TOML: nested too deeply")]
    except ValueError:  # more digits than Python converts
        return ConfigFile(), [("", "contains a number that is too large")]
    check = _Check(data)
    check.known("", data, _KEYS)
    notify = check.table("notify")
    check.known("notify", notify, ("bell", "desktop"))
    found = ConfigFile(
        theme=check.theme([AUTO, *themes]),
        refresh=check.refresh(),
        tour=check.switch("", data, "tour"),
        bell=check.switch("notify", notify, "bell"),
        desktop=check.switch("notify", notify, "desktop"),
        keys=check.keys(),
        columns=check.columns({screen: [*ids] for screen, ids in columns.items()}),
    )
    return found, check.problems


def located(path: Path, text: str, problems: Sequence[Problem]) -> list[str]:
    """Return problems of the file's ``text`` as messages with lines, in the order of the file."""
    if not problems:
        return []
    from fuzztui.run.campaign.files import key_lines  # the campaign files' room: not at each start

    lines = {} if not problems[0][0] else key_lines(text)

    def line(key: str) -> int:
        while key and key not in lines:
            key = key.rpartition(".")[0]
        return lines.get(key, 0)

    placed = sorted(((line(key), key, message) for key, message in problems), key=lambda p: p[0])
    return [
        ": ".join(part for part in (f"{path}:{n}" if n else str(path), key, message) if part)
        for n, key, message in placed
    ]


class _Check:
    """Collects the problems of one file as pairs of dotted key and message."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.problems: list[Problem] = []

    def known(self, table: str, found: Iterable[str], allowed: Sequence[str]) -> None:
        for name in found:
            if name not in allowed:
                hint = meant(near(name, allowed)) or f"; known are {', '.join(allowed)}"
                self.wrong(f"{table}.{name}" if table else name, f"is unknown{hint}")

    def wrong(self, key: str, message: str) -> None:
        self.problems.append((brief(key, 80), message))

    def table(self, name: str) -> Mapping[str, Any]:
        value = self.data.get(name, {})
        if isinstance(value, dict):
            return value
        self.wrong(name, f"{_shown(value)} is not a table; write [{name}]")
        return {}

    def theme(self, themes: Sequence[str]) -> str:
        value = self.data.get("theme", "")
        if value == "" or (isinstance(value, str) and value in themes):
            return str(value)
        hint = meant(near(str(value), themes)) or "; `fuzztui themes` lists all"
        self.wrong("theme", f"{_shown(value)} is not a theme{hint}")
        return ""

    def refresh(self) -> float:
        value = self.data.get("refresh", 0.0)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if "refresh" not in self.data or (number and MIN_HZ <= value <= MAX_HZ):
            return float(value)
        self.wrong(
            "refresh",
            f"{_shown(value)} is not a number of updates per second from {MIN_HZ:g} to {MAX_HZ:g}",
        )
        return 0.0

    def switch(self, table: str, found: Mapping[str, Any], name: str) -> bool:
        value = found.get(name, True)
        if isinstance(value, bool):
            return value
        key = f"{table}.{name}" if table else name
        self.wrong(key, f"{_shown(value)} is not true or false")
        return True

    def keys(self) -> dict[str, Sequence[str]]:
        keys: dict[str, Sequence[str]] = {}
        # Without quotes, campaign.stop = "X" is a table "campaign" with a key "stop".
        waiting = [(name, value) for name, value in self.table("keys").items()]
        while waiting:
            id, value = waiting.pop(0)
            if isinstance(value, dict):
                waiting += [(f"{id}.{name}", inner) for name, inner in value.items()]
            elif isinstance(value, str) and value:
                keys[id] = [value]
            elif isinstance(value, list) and all(isinstance(v, str) and v for v in value):
                keys[id] = value
            else:
                self.wrong(f"keys.{id}", f'{_shown(value)} is not a key like "x", nor a list of'
                           " keys; [] leaves the action without one")  # fmt: skip
        return keys

    def columns(self, known: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
        chosen: dict[str, Sequence[str]] = {}
        found = self.table("columns")
        self.known("columns", found, [*known])
        for screen, value in found.items():
            if screen in known and self._are_columns(f"columns.{screen}", value, known[screen]):
                chosen[screen] = value
        return chosen

    def _are_columns(self, key: str, value: Any, known: Sequence[str]) -> bool:
        if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
            self.wrong(key, f'{_shown(value)} is not a list of columns like ["{known[0]}"]')
            return False
        ids = [name.removeprefix("-") for name in value]
        if unknown := next((id for id in ids if id not in known), None):
            hint = meant(near(unknown, known)) or f"; known are {', '.join(known)}"
            self.wrong(key, f"{_shown(unknown)} is not a column of this screen{hint}")
        elif len({name.startswith("-") for name in value}) > 1:
            self.wrong(key, "list the columns to show, or the columns to hide, each with - in"
                       " front; not both")  # fmt: skip
        elif len({*ids}) < len(ids):
            self.wrong(key, "a column is listed twice")
        else:
            return True
        return False


def _shown(value: Any) -> str:
    try:
        return brief(repr(value), 60)
    except ValueError:  # an integer with more digits than Python converts
        return "a number that is too large"
