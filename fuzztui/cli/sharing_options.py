"""The options of the commands for several machines: ``sync`` and ``merge``."""

from __future__ import annotations

import argparse
from pathlib import Path

from fuzztui.cli.arguments import RUN_HELP, Run, add_jobs, add_set, command, seconds


def add_sync(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui sync``; return the command."""
    from fuzztui.cli.corpus_running import BY

    parser.add_argument("run", metavar="RUN", type=Path, help=RUN_HELP)
    parser.add_argument(
        "directory",
        metavar="DIR",
        type=Path,
        help="the directory that the runs share: a mount, an rsync target, a CI cache",
    )
    parser.add_argument(
        "--name",
        metavar="NAME",
        help="of this run in DIR, in NAME_main (default: the host's name and a hash of the run)",
    )
    parser.add_argument(
        "--every",
        metavar="TIME",
        type=seconds,
        help="again and again, after this time each; a signal pushes for the last time and ends it",
    )
    parser.add_argument(
        "--prune",
        action="store_true",
        help="drop from NAME_main the entries that cover nothing that the others there do not",
    )
    parser.add_argument(
        "--by",
        choices=BY,
        help="what --prune keeps: edges, kills of mutants, or both (Python targets; both is the "
        "default for mu2, edges for other engines)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for each pass")
    add_jobs(parser, " of --prune")
    add_set(parser)
    return command("sync.sync")


def add_merge(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui merge``; return the command."""
    parser.add_argument(
        "sources",
        metavar="RUN|FILE",
        nargs="+",
        type=Path,
        help="runs of one campaign: shards, repetitions, other machines'; or files that score "
        "--json, or score --matrix -o FILE.json, has written",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=Path,
        help="runs: the merged run, a new directory or an earlier merge, which is replaced; files: "
        "the merged file (default: stdout)",
    )
    return command("merge.merge")
