"""The campaign log on the side of its only writer, and the state folded from it.

The supervisor folds its own records with the same function as the screens: it has no other
knowledge of the campaign.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping

from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.session import CheckpointKeeper, LiveClock, Session
from fuzztui.kernel.wire.events import Event, Message, Record
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.observe.relay import Offsets, relayed
from fuzztui.run.supervise.clock import CampaignClock

OFFSETS_EVERY_S = 1.0
RETRY_S = 1.0
LAST_FLUSH_S, LAST_RETRY_S = 60.0, 0.05

_logger = logging.getLogger(__name__)


class CampaignLog:
    """The log of a run, opened for writing, or created. Raises :class:`SupervisorError`.

    ``react`` is called with each event once the event is in the state. ``trouble`` is called with
    a message when the log cannot be written, and with an empty string when it can be written again:
    readers of the log cannot see either.
    """

    def __init__(
        self, run_dir: RunDir, react: Callable[[Event], None], trouble: Callable[[str], None]
    ) -> None:
        self._run_dir = run_dir
        self._trouble = trouble
        self._react = react
        try:
            self._writer = LogWriter(run_dir.log)
            session = Session(run_dir.path, LiveClock())
            while session.poll().records or session.behind:
                pass
            self.offsets = Offsets.load(run_dir.offsets, self._writer.last_seq, session.state.lost)
            self.done = relayed(LogReader(run_dir.path).records(after_seq=self.offsets.seq))
        except LogError as e:
            raise SupervisorError(
                f"{run_dir.log}: the campaign log cannot be opened: {e}"
            ) from None
        except OSError as e:
            raise SupervisorError(
                f"{e.filename or run_dir.log}: the campaign log cannot be opened: "
                f"{e.strerror or e}; no record is lost. Make the disk writable, free space on it, "
                "and start again"
            ) from None
        self.state = session.state
        self._keeper = CheckpointKeeper(run_dir.log, session)
        self.clock = CampaignClock(run_dir.clock, self._writer.last_t)
        self.writable = True
        self._retry_at = 0.0
        self._offsets_due = 0.0
        self._saved = self.offsets
        self.repairs = [
            Message("warning", f"the campaign log was repaired: {repair}")
            for repair in self._writer.repairs
        ]
        """Warnings about damage of the log; the caller records them."""

    def record(self, *events: Event) -> None:
        """Log events with the current campaign time, fold them, call ``react``."""
        t = self.clock.now()
        records: list[Record] = []
        try:
            for event in events:
                records.append(self._writer.append(event, t))
        finally:
            apply(self.state, records)  # also after an error: the state must match the log
        for event in events:
            self._react(event)

    def log_from_host(self, origin: Record, event: Event) -> None:
        """Log ``event``, which has come from the record ``origin`` of a host's log."""
        record = self._writer.append(event, self.clock.now(), origin)
        apply(self.state, [record])
        self._react(event)

    def carried(self, positions: Mapping[str, int]) -> None:
        """Note that all engine events up to these byte positions have been recorded."""
        if positions != self.offsets.bytes:
            self.offsets = Offsets(self.state.seq, positions, self.state.lost)

    def flush(self) -> bool:
        """Write the recorded events to the disk. Returns False while that fails.

        Unwritten records are kept and tried again about once a second.
        """
        now = time.monotonic()
        if not self.writable and now < self._retry_at:
            return False
        try:
            self._writer.flush()
        except OSError as e:
            self._retry_at = now + RETRY_S
            if self.writable:
                self.writable = False
                text = f"the campaign log cannot be written: {e.strerror or e}"
                self.record(Message("error", text))
                self._trouble(text)
            return False
        if self.writable:
            self._keeper.keep()  # checkpoints only of states that are completely in the log
            if problem := self._keeper.problem:
                self._keeper.problem = ""
                self.record(Message("error", problem))
        else:
            self.writable = True
            self._trouble("")
            self.record(Message("info", "the campaign log can be written again"))
        if now >= self._offsets_due and self.offsets is not self._saved:
            self._offsets_due = now + OFFSETS_EVERY_S
            self._save_offsets()
        return True

    async def close_at_end(self, last_look: Callable[[], Awaitable[None]]) -> None:
        """Write and close the log at the end of its owner; a full disk gets a minute of patience.

        ``last_look`` is awaited when all records are written, or cannot be.
        """
        patience = time.monotonic() + LAST_FLUSH_S
        while not self.flush() and time.monotonic() < patience:
            await asyncio.sleep(LAST_RETRY_S)
        await last_look()
        try:
            self.close()
        except OSError as e:
            # Entries and findings are in the directories: the next start logs them.
            _logger.error("%s: the end of the log is lost: %s", self._run_dir.log, e)

    def close(self) -> None:
        """Write everything and close the log. Raises OSError if the disk is full."""
        self._writer.close(at_rest=True)
        self._keeper.close()
        self._save_offsets()

    def _save_offsets(self) -> None:
        """Call after a flush only: events up to the saved offsets must be in the log."""
        with contextlib.suppress(OSError):  # the next start then compares more events
            self.offsets.save(self._run_dir.offsets)
            self._saved = self.offsets
