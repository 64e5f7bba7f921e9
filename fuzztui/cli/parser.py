"""Parse the command line: the commands and their options."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from fuzztui import __version__
from fuzztui.base.suggest import meant, near
from fuzztui.campaign.units import parse_duration
from fuzztui.cli import corpus_parser
from fuzztui.cli.arguments import RUN_HELP, add_jobs, add_set, count
from fuzztui.cli.help import DESCRIPTION, EXIT_CODES, described, examples
from fuzztui.cli.report_options import add_compare, add_report
from fuzztui.cli.since import add_changes

Run = Callable[[argparse.Namespace], int]
"""A function that carries out a parsed command; returns the exit code."""

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
    if argv and argv[0] in _COMMANDS:
        name, rest = argv[0], argv[1:]
        prog, add = f"fuzztui {name}", _COMMANDS[name]
        if rest and rest[0] in (words := _WORDS.get(name, {})):
            prog, add, rest = f"{prog} {rest[0]}", words[rest[0]], rest[1:]
        parser = _Parser(
            prog=prog,
            description=described(name),
            epilog=examples(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.set_defaults(command=add(parser))
        # Intermixed parsing rejects arguments that begin with a dash, even after "--".
        return parser.parse_args(rest) if "--" in rest else parser.parse_intermixed_args(rest)
    parser = _Parser(
        prog="fuzztui",
        description=DESCRIPTION,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="fuzztui CAMPAIGN.toml [options]\n       fuzztui COMMAND ...",
    )
    parser.set_defaults(command=_run(parser))
    if argv and _WORD.fullmatch(argv[0]):
        _refuse_word(parser, argv[0], argv[1:])
    return parser.parse_args(argv or ["--help"])


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
    hint = meant(commands or campaign_files_like(word))
    hint = hint or f"; the commands are {', '.join(_COMMANDS)}"
    parser.error(f"{word} is neither a campaign file nor a command{hint}")


def _run(parser: argparse.ArgumentParser) -> Run:
    _campaign(parser)
    return _how_to_run(parser)


def _how_to_run(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import run

    add_set(parser)
    parser.add_argument(
        "--new", action="store_true", help="start another run, in a separate directory"
    )
    add_changes(parser, "mutants of mutants.sources on lines")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--headless",
        action="store_true",
        help="no screen: print progress; exit code 10 if the campaign ends with "
        "findings that are new or regressions",
    )
    how.add_argument("--detach", action="store_true", help="start the campaign and return at once")
    parser.add_argument("--json", action="store_true", help="with --headless: print JSON lines")
    _theme(parser)
    parser.add_argument("--version", action="version", version=f"fuzztui {__version__}")
    return run.run


def _run_project(parser: argparse.ArgumentParser) -> Run:
    _campaign(parser, optional=True)
    return _how_to_run(parser)


def _campaign(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    project = "; default: the nearest pyproject.toml, with [tool.fuzztui]" if optional else ""
    parser.add_argument(
        "file",
        metavar="CAMPAIGN.toml",
        type=Path,
        nargs="?" if optional else None,
        help=f"the campaign file{project}",
    )


def _attach(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import attach

    _optional_run(parser)
    _theme(parser)
    return attach.attach


def _watch(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import watch

    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="+",
        type=Path,
        help="the directory of afl-fuzz -o, or one instance in it; only read, never changed",
    )
    parser.add_argument(
        "--keep", metavar="DIR", type=Path, help="keep the log in DIR, for fuzztui replay"
    )
    _theme(parser)
    return watch.watch


def _status(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import status

    parser.add_argument(
        "run",
        metavar="RUN|DIR",
        type=Path,
        nargs="?",
        help="a run directory, a campaign file, or an AFL output directory; "
        "default: the only or latest run in ./runs",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return status.status


def _ctl(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import ctl

    parser.add_argument("run", metavar="RUN", type=Path, help=RUN_HELP)
    parser.add_argument(
        "action", metavar="COMMAND", choices=list(ctl.ACTIONS), help=", ".join(ctl.ACTIONS)
    )
    parser.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        default="",
        help="a queue entry: 12, id:000012 or INSTANCE/12; add-seed: a file or a directory; "
        "minimise, judge: a finding, INSTANCE/crashes/NAME; judge: or a signature; skip-frames, "
        "count-frames: rules, FUNCTION or FILE in FUNCTION, with * and ?; mutants: an "
        "ID, or a selection by file=, function=, operator=, line=, state= (a comma means and, * "
        "matches anything); "
        "mixture: probabilities, havoc=0.2 text=0.8; weigh: a type and 3, x2 or x0.5; ban and "
        "unban: a type; pin, ignore and unignore: a branch, package/module.py:12:then; "
        "targeted: a share, 70%%; undo: nothing (your last command), or a command, c17",
    )
    parser.add_argument(
        "more",
        metavar="PART",
        nargs="*",
        default=[],
        help="mixture: more probabilities; weigh: 3, x2; judge: new, known, fixed, wont-fix; "
        "skip-frames, count-frames: more rules",
    )
    parser.add_argument(
        "--to",
        choices=["first", "last", "up", "down"],
        help="with move-mutants: the new position (default: first); up, down: by one",
    )
    parser.add_argument(
        "--because",
        metavar="TEXT",
        help="with mark-equivalent: why the mutant is equivalent; with accept-mutants: why it may "
        "survive",
    )
    parser.add_argument(
        "--note", metavar="TEXT", help="with judge: the reason, or the number of an issue"
    )
    parser.add_argument(
        "--adaptive",
        action="store_true",
        help="with mixture: mutators that find more become more probable",
    )
    parser.add_argument(
        "--fixed", action="store_true", help="with mixture: keep each instance's mixture as it is"
    )
    parser.add_argument("--instance", default="", help="send the command to this instance only")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        help="time to wait for the answer (default: 10s; queue entries 40s, minimise 15m)",
    )
    return ctl.ctl


def _mutants(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import mutants, mutants_rank

    parser.add_argument(
        "what",
        choices=["list", "show", "rank", "matrix", "export"],
        help="list: all mutants; show: one mutant with its diff; rank: those of source files, the "
        "most different first; matrix: which inputs of a run kill which mutants; export: a report "
        "in the format of Stryker's viewers (mutation-testing-elements)",
    )
    parser.add_argument(
        "path",
        metavar="FILE|RUN",
        type=Path,
        help="a campaign file or a run directory; with rank: one or more source files",
    )
    parser.add_argument(
        "selections",
        metavar="SELECTION",
        nargs="*",
        default=[],
        help="an ID, or a selection such as operator=math,file=_parser.py; list takes several",
    )
    parser.add_argument("--json", action="store_true", help="print a list of objects; show: one")
    parser.add_argument("--csv", action="store_true", help="with matrix: print a line per kill")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="with export: the file (default: stdout)"
    )
    parser.add_argument(
        "--survivors",
        action="store_true",
        help="with list: only mutants that are not killed, in groups: those that ran come first",
    )
    add_changes(parser, "mutants of functions (with rank: of lines)")
    rank_ = parser.add_argument_group("with rank")
    rank_.add_argument("--limit", metavar="N", type=count, help="only the first N mutants")
    rank_.add_argument("--lines", default="", help="only mutants of these lines: 12,40-60")
    rank_.add_argument("--language", default="", help="default: by the suffix of the file name")
    rank_.add_argument(
        "--order",
        choices=mutants_rank.ORDERS,
        default="fpf",
        help="fpf: furthest point first (default); universalmutator: as its prioritize_mutants",
    )
    rank_.add_argument(
        "--check", action="store_true", help="rank only mutants that compile (C, C++ and Python)"
    )
    rank_.add_argument(
        "--check-with",
        metavar="COMMAND",
        default="",
        help="--check with a command that reads the source from stdin: "
        "'gcc -fsyntax-only -Iinclude -x c -'",
    )
    rank_.add_argument(
        "--seed", type=int, default=0, help="random seed for the first mutant or the random order"
    )
    add_set(parser)
    return mutants.mutants


def _score(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import score

    parser.add_argument("run", metavar="RUN", type=Path, help=f"{RUN_HELP}, of a Python target")
    _corpus_folders(parser, "inputs to score")
    add_jobs(parser)
    parser.add_argument(
        "--budget",
        metavar="TIME",
        type=_seconds,
        default=0.0,
        help="end after this time, such as 5m: the score is then a lower bound (0: no limit)",
    )
    parser.add_argument("--survivors", action="store_true", help="list the mutants not killed")
    parser.add_argument(
        "--matrix",
        action="store_true",
        help="find all inputs that kill a mutant, not only the first; kept in RUN/matrix.json, so "
        "that later only new inputs are run",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="with --matrix: write the matrix to FILE, as JSON, or as CSV if its name ends in .csv",
    )
    _gates(parser)
    parser.add_argument(
        "--fail-new",
        metavar="BASELINE",
        type=Path,
        help="exit with 11 if a mutant survives that does not survive in BASELINE, a file that "
        "score --json has printed",
    )
    add_changes(parser, "mutants of functions")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_set(parser)
    return score.score


def _ci(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import ci

    _campaign(parser, optional=True)
    add_changes(parser, "mutants of functions")
    parser.add_argument(
        "--all",
        action="store_true",
        help="mutate all code, also in a pull request, whose target branch is else the default of "
        "--since",
    )
    parser.add_argument(
        "--budget",
        metavar="TIME",
        type=_seconds,
        default=300.0,
        help="time for fuzzing after the replay (default: 5m; 0: none)",
    )
    parser.add_argument(
        "--corpus",
        metavar="DIR",
        type=Path,
        help="the kept corpus, which a cache can carry (default: corpus in the output directory)",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        default=Path("fuzztui-ci"),
        help="directory of the reports and of the run (default: %(default)s)",
    )
    parser.add_argument(
        "--baseline",
        metavar="FILE",
        type=Path,
        help="exit with 11 if a mutant survives that does not survive in FILE: score.json of an "
        "earlier run of ci on all code, or what score --json has printed",
    )
    _gates(parser)
    add_jobs(parser, " of the score")
    add_set(parser)
    return ci.ci


def _gates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fail-under",
        metavar="N",
        type=_percent,
        help="exit with 11 if less than N percent of the valid mutants are killed",
    )
    parser.add_argument(
        "--max-invalid",
        metavar="N",
        type=_percent,
        default=10.0,
        help="with a gate: exit with 1 if more than N percent of the mutants could not be run "
        "(default: %(default)g)",
    )


def _export(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import export

    parser.add_argument("run", metavar="RUN", type=Path, help=f"{RUN_HELP}, of a Python target")
    parser.add_argument(
        "--pytest",
        metavar="FILE",
        type=Path,
        required=True,
        help="the test file, such as tests/test_fuzz_parser.py; long values go into a directory "
        "beside it",
    )
    parser.add_argument(
        "--tests",
        metavar="N",
        type=count,
        default=0,
        help="only the N best tests (default: as many as kill and cover everything)",
    )
    _corpus_folders(parser, "choose from these inputs")
    parser.add_argument(
        "--no-messages",
        dest="messages",
        action="store_false",
        help="do not assert the texts of exceptions, only their classes",
    )
    parser.add_argument(
        "--no-findings",
        dest="findings",
        action="store_false",
        help="no tests for findings (they are marked as expected failures)",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace a file that fuzztui has not made"
    )
    add_jobs(parser)
    parser.add_argument(
        "--budget",
        metavar="TIME",
        type=_seconds,
        default=0.0,
        help="search for kills no longer than this, such as 5m (0: no limit)",
    )
    add_set(parser)
    return export.export


def _coverage(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import coverage
    from fuzztui.export.coverage import FORMATS

    parser.add_argument("run", metavar="RUN", type=Path, help=f"{RUN_HELP}, of a Python target")
    parser.add_argument(
        "--format", choices=FORMATS, help="default: a table of files with their missing lines"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="write to FILE instead of stdout"
    )
    parser.add_argument(
        "--entry",
        metavar="ID",
        help="only this input: 12, id:000012, INSTANCE/12, or a file",
    )
    parser.add_argument(
        "--over-time",
        action="store_true",
        help="how many lines were covered when, in the table or in JSON",
    )
    parser.add_argument(
        "--root",
        metavar="DIR",
        type=Path,
        help="names of files are relative to DIR, which must be the repository for services that "
        "show coverage (default: the current directory)",
    )
    add_set(parser)
    return coverage.coverage


def _mutate(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import mutate

    parser.add_argument(
        "files", metavar="FILE", nargs="*", type=Path, help="files to mutate: programs, seeds"
    )
    parser.add_argument(
        "--count",
        metavar="N",
        type=count,
        default=10,
        help="number of mutated files, taking the given files in turn (10)",
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    parser.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="write the mutated files to DIR; default: show the changes",
    )
    parser.add_argument(
        "--operator",
        metavar="NAME",
        action="append",
        default=[],
        help="only this text mutator (may be repeated); default: all",
    )
    parser.add_argument(
        "--stack", metavar="K", type=count, default=1, help="text mutators per mutated file (1)"
    )
    parser.add_argument("--list", action="store_true", help="list the text mutators with effects")
    return mutate.mutate


def _operators(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import operators

    _optional_run(parser)
    parser.add_argument("--json", action="store_true", help="print a list of objects")
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        choices=operators.COLUMNS,
        default="pays",
        help=f"sort by this column, largest first: {', '.join(operators.COLUMNS)} (pays: saved "
        "inputs per million uses; mutators with fewer than 3 saved inputs or 200 uses come last)",
    )
    return operators.operators


def _types(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import types

    _optional_run(parser)
    _all(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return types.types


def _events(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import events

    parser.add_argument(
        "run",
        metavar="RUN|LOG",
        type=Path,
        nargs="?",
        help=f"{RUN_HELP}, or a log; default: the only or latest run in ./runs",
    )
    parser.add_argument(
        "--follow", action="store_true", help="print also new events, until the campaign ends"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    parser.add_argument(
        "--kind",
        dest="kinds",
        metavar="KIND",
        action="append",
        default=[],
        help="only events of this kind, such as finding_described (may be repeated)",
    )
    parser.add_argument(
        "--after",
        metavar="N",
        type=int,
        default=0,
        help="only events after number N (s in JSON): to continue where a script was",
    )
    return events.events


def _metrics(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import metrics

    parser.add_argument(
        "runs",
        metavar="RUN|DIR",
        type=Path,
        nargs="*",
        help="run directories, campaign files or AFL output directories; "
        "default: the only or latest run in ./runs",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="replace FILE at once, for node_exporter"
    )
    parser.add_argument(
        "--every",
        metavar="TIME",
        type=_seconds,
        help="with --output: write again after this time, until the campaigns have ended",
    )
    parser.add_argument(
        "--listen", metavar="[127.0.0.1:]PORT", help="serve http://127.0.0.1:PORT/metrics"
    )
    return metrics.metrics


def _comparisons(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import comparisons

    _optional_run(parser)
    _all(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return comparisons.comparisons


def _all(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all",
        action="store_true",
        help="print every line in full on a terminal too, as in a pipe",
    )


def _targets(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import targets

    parser.add_argument(
        "path", metavar="CAMPAIGN", type=Path, help="a campaign file, or a run directory"
    )
    _all(parser)
    add_changes(parser, "goals of functions")
    parser.add_argument("--json", action="store_true", help="print one object, as in targets.json")
    parser.add_argument(
        "--observed",
        metavar="FILE",
        type=Path,
        help="JSON file with observed parameter types by function (docs/targets.md)",
    )
    parser.add_argument(
        "--no-run",
        dest="run",
        action="store_false",
        help="do not run the target to observe the types of parameters without annotations",
    )
    add_set(parser)
    return targets.targets


def _replay(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import replay

    parser.add_argument(
        "path",
        metavar="RUN|LOG",
        type=Path,
        help="a run directory, a campaign file (the newest of its runs), or a log",
    )
    parser.add_argument("--speed", type=_speed, default=1.0, help="multiple of real time (1)")
    parser.add_argument(
        "--at", metavar="TIME", type=_moment, help="campaign time to start at: 90s or 1:30:00"
    )
    parser.add_argument("--json", action="store_true", help="print the status at --at, or the end")
    _theme(parser)
    return replay.replay


def _repro(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import repro

    parser.add_argument("run", metavar="RUN", type=Path, help=RUN_HELP)
    parser.add_argument(
        "file", metavar="FILE", help="an input, or INSTANCE/crashes/id:... in the run"
    )
    return repro.repro


def _minimise(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import minimise

    parser.add_argument("run", metavar="RUN", type=Path, help=RUN_HELP)
    parser.add_argument(
        "file", metavar="FILE", help="an input, or INSTANCE/crashes/id:... in the run"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=Path,
        help="the output file; default: RUN/minimised/INSTANCE/NAME",
    )
    parser.add_argument(
        "--time",
        type=_seconds,
        metavar="SECONDS",
        help="stop after this time, 30 or 5m, with the smallest input found (default: 10m, "
        "programs 15m; 0: no limit)",
    )
    parser.add_argument(
        "--progress",
        action="store_true",
        help="print a line on stderr for each step; do not reproduce the result afterwards",
    )
    parser.add_argument(
        "--until-eof",
        action="store_true",
        help="stop at the end of stdin, as with Ctrl-C; the smallest input found is kept",
    )
    return minimise.minimise


def _check(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import check

    _campaign(parser, optional=True)
    parser.add_argument(
        "--no-run",
        dest="run",
        action="store_false",
        help="only read the file; do not import a Python target in a separate process to check "
        "that an engine can start (AFL++ targets are never run)",
    )
    parser.add_argument(
        "--build", action="store_true", help="run target.build in a temporary directory"
    )
    parser.add_argument(
        "--notify", action="store_true", help="run notify.command once, with a test message"
    )
    add_set(parser)
    return check.check


def _samples(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import samples

    return samples.samples


def _schema(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import schema

    return schema.schema


def _themes(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import themes

    return themes.themes


def _config(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import config

    parser.add_argument(
        "--keys", action="store_true", help="list the ids of all actions with their keys"
    )
    return config.config


_COMMANDS: dict[str, Callable[[argparse.ArgumentParser], Run]] = {
    "run": _run_project,
    "attach": _attach,
    "watch": _watch,
    "status": _status,
    "ctl": _ctl,
    "mutants": _mutants,
    "score": _score,
    "ci": _ci,
    "export": _export,
    "coverage": _coverage,
    "corpus": corpus_parser.corpus,
    "mutate": _mutate,
    "operators": _operators,
    "targets": _targets,
    "types": _types,
    "comparisons": _comparisons,
    "events": _events,
    "metrics": _metrics,
    "replay": _replay,
    "report": add_report,
    "compare": lambda parser: add_compare(parser, _moment),
    "repro": _repro,
    "minimise": _minimise,
    "check": _check,
    "samples": _samples,
    "schema": _schema,
    "themes": _themes,
    "config": _config,
}


_WORDS = {"corpus": corpus_parser.WORDS}
"""Commands whose second word has options of its own."""


def _corpus_folders(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--corpus",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help=f"{what} (may be repeated); default: the queues of the run",
    )


def _theme(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--theme", help="a colour theme (fuzztui themes lists them)")


def _optional_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        metavar="RUN",
        type=Path,
        nargs="?",
        help=f"{RUN_HELP}; default: the only or latest one in ./runs",
    )


def _seconds(text: str) -> float:
    try:
        return parse_duration(float(text) if text.replace(".", "", 1).isdigit() else text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def _moment(text: str) -> float:
    """Parse a campaign time, also as screens show it: ``0:20``, ``1:05:09``, ``2d 03:04:05``."""
    match = _CLOCK.fullmatch(text.strip())
    if not match:
        return _seconds(text)
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


_CLOCK = re.compile(r"(?:(\d{1,6})d\s*)?(?:(\d{1,6}):)?(\d{1,6}):([0-5]?\d(?:\.\d+)?)")


def _percent(text: str) -> float:
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage from 0 to 100, such as 80")
    return number


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0, such as 10 or 0.5")
    return speed
