"""``campaign.group``: members of a Unix group may read the run, and perhaps steer it.

The files of a run that screens and commands read get the group and are readable for it: the log,
the frozen campaign, lock and socket, queues and findings. All other files stay private; without the
key, the whole run does.
"""

from __future__ import annotations

import asyncio
import contextlib
import grp
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import closing_fd
from fuzztui.kernel.remote.access import Access
from fuzztui.kernel.wire.events import EntrySaved, Event, FindingSaved, Message
from fuzztui.kernel.wire.finding_kinds import FOLDERS
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, SupervisorError

SHARE_S: Final = 1.0
"""Seconds between two calls of :meth:`RunSharing.run`. Inputs are shared when they are logged."""

_DIRECTORY: Final = 0o2750
"""The set-group-id bit: files made in the directory get its group."""

_FILE: Final = 0o640


class RunSharing:
    """Gives a run to the campaign's group; does nothing if the campaign has none.

    Raises :class:`SupervisorError` if the group cannot be used here.
    """

    def __init__(self, campaign: Campaign, run_dir: RunDir) -> None:
        self._run_dir = run_dir
        self.notes: list[Message] = []
        """Messages to record: why members of the group may not reach the run."""
        self.access = Access()
        """Who may connect to the control socket."""
        if not campaign.group:
            return
        try:
            gid = _group(campaign.group)
        except SupervisorError as e:
            if not campaign.host:
                raise
            # The campaign file was written for another machine.
            self.notes.append(Message("warning", f"the run is not shared: {e}"))
            return
        self.access = Access(gid, campaign.group, campaign.group_may_steer)
        if closed := _closed(run_dir.path, gid):
            text = (
                f"members of the group {campaign.group} cannot reach the run: {closed} is closed "
                "to them; choose another campaign.output, or give the directory x for them (chmod)"
            )
            self.notes.append(Message("warning", text))

    @property
    def on(self) -> bool:
        """Whether the run is shared."""
        return self.access.gid >= 0

    def share_all(self) -> None:
        """Share the run's own files, and all inputs that it has. Blocking."""
        if not self.on:
            return
        self._share_own()
        for folder in self._input_folders():
            self._share_below(folder)

    async def run(self) -> None:
        """Share files that were made or replaced since the last call. Call regularly."""
        await asyncio.to_thread(self._share_own)

    def saw(self, event: Event) -> None:
        """Share the input of a new entry or finding."""
        if self.on and isinstance(event, EntrySaved | FindingSaved) and event.file:
            self._share(self._run_dir.instance(event.instance) / event.file)

    def _share_own(self) -> None:
        for path in self._own_files():
            self._share(path)
        for folder in self._input_folders():
            self._share(folder)
        self._share_below(self._run_dir.path / "minimised")

    def _own_files(self) -> Iterator[Path]:
        of = self._run_dir
        yield from (of.path, of.campaign, of.out, of.log, of.supervisor)
        yield from (of.supervisor / name for name in ("lock", "socket"))
        yield from _inside(of.log)
        yield from _inside(of.out)

    def _input_folders(self) -> Iterator[Path]:
        for instance in _inside(self._run_dir.out):
            for folder in _inside(instance):
                # A resumed afl-fuzz renames "crashes" to "crashes.DATE".
                if folder.name == "queue" or folder.name.partition(".")[0] in FOLDERS:
                    yield folder

    def _share_below(self, directory: Path) -> None:
        self._share(directory)
        for path in _inside(directory):
            self._share(path)
            if path.is_dir() and not path.is_symlink():
                self._share_below(path)

    def _share(self, path: Path) -> None:
        """Share one file or directory of this user. A target may have put anything there."""
        gid = self.access.gid
        with contextlib.suppress(OSError):
            now = path.lstat()
            directory = stat.S_ISDIR(now.st_mode)
            mode = _DIRECTORY if directory else _FILE
            if now.st_gid == gid and stat.S_IMODE(now.st_mode) == mode:
                return
            # A hard link may be a user's seed (afl-fuzz links seeds), or made by a target.
            one = stat.S_ISREG(now.st_mode) and now.st_nlink == 1
            if not (directory or one) or now.st_uid != os.geteuid():
                return
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with closing_fd(os.open(path, flags)) as fd:
                if not os.path.samestat(now, os.fstat(fd)):
                    return
                os.fchown(fd, -1, gid)
                os.fchmod(fd, mode)


def _inside(directory: Path) -> list[Path]:
    """Return what is in a directory, without hidden files; nothing if it is missing."""
    try:
        with os.scandir(directory) as entries:
            return [Path(entry.path) for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return []


def _group(name: str) -> int:
    try:
        gid = grp.getgrnam(name).gr_gid
    except KeyError:
        raise SupervisorError(
            f"campaign.group = {name!r}: this machine has no such group; make it with: "
            f"sudo groupadd {name}"
        ) from None
    if os.geteuid() != 0 and gid not in (os.getegid(), *os.getgroups()):
        raise SupervisorError(
            f"campaign.group = {name!r}: this user is not a member (in this login session); "
            f"become one with: sudo usermod -aG {name} USER"
        )
    return gid


def _closed(run: Path, gid: int) -> str:
    """Return the first directory above the run that the group cannot pass; "" if it can."""
    for directory in reversed(run.parents):
        with contextlib.suppress(OSError):
            status = directory.stat()
            bit = stat.S_IXGRP if status.st_gid == gid else stat.S_IXOTH
            if not status.st_mode & bit:
                return str(directory)
    return ""
