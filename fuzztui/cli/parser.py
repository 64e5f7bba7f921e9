"""Parse the command line: the commands and their options."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from fuzztui.cli import cluster_options, corpus_options
from fuzztui.cli.arguments import Run
from fuzztui.cli.engine_options import add_comparisons, add_mutators, add_targets, add_types
from fuzztui.cli.help import DESCRIPTION, EXIT_CODES, described, examples
from fuzztui.cli.input_options import add_minimise, add_repro
from fuzztui.cli.mutant_options import add_mutants, add_mutate, add_score
from fuzztui.cli.output import at_terminal
from fuzztui.cli.output_options import add_ci, add_coverage, add_events, add_export, add_metrics
from fuzztui.cli.project_options import (
    HOSTS_WORDS,
    add_check,
    add_completion,
    add_config,
    add_doctor,
    add_init,
    add_samples,
    add_schema,
    add_themes,
)
from fuzztui.cli.report_options import add_compare, add_report
from fuzztui.cli.running_options import (
    add_attach,
    add_ctl,
    add_replay,
    add_run,
    add_run_project,
    add_runs,
    add_status,
    add_test,
    add_watch,
)
from fuzztui.cli.sharing_options import add_merge, add_sync
from fuzztui.kernel.base.suggest import meant, near

_OTHER_WORDS = {
    "findings": "status or repro",
    "crashes": "status or repro",
    "triage": "repro",
    "verdicts": "ctl RUN judge",
    "cmin": "corpus minimise",
}
"""Words that users of other tools try, with the commands for these."""

_WORD = re.compile(r"[A-Za-z]\w*(-\w+)*")


class _Parser(argparse.ArgumentParser):
    """Suggests the nearest name for a mistyped word or option."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            allowed = [str(choice) for choice in action.choices]
            message = f"{str(value)!r} is unknown{meant(near(str(value), allowed))}"
            raise argparse.ArgumentError(action, f"{message} (choose from {', '.join(allowed)})")

    def error(self, message: str) -> NoReturn:
        """Print the usage and the message, with a suggestion for a mistyped option, and exit."""
        words = message.rpartition(": ")[2].split() if "unrecognized" in message else []
        options = list(self._option_string_actions)
        found = (near(w.partition("=")[0], options) for w in words if w.startswith("--"))
        super().error(message + meant(next((names for names in found if names), [])))


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse the arguments; ``options.command`` is the function that carries out the command."""
    if argv and (name := _FORMER.get(argv[0], argv[0])) in _COMMANDS:
        rest, word = argv[1:], ""
        if rest and rest[0] in _WORDS.get(name, {}):
            word, *rest = rest
        parser = _command_parser(name, word)
        # Intermixed parsing rejects arguments that begin with a dash, even after "--".
        return parser.parse_args(rest) if "--" in rest else parser.parse_intermixed_args(rest)
    if not argv and _at_terminal():
        return argparse.Namespace(command=_home)
    parser = _file_parser()
    if argv and _WORD.fullmatch(argv[0]):
        _refuse_word(parser, argv[0], argv[1:])
    return parser.parse_args(argv or ["--help"])


def _file_parser() -> _Parser:
    """Return the parser of ``fuzztui FILE``."""
    parser = _Parser(
        prog="fuzztui",
        description=DESCRIPTION,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="fuzztui\n       fuzztui CAMPAIGN.toml [options]\n       fuzztui COMMAND ...",
    )
    parser.set_defaults(command=add_run(parser))
    return parser


def _command_parser(name: str, word: str = "") -> _Parser:
    """Return the parser of a command; ``word``: its second word, if that has its own options."""
    parser = _Parser(
        prog=f"fuzztui {name} {word}".rstrip(),
        description=described(name),
        epilog=examples(name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = _WORDS[name][word] if word else _COMMANDS[name]
    parser.set_defaults(command=add(parser))
    return parser


def parsers() -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield all parsers with the command and its second word; of ``fuzztui FILE`` both are ""."""
    yield "", "", _file_parser()
    for name in _COMMANDS:
        for word in _WORDS.get(name, {}) or [""]:
            yield name, word, _command_parser(name, word)


