"""``config`` and ``themes``: the user's configuration of the screens, and what it can choose."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from fuzztui.cli.output import DONE, FAILED, USAGE, say
from fuzztui.kernel.base.text import brief

if TYPE_CHECKING:
    from fuzztui.tui.app.config import Config


def config(options: argparse.Namespace) -> int:
    """Print the file's path, the effective values and all problems; or the ids of all actions."""
    from textual.theme import BUILTIN_THEMES

    from fuzztui.tui import screen_scopes
    from fuzztui.tui.app.config import config_path, load_config, theme_of
    from fuzztui.tui.app.feed import default_hz
    from fuzztui.tui.base.config_file import AUTO
    from fuzztui.tui.base.keynames import key_for_user
    from fuzztui.tui.base.themes import load_themes
    from fuzztui.tui.base.user_state import recall

    path = config_path()
    themes, problems = load_themes()
    known = {*themes, *BUILTIN_THEMES}
    found, wrong = load_config(path, known, screen_scopes())
    problems += wrong
    if options.keys:
        _print_keys(found)
    else:
        remembered, problem = recall(known, found.file.theme)
        problems += [problem] if problem else []
        theme, origin = theme_of(os.environ, remembered=remembered, configured=found.file.theme)
        origin = f"from {origin}" if origin else "midwatch, or daylight if the terminal is light"
        file = found.file
        print(f"# {path}{'' if path.exists() else ': does not exist'}")
        print(f'theme = "{theme or AUTO}"'.ljust(30) + f"# {origin}")
        print(f"refresh = {default_hz(file.refresh):g}".ljust(30) + "# updates per second")
        print(f"tour = {str(file.tour).lower()}".ljust(30) + "# offered at the first start")
        print(f"notify.bell = {str(file.bell).lower()}")
        print(f"notify.desktop = {str(file.desktop).lower()}")
        for id, keys in found.keys.items():
            print(f"keys.{id} = {_list([key_for_user(key) for key in keys])}")
        for screen, columns in file.columns.items():
            print(f"columns.{screen} = {_list(columns)}")
    for problem in problems:
        say(problem)
    return USAGE if problems else DONE


def _print_keys(found: Config) -> None:
    from fuzztui.tui.base.keynames import key_for_user
    from fuzztui.tui.frame.actions import ACTIONS, NATIVE

    for action in ACTIONS:
        keys = " ".join(map(key_for_user, found.keys.get(action.id, action.keys))) or "(no key)"
        mark = "*" if action.id in found.keys else "!" if action.id in NATIVE else " "
        print(f"{mark} {action.id:<24} {keys:<22} {brief(action.help)}")
    print("* set by your configuration; ! cannot be changed")


def _list(names: object) -> str:
    assert isinstance(names, (list, tuple))
    return "[" + ", ".join(f'"{brief(name)}"' for name in names) + "]"


def themes(options: argparse.Namespace) -> int:
    """List the themes."""
    from fuzztui.tui.base.themes import load_themes

    found, problems = load_themes()
    for name, theme in found.items():
        print(f"{name:<14} {brief(theme.title)}")
    for problem in problems:
        say(problem)
    return FAILED if problems else DONE
