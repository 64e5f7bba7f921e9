"""Around the table of instances: the table of hosts, tabs above both, details below."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzztui.kernel.model.host_summary import HostSummary
from fuzztui.kernel.model.state import Instance, State
from fuzztui.tui.base.canvas import Canvas, Line, TextSpan, spread, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.frame.table_tabs import TableTabs
from fuzztui.tui.labels.facts import Fact, flow
from fuzztui.tui.labels.hosts import host_ages, host_columns, hosts_strip
from fuzztui.tui.labels.instances import glance, present, tally
from fuzztui.tui.labels.status import Status, has_died

HOSTS = "overview.hosts"
"""The action that switches between the tables."""


class HostTable(BigTable[HostSummary]):
    """A row for each host, with the sums over its instances."""

    MARKABLE = False
    topic = "hosts"

    def __init__(self, status: Callable[[], Status]) -> None:
        super().__init__(host_columns(status), empty="no host", id="hosts")
        self._hosts: dict[str, HostSummary] = {}
        self._seen: dict[str, tuple[object, ...]] = {}

    def show_hosts(self, status: Status, *, reset: bool = False) -> None:
        """Show the hosts of ``status``; ``reset``: the state has jumped to another moment."""
        before, self._seen = self._seen, {k: host_ages(h, status) for k, h in status.hosts.items()}
        rows = self._hosts
        rows.clear()
        rows.update(status.hosts)
        if reset or not before:
            self.load(rows)
            return
        every = before.keys() | rows.keys()
        self.touch(key for key in every if before.get(key) != self._seen.get(key))


class HostTabs(TableTabs):
    """The tabs, and at the right each host with its connection, those in trouble first."""

    DEFAULT_CSS = "HostTabs { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__(HOSTS, ("instances", "hosts"))
        self._status = Status()

    def show(self, status: Status, instances: int, host: str) -> None:
        """Draw ``status``; ``instances``: rows of the first table, of ``host`` if not empty."""
        self._status = status
        self.set_titles(f"instances of {plain(host)}" if host else "instances", "hosts")
        self.count(instances, len(status.hosts))
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the tabs, and as many hosts as fit."""
        [tabs] = super().paint(width, height)
        room = width - width_of(tabs) - 2
        strip = hosts_strip(self._status.hosts.values(), self._status)
        while strip and width_of(strip) > room:
            strip = strip[:-2]  # the two spans of the last host
        left = len(self._status.hosts) - len(strip) // 2
        more = TextSpan(f"+{left:,} ", "muted")
        while left and strip and width_of([*strip, more]) > room:
            strip, left = strip[:-2], left + 1
            more = TextSpan(f"+{left:,} ", "muted")
        return [spread(tabs, [*strip, *([more] if left and strip else [])], width)]


FEW = 4
"""Largest number of instances without a summary of their states."""

WIDE = 100
"""Cells from which on states have their names."""


class InstanceStrip(Canvas):
    """One line, or two if there is room: reason, peers, engine, directory.

    At the right, the number of a fleet's instances in each state, because most are out of view.
    """

    DEFAULT_CSS = "InstanceStrip { height: 1; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._facts: Sequence[Fact] = ()
        self._fleet: list[Instance] = []
        self._status = Status()

    def show(self, instance: Instance | None, state: State, status: Status) -> None:
        """Draw the facts about ``instance``."""
        self._facts = () if instance is None else glance(instance, state, status)
        there = present(state.instances.values())
        self._fleet = there if len(there) > FEW else []
        self._status = status
        self.repaint()

    def show_facts(self, facts: Sequence[Fact]) -> None:
        """Draw facts about something else than an instance."""
        self._facts, self._fleet = facts, []
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw as many facts as fit, and the fleet's states at the right."""
        status = self._status
        counts = tally(
            self._fleet,
            brief=width < WIDE,
            lost=status.is_out_of_reach,
            died=lambda i: has_died(i, over=status.over),
        )
        room = width - width_of(counts) - 1
        if not counts or room < width // 2:
            return flow(self._facts, width, height)
        first, *rest = flow(self._facts, width, height, room)
        return [spread(first, counts, width), *rest]


def lines_of(facts: Sequence[Fact]) -> list[Line]:
    """Return a line for each fact, with the names in a separate column."""
    label = max((len(f.name) for f in facts), default=0)
    return [[TextSpan(f.name.rjust(label) + "  ", "muted"), *f.spans] for f in facts]