def _add_what(name: str, parser: argparse.ArgumentParser) -> Run:
    """Parse the command without one of its second words."""
    words = list(_WORDS[name])
    parser.add_argument("what", choices=words, help=f"fuzztui {name} WHAT --help explains it")
    parser.usage = f"fuzztui {name} WHAT ..."
    return lambda options: parser.error(f"{name} {options.what}: its arguments are missing")


def _add_help(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui help``; return the command."""
    parser.add_argument(
        "topic",
        metavar="COMMAND",
        nargs="?",
        choices=list(_COMMANDS),
        help="the command to explain",
    )
    parser.add_argument("word", metavar="WORD", nargs="?", help="its second word: corpus why")

    def show(options: argparse.Namespace) -> int:
        words = [word for word in (options.topic, options.word) if word]
        if options.word and options.word not in _WORDS.get(options.topic, {}):
            words = words[:1]
        parse([*words, "--help"])
        raise AssertionError("--help ends the process")

    return show


def _add_man(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui man``; return the command."""
    from fuzztui.cli import man

    return lambda options: man.print_page(parsers())


def _at_terminal() -> bool:
    return at_terminal() and sys.stdin is not None and sys.stdin.isatty()


def _home(options: argparse.Namespace) -> int:
    from fuzztui.cli import home

    return home.home(options, can_init="init" in _COMMANDS)


def _refuse_word(parser: argparse.ArgumentParser, word: str, rest: list[str]) -> None:
    """Exit with a suggestion if ``word`` is neither a command nor a file."""
    from fuzztui.cli.ctl import ACTIONS
    from fuzztui.cli.samples import campaign_files_like

    to_run = bool(rest) and not rest[0].startswith("-")
    if word in ACTIONS and (to_run or not Path(word).exists()):
        run, *more = rest if to_run else ["RUN"]
        command = shlex.join(["fuzztui", "ctl", run, word, *more])
        parser.error(f"{word} is a command for a run: use {command}")
    if Path(word).exists():
        return
    near_ones = near(word, [*_COMMANDS, *ACTIONS])
    commands = [f"ctl RUN {one}" if one in ACTIONS else one for one in near_ones]
    other = [_OTHER_WORDS[word]] if word in _OTHER_WORDS else []
    hint = meant(other or commands or campaign_files_like(word))
    hint = hint or f"; the commands are {', '.join(_COMMANDS)}"
    parser.error(f"{word} is neither a campaign file nor a command{hint}")


_COMMANDS: dict[str, Callable[[argparse.ArgumentParser], Run]] = {
    "init": add_init,
    "run": add_run_project,
    "runs": add_runs,
    "test": add_test,
    "attach": add_attach,
    "watch": add_watch,
    "status": add_status,
    "ctl": add_ctl,
    "mutants": add_mutants,
    "score": add_score,
    "ci": add_ci,
    "export": add_export,
    "coverage": add_coverage,
    "corpus": partial(_add_what, "corpus"),
    "cluster": partial(_add_what, "cluster"),
    "mutate": add_mutate,
    "mutators": add_mutators,
    "targets": add_targets,
    "types": add_types,
    "comparisons": add_comparisons,
    "events": add_events,
    "metrics": add_metrics,
    "sync": add_sync,
    "merge": add_merge,
    "replay": add_replay,
    "report": add_report,
    "compare": add_compare,
    "repro": add_repro,
    "minimise": add_minimise,
    "check": add_check,
    "doctor": add_doctor,
    "hosts": partial(_add_what, "hosts"),
    "samples": add_samples,
    "schema": add_schema,
    "themes": add_themes,
    "config": add_config,
    "completion": add_completion,
    "help": _add_help,
    "man": _add_man,
}


_WORDS = {
    "cluster": cluster_options.WORDS,
    "corpus": corpus_options.WORDS,
    "hosts": HOSTS_WORDS,
}
"""Commands whose second word has options of its own."""

_FORMER = {"operators": "mutators"}
"""Commands by their former names."""
