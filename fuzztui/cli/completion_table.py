"""What can follow on a command line: a table made of the parsers, for ``completing``."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import Any, Final

from fuzztui.cli.ctl import ACTIONS
from fuzztui.cli.help import GROUPS
from fuzztui.cli.man import Parsers
from fuzztui.kernel.base.plugins import PluginError
from fuzztui.kernel.wire.commands import EntryCommand, Minimise, MutantCommand, names_of
from fuzztui.run.campaign.files import SAMPLES
from fuzztui.run.campaign.schema import ENGINES, HOSTS, Key, tables_for
from fuzztui.tui.base.themes import load_themes

_MAX_HELP: Final = 60
"""Characters of a description."""

_FILES: Final = ("FILE", "DIR", "PATH", "OUT", "LOG", "SOURCE", "SEEDS", "PYTHON", "FILE.json")
_OF_COMMAND: Final = {
    ("mutants", "path"): "runs campaigns",
    ("mutants", "selections"): "mutants",
    ("test", "parts"): "files",
    ("repro", "files"): "finding-files",
    ("minimise", "file"): "finding-files",
    ("bisect", "finding"): "finding-files",
    ("corpus", "entry"): "entries",
    ("ctl", "id"): "ctl",
    ("report", "run"): "runs campaigns",
    ("score", "run"): "runs campaigns",
}
"""Kinds of values that do not follow from the argument's name, by command and argument."""


def table(parsers: Parsers) -> dict[str, Any]:
    """Return commands with their options and arguments, and all names, as JSON data."""
    summaries = {
        command.name: _brief(command.forms[0][1]) for g in GROUPS.values() for command in g
    }
    commands: dict[str, Any] = {}
    for name, word, parser in parsers:
        entry = {"summary": summaries.get(name, ""), **_arguments(name, parser)}
        if word:
            words = commands.setdefault(name, {"summary": entry["summary"], "words": {}})["words"]
            words[word] = entry
        else:
            commands[name] = entry
    return {
        "commands": commands,
        "samples": sorted(path.name for path in SAMPLES.glob("*.toml")),
        "themes": sorted(load_themes()[0]),
        "keys": _keys_if_possible(),
        "actions": {action: _of_action(action) for action in ACTIONS},
    }


def _of_action(action: str) -> str:
    """Return the kind of values that follow an action of ``ctl``; "": none that can be listed."""
    if action in names_of(MutantCommand):
        return "mutants"
    if action in names_of(EntryCommand):
        return "entries"
    if action in (Minimise.name, "cancel-minimise", "judge"):
        return "findings"
    return "files" if action == "add-seed" else ""


def _keys_if_possible() -> dict[str, dict[str, Any]]:
    with contextlib.suppress(PluginError):  # of one package: other words are completed all the same
        return _keys()
    return {}


def _keys() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for kind in ENGINES:
        for name, keys in tables_for(kind).items():
            if name != HOSTS:
                for key in keys:
                    found.setdefault(f"{name}.{key.name}", _key(key))
    return dict(sorted(found.items()))


def _key(key: Key) -> dict[str, Any]:
    values = list(key.choices) if key.type == "choice" else []
    values = ["true", "false"] if key.type == "boolean" else values
    return {"help": _brief(key.help), "values": values}


def _arguments(command: str, parser: argparse.ArgumentParser) -> dict[str, Any]:
    options: dict[str, Any] = {}
    arguments: list[Any] = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction):
            options["--help"] = {"help": "explain the command", "value": None}
            continue
        if action.help == argparse.SUPPRESS:
            continue
        value = None if action.nargs == 0 else _kind(command, action)
        if not action.option_strings:
            repeats = action.nargs in ("*", "+")
            arguments.append({"value": value, "repeats": repeats})
            continue
        meaning = _brief(parser._get_formatter()._expand_help(action))
        for name in action.option_strings:
            options[name] = {"help": meaning, "value": value}
    return {"options": options, "arguments": arguments}


def _kind(command: str, action: argparse.Action) -> Any:
    """Return a list of all values, or the kind of values: "" if nothing is known."""
    if action.choices:
        return [str(choice) for choice in action.choices]
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if found := _OF_COMMAND.get((command, action.dest)):
        return found
    if action.dest in ("overrides", "theme", "instance"):
        return {"overrides": "keys", "theme": "themes", "instance": "instances"}[action.dest]
    if metavar.startswith("CAMPAIGN"):
        return "campaigns"
    if "RUN" in metavar.split("|") or metavar.startswith("RUN"):
        return "runs"
    if metavar in _FILES or action.type is Path:
        return "files"
    return ""


def _brief(text: str) -> str:
    """Return the start of a text, on one line."""
    plain = " ".join(text.split())
    first = plain.split("; ")[0].split(". ")[0]
    return first if len(first) <= _MAX_HELP else f"{first[: _MAX_HELP - 3]}..."
