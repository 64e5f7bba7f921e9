"""The options that say where jobs run, and those of ``fuzztui cluster``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fuzztui.cli.arguments import Run, command, count


def add_cluster(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--cluster``; ``what``: what becomes jobs."""
    parser.add_argument(
        "--cluster",
        metavar="WHERE",
        default="",
        help=f"run {what} as jobs: a scheduler's address (tls://HOST:PORT), a TOML file with "
        "[cluster], or local; default: [cluster] of the campaign file; none: in this process",
    )
    parser.add_argument(
        "--cluster-tls",
        metavar="DIR",
        type=Path,
        help="with --cluster tls://...: the certificates that 'fuzztui cluster init' has made",
    )


def add_init(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui cluster init``; return the command."""
    parser.add_argument("directory", metavar="DIR", type=Path, help="it is created")
    return command("cluster.init")


def add_cluster_check(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui cluster check``; return the command."""
    parser.add_argument(
        "file", metavar="CAMPAIGN.toml", type=Path, nargs="?", help="its [cluster] is checked"
    )
    add_cluster(parser, "nothing yet: check what would run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return command("cluster.check")


def add_scheduler(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui cluster scheduler``; return the command."""
    parser.add_argument(
        "address", metavar="IP[:PORT]", help="the address to listen on (port: 8786)"
    )
    _add_tls(parser)
    return command("cluster.scheduler")


def add_worker(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui cluster worker``; return the command."""
    parser.add_argument("address", metavar="ADDRESS", help="the scheduler's: tls://HOST:PORT")
    _add_tls(parser)
    parser.add_argument(
        "--slots", metavar="N", type=count, default=0, help="jobs at a time (one for each CPU)"
    )
    return command("cluster.worker")


def _add_tls(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tls",
        metavar="DIR",
        type=Path,
        help="the certificates that 'fuzztui cluster init' has made; needed off loopback",
    )


WORDS: dict[str, Callable[[argparse.ArgumentParser], Run]] = {
    "init": add_init,
    "check": add_cluster_check,
    "scheduler": add_scheduler,
    "worker": add_worker,
}
"""The second words of the command."""
