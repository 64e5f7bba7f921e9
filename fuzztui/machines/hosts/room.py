"""Room on the hub's disk: what is kept of each host, and a reserve that no host fills.

A host may be hostile, or have a fault. What it sends is kept up to a limit (``keep`` in
``[hosts]``); beyond it the host is given up. While the disk is nearly full nothing is taken from
any host: all of it stays on the hosts, and is taken when there is space.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from fuzztui.run.campaign.places import HostPlace
from fuzztui.run.campaign.rundir import RunDir

RESERVE: Final = 1 << 30
"""Bytes that stay free on the hub's disk; of a disk smaller than 20 GiB, a twentieth of it."""

FILE: Final = 512
"""Bytes that an empty file takes: an inode, and its name in a directory."""

DIRECTORY: Final = 4096

_BLOCK: Final = 4096
_RECORD: Final = 200
"""Bytes of an average record, for the records that an earlier hub has relayed."""


def file_cost(size: int) -> int:
    """Return the bytes on a disk of a file with ``size`` bytes."""
    return FILE + -(-size // _BLOCK) * _BLOCK


class HubRoom:
    """Counts the bytes that the hub keeps of each host.

    ``notice`` is called with the reason when nothing more is taken, and with "" when it is again.
    ``records``: by host, the number of log records that an earlier hub has relayed.
    """

    def __init__(
        self,
        run_dir: RunDir,
        places: Iterable[HostPlace],
        records: Mapping[str, int],
        notice: Callable[[str], None],
    ) -> None:
        self._run_dir, self._notice = run_dir, notice
        self._places = {place.name: place for place in places}
        self._files = dict.fromkeys(self._places, 0)
        self._lines = {name: _RECORD * records.get(name, 0) for name in self._places}
        """By host: bytes of its records before compression."""
        self._log = 0
        self.full = ""
        """Why nothing is taken from any host now; an empty string: there is room."""

    def load(self) -> None:
        """Count what an earlier hub has stored. Blocking."""
        for name in self._names(self._run_dir.out):
            host = name.partition("_")[0]
            if host in self._files:
                for folder, _, files in os.walk(self._run_dir.out / name):
                    costs = (replaced_cost(os.path.join(folder, file)) for file in files)  # noqa: PTH118
                    self._files[host] += DIRECTORY + sum(costs)

    def look(self) -> None:
        """Look how much space is free, and how large the log is: a few system calls."""
        log = self._run_dir.log
        sizes = [_size_of(log / name) for name in self._names(log)]
        self._log = sum(sizes)
        try:
            disk = os.statvfs(self._run_dir.path)
        except OSError:
            return  # what cannot be written is reported elsewhere
        free, whole = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
        reserve = min(RESERVE, whole // 20)
        # A little more before it continues, so that it does not change with each file.
        wanted = reserve * 5 // 4 if self.full else reserve
        full = ""
        if free < wanted:
            full = f"only {free >> 20:,} MB are free on the disk of {self._run_dir.path}"
        elif disk.f_files and disk.f_favail < disk.f_files // 100:
            full = f"only {disk.f_favail:,} more files fit on the disk of {self._run_dir.path}"
        if bool(full) != bool(self.full):
            self.full = full
            self._notice(full)

    def add_lines(self, host: str, size: int) -> None:
        """Count records of a host, with their bytes before compression."""
        self._lines[host] += size

    def add_files(self, host: str, size: int) -> None:
        """Count files of a host that were stored, with their bytes on the disk."""
        self._files[host] += size

    def excess(self, host: str) -> str:
        """Return why no more is taken from a host, and what to do; "" if it is within its limit."""
        limit = self._places[host].keep
        if not limit or (kept := self.kept(host)) <= limit:
            return ""
        key = f'hosts."{self._places[host].address or "here"}".keep'
        return (
            f"what is kept of it here has {kept >> 20:,} MB, more than {key} allows "
            f"({limit >> 20:,} MB). Its campaign continues over there. If that is no fault of the "
            "host, raise the key and start the hub again: what was not taken follows"
        )

    def kept(self, host: str) -> int:
        """Return the bytes of a host's files here, and of its part of the log."""
        # The log is compressed, with the records of all hosts together: it is divided by what each
        # host has sent.
        part = self._lines[host] / max(sum(self._lines.values()), 1)
        return self._files[host] + min(int(self._log * part), self._lines[host])

    @staticmethod
    def _names(directory: Path) -> list[str]:
        try:
            return os.listdir(directory)  # noqa: PTH208 - names only
        except OSError:
            return []


def _size_of(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def replaced_cost(path: str | Path) -> int:
    """Return the bytes on the disk of a file that may not exist."""
    try:
        return file_cost(os.lstat(path).st_size)
    except OSError:
        return 0
