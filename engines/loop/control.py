"""``control.jsonl``: the commands to a running engine, which are answered by events."""

from __future__ import annotations

import json
import os
from typing import Any, Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import SteerError
from fuzztui.engines.loop.parts import Parts
from fuzztui.kernel.wire.codec import CodecError, decode_command
from fuzztui.kernel.wire.commands import (
    Command,
    DemoteEntry,
    Pause,
    PromoteEntry,
    ResetEntry,
    Resume,
    SkipEntry,
    Stop,
)
from fuzztui.kernel.wire.events import CommandApplied, CommandRejected

_READ_LIMIT: Final = 1 << 20
"""Bytes read at once; a longer line is skipped."""


class ControlReader:
    """Executes commands between trials and answers each once, also after restarts.

    After a restart, answered commands are executed again without an answer, so that skips and
    demotions remain. A pause is kept in the journal; a stop is not repeated.
    """

    def __init__(self, context: Context, parts: Parts) -> None:
        self._execute_other = parts.execute
        """Executes commands of this engine only; their effects must survive a restart."""
        self._file, self._scheduler = context.spec.dir / "control.jsonl", parts.scheduler
        self._log, self._counters = context.log, context.journal.counters
        self._answered = context.reported.answered
        """Ids of the commands that earlier workers have answered."""
        self._offset = 0
        self.stop = False

    @property
    def paused(self) -> bool:
        """Whether the instance is paused."""
        return bool(self._counters[j.PAUSED])

    def poll(self) -> None:
        """Execute the commands that were appended; costs one ``stat`` if there are none."""
        try:
            if os.stat(self._file).st_size <= self._offset:  # noqa: PTH116 - 20 times a second
                return
            with self._file.open("rb") as file:
                file.seek(self._offset)
                data = file.read(_READ_LIMIT)
        except OSError:
            return
        whole, newline, _ = data.rpartition(b"\n")
        if not newline:
            if len(data) == _READ_LIMIT:
                self._offset += _READ_LIMIT  # no command has so many bytes
            return
        self._offset += len(whole) + 1
        for line in whole.split(b"\n"):
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            data = json.loads(line)
            id_, command = data["id"], data["command"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return  # a torn or invalid line has no id to answer
        if not isinstance(id_, str):
            return
        again = id_ in self._answered
        self._answered.add(id_)
        try:
            detail = self._execute(decode_command(command), again=again)
        except (CodecError, SteerError) as e:
            if not again:
                self._log.write(CommandRejected(id_, self._log.instance, str(e)))
            return
        if not again:
            trial = self._counters[j.TRIAL]
            self._log.write(CommandApplied(id_, self._log.instance, trial, detail))

    def _execute(self, command: Command, *, again: bool) -> str:
        entry: Any = getattr(command, "entry", None)
        match command:
            case SkipEntry():
                return self._scheduler.skip(entry)
            case PromoteEntry() if again:
                # The promotion is used up; that it undid a skip remains.
                return self._scheduler.reset(entry)
            case PromoteEntry():
                return self._scheduler.promote(entry)
            case DemoteEntry():
                return self._scheduler.demote(entry)
            case ResetEntry():
                return self._scheduler.reset(entry)
            case Pause() | Resume() if not again:
                self._counters[j.PAUSED] = int(isinstance(command, Pause))
                return "paused" if isinstance(command, Pause) else "resumed"
            case Stop() if not again:
                self.stop = True
                return "stopping"
            case Pause() | Resume() | Stop():
                return ""
            case _ if self._execute_other is not None:
                return "" if again else self._execute_other(command)
            case _:
                raise SteerError(f"this engine has no command {command.name}")
