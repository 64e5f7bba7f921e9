"""The campaign log as its only writer keeps it, and the state folded from it.

The supervisor knows nothing about the campaign that a screen could not know too: it
folds its own records with the same function.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping

from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.log.reader import LogError, LogReader
from fuzztui.log.writer import LogWriter
from fuzztui.model.fold import apply
from fuzztui.observe.relay import Offsets, relayed
from fuzztui.session import Keeper, LiveClock, Session
from fuzztui.supervise.clock import CampaignClock
from fuzztui.wire.events import Event, Message, Record

__all__ = ["CampaignLog"]

OFFSETS_EVERY_S = 1.0
RETRY_S = 1.0


class CampaignLog:
    """Opens (or begins) a run's log. Raises :class:`SupervisorError`.

    ``react`` is called with each event once it is in the state, ``trouble`` with words while
    the log cannot be written, and with "" when it is again: those who read it learn of nothing.
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
        self._keeper = Keeper(run_dir.log, session)
        self.clock = CampaignClock(run_dir.clock, self._writer.last_t)
        self.writable = True
        self._retry_at = 0.0
        self._offsets_due = 0.0
        self._saved = self.offsets
        self.repairs = [
            Message("warning", f"the campaign log was repaired: {repair}")
            for repair in self._writer.repairs
        ]
        """Warnings about damage of the log, to be recorded in it."""

    def record(self, *events: Event) -> None:
        """Stamp events with the campaign time of now, fold them, react to them."""
        t = self.clock.now()
        records: list[Record] = []
        try:
            for event in events:
                records.append(self._writer.append(event, t))
        finally:
            apply(self.state, records)  # the state is of the log, whatever happens
        for event in events:
            self._react(event)

    def carried(self, positions: Mapping[str, int]) -> None:
        """All events of engines up to these positions have been recorded."""
        if positions != self.offsets.bytes:
            self.offsets = Offsets(self.state.seq, positions, self.state.lost)

    def flush(self) -> bool:
        """Hand what was recorded to the kernel; False while the disk does not take it.

        What is not taken is kept and tried again, about once a second.
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
                words = f"the campaign log cannot be written: {e.strerror or e}"
                self.record(Message("error", words))
                self._trouble(words)
            return False
        if self.writable:
            self._keeper.keep()  # only of a state that is in the log as a whole
        else:
            self.writable = True
            self._trouble("")
            self.record(Message("info", "the campaign log is written again"))
        if now >= self._offsets_due and self.offsets is not self._saved:
            self._offsets_due = now + OFFSETS_EVERY_S
            self._save_offsets()
        return True

    def close(self) -> None:
        """Write everything out and let go. Raises OSError when the disk does not take it."""
        self._writer.close(at_rest=True)
        self._keeper.close()
        self._save_offsets()

    def _save_offsets(self) -> None:
        """Only ever after a flush: what they say must be in the log."""
        with contextlib.suppress(OSError):  # then more is compared at the next start
            self.offsets.save(self._run_dir.offsets)
            self._saved = self.offsets
