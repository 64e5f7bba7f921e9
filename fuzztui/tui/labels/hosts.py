"""Text about hosts and the connections to them: cells, facts, warnings. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.host_summary import LOST, HostSummary
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import CommandStatus
from fuzztui.kernel.wire.finding_kinds import KINDS, FindingKind
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.columns import Cell, Column, count_column
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.events import clock_text, command_text
from fuzztui.tui.labels.facts import Fact, fact
from fuzztui.tui.labels.states import last_new_cell, state_sign, state_style
from fuzztui.tui.labels.status import Status

LINK = 13
"""Cells of the longest usual state of a connection, so that a change moves no other column."""

NAMED = 3
"""Maximal number of hosts, or of commands, that a warning names."""

_URGENCY = {s: n for n, s in enumerate(("failed", "lost", "", "connecting", "preparing"))}
"""States of connections by urgency; all others come after these."""


def link_cell(of: HostSummary, status: Status) -> Cell:
    """Return the state of the connection, with the reason. Not safe to draw."""
    there = of.host
    if status.orphaned and there.state not in ("ended", "failed"):
        return f"? was {there.state or 'not connected'}", "muted"
    word = there.state or "not connected"
    if there.state == LOST and not of.was_reached:
        word = "not reached"
    text = f"{state_sign(there.state)} {word}"
    style = state_style(there.state)
    if there.state == LOST:
        text += f" {format.age(status.now - there.changed_t)}"
    if of.in_trouble:
        style = f"bold {style}"
    elif there.reason and of.connected:  # connected, but for example its disk is full
        style = "bold hang"
    # Why a campaign has ended is in the column of the campaign.
    return text + (f": {there.reason}" if there.reason and there.state != "ended" else ""), style


def brief_link(of: HostSummary, status: Status) -> Cell:
    """Return the name of a host with the sign of its connection; of a lost one also the age."""
    there = of.host
    if status.orphaned and there.state not in ("ended", "failed"):
        return f"? {there.name}", "muted"
    age = f" {format.age(status.now - there.changed_t)}" if there.state == LOST else ""
    age = f" lost{age}" if age and of.was_reached else age
    loud = "bold " if of.in_trouble else ""
    return f"{state_sign(there.state)} {there.name}{age}", loud + state_style(there.state)


def host_columns(status: Callable[[], Status]) -> Sequence[Column[HostSummary]]:
    """Return the columns of the table of hosts, the dispensable ones last."""

    def age(of: HostSummary) -> Cell:
        if of.stats_t < 0 or status().over:
            return "", ""
        seconds = status().now - of.stats_t
        if seconds < status().fresh_s:
            return "", ""
        return format.age(seconds), "bold hang" if seconds > status().stale_s else "muted"

    def rate(of: HostSummary) -> Cell:
        known = of.execs_per_sec if not status().orphaned else -1.0
        return (format.rate(known), "rate") if known >= 0 else (format.NONE, "muted")

    def cpu(of: HostSummary) -> Cell:
        known = of.cpu >= 0 and not status().orphaned
        used = f"{of.cpu:.1f}" if known else format.NONE
        return f"{used}/{of.host.cores}" if of.host.cores else used, "" if known else "muted"

    def memory(of: HostSummary) -> Cell:
        known = of.connected and of.rss > 0 and not status().orphaned
        return (format.size(of.rss), "") if known else ("", "")

    def groups(kind: FindingKind) -> Column[HostSummary]:
        return count_column(
            kind.label, kind.label, lambda of: of.groups.get(kind.category, 0), kind.category,
            zero="0" if kind.default else "", drop=True, spare=not kind.default,
        )  # fmt: skip

    return (
        Column("host", "host", lambda of: (of.name, "bold"), lambda of: of.place, max=20),
        Column(
            "link", "link", lambda of: link_cell(of, status()), _urgency, min=LINK, max=40,
            give=16,
        ),
        Column("campaign", "campaign", _campaign, lambda of: of.host.campaign, max=24, drop=True,
               spare=True),
        Column("age", "age", age, lambda of: -of.stats_t, "right", spare=True, descending=True),
        Column("instances", "running", _instances, lambda of: of.instances, "right",
               descending=True),
        count_column("execs", "execs", lambda of: of.execs, zero="0", drop=True),
        Column("rate", "exec/s", rate, lambda of: of.execs_per_sec, "right", descending=True),
        count_column("corpus", "corpus", lambda of: of.corpus, "corpus", zero="0", drop=True),
        count_column("edges", "edges", lambda of: of.edges, "edge", zero="0", drop=True),
        *map(groups, KINDS),
        Column("cpu", "cores", cpu, lambda of: of.cpu, "right", drop=True, descending=True),
        Column("clock", "clock", _clock, lambda of: of.host.clock_s, max=20, drop=True, spare=True,
               descending=True),
        Column("rss", "memory", memory, lambda of: of.rss, "right", drop=True, spare=True,
               descending=True),
        Column("found", "last new", lambda of: last_new_cell(of.last_find_t, status()),
               lambda of: of.last_find_t, "right", drop=True, spare=True, descending=True),
        Column("where", "address and run", lambda of: (of.where, "muted"), lambda of: of.where,
               max=60, needs=110, drop=True, spare=True),
    )  # fmt: skip


def _urgency(of: HostSummary) -> int:
    return _URGENCY.get(of.host.state, len(_URGENCY))


def _campaign(of: HostSummary) -> Cell:
    """The campaign over there, as last reported; the reason if it does not run."""
    there = of.host
    if not there.campaign:
        return "", ""
    because = f": {there.campaign_reason}" if there.campaign_reason else ""
    phase = f", {there.stage} phase" if there.stage and there.campaign not in ENDED else ""
    style = "muted" if of.in_trouble else state_style(there.campaign)
    return f"{there.campaign}{phase}{because}", style


def _instances(of: HostSummary) -> Cell:
    """Running instances of all."""
    every, running = of.instances, of.running
    return f"{running}/{every}" if running != every else f"{every}", "" if every else "muted"


def _clock(of: HostSummary) -> Cell:
    return clock_text(of.host.clock_s).removeprefix("clock "), "hang"


def host_ages(of: HostSummary, status: Status) -> tuple[object, ...]:
    """Return all on which the cells of a host's row depend: equal tuples need no redrawing."""
    age = format.age(status.now - of.stats_t) if of.stats_t >= 0 else ""
    found = format.age(status.now - of.last_find_t)
    return of, link_cell(of, status), age, found, status.orphaned, status.over


