"""Parse the command line: the commands and their options."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fuzztui.cli import (
    cluster_options,
    corpus_options,
    engine_options,
    mutant_options,
    project_options,
    result_options,
    running_options,
    sharing_options,
)
from fuzztui.cli.arguments import CommandParser, Run, command
from fuzztui.cli.help import CAMPAIGN, DESCRIPTION, EXIT_CODES, GROUPS, described, examples
from fuzztui.cli.output import at_terminal
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.plugins import PluginError
from fuzztui.kernel.base.suggest import meant, near

if TYPE_CHECKING:
    from fuzztui.kernel.model.feature import Feature

_OTHER_WORDS = {
    "findings": "status or repro",
    "crashes": "status or repro",
    "triage": "repro",
    "verdicts": "ctl RUN judge",
    "cmin": "corpus minimise",
}
"""Words that users of other tools try, with the commands for these."""

_WORD = re.compile(r"[A-Za-z]\w*(-\w+)*")


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the arguments; ``options.command`` is the function that carries out the command."""
    if argv and (name := _FORMER.get(argv[0], argv[0])) in _COMMANDS:
        rest, word = argv[1:], ""
        if rest and rest[0] in _WORDS.get(name, {}):
            word, *rest = rest
        parser = _command_parser(name, word)
        # Intermixed parsing rejects arguments that begin with a dash, even after "--".
        return parser.parse_args(rest) if "--" in rest else parser.parse_intermixed_args(rest)
    if argv and (parser_of_package := _package_parser(argv[0])):
        return parser_of_package.parse_args(argv[1:])
    if not argv and _at_terminal():
        return argparse.Namespace(command=command("home.home"))
    parser = _file_parser()
    if argv and _WORD.fullmatch(argv[0]):
        _refuse_word(parser, argv[0], argv[1:])
    return parser.parse_args(argv or ["--help"])


def _file_parser() -> CommandParser:
    """Return the parser of ``fuzztui FILE``."""
    parser = CommandParser(
        prog="fuzztui",
        description=DESCRIPTION,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="fuzztui\n       fuzztui CAMPAIGN.toml [options]\n       fuzztui COMMAND ...",
    )
    parser.set_defaults(command=running_options.add_run(parser))
    return parser


def _command_parser(name: str, word: str = "") -> CommandParser:
    """Return the parser of a command; ``word``: its second word, if that has its own options."""
    parser = CommandParser(
        prog=f"fuzztui {name} {word}".rstrip(),
        description=described(name),
        epilog=examples(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = _WORDS[name][word] if word else _COMMANDS[name]
    parser.set_defaults(command=add(parser))
    return parser


def _package_parser(word: str) -> CommandParser | None:
    """Return the parser of a command that a feature of a package adds; None: none has the word.

    Raises :class:`~fuzztui.kernel.base.plugins.PluginError`.
    """
    if not _WORD.fullmatch(word):
        return None
    from fuzztui.kernel.model.feature import package_features  # slow: what is installed

    for feature in package_features():
        if text := feature.words.get(word):
            parser = CommandParser(prog=f"fuzztui {word}")
            run = feature.make(text, lambda made: made, parser)
            parser.set_defaults(command=partial(_carry_out, feature, text, run))
            return parser
    return None


def _carry_out(feature: Feature, text: str, run: Run, options: argparse.Namespace) -> int:
    """Carry out a command of a package. Raises PluginError in place of what is no user's error."""
    try:
        return int(run(options))
    except (UserError, BrokenPipeError):
        raise
    except Exception as e:
        raise PluginError(feature.fault(text, e)) from e


def parsers() -> Iterator[tuple[str, str, CommandParser]]:
    """Yield all parsers with the command and its second word; of ``fuzztui FILE`` both are ""."""
    yield "", "", _file_parser()
    for name in _COMMANDS:
        for word in _WORDS.get(name, {}) or [""]:
            yield name, word, _command_parser(name, word)


def _add_what(name: str, parser: CommandParser) -> Run:
    """Parse the command without one of its second words."""
    words = list(_WORDS[name])
    parser.add_argument("what", choices=words, help=f"fuzztui {name} WHAT --help explains it")
    parser.usage = f"fuzztui {name} WHAT ..."
    return lambda options: parser.error(f"{name} {options.what}: its arguments are missing")


def _add_help(parser: CommandParser) -> Run:
    """Add the options of ``fuzztui help``; return the command."""
    parser.add_argument(
        "topic",
        metavar="COMMAND",
        nargs="?",
        choices=list(_COMMANDS),
        help="the command to explain",
    )
    parser.text("word", "WORD", "its second word: corpus why", nargs="?")

    def show(options: argparse.Namespace) -> int:
        words = [word for word in (options.topic, options.word) if word]
        if options.word and options.word not in _WORDS.get(options.topic, {}):
            words = words[:1]
        parse([*words, "--help"])
        raise AssertionError("--help ends the process")

    return show


def _add_man(parser: CommandParser) -> Run:
    """Add the options of ``fuzztui man``; return the command."""
    from fuzztui.cli import man

    return lambda options: man.print_page(parsers())


def _at_terminal() -> bool:
    return at_terminal() and sys.stdin is not None and sys.stdin.isatty()


def _refuse_word(parser: CommandParser, word: str, rest: list[str]) -> None:
    """Exit with a suggestion if ``word`` is neither a command nor a file."""
    from fuzztui.cli.ctl import ACTIONS
    from fuzztui.cli.samples import campaign_files_like

    to_run = bool(rest) and not rest[0].startswith("-")
    if word in ACTIONS and (to_run or not Path(word).exists()):
        run, *more = rest if to_run else ["RUN"]
        instead = shlex.join(["fuzztui", "ctl", run, word, *more])
        parser.error(f"{word} is a command for a run: use {instead}")
    if Path(word).exists():
        return
    near_ones = near(word, [*_COMMANDS, *ACTIONS])
    commands = [f"ctl RUN {one}" if one in ACTIONS else one for one in near_ones]
    other = [_OTHER_WORDS[word]] if word in _OTHER_WORDS else []
    hint = meant(other or commands or campaign_files_like(word))
    hint = hint or f"; the commands are {', '.join(_COMMANDS)}"
    parser.error(f"{word} is neither a campaign file nor a command{hint}")


_WORDS: dict[str, dict[str, Callable[[CommandParser], Run]]] = {
    "cluster": cluster_options.WORDS,
    "corpus": corpus_options.WORDS,
    "hosts": project_options.HOSTS_WORDS,
}
"""Commands whose second word has options of its own."""

_ADDING: dict[str, Callable[[CommandParser], Run]] = {
    **project_options.COMMANDS,
    **running_options.COMMANDS,
    **mutant_options.COMMANDS,
    **engine_options.COMMANDS,
    **result_options.COMMANDS,
    "sync": sharing_options.add_sync,
    "merge": sharing_options.add_merge,
    **{name: partial(_add_what, name) for name in _WORDS},
    "help": _add_help,
    "man": _add_man,
}
"""What adds the options of a command, and returns the function that carries out the command."""

_COMMANDS = {
    listed.name: _ADDING[listed.name]
    for group in GROUPS.values()
    for listed in group
    if listed.name != CAMPAIGN
}
"""The same in the order of the help."""

_FORMER = {"operators": "mutators"}
"""Commands by their former names."""
