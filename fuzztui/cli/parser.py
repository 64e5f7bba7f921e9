"""The grammar of the command line."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from fuzztui import __version__
from fuzztui.base.suggest import meant, near
from fuzztui.campaign.units import parse_duration
from fuzztui.cli.help import DESCRIPTION, EXIT_CODES, described, examples

Run = Callable[[argparse.Namespace], int]
"""What carries a parsed command out; returns the exit code."""

_RUN_HELP = "a run directory, or a campaign file (the newest of its runs)"


_WORD = re.compile(r"[A-Za-z]\w*(-\w+)*")


class _Parser(argparse.ArgumentParser):
    """Tells of a mistyped word, or option, which one may have been meant."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            there = [str(choice) for choice in action.choices]
            words = f"there is no {str(value)!r}{meant(near(str(value), there))}"
            raise argparse.ArgumentError(action, f"{words} (one of {', '.join(there)})")

    def error(self, message: str) -> NoReturn:
        """End with the usage and the message."""
        words = message.rpartition(": ")[2].split() if "unrecognized" in message else []
        options = list(self._option_string_actions)
        found = (near(w.partition("=")[0], options) for w in words if w.startswith("--"))
        super().error(message + meant(next((names for names in found if names), [])))


def parse(argv: list[str]) -> argparse.Namespace:
    """The options of one command; ``options.command`` is the function to call."""
    if argv and argv[0] in _COMMANDS:
        name, rest = argv[0], argv[1:]
        parser = _Parser(
            prog=f"fuzztui {name}",
            description=described(name),
            epilog=examples(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command = _COMMANDS[name](parser)
        parser.set_defaults(command=command)
        # Mixed with options nothing may begin with a dash, even after two of them.
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
    """End with what was meant by a word that is no command, unless it is a file."""
    from fuzztui.cli.ctl import ACTIONS
    from fuzztui.cli.samples import campaign_files_like

    to_run = bool(rest) and not rest[0].startswith("-")
    if word in ACTIONS and (to_run or not Path(word).exists()):
        run, *more = rest if to_run else ["RUN"]
        words = shlex.join(["fuzztui", "ctl", run, word, *more])
        parser.error(f"{word} is a command to a run: {words}")
    if Path(word).exists():
        return
    near_ones = near(word, [*_COMMANDS, *ACTIONS])
    commands = [f"ctl RUN {one}" if one in ACTIONS else one for one in near_ones]
    words = meant(commands or campaign_files_like(word))
    words = words or f": {', '.join(_COMMANDS)}"
    parser.error(f"{word} is neither a campaign file nor a command{words}")


def _run(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import run

    parser.add_argument("file", metavar="CAMPAIGN.toml", type=Path, help="the campaign file")
    _set(parser)
    parser.add_argument(
        "--new", action="store_true", help="begin another run, in a separate directory"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--headless",
        action="store_true",
        help="no screen: a progress line; exits with 10 if the campaign has findings at its end",
    )
    how.add_argument("--detach", action="store_true", help="start it and leave at once")
    parser.add_argument("--json", action="store_true", help="with --headless: JSON lines")
    _theme(parser)
    parser.add_argument("--version", action="version", version=f"fuzztui {__version__}")
    return run.run


def _attach(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import look

    _optional_run(parser)
    _theme(parser)
    return look.attach


def _watch(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import watch

    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="+",
        type=Path,
        help="what was given to afl-fuzz -o, or one instance in it; only looked at",
    )
    parser.add_argument(
        "--keep", metavar="DIR", type=Path, help="keep the log there, for fuzztui replay"
    )
    _theme(parser)
    return watch.watch


def _status(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import look

    parser.add_argument(
        "run",
        metavar="RUN|DIR",
        type=Path,
        nargs="?",
        help="a run directory, a campaign file, or an AFL output directory; "
        "default: the only or latest run in ./runs",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return look.status


def _ctl(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import ctl

    parser.add_argument("run", metavar="RUN", type=Path, help=_RUN_HELP)
    parser.add_argument(
        "action", metavar="COMMAND", choices=list(ctl.ACTIONS), help=", ".join(ctl.ACTIONS)
    )
    parser.add_argument(
        "id",
        metavar="ID",
        nargs="?",
        default="",
        help="a queue entry: 12, id:000012 or INSTANCE/12; with add-seed a file or a directory; "
        "with minimise a finding: INSTANCE/crashes/NAME; or mutants: an id, or all that "
        "file=, function=, operator=, line=, state= select (a comma means and, * anything); "
        "with mixture parts: havoc=0.2 text=0.8; with weigh a type and 3, x2 or x0.5; with ban and "
        "unban a type; with pin, ignore and unignore a branch: package/module.py:12:then; or, with "
        "targeted, 70%%",
    )
    parser.add_argument(
        "more", metavar="PART", nargs="*", default=[], help="with mixture: more; with weigh: 3, x2"
    )
    parser.add_argument(
        "--to",
        choices=["first", "last", "up", "down"],
        help="where move-mutants moves to; up and down: one place, in a worklist",
    )
    parser.add_argument("--because", metavar="TEXT", help="why mark-equivalent is right")
    parser.add_argument(
        "--adaptive", action="store_true", help="let mixture go to what pays by itself"
    )
    parser.add_argument(
        "--fixed", action="store_true", help="hold each instance's mixture as it is now"
    )
    parser.add_argument("--instance", default="", help="only this instance")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        help="how long to wait for the answer (10s; queue entries 40s, minimise 15m)",
    )
    return ctl.ctl


def _mutants(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import mutants, mutants_rank

    parser.add_argument(
        "what",
        choices=["list", "show", "rank", "matrix"],
        help="all, or one with its diff; those of source files, the most different first; or "
        "which inputs of a run kill which of its mutants",
    )
    parser.add_argument(
        "path",
        metavar="FILE|RUN",
        type=Path,
        help="a campaign file or a run directory; with rank: a source file, and more after it",
    )
    parser.add_argument(
        "selections",
        metavar="SELECTION",
        nargs="*",
        default=[],
        help="an id, or such as operator=math,file=_parser.py; with list: several are all listed",
    )
    parser.add_argument("--json", action="store_true", help="a list of objects; show: one")
    parser.add_argument("--csv", action="store_true", help="matrix: a line for each kill")
    rank_ = parser.add_argument_group("with rank")
    rank_.add_argument("--limit", metavar="N", type=_count, help="only the first N")
    rank_.add_argument("--lines", default="", help="only mutants of these lines: 12,40-60")
    rank_.add_argument("--language", default="", help="default: what the file's name says")
    rank_.add_argument(
        "--order",
        choices=mutants_rank.ORDERS,
        default="fpf",
        help="furthest point first; exactly as universalmutator's prioritize_mutants; or random",
    )
    rank_.add_argument(
        "--check", action="store_true", help="rank only what compiles (C, C++ and Python)"
    )
    rank_.add_argument(
        "--check-with",
        metavar="COMMAND",
        default="",
        help="the same by a command that reads the source: 'gcc -fsyntax-only -Iinclude -x c -'",
    )
    rank_.add_argument("--seed", type=int, default=0, help="of the first one, or the random order")
    _set(parser)
    return mutants.mutants


def _score(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import score

    parser.add_argument("run", metavar="RUN", type=Path, help=f"{_RUN_HELP}, of a Python target")
    parser.add_argument(
        "--corpus",
        metavar="DIR",
        type=Path,
        action="append",
        default=[],
        help="inputs to score, again for more; default: the queues of the run",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=_count,
        default=_cpus(),
        help="processes at once (default: one for each CPU: %(default)s)",
    )
    parser.add_argument("--survivors", action="store_true", help="list what nothing killed")
    parser.add_argument(
        "--fail-under",
        metavar="N",
        type=_percent,
        help="exit with 11 if less than N percent of the mutants that can be made are killed",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    _set(parser)
    return score.score


def _mutate(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import mutate

    parser.add_argument(
        "files", metavar="FILE", nargs="*", type=Path, help="what to mutate: source files, seeds"
    )
    parser.add_argument(
        "--count", metavar="N", type=_count, default=10, help="in all, of the files in turn (10)"
    )
    parser.add_argument("--seed", type=int, default=0, help="the same one, the same mutants (0)")
    parser.add_argument(
        "--output", metavar="DIR", type=Path, help="write them there; default: show what changes"
    )
    parser.add_argument(
        "--operator",
        metavar="NAME",
        action="append",
        default=[],
        help="only this one, again for more; default: all",
    )
    parser.add_argument(
        "--stack", metavar="K", type=_count, default=1, help="so many operators on each (1)"
    )
    parser.add_argument("--list", action="store_true", help="the operators and what they do")
    return mutate.mutate


def _operators(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import operators

    _optional_run(parser)
    parser.add_argument("--json", action="store_true", help="a list of objects")
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        choices=operators.COLUMNS,
        default="pays",
        help=f"by this column, the most first: {', '.join(operators.COLUMNS)} (pays: finds per "
        "million applied; operators with fewer than 3 finds or 200 uses come last)",
    )
    return operators.operators


def _types(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import types

    _optional_run(parser)
    _all(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return types.types


def _all(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all",
        action="store_true",
        help="on a terminal, too, every line in full, whatever its length (as in a pipe)",
    )


def _targets(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import targets

    parser.add_argument(
        "path", metavar="CAMPAIGN", type=Path, help="a campaign file, or a run directory"
    )
    _all(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object, as in targets.json")
    parser.add_argument(
        "--observed",
        metavar="FILE",
        type=Path,
        help="types that parameters were seen to have, by function, as JSON (docs/targets.md)",
    )
    parser.add_argument(
        "--no-run",
        dest="run",
        action="store_false",
        help="do not run the target to see the types of parameters that have no annotation",
    )
    _set(parser)
    return targets.targets


def _replay(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import look

    parser.add_argument(
        "path",
        metavar="RUN|LOG",
        type=Path,
        help="a run directory, a campaign file (the newest of its runs), or a log",
    )
    parser.add_argument("--speed", type=_speed, default=1.0, help="times real time (1)")
    parser.add_argument(
        "--at", metavar="TIME", type=_moment, help="start there: 90s, 1h30m or 1:30:00"
    )
    parser.add_argument("--json", action="store_true", help="no screen: status at --at, or the end")
    _theme(parser)
    return look.replay


def _repro(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import findings

    parser.add_argument("run", metavar="RUN", type=Path, help=_RUN_HELP)
    parser.add_argument("file", metavar="FILE", help="a file, also INSTANCE/crashes/id:...")
    return findings.repro


def _minimise(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import findings

    parser.add_argument("run", metavar="RUN", type=Path, help=_RUN_HELP)
    parser.add_argument("file", metavar="FILE", help="a file, also INSTANCE/crashes/id:...")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=Path,
        help="where to write it; default: RUN/minimised/INSTANCE/NAME",
    )
    parser.add_argument(
        "--progress",
        action="store_true",
        help="a line on stderr for each step; the result is not run under the target",
    )
    parser.add_argument(
        "--until-eof",
        action="store_true",
        help="stop when stdin ends; the smallest input so far is kept, as after Ctrl-C",
    )
    return findings.minimise


def _check(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import check

    parser.add_argument("file", metavar="CAMPAIGN.toml", type=Path, help="the campaign file")
    parser.add_argument(
        "--no-run",
        dest="run",
        action="store_false",
        help="only read the file: do not import the target, in a separate process, to see "
        "whether an engine could start (Python targets; a program of AFL++ is never run)",
    )
    _set(parser)
    return check.check


def _samples(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import samples

    return samples.samples


def _themes(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.cli import look

    return look.themes


_COMMANDS: dict[str, Callable[[argparse.ArgumentParser], Run]] = {
    "attach": _attach,
    "watch": _watch,
    "status": _status,
    "ctl": _ctl,
    "mutants": _mutants,
    "score": _score,
    "mutate": _mutate,
    "operators": _operators,
    "targets": _targets,
    "types": _types,
    "replay": _replay,
    "repro": _repro,
    "minimise": _minimise,
    "check": _check,
    "samples": _samples,
    "themes": _themes,
}


def _set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        dest="overrides",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="override a key of the file: --set campaign.budget=15s",
    )


def _theme(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--theme", help="a colour theme (fuzztui themes lists them)")


def _optional_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        metavar="RUN",
        type=Path,
        nargs="?",
        help=f"{_RUN_HELP}; default: the only or latest one in ./runs",
    )


def _seconds(text: str) -> float:
    try:
        return parse_duration(float(text) if text.replace(".", "", 1).isdigit() else text)
    except ValueError as e:
        raise argparse.ArgumentTypeError(str(e)) from None


def _moment(text: str) -> float:
    """A point of campaign time, also as screens show it: ``0:20``, ``1:05:09``, ``2d 03:04:05``."""
    match = _CLOCK.fullmatch(text.strip())
    if not match:
        return _seconds(text)
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


_CLOCK = re.compile(r"(?:(\d{1,6})d\s*)?(?:(\d{1,6}):)?(\d{1,6}):([0-5]?\d(?:\.\d+)?)")


def _cpus() -> int:
    """How many this process may use: a container may have fewer than its host."""
    cpus = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(cpus, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # "max": no limit
        return cpus


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 1 or more")
    return number


def _percent(text: str) -> float:
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no percentage from 0 to 100, such as 80")
    return number


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0, such as 10 or 0.5")
    return speed
