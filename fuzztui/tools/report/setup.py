"""How a run was made, its corpus, and what users did, as parts of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from fuzztui.kernel.base.page import Code, Facts, Folded, Note, Part, Section, Table, moment
from fuzztui.kernel.base.text import ago, brief, clock, listed, several
from fuzztui.kernel.model.commands import command_of
from fuzztui.kernel.model.discovery import discovery_rate, discovery_text
from fuzztui.kernel.model.finding_tallies import tallies
from fuzztui.kernel.model.host_summary import host_summaries
from fuzztui.kernel.model.receipts import receipts
from fuzztui.kernel.model.selectors import ENDED, fuzzing_time, instance_throughput, running_time
from fuzztui.kernel.model.state import RECENT_COMMANDS, CommandStatus, Instance, State
from fuzztui.tools.report.run import ReportedRun

_INSTANCES: Final = 64
_HOSTS: Final = 200
_KEYS: Final = 200


def setup_section(run: ReportedRun) -> Section:
    """What was run: target, engine, versions, seed, budget, host."""
    state = run.state
    own = [i for i in state.instances.values() if not i.mutant]
    rows: list[tuple[str, str | Code]] = [
        ("campaign", brief(state.name)),
        ("target", Code(brief(state.target))),
        ("engine", brief(listed(_versions(own)) or state.engine)),
    ]
    if pythons := sorted({i.python for i in own if i.python}):
        rows.append(("Python", brief(listed(pythons))))
    if run.has_history:  # the directories of a watched fleet contain neither
        rows += [("random seed", f"{state.seed}"), ("budget", _budget(state))]
    rows += [
        ("instances", several(len(own), "instance")),
        ("campaign time", _times(state)),
    ]
    if state.started_wall > 0:
        rows.append(("began", utc(state.started_wall)))
    cores = f", {several(state.cores, 'core')}" if state.cores else ""
    if state.hosts:
        rows.append(("hosts", several(len(state.hosts), "host") + cores))
        rows += [("hub", brief(state.host, 100))] if state.host else []
    elif state.host:
        rows.append(("host", brief(state.host, 100) + cores))
    rows.append(("fuzztui", brief(state.version) or "unknown"))
    rows.append(("log", several(state.seq, "record")))
    parts: list[Part] = [Facts(rows)]
    parts += [Folded("hosts", [_hosts(state)])] if state.hosts else []
    parts.append(Folded("instances", [_instances(state, own)]))
    if run.keys:
        keys = Table(
            ("key", "value"),
            [(Code(brief(key, 100)), Code(brief(value))) for key, value in run.keys[:_KEYS]],
            left_out=max(0, len(run.keys) - _KEYS),
        )
        parts.append(Folded("campaign file", [keys]))
    return Section("How it was run", parts)


def utc(wall: float) -> str:
    """A Unix time as text; an impossible one too."""
    try:
        return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return "unknown"


def _versions(instances: list[Instance]) -> list[str]:
    names = (f"{i.engine} {i.version.removeprefix('++')}".strip() for i in instances)
    return sorted({name for name in names if name})


def _budget(state: State) -> str:
    parts = [clock(state.budget_s)] if state.budget_s else []
    parts += [several(state.budget_trials, "trial")] if state.budget_trials else []
    return " or ".join(parts) or "none"


def _times(state: State) -> str:
    paused = state.t - running_time(state)
    return clock(state.t) + (f", {clock(paused)} of it paused" if paused >= 1 else "")


def _hosts(state: State) -> Table:
    """The table of hosts; without their addresses, because the page is for others to read."""
    rows = []
    for of in islice(host_summaries(state, tallies(state)).values(), _HOSTS):
        there = of.host
        rows.append(
            (
                Code(brief(of.name, 100)),
                brief(f"{there.state}: {there.reason}" if there.reason else there.state, 200),
                f"{there.cores:,}" if there.cores else "-",
                f"{of.instances:,}",
                f"{of.execs:,}",
                f"{of.execs_per_sec:,.0f}" if of.execs_per_sec >= 0 else "-",
                f"{of.corpus:,}",
                f"{sum(of.groups.values()):,}",
            )
        )
    heads = (
        "host", "connection", "cores", "instances", "executions", "/s",
        "corpus", "groups of findings",
    )  # fmt: skip
    return Table(heads, rows, frozenset(range(2, 8)), max(0, len(state.hosts) - _HOSTS))


def _instances(state: State, own: list[Instance]) -> Table:
    over = state.state in ENDED
    rows = []
    for i in own[:_INSTANCES]:
        rate = instance_throughput(i, fuzzing_time(state), over=over, lost=state.lost)
        stable = f"{i.stats.stability:g}%" if i.stats.stability >= 0 else "-"
        rows.append(
            (
                Code(brief(i.id, 100)),
                brief(f"{i.state}: {i.reason}" if i.reason else i.state, 200),
                f"{i.stats.execs:,}",
                f"{rate:,.0f}" if rate >= 0 else "-",
                f"{i.corpus:,}",
                f"{i.stats.edges:,}" if i.stats.edges >= 0 else "-",
                stable,
                f"{i.restarts:,}",
            )
        )
    heads = ("instance", "state", "executions", "/s", "corpus", "edges", "stability", "restarts")
    return Table(heads, rows, frozenset(range(2, 8)), max(0, len(own) - _INSTANCES))


def corpus_section(run: ReportedRun) -> Section:
    """The size of the corpus, and why its entries were kept."""
    state = run.state
    mutants = {i.id for i in state.instances.values() if i.mutant}
    entries = [e for e in state.entries.values() if e.instance not in mutants]
    own = [e for e in entries if not e.sync]
    if not entries:
        why = "The log names" if run.has_history else "A report of a watched campaign names"
        return Section("Corpus", [Note(f"{why} no entries.")])
    sizes = sorted(e.size for e in entries if e.size >= 0)
    imported = len(entries) - len(own)
    more = f", {imported:,} of them imported" if imported else ""
    rows: list[tuple[str, str]] = [("entries", f"{run.at_least}{len(entries):,}{more}")]
    if sizes:
        median = sizes[len(sizes) // 2]
        text = f"{sum(sizes):,} bytes in all, median {median:,}, largest {sizes[-1]:,}"
        rows.append(("size", text))
    if reasons := Counter(reason for e in own for reason in e.reasons):
        kept = ", ".join(f"{brief(name, 40)} {n:,}" for name, n in reasons.most_common(12))
        rows.append(("kept because of", kept))
    last = max((e.t for e in own), default=-1.0)
    if last >= 0:
        when = f"after {moment(last, state.t)}, {ago(state.t - last)} before the end"
        rows.append(("last new entry", when))
    parts: list[Part] = [Facts(rows)]
    if (rate := discovery_rate(state)) is not None:
        parts.append(
            Note(
                "What is left, as an upper bound of the discovery rate and not as a share of a "
                f"total: {discovery_text(rate)}. {rate.edges:,} of the last {rate.trials:,} trials "
                "found something new."
            )
        )
    return Section("Corpus", parts)


def steering_section(state: State) -> Section | None:
    """The commands that users gave; None if there are none."""
    commands = list(state.commands.values())
    if not commands:
        return None
    since = {receipt.command.id: receipt.text for receipt in receipts(state)}
    rows = [
        (
            clock(c.t),
            brief(_command(c), 200),
            brief(c.by, 100),
            c.state,
            brief(c.text, 200),
            brief(since.get(c.id, "")),
        )
        for c in commands
    ]
    heads = ("time", "command", "by", "", "answer", "since then")
    parts: list[Part] = [Table(heads, rows, frozenset({0}))]
    if len(commands) >= RECENT_COMMANDS:
        parts.append(Note(f"The last {len(commands):,}; 'fuzztui events RUN' lists all."))
    return Section("Steering", parts)


def _command(status: CommandStatus) -> str:
    if status.undoes:
        return f"undo of {listed(list(status.undoes))}"
    command = command_of(status)
    return command.summary if command is not None else str(status.command.get("c", "?"))


def flat_keys(table: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the keys of a campaign file with their values, tables joined by dots.

    Values of environment variables, and the command of ``[notify]``, may be secret: in their place
    stands "(not shown)".
    """
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from flat_keys(value, f"{name}.")
        elif ".env." in f".{name}" or name.startswith("notify."):
            yield name, "(not shown)"
        else:
            yield name, value
