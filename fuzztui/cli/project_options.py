"""The options of commands about campaign files and the user's settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fuzztui.cli.arguments import NEAREST, CommandParser, Run, add_host, add_set, command
from fuzztui.kernel.base.versions import VERSIONS


def _init(parser: CommandParser) -> Run:
    what = "the directory of the project (default: the current one)"
    parser.path("path", "PATH", what, nargs="?", default=Path())
    parser.flag("--yes", "ask nothing: the best target, the default answers")
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "--function", metavar="MODULE:NAME", help="the function or test to fuzz; or FILE.py:NAME"
    )
    target.add_argument(
        "--command",
        dest="program",
        metavar="COMMAND",
        help="the AFL++ program to fuzz: './prog @@'; @@: the input file, without it: stdin",
    )
    python = "the project's interpreter; default: that of its virtual environment"
    parser.path("--python", "PYTHON", python)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the name of the campaign file, in PATH (default: campaign.toml)",
    )
    parser.flag("--force", "replace files that exist")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--print", action="store_true", help="print the campaign file; write nothing, ask nothing"
    )
    how.add_argument("--start", action="store_true", help="start the campaign without asking")
    return command("init.init")


def _check(parser: CommandParser) -> Run:
    parser.campaign(optional=True)
    parser.off(
        "--no-run",
        "only read the file; do not import a Python target in a separate process to check "
        "that an engine can start (AFL++ targets are never run)",
    )
    parser.flag("--build", "run target.build in a temporary directory")
    parser.flag("--notify", "run notify.command once, with a test message")
    add_set(parser)
    return command("check.check")


def _hosts_check(parser: CommandParser) -> Run:
    parser.path(
        "file",
        "CAMPAIGN.toml",
        "the campaign file, whose hosts are checked, and its target on each of them; default: "
        f"{NEAREST}; with --host: none",
        nargs="?",
    )
    add_host(parser)
    add_set(parser)
    parser.json()
    return command("hosts.check_all")


HOSTS_WORDS: dict[str, Callable[[CommandParser], Run]] = {"check": _hosts_check}
"""The second words of ``fuzztui hosts``."""


def _completion(parser: CommandParser) -> Run:
    from fuzztui.cli import completion

    parser.description = f"{parser.description}\n\n{completion.INSTALLING}"
    parser.add_argument("shell", choices=list(completion.SCRIPTS), help="the shell")
    return completion.completion


def _doctor(parser: CommandParser) -> Run:
    parser.json()
    return command("doctor.doctor")


def _schema(parser: CommandParser) -> Run:
    parser.add_argument(
        "--json",
        metavar="OUTPUT",
        choices=[*VERSIONS],
        help=f"the schema of what a command prints as JSON: {', '.join(VERSIONS)}",
    )
    return command("check.schema")


def _config(parser: CommandParser) -> Run:
    parser.flag("--keys", "list the ids of all actions with their keys")
    return command("config.config")


COMMANDS: dict[str, Callable[[CommandParser], Run]] = {
    "init": _init,
    "check": _check,
    "doctor": _doctor,
    "samples": lambda parser: command("samples.samples"),
    "schema": _schema,
    "themes": lambda parser: command("config.themes"),
    "config": _config,
    "completion": _completion,
}
