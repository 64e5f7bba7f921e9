"""The options of the commands for several machines: ``sync`` and ``merge``."""

from __future__ import annotations

from fuzztui.cli.arguments import CommandParser, Run, add_jobs, add_set, command
from fuzztui.cli.corpus_options import add_by


def add_sync(parser: CommandParser) -> Run:
    """Add the options of ``fuzztui sync``; return the command."""
    parser.run()
    parser.path(
        "directory",
        "DIR",
        "the directory that the runs share: a mount, an rsync target, a CI cache",
    )
    parser.text(
        "--name",
        "NAME",
        "of this run in DIR, in NAME_main (default: the host's name and a hash of the run)",
    )
    parser.time(
        "--every",
        "again and again, after this time each; a signal pushes for the last time and ends it",
    )
    parser.flag(
        "--prune", "drop from NAME_main the entries that cover nothing that the others there do not"
    )
    add_by(parser, "what --prune keeps")
    parser.json("one JSON object for each pass")
    add_jobs(parser, " of --prune")
    add_set(parser)
    return command("sync.sync")


def add_merge(parser: CommandParser) -> Run:
    """Add the options of ``fuzztui merge``; return the command."""
    parser.path(
        "sources",
        "RUN|FILE",
        "runs of one campaign: shards, repetitions, other machines'; or files that score "
        "--json, or score --matrix -o FILE.json, has written",
        nargs="+",
    )
    parser.output(
        "OUT",
        "runs: the merged run, a new directory or an earlier merge, which is replaced; files: "
        "the merged file (default: stdout)",
    )
    return command("merge.merge")
