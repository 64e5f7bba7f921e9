"""The options that say where jobs run, and those of ``fuzztui cluster``."""

from __future__ import annotations

from collections.abc import Callable

from fuzztui.cli.arguments import CommandParser, Run, command


def add_cluster(parser: CommandParser, what: str) -> None:
    """Add ``--cluster``; ``what``: what becomes jobs."""
    parser.text(
        "--cluster",
        "WHERE",
        f"run {what} as jobs: a scheduler's address (tls://HOST:PORT), a TOML file with "
        "[cluster], or local; default: [cluster] of the campaign file; none: in this process",
        default="",
    )
    parser.path(
        "--cluster-tls",
        "DIR",
        "with --cluster tls://...: the certificates that 'fuzztui cluster init' has made",
    )


def add_init(parser: CommandParser) -> Run:
    """Add the options of ``fuzztui cluster init``; return the command."""
    parser.path("directory", "DIR", "it is created")
    return command("cluster.init")


def add_cluster_check(parser: CommandParser) -> Run:
    """Add the options of ``fuzztui cluster check``; return the command."""
    parser.path("file", "CAMPAIGN.toml", "its [cluster] is checked", nargs="?")
    add_cluster(parser, "nothing yet: check what would run")
    parser.json()
    return command("cluster.check")


def add_scheduler(parser: CommandParser) -> Run:
    """Add the options of ``fuzztui cluster scheduler``; return the command."""
    parser.text("address", "IP[:PORT]", "the address to listen on (port: 8786)")
    _add_tls(parser)
    return command("cluster.scheduler")


def add_worker(parser: CommandParser) -> Run:
    """Add the options of ``fuzztui cluster worker``; return the command."""
    parser.text("address", "ADDRESS", "the scheduler's: tls://HOST:PORT")
    _add_tls(parser)
    parser.number("--slots", "jobs at a time (one for each CPU)", 0)
    return command("cluster.worker")


def _add_tls(parser: CommandParser) -> None:
    parser.path(
        "--tls", "DIR", "the certificates that 'fuzztui cluster init' has made; needed off loopback"
    )


WORDS: dict[str, Callable[[CommandParser], Run]] = {
    "init": add_init,
    "check": add_cluster_check,
    "scheduler": add_scheduler,
    "worker": add_worker,
}
"""The second words of the command."""
