"""``fuzztui man``: the man page, made of the parsers of all commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Final

import fuzztui
from fuzztui.cli.help import EXIT_CODES, GROUPS, CommandHelp
from fuzztui.cli.output import DONE

Parsers = Iterable[tuple[str, str, argparse.ArgumentParser]]
"""Parsers with the command and its second word; both are "" for ``fuzztui FILE``."""

_FILES: Final = (
    ("campaign.toml", "a campaign; fuzztui init writes one, fuzztui check checks it"),
    ("pyproject.toml", "has the campaign of a project, as [tool.fuzztui]"),
    ("runs/NAME", "a run: the log, and a directory in AFL's format for each instance"),
    ("~/.config/fuzztui/config.toml", "your keys, theme and columns"),
)


def print_page(parsers: Parsers) -> int:
    """Print the man page."""
    print(page(parsers), end="")
    return DONE


def page(parsers: Parsers) -> str:
    """Return the man page as roff text."""
    of: dict[str, list[tuple[str, argparse.ArgumentParser]]] = {}
    for name, word, parser in parsers:
        of.setdefault(name, []).append((word, parser))
    lines = [
        f'.TH FUZZTUI 1 "" "fuzztui {fuzztui.__version__}" "User Commands"',
        ".SH NAME",
        _text("fuzztui - a terminal monitor and controller for fuzz campaigns"),
        ".SH SYNOPSIS",
        ".B fuzztui",
        r"\fICAMPAIGN.toml\fR [\fIoptions\fR]",
        ".br",
        ".B fuzztui",
        r"\fICOMMAND\fR ...",
        ".SH DESCRIPTION",
        _text(
            "RUN is a run directory (runs/NAME), or a campaign file: the newest of its runs. "
            "DIR is a directory of AFL."
        ),
    ]
    for title, commands in GROUPS.items():
        lines.append(f".SH COMMANDS: {_text(title.upper())}")
        for command in commands:
            name = "" if command.name.endswith(".toml") else command.name
            lines += _command(command, of[name])
    lines.append(".SH EXIT STATUS")
    for line in EXIT_CODES.splitlines()[1:]:
        code, _, meaning = line.strip().partition(" ")
        lines += [".TP", _text(code), _text(meaning.strip())]
    lines.append(".SH FILES")
    for path, meaning in _FILES:
        lines += [".TP", rf"\fI{_text(path)}\fR", _text(meaning)]
    lines += [".SH SEE ALSO", _text("afl-fuzz(8), afl-whatsup(8)")]
    return "\n".join(lines) + "\n"


def _command(
    command: CommandHelp, parsers: list[tuple[str, argparse.ArgumentParser]]
) -> Iterator[str]:
    yield f'.SS "fuzztui {_text(command.name)}"'
    form = ""
    for arguments, summary in command.forms:
        form = arguments or form
        yield ".TP" if arguments or len(command.forms) == 1 else ".br"
        if arguments or len(command.forms) == 1:
            yield rf"\fBfuzztui {_text(command.name)}\fR {_text(arguments)}".rstrip()
        yield _text(summary)
    for word, parser in parsers:
        rows = [row for action in parser._actions if (row := _row(parser, action))]
        if rows and word:
            yield ".PP"
            yield _text(f"Arguments of {command.name} {word}:")
        for names, meaning in rows:
            yield ".TP"
            yield names
            yield meaning
    yield ".PP"
    yield "Examples:" if len(command.examples) > 1 else "Example:"
    for example in command.examples:
        yield ".br"
        yield rf"\fB{_text(f'fuzztui {example}')}\fR"


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> tuple[str, str] | None:
    """Return an argument and its meaning; None for ``--help``, and what has no help."""
    if isinstance(action, argparse._HelpAction) or action.help in (None, argparse.SUPPRESS):
        return None
    meaning = _text(parser._get_formatter()._expand_help(action))
    metavar = str(action.metavar or action.dest)
    if not action.option_strings:
        return rf"\fI{_text(metavar)}\fR", meaning
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in action.option_strings)
    if action.nargs == 0:
        return names, meaning
    value = action.metavar or (
        "|".join(map(str, action.choices)) if action.choices else action.dest.upper()
    )
    return rf"{names} \fI{_text(str(value))}\fR", meaning


def _text(text: str) -> str:
    """Escape text for roff."""
    escaped = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
