"""The service, in the campaign of one target of several, that reports to the whole campaign.

The whole campaign sees one instance: its directory has the sums as ``fuzzer_stats``, the findings
of all engines under new numbers, and their descriptions in ``events.jsonl``. Findings keep the
name that they have in the target's run: ``id:000003,from:main,id:000000,sig:06,...``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.model.selectors import running_time, totals
from fuzztui.kernel.model.state import Finding, State
from fuzztui.kernel.remote.client import ControlClient, RemoteError
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire.codec import encode_event
from fuzztui.kernel.wire.commands import Command, Pause, Resume
from fuzztui.kernel.wire.events import (
    Event,
    FindingDescribed,
    FindingSaved,
    InstanceHello,
    Message,
    Stats,
)
from fuzztui.kernel.wire.finding_kinds import CRASHES, HANGS
from fuzztui.run.process.service import Service, ServiceContext
from fuzztui.run.supervise.command_router import SUPERVISOR, append_lines
from fuzztui.run.supervise.target_launcher import ENDED_FILE, FIND_AGE, PAUSED_FILE

BY = "turns"
"""The author of the commands that the whole campaign gives, in the log of the target."""

MAX_NAME = 200
"""Characters of a finding's name in the target's run that its name here keeps."""

AT_ONCE = 200
"""Findings that are reported in one pass."""


class TargetReporter(Service):
    """Reports to ``directory``, that of the target's instance in the whole campaign."""

    again_s = 1.0

    def __init__(self, context: ServiceContext, directory: Path) -> None:
        self._context, self._directory = context, directory
        self._files = _Files(directory)
        self._new: dict[str, None] = {}
        """The keys of findings that are to be reported, oldest first."""
        self._greeted = False
        self._orders: asyncio.Queue[Command] = asyncio.Queue()
        self._stats = ""
        self._noted_pause: bool | None = None

    def saw(self, event: Event) -> None:
        """Note a finding that was saved or described."""
        if isinstance(event, (FindingSaved, FindingDescribed)):
            self._new[f"{event.instance}/{event.file}"] = None

    def refusal(self, command: Command, by: str) -> str:
        """Refuse to resume a target that waits: it would run beside the one that has the turn."""
        is_resumed = isinstance(command, Resume) and not _is_whole(by)
        whole, name = self._directory.parent.parent, self._directory.name
        if not is_resumed or not self._waits() or running(whole) is None:
            return ""
        return (
            f"this target waits for its turn; it gets more turns with a higher weight: fuzztui ctl "
            f"{whole} weigh-target {name} x2, or > on the screen Targets of {whole}"
        )

    async def run(self) -> None:
        """Report what is new, and carry out what the whole campaign orders by a signal."""
        state = self._context.state
        if not self._greeted and state.state in ("running", "paused"):
            self._greet(state)
        while not self._orders.empty():
            await asyncio.to_thread(self._obey, self._orders.get_nowait())
        self._note_pause(state)
        await self._report()

    def _note_pause(self, state: State) -> None:
        """Leave a file while a user has paused this campaign: it then needs no turns."""
        is_paused = state.state == "paused" and not self._waits()
        if is_paused != self._noted_pause:
            file = self._directory / PAUSED_FILE
            with contextlib.suppress(OSError):  # a full disk: again in the next pass
                file.touch() if is_paused else file.unlink(missing_ok=True)
                self._noted_pause = is_paused

    def _greet(self, state: State) -> None:
        self._greeted = True
        (self._directory / ENDED_FILE).unlink(missing_ok=True)
        self._new = {**dict.fromkeys(state.findings), **self._new}
        loop = asyncio.get_running_loop()
        for number, command in ((signal.SIGUSR1, Pause()), (signal.SIGUSR2, Resume())):
            loop.add_signal_handler(number, self._orders.put_nowait, command)
        name = self._directory.name
        hello = InstanceHello(name, state.engine, pid=os.getpid(), capabilities=["pause", "resume"])
        self._files.write(hello)

    def _obey(self, command: Command) -> None:
        """Give this campaign's own supervisor a command. In a thread, as the answer takes time.

        What a user has paused here stays paused.
        """
        is_pause = isinstance(command, Pause)
        if not (self._context.state.state == "running" if is_pause else self._waits()):
            return
        try:
            with contextlib.closing(ControlClient(self._context.run_dir.path, BY, by=BY)) as own:
                own.send(command)
        except (RemoteError, OSError) as e:
            text = f"{command.name} of the whole campaign was not carried out: {e}"
            self._context.record(Message("warning", text))

    def _waits(self) -> bool:
        """Whether the whole campaign, not a user, has paused this one.

        What was refused does not count, nor what the supervisor repeats for a restarted engine.
        """
        state, names = self._context.state, (Pause.name, Resume.name)
        every = [c for c in list(state.commands.values()) if c.state == "applied"]
        given = [c.by for c in every if c.command.get("c") in names and c.by != SUPERVISOR]
        return state.state == "paused" and bool(given) and _is_whole(given[-1])

    async def _report(self) -> None:
        state = self._context.state
        for key in list(self._new)[:AT_ONCE]:
            del self._new[key]
            if (finding := state.findings.get(key)) is not None and finding.saved:
                source = self._context.run_dir.input(finding.instance, finding.file)
                if not await asyncio.to_thread(self._files.report, finding, source):
                    self._new[key] = None  # again in the next pass
        text = stats_text(state, self._context.now())
        if text != self._stats:
            self._stats = text
            with contextlib.suppress(OSError):  # a full disk: the log's own notice says so
                times = _times(state, self._context.now())
                await asyncio.to_thread(
                    replace_text, self._directory / "fuzzer_stats", text + times
                )

    async def ended(self, end: str, reason: str) -> None:
        """Report the rest, and how the campaign has ended."""
        for _ in range(len(self._new) // AT_ONCE + 1):
            await self._report()
        with contextlib.suppress(OSError):
            replace_text(self._directory / ENDED_FILE, json.dumps({"state": end, "reason": reason}))


def _is_whole(by: str) -> bool:
    return by.partition(" as ")[0] == BY  # "turns as user@host"


class _Files:
    """The files of the instance's directory. ``write`` and ``report`` belong to one thread each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._names: dict[str, dict[str, str]] = {}
        """By folder: the names of findings here, by their names without the number."""

    def write(self, event: Event) -> None:
        """Append an event for the whole campaign."""
        with contextlib.suppress(OSError):
            line = encode_event(event)
            append_lines(self._directory / "events.jsonl", line.encode() + b"\n")

    def report(self, finding: Finding, source: Path) -> bool:
        """Give the whole campaign the file of a finding, and its description.

        Returns False if that failed and may succeed later.
        """
        folder = HANGS if finding.file.startswith(f"{HANGS}/") else CRASHES
        try:
            name = self._name(folder, finding, source)
        except OSError:
            return not source.exists()
        if finding.signature:
            self.write(
                FindingDescribed(
                    self._directory.name, finding.category, f"{folder}/{name}",
                    signature=finding.signature, title=finding.plain_title or finding.title,
                    place=finding.plain_place or finding.place, detail=finding.detail,
                    input=finding.input, count=finding.count, frames=finding.frames,
                    basis=finding.basis, property=finding.property, severity=finding.severity,
                    severity_class=finding.severity_class,
                    severity_reason=finding.severity_reason,
                )
            )  # fmt: skip
        return True

    def _name(self, folder: str, finding: Finding, source: Path) -> str:
        """The name of a finding here, whose file is made if it does not exist. Raises OSError."""
        there = self._directory / folder
        if folder not in self._names:
            there.mkdir(mode=0o700, exist_ok=True)
            self._names[folder] = {n.partition(",")[2]: n for n in os.listdir(there)}  # noqa: PTH208
        names = self._names[folder]
        rest = f"from:{finding.instance},{finding.file.partition('/')[2]}"[:MAX_NAME]
        if rest not in names:
            name = f"id:{len(names):06},{rest}"
            part = self._directory / ".finding"
            part.unlink(missing_ok=True)
            try:
                os.link(source, part)
            except OSError:  # a file system without links
                shutil.copyfile(source, part)
            part.rename(there / name)
            names[rest] = name
        return names[rest]


def stats_text(state: State, now: float) -> str:
    """Return the sums of a campaign as ``fuzzer_stats``, without times."""
    sums = totals(state)
    rate = sums.stats.execs_per_sec if state.state == "running" else 0.0
    values = {"run_time": int(running_time(state, now)), "execs_per_sec": f"{rate:.2f}"}
    lines = [*_figures(sums.stats), *values.items()]
    return "".join(f"{key:<18}: {value}\n" for key, value in lines)


def _figures(stats: Stats) -> Iterator[tuple[str, str]]:
    for figure in fields(Stats):
        value = getattr(stats, figure.name)
        if (key := figure.metadata.get("key")) and type(value) in (int, float) and value >= 0:
            yield key, str(value)


def _times(state: State, now: float) -> str:
    last = totals(state).last_find_t
    found = f"{FIND_AGE:<18}: {max(0.0, now - last):.1f}\n" if last >= 0 else ""
    return f"{'last_update':<18}: {int(time.time())}\n{found}"
