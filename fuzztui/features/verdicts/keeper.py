"""Keeps the log up to date with the verdicts file while a campaign runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from fuzztui.features.verdicts.equivalents import Reasons, equivalents, file_equivalents
from fuzztui.features.verdicts.file import VerdictsError
from fuzztui.features.verdicts.judging import (
    accept_mutants,
    change_frames,
    changes,
    judge_finding,
    share_rules,
    verdicts_file,
)
from fuzztui.kernel.model.commands import sender_of
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import (
    AcceptMutants,
    CountFrames,
    JudgeFinding,
    SkipFrames,
    UnacceptMutants,
)
from fuzztui.kernel.wire.events import Message, SkippedFrames, VerdictsChanged
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.service import Handler, Progress, Service, ServiceContext

LOOK_S: Final = 2.0
"""Seconds between two looks at the file."""


class VerdictsKeeper(Service):
    """The verdicts of one running campaign.

    :param file: the verdicts file; it need not exist.
    :param record: logs events, which are then in ``state``.
    :param out: the directory of the instances, where engines read rules about frames.
    """

    def __init__(self, file: Path, state: State, record: Callable[..., None], out: Path) -> None:
        self._file, self._state, self._record, self._out = file, state, record, out
        self._seen: object = None
        self._lock = asyncio.Lock()
        self._filed: Reasons = {}
        """The mutants that were marked as equivalent when they were last written to the file."""
        self._warning = ""
        """Why they cannot be written; an empty string: they can."""

    def at_start(self) -> list[VerdictsChanged | SkippedFrames]:
        """Return the events to log before engines start. Blocking.

        Raises :class:`~fuzztui.run.campaign.rundir.SupervisorError` if the file cannot be used.
        """
        self._seen = self._identity()
        self._filed = self._marked()
        try:
            events = changes(self._state, self._file)
        except VerdictsError as e:
            raise SupervisorError(str(e)) from None
        rules = [e.rules for e in events if isinstance(e, SkippedFrames)]
        with contextlib.suppress(OSError):  # tried again while it runs
            share_rules(self._out, rules[0] if rules else self._state.skipped_frames)
        return events

    async def run(self) -> None:
        """Log users' changes of the file, and write equivalent mutants into it, until cancelled."""
        try:
            while True:
                await asyncio.sleep(LOOK_S)
                await self._look()
        finally:  # mutants may have been marked just before the end
            with contextlib.suppress(VerdictsError):
                file_equivalents(self._file, self._state, self._filed, self._marked())

    async def _look(self) -> None:
        async with self._lock:
            marked = self._marked()
            try:
                await asyncio.to_thread(
                    file_equivalents, self._file, self._state, self._filed, marked
                )
            except VerdictsError as e:  # tried again: the file may be repaired
                text = f"{e}; equivalent mutants are in this run's log only"
                if text != self._warning:
                    self._record(Message("warning", text))
                self._warning = text
            else:
                self._filed, self._warning = marked, ""
            seen = await asyncio.to_thread(self._identity)
            if seen == self._seen:
                return
            self._seen = seen
            try:
                events = await asyncio.to_thread(changes, self._state, self._file)
            except VerdictsError as e:
                self._record(Message("warning", f"{e}; the verdicts stay as they were"))
            else:
                self._record(*events)
            await self._share_rules()

    async def _share_rules(self) -> None:
        with contextlib.suppress(OSError):  # tried again at the next change of the file
            await asyncio.to_thread(share_rules, self._out, list(self._state.skipped_frames))

    def _marked(self) -> Reasons:
        """Return the mutants that are marked as equivalent now."""
        if self._state.engine != "mu2":  # ids of other mutants do not survive an edit
            return {}
        return equivalents(self._state)

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers of the commands that write to the verdicts file, by command name."""
        return {
            JudgeFinding.name: self._judge,
            **dict.fromkeys((SkipFrames.name, CountFrames.name), self._change_frames),
            **dict.fromkeys((AcceptMutants.name, UnacceptMutants.name), self._accept),
        }

    async def _change_frames(self, command: Any, progress: Progress) -> str:
        return await self._write(change_frames, command)

    async def _judge(self, command: Any, progress: Progress) -> str:
        return await self._write(judge_finding, command)

    async def _accept(self, command: Any, progress: Progress) -> str:
        return await self._write(accept_mutants, command)

    async def _write(self, write: Callable[..., tuple[list[Any], str]], command: Any) -> str:
        by = sender_of(self._state, command)
        async with self._lock:
            events, answer = await asyncio.to_thread(write, self._state, self._file, command, by)
            self._seen = object()  # read again: a person may have changed the file meanwhile
            self._record(*events)
            await self._share_rules()
        return answer

    def _identity(self) -> object:
        """Metadata of the file that differ after any change; None if there is no file."""
        try:
            s = self._file.stat()
        except OSError:
            return None
        return s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns


def services(context: ServiceContext) -> list[VerdictsKeeper]:
    """The verdicts of a campaign: each one has a file, which need not exist."""
    file = verdicts_file(context.run_dir, context.campaign.verdicts)
    return [VerdictsKeeper(file, context.state, context.record, context.run_dir.out)]
