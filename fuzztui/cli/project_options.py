"""The options of commands about campaign files and the user's settings."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fuzztui.cli.arguments import NEAREST, Run, add_campaign, add_host, add_set, command


def add_init(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui init``; return the command."""
    parser.add_argument(
        "path",
        metavar="PATH",
        type=Path,
        nargs="?",
        default=Path(),
        help="the directory of the project (default: the current one)",
    )
    parser.add_argument(
        "--yes", action="store_true", help="ask nothing: the best target, the default answers"
    )
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
    parser.add_argument(
        "--python",
        metavar="PYTHON",
        type=Path,
        help="the project's interpreter; default: that of its virtual environment",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the name of the campaign file, in PATH (default: campaign.toml)",
    )
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--print", action="store_true", help="print the campaign file; write nothing, ask nothing"
    )
    how.add_argument("--start", action="store_true", help="start the campaign without asking")
    return command("init.init")


def add_check(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui check``; return the command."""
    add_campaign(parser, optional=True)
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
    return command("check.check")


def _add_hosts_check(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui hosts check``; return the command."""
    parser.add_argument(
        "file",
        metavar="CAMPAIGN.toml",
        type=Path,
        nargs="?",
        help="the campaign file, whose hosts are checked, and its target on each of them; default: "
        f"{NEAREST}; with --host: none",
    )
    add_host(parser)
    add_set(parser)
    parser.add_argument("--json", action="store_true", help="print a list of objects, one a host")
    return command("hosts.check_all")


HOSTS_WORDS: dict[str, Callable[[argparse.ArgumentParser], Run]] = {"check": _add_hosts_check}
"""The second words of ``fuzztui hosts``."""


def add_completion(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui completion``; return the command."""
    from fuzztui.cli import completion

    parser.description = f"{parser.description}\n\n{completion.INSTALLING}"
    parser.add_argument("shell", choices=list(completion.SCRIPTS), help="the shell")
    return completion.completion


def add_doctor(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui doctor``; return the command."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return command("doctor.doctor")


def add_samples(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui samples``; return the command."""
    return command("samples.samples")


def add_schema(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui schema``; return the command."""
    return command("schema.schema")


def add_themes(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui themes``; return the command."""
    return command("themes.themes")


def add_config(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui config``; return the command."""
    parser.add_argument(
        "--keys", action="store_true", help="list the ids of all actions with their keys"
    )
    return command("config.config")
