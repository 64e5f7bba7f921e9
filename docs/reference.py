"""Write the pages of docs/ that only repeat what the code says: actions.md, keys.md, events.md.

python docs/reference.py    # `make docs` runs it, and tests/docs/test_reference.py compares
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from fuzztui.cli.ctl import _OPTIONS, ACTIONS
from fuzztui.cli.help import EXIT_CODES
from fuzztui.kernel.wire.commands import COMMAND_NAMES
from fuzztui.kernel.wire.events import EVENT_KINDS
from fuzztui.tui.base.keynames import key_for_user
from fuzztui.tui.frame import actions
from fuzztui.tui.frame.action import Action

DOCS = Path(__file__).resolve().parent
GENERATED = "`make docs` writes this page from the code."

NO_COMMAND = {
    "ban": "Never target this type.",
    "unban": "Undo a ban.",
    "pin": "Target only this branch, until it is covered.",
    "unpin": "Undo a pin.",
    "ignore": "Never target this branch.",
    "unignore": "Undo an ignore.",
    "undo": "Undo an earlier command by the commands that set back what it changed.",
}
"""Actions that are made from the state, so that no command's docstring says what they do."""


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return a table; its cells are Markdown without bars."""
    lines = [list(heads), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    ]


def plain(cls: type) -> str:
    """Return the first paragraph of a class's docstring as Markdown; constants are their values."""
    names = {command.__name__: name for name, command in COMMAND_NAMES.items()}

    def named(found: re.Match[str]) -> str:
        values = getattr(sys.modules[cls.__module__], found[1], None)
        if isinstance(values, tuple | frozenset):
            return ", ".join(map(str, values))
        return f"`{names.get(found[1], found[1])}`"

    text = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    return re.sub(r":\w+:`~?(?:[\w.]+\.)?(\w+)`", named, text).replace("``", "`")


def actions_page() -> str:
    """Return the actions of ``fuzztui ctl``, and the exit codes of all commands."""
    rows = []
    for name, action in ACTIONS.items():
        words = [action.id.replace("%%", "%"), action.more]
        options = [f"`--{option}`" for option, takers in _OPTIONS.items() if name in takers]
        what = NO_COMMAND.get(name) or plain(COMMAND_NAMES[name])
        rows.append([f"`{name}`", "; ".join(filter(None, words)), ", ".join(options), what])
    codes = [line.strip().split(maxsplit=1) for line in EXIT_CODES.splitlines()[1:]]
    lines = [
        "# Actions and exit codes",
        f"{GENERATED} [commands.md](commands.md#steer) shows the actions in use.",
        "## Actions of `fuzztui ctl RUN ACTION`",
        *table(("action", "words", "options", "what the campaign does"), rows),
        "## Exit codes",
        *table(("code", "meaning"), codes),
    ]
    return page(lines)


def keys_page() -> str:
    """Return the keys of all screens, with the ids that a user's configuration names."""
    lines = [
        "# Keys of the screens",
        f"{GENERATED} `?` shows those of a screen, and why one is grey. The id is what"
        " [your configuration](config.md) gives another key.",
    ]
    for group in actions.GROUPS:
        mine = [action for action in actions.ACTIONS if action.group == group]
        lines += [
            f"## {group}",
            *table(("keys", "what it does", "where", "id"), map(key_row, mine)),
        ]
    return page(lines)


def key_row(action: Action) -> list[str]:
    """Return the row of one action."""
    keys = ", ".join(f"`{key_for_user(key)}`" for key in action.keys)
    where = {"app": "all screens of a campaign", "always": "everywhere"}.get(
        action.scope, action.scope
    )
    mode = {"live": "; not in a replay", "replay": "; only in a replay"}.get(action.mode, "")
    return [keys, action.help, where + mode, f"`{action.id}`"]


def events_page() -> str:
    """Return the kinds of events in the log, with their fields."""
    lines = [
        "# Events of the log",
        f"{GENERATED} Each line of `runs/NAME/log/campaign.jsonl.gz` is one event: `s` counts from"
        " 1, `t` is the campaign time in seconds, `k` the kind. Kinds are never renamed, and fields"
        " never change their meaning: a reader ignores what it does not know.",
    ]
    subjects: dict[str, list[list[str]]] = {}
    for kind, cls in EVENT_KINDS.items():
        subject = "siblings" if ".siblings." in cls.__module__ else cls.__module__.split(".")[-1]
        names = ", ".join(f"`{field.name}`" for field in fields(cls))
        subjects.setdefault(subject, []).append([f"`{kind}`", plain(cls), names])
    for subject, rows in subjects.items():
        lines += [f"## {subject.capitalize()}", *table(("kind", "what happened", "fields"), rows)]
    return page(lines)


def page(lines: list[str]) -> str:
    """Return Markdown of lines, with an empty line between all but rows of a table."""
    text = ""
    for line in lines:
        inside = line.startswith("|") and text.endswith("|\n")
        text += ("" if inside or not text else "\n") + f"{line}\n"
    return text


PAGES = {"actions.md": actions_page, "keys.md": keys_page, "events.md": events_page}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (DOCS / name).write_text(write())
