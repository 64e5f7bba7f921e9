"""The options of ``fuzztui hosts``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fuzztui.cli.arguments import NEAREST, Run, add_host, add_set, command


def _check(parser: argparse.ArgumentParser) -> Run:
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


WORDS: dict[str, Callable[[argparse.ArgumentParser], Run]] = {"check": _check}
"""The second words of the command."""
