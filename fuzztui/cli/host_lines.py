"""The hosts of a campaign as lines of ``status``, and as messages of a command that follows it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from fuzztui.cli.output import CliError, speed
from fuzztui.cli.runs import standing
from fuzztui.kernel.base.text import ago, brief, listed, several
from fuzztui.kernel.model.host_summary import (
    CLOCK_S,
    CONNECTED,
    LOST,
    NO_HUB,
    TROUBLE,
    HostSummary,
    waiting_commands,
)
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Host, State
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import Command
from fuzztui.kernel.wire.finding_kinds import kind_of


def host_rows(state: State, gone_s: float = 0.0) -> Iterator[tuple[str, str]]:
    """Yield the rows of ``status`` about all hosts; none without hosts."""
    hosts = list(state.hosts.values())
    if not hosts:
        return
    lost = [h for h in hosts if h.state == LOST and h.reason != NO_HUB]
    failed = sum(h.state == "failed" for h in hosts)
    counts = [f"{len(lost):,} lost"] if lost else []
    counts += [f"{failed:,} failed"] if failed else []
    counts += ["none connected: no hub runs"] if any(h.reason == NO_HUB for h in hosts) else []
    yield "hosts", ", ".join([several(len(hosts), "host"), *counts])
    lost = [h for h in lost if h.run]  # those without a run have no numbers
    if lost and state.state not in ENDED:
        names = listed([brief(h.name, 60) for h in lost])
        oldest = max(state.t - h.changed_t for h in lost) + gone_s
        yield "lost", f"{names}, for {ago(oldest)}; numbers of lost hosts are old"


def host_lines(of: HostSummary, state: State, gone_s: float = 0.0) -> list[str]:
    """Return the lines of ``status`` about one host: connection and sums, then where it is."""
    there = of.host
    over = state.state in ENDED
    cores = [f"{of.cpu:.1f}"] if of.cpu >= 0 and not over else []
    cores += [several(there.cores, "core")] if there.cores else ["cores"] * bool(cores)
    found = ", ".join(
        several(n, kind_of(name).noun, kind_of(name).plural) for name, n in of.groups.items()
    )
    instances = several(of.instances, "instance")
    parts = [
        instances if over else f"{of.running:,} of {instances} running",
        f"{of.execs:,} execs at {speed(of.execs_per_sec)}" + " on average" * over,
        f"{of.corpus:,} corpus",
        (" of " if there.cores else " ").join(cores),
        found,
    ]
    sums = ", ".join(filter(None, parts))
    old = state.t - there.changed_t + gone_s
    lines = [f"  {brief(there.name, 60):<9} {brief(link_text(of, old))}"]
    if of.instances:
        age = f", as of {ago(old)} ago" if of.in_trouble and not over else ""
        lines.append(f"    {sums}{age}")
    lines += [f"    {brief(of.where)}{_clock(there.clock_s)}"] if of.where else []
    return lines


def link_text(of: HostSummary, seconds: float) -> str:
    """Return the state of a connection and of the campaign over there, with reasons.

    ``seconds``: for how long the connection has been in its state.
    """
    there = of.host
    word = there.state or "not connected yet"
    if there.reason == NO_HUB:
        word = f"not connected for {ago(seconds)}"
    elif of.in_trouble:
        word = word if of.was_reached or there.state != LOST else "not reached"
        word = f"{word.upper()} for {ago(seconds)}"
    word += f": {there.reason}" if there.reason else ""
    if there.campaign and there.campaign != "running" and there.state != "ended":
        why = f" ({there.campaign_reason})" if there.campaign_reason else ""
        word += f"; the campaign there {'was' if of.in_trouble else 'is'} {there.campaign}{why}"
    return word


def _clock(seconds: float) -> str:
    if abs(seconds) <= CLOCK_S:
        return ""
    return f", its clock is {ago(abs(seconds))} {'ahead' if seconds > 0 else 'behind'}"


def waits_for(run: Path, command: Command) -> str:
    """Return which hosts a pending command waits for, as text; "" if it waits for no host."""
    with contextlib.suppress(CliError):
        state, wanted = standing(run).state, encode_command(command)
        for status in reversed(waiting_commands(state)):
            if status.command == wanted:
                return status.text
        lost = [h.name for h in state.hosts.values() if h.state == LOST]
        if lost and not getattr(command, "instance", ""):  # other hosts have answered
            return f"waits until {listed(lost)} {'is' if len(lost) == 1 else 'are'} connected again"
    return ""


class HostNews:
    """Messages about hosts whose state has changed, for users without a screen."""

    def __init__(self) -> None:
        self._printed: dict[str, str] = {}

    def changes(self, hosts: Iterable[Host]) -> list[str]:
        """Return messages about hosts lost, given up or connected again since the last call."""
        out = []
        for h in hosts:
            before = self._printed.get(h.name, "")
            if h.state == before:
                continue
            reason = f": {h.reason}" if h.reason else ""
            if h.state in TROUBLE:
                out.append(f"{brief(h.name, 60)} is {h.state}{brief(reason)}")
            elif h.state == CONNECTED and before == LOST:
                out.append(f"{brief(h.name, 60)} is connected again")
            if h.state in (CONNECTED, *TROUBLE):
                self._printed[h.name] = h.state
        return out


def lost_text(hosts: Iterable[Host]) -> str:
    """Return ``1 of 3 hosts lost`` for a progress line; an empty string if none is."""
    every = list(hosts)
    lost = sum(h.state == LOST for h in every)
    return f"{lost:,} of {several(len(every), 'host')} lost" if lost else ""


def preparing(hosts: Iterable[Host], most: int = 3) -> str:
    """Return the hosts that are connecting or being prepared, as text; "" if there are none."""
    waiting = [h for h in hosts if h.state in ("connecting", "preparing")]
    parts = [
        f"{brief(h.name, 60)}: {h.state}" + (f": {brief(h.reason, 100)}" if h.reason else "")
        for h in waiting[:most]
    ]
    more = len(waiting) - most
    rest = [f"and {several(more, 'more host')}"] if more > 0 else []
    return "  ".join([*parts, *rest])
