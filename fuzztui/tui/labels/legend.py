"""What the columns of tables mean, for the help; features add those of their screens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fuzztui.kernel.model.figures import FIGURES


class Legend(NamedTuple):
    """The meanings of columns and words that a feature adds to the help."""

    columns: Mapping[str, Mapping[str, str]]
    """The meaning of each column: by screen or table, then by id of the column."""
    above: Mapping[str, Mapping[str, str]] = {}
    """The meaning of each word above a screen's table: by screen, then by word."""


LEGEND: Mapping[str, Mapping[str, str]] = {
    "home": {
        "state": "The campaign's; interrupted: its supervisor ended before the campaign, which can "
        "be resumed; unreadable: the log cannot be read",
        "run": "The run's directory", "engine": "The engine kind",
        "age": "Time since the campaign was started",
        "execs": "Executions of the target",
        "rate": "Executions per second: now, or on average over an ended campaign",
        "score": "Mutation score: killed mutants of all; empty without mutants",
        "edges": "Edges of the target that were covered",
        "groups": "Groups of findings; +N: since your last look at the Findings screen",
        "course": "Edges (or kills, or entries) over campaign time",
    },
    "overview": {
        "id": "Name of the engine process and of its directory in out/",
        "state": "running, paused, stalled (no execution for long), restarting, finished, failed",
        "host": "The host on which it runs, and for how long the connection is lost; then all "
        "numbers of the instance are from before",
        "binary": "Which binary of the target it runs (target.binaries); empty: the plain one",
        "mutant": "The mutant that the instance fuzzes; empty: the target itself",
        "age": "Age of the instance's last statistics",
        "ran": "How long the instance has run",
        **{figure.name: figure.means for figure in FIGURES if figure.means},
        "rate": "Executions per second now; after the end on average",
        "libraries": "Lines of libraries outside the application that were executed",
        "crash": "Groups of crashes that it has met",
        "crashes": "Groups of crashes that it has met",
        "hangs": "Groups of hangs that it has met",
        "differs": "Groups of differences between two implementations that it has met",
        "other": "Groups of kinds that this version does not know",
        "found": "When the last entry was found",
        "restarts": "Restarts after the engine has died",
        "cpu": "Use of processor cores: 100% is one core",
        "rss": "Resident memory of the instance's processes",
        "rate_trend": "Executions per second from the start of the campaign, from 0 to its highest",
        "edges_trend": "Covered cells from the start of the campaign, from 0 to the present",
        "yield": "New edges for each hour of CPU time lately; over the campaign if unknown lately",
    },
    # The table of hosts on the Overview:
    "hosts": {
        "host": "Name of the host; names of its instances begin with it",
        "link": "The ssh connection: connected, lost (the run there continues, its numbers are "
        "old), preparing (fuzztui and the campaign are sent), failed (given up), ended",
        "campaign": "State of the campaign over there",
        "age": "Age of the oldest statistics of its instances",
        "instances": "Instances that run, of all on the host",
        "execs": "Executions of the target on the host",
        "rate": "Executions per second now; none while the connection is lost",
        "corpus": "Entries of the queues of its instances",
        "edges": "The most cells of the coverage map that one of its instances covers",
        "crashes": "Groups of crashes of which the host has a file",
        "hangs": "Groups of hangs of which the host has a file",
        "differs": "Groups of differences of which the host has a file",
        "other": "Groups of kinds that this version does not know",
        "cpu": "Processor cores in use, of those that the campaign may use on the host",
        "clock": "By how much the host's clock is ahead or behind, from 2 s on",
        "rss": "Resident memory of the processes of its instances",
        "found": "When the last entry was found there",
        "where": "What ssh connects to, and the run directory there, to attach by hand",
    },
    "log": {
        "seq": "Number of the record", "t": "Campaign time; with w the time of day",
        "kind": "Kind of event",
        "instance": "The instance that it is about", "text": "What happened",
    },
}  # fmt: skip
"""The meaning of each column: by screen or table, then by id of the column."""

ABOVE: Mapping[str, Mapping[str, str]] = {
    "overview": {
        "gains": "New edges and killed mutants by campaign time, from the start until now: the "
        "higher a bar, the more came (by its logarithm); in a replay the timeline shows them",
    },
}
"""The meaning of each word above or between a screen's tables: by screen, then by word."""
