"""The table of hosts on the Overview, in place of the one of instances, and the tabs above both."""

from __future__ import annotations

from collections.abc import Callable

from fuzztui.kernel.model.host_summary import HostSummary
from fuzztui.tui.base.canvas import Line, TextSpan, spread, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.frame.table_tabs import TableTabs
from fuzztui.tui.labels.hosts import host_ages, host_columns, hosts_strip
from fuzztui.tui.labels.status import Status

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
            strip = strip[:-2]  # a host with its rate
        left = len(self._status.hosts) - len(strip) // 2
        more = TextSpan(f"+{left:,} ", "muted")
        while left and strip and width_of([*strip, more]) > room:
            strip, left = strip[:-2], left + 1
            more = TextSpan(f"+{left:,} ", "muted")
        return [spread(tabs, [*strip, *([more] if left and strip else [])], width)]