def host_facts(of: HostSummary, status: Status, *, named: bool = False) -> Iterator[Fact]:
    """Yield what is known of a host, the most urgent first; ``named``: with its name."""
    there = of.host
    text, style = link_cell(of, status)
    yield fact("host", f"{of.name} {text}", style) if named else fact("link", text, style)
    if of.in_trouble and of.stats_t >= 0 and not status.over:
        age = format.age(status.now - of.stats_t)
        yield fact("its numbers are", f"{age} old", "bold hang")
    campaign, campaign_style = _campaign(of)
    if campaign and campaign != "running":
        yield fact("campaign there", campaign, campaign_style)
    if of.where:
        yield fact("run there", of.where)
    if clock := clock_text(there.clock_s):
        yield fact("clock there", clock.removeprefix("clock "), "hang")
    about = [there.machine] if there.machine and there.machine != there.name else []
    about += [several(there.cores, "core")] if there.cores else []
    about += [f"supervisor pid {there.pid}"] if there.pid > 0 else []
    if about:
        yield fact("machine", ", ".join(about))


# ------------------------------------------------------------------- all hosts


def hosts_text(hosts: Iterable[HostSummary]) -> tuple[str, bool]:
    """Return ``3 hosts, 1 lost``, and whether one is lost or was given up; empty without hosts."""
    every = list(hosts)
    if not every:
        return "", False
    counts = [(sum(of.host.state == state for of in every), state) for state in (LOST, "failed")]
    words = [several(len(every), "host"), *(f"{n:,} {state}" for n, state in counts if n)]
    return ", ".join(words), len(words) > 1


def hosts_strip(hosts: Iterable[HostSummary], status: Status) -> Line:
    """Return two spans for each host, connection and rate; hosts in trouble come first."""
    spans: list[TextSpan] = []
    for of in sorted(hosts, key=_urgency):
        text, style = brief_link(of, status)
        rate = f" {format.rate(of.execs_per_sec)}/s" if of.execs_per_sec >= 0 else ""
        spans.append(TextSpan(f"{plain(text)}", style))
        spans.append(TextSpan(f"{'' if status.orphaned else rate}  ", "muted"))
    return spans


def host_warning(status: Status) -> str:
    """Return the hosts that are lost, given up or cannot write, with reasons; "" if none is."""
    bad = [of for of in status.hosts.values() if of.in_trouble]
    if not bad:
        full = [of for of in status.hosts.values() if of.host.state == "connected"]
        words = [f"{of.name}: {plain(of.host.reason)}" for of in full if of.host.reason]
        more = f";  and {len(words) - NAMED:,} more" if len(words) > NAMED else ""
        return f"{';  '.join(words[:NAMED])}{more}"
    words = [f"{of.name} {link_cell(of, status)[0].partition(' ')[2]}" for of in bad[:NAMED]]
    old = "numbers of its instances are old"
    if len(bad) == 1:
        return f"{words[0]}  ({old})" if bad[0].host.state == LOST and bad[0].execs else words[0]
    more = f"; and {len(bad) - NAMED:,} more" if len(bad) > NAMED else ""
    every = several(len(status.hosts), "host")
    return f"{len(bad):,} of {every} are not connected:  {';  '.join(words)}{more}"


def waiting_text(commands: Sequence[CommandStatus]) -> str:
    """Return commands with what they wait for, in one line; empty without commands."""
    words = [f"{command_text(c.command)}: {c.text}" for c in commands[:NAMED]]
    more = f";  and {len(commands) - NAMED:,} more" if len(commands) > NAMED else ""
    return f"Pending:  {';  '.join(words)}{more}" if words else ""
