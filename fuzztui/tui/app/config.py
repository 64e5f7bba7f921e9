"""The user's configuration as the screens use it: the file, checked against what there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from fuzztui.kernel.base.user_dirs import config_dir
from fuzztui.tui.base.config_file import (
    AUTO,
    FILE,
    ConfigFile,
    located,
    parse_config,
    read_config_file,
)
from fuzztui.tui.base.themes import DEFAULT, LIGHT, PLAIN
from fuzztui.tui.frame.keymap import Keys, keymap
from fuzztui.tui.labels.features import whole_legend

RENAMED = {
    "operators": "mutators",
    "view.operators": "view.mutators",
    "operator.find": "mutator.find",
    "operator.copy": "mutator.copy",
}
"""Names of screens and actions in files for earlier versions, and the present ones."""


@dataclass(frozen=True, slots=True)
class Config:
    """The file, and the keys that it sets."""

    file: ConfigFile = field(default_factory=ConfigFile)
    keys: Keys = field(default_factory=dict)
    """Textual's names of keys, by action; actions that are missing have the registry's keys."""


def config_path() -> Path:
    """Return the path of the configuration file."""
    return config_dir() / FILE


def load_config(
    path: Path, themes: Iterable[str], screens: Iterable[Sequence[str]]
) -> tuple[Config, list[str]]:
    """Read the configuration. Returns the valid part, and all problems as messages.

    ``themes``: names of themes. ``screens``: the scopes of each screen's actions.
    """
    text, problem = read_config_file(path)
    if problem:
        return Config(), [problem]
    known = whole_legend().columns
    earlier = {old: known[new] for old, new in RENAMED.items() if new in known}
    file, problems = parse_config(text, themes, {**known, **earlier})
    file = replace(file, keys=_renamed(file.keys), columns=_renamed(file.columns))
    keys, wrong = keymap(file.keys, screens)
    problems += [(f"keys.{id}", message) for id, message in wrong]
    return Config(file, keys), located(path, text, problems)


def _renamed(found: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return ``found`` with the present names; of two names for one, the present one counts."""
    earlier = {RENAMED[name]: value for name, value in found.items() if name in RENAMED}
    return {**earlier, **{name: value for name, value in found.items() if name not in RENAMED}}


def theme_of(
    env: Mapping[str, str], *, option: str = "", remembered: str = "", configured: str = ""
) -> tuple[str, str]:
    """Return the user's theme and where it is from; two empty strings: the user has chosen none.

    ``option``: of the command line. ``remembered``: the last choice on the screens, an empty string
    if the file names another theme since. ``configured``: of the file. The name may be unknown.
    """
    choices = (
        (option, "--theme"),
        (env.get("FUZZTUI_THEME", ""), "FUZZTUI_THEME"),
        (PLAIN if env.get("NO_COLOR") else "", "NO_COLOR"),
        (remembered, "the last choice on the screens"),
        (configured if configured != AUTO else "", "the file"),
    )
    return next(((theme, origin) for theme, origin in choices if theme), ("", ""))


def has_few_colours(env: Mapping[str, str]) -> bool:
    """Whether a terminal has sixteen colours: other themes are unreadable in the nearest ones."""
    return Console(force_terminal=True, _environ=env).color_system == "standard"


def fitting_theme(light: bool | None) -> str:
    """Return the theme for a light or a dark terminal; None: its background is unknown."""
    return LIGHT if light else DEFAULT
