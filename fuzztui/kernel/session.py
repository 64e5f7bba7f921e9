"""Log, clock and state together: what a screen polls, live or in replay.

Live and replay work in the same way: records that the clock allows are folded into the
state, a bounded number at a time. Going back, or far forward, starts from a checkpoint.
Checkpoints come from the log directory; if they are missing, damaged or too far apart,
the session makes them in memory while it folds the log, which is only slower. If a long
log has none, a live session can write them (:meth:`Session.draft`).
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from fuzztui.kernel.log.checkpoints import EVERY, CheckpointDraft, CheckpointFile, CheckpointWriter
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.lines import upto_t
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.chain import Chain, Link
from fuzztui.kernel.model.checkpoint import (
    CheckpointError,
    CheckpointMark,
    tables,
    to_json,
    unstorable,
)
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import Changes, CommandStatus, Mutant, State
from fuzztui.kernel.model.undo import fold_before
from fuzztui.kernel.wire.events import CampaignStarted

POLL_RECORDS = 5000
POLL_S = 0.03
"""Records, and seconds, after which one :meth:`Session.poll` returns; whichever comes first."""

SEEK_S = 0.3
"""Seconds after which one :meth:`Session.seek` in a replay returns; polls do the rest."""

CHECK_S = 0.01
"""Seconds per poll for verifying the log (10 MB of it), until all of it is verified."""

BATCH = 250

WORTH_A_JUMP = 2 * EVERY
"""Work (:attr:`State.cost`) that a checkpoint must save to be restored: restoring one costs as much
as folding a few hundred records."""


PER_INSTANCE = 20
"""Minimum work (:attr:`State.cost`) per instance between two checkpoints: a checkpoint has a row of
each instance, and with 200 instances checkpoints were a fifth of the CPU time of a hub."""

LONG = 20_000
"""Records without checkpoints that take long to fold, about half a second."""


class LiveClock:
    """The clock of a live session: every record is shown as soon as it is in the log."""

    def now(self) -> float:
        """Infinity: no limit."""
        return math.inf


class ReplayClock:
    """The clock of a replay: campaign time from ``t`` seconds on, ``speed`` times real time."""

    def __init__(
        self,
        speed: float = 1.0,
        t: float = 0.0,
        paused: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.speed = speed
        self.paused = paused
        self._monotonic = monotonic
        self._t = max(0.0, t)
        self._since = monotonic()

    def now(self) -> float:
        """Campaign time in seconds."""
        if self.paused:
            return self._t
        return self._t + (self._monotonic() - self._since) * self.speed

    def pause(self) -> None:
        """Stop the clock."""
        self.jump(self.now())
        self.paused = True

    def resume(self) -> None:
        """Start the clock again."""
        self.jump(self.now())
        self.paused = False

    def set_speed(self, speed: float) -> None:
        """Run ``speed`` times as fast as real time from now on; a negative speed counts as 0."""
        self.jump(self.now())
        self.speed = max(0.0, speed)

    def jump(self, t: float) -> None:
        """Set the campaign time to ``t``; a paused clock stays paused."""
        self._t = max(0.0, t)
        self._since = self._monotonic()


Clock = LiveClock | ReplayClock
"""Returns the campaign time (``now``) up to which a session shows records."""


class Session:
    """Log, clock and state of a run, a log directory or a log file. Raises LogError, OSError.

    A live session (``LiveClock``) begins at the last checkpoint and follows the log.
    A replay begins at its clock's time. Not safe for use by two threads at once.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self.clock = clock
        self.mode: Literal["live", "replay"]
        self.mode = "replay" if isinstance(clock, ReplayClock) else "live"
        self.reader = LogReader(path)
        self._file: CheckpointFile | None = None
        self._draft: CheckpointDraft | None = None
        self._is_storable = True
        self.chain = self._load_chain(path)
        self.state = State()
        self.behind = False
        """Whether records are left that the clock allows and the last call did not apply."""
        self._mark: CheckpointMark | None = None
        self._jumped = True
        """Whether the state was replaced since the last returned :class:`Changes`."""
        self._restore(self._best())

    @property
    def end_t(self) -> float:
        """Campaign time of the last record of the log, in seconds."""
        return self.reader.last_t

    @property
    def end_seq(self) -> int:
        """The number of the last record of the log; 0: no record."""
        return self.reader.last_seq

    @property
    def problems(self) -> list[str]:
        """Messages about damage of the log; if there are any, statistics are lower bounds.

        Complete after :meth:`check`; each poll checks a further part.
        """
        joined = ["two logs were joined: another campaign begins in the middle of the log"]
        return [*self.reader.problems, *(joined if self.state.starts > 1 else [])]

    @property
    def is_lower_bound(self) -> bool:
        """Whether records are missing, now or before a repair: statistics are then "at least"."""
        return bool(self.problems) or self.state.lost > 0

    @property
    def is_settled(self) -> bool:
        """Whether all that the clock allows is folded, live also what a watcher still reads."""
        return not self.behind and (self.mode == "replay" or self.state.caught_up >= 1)

    @property
    def is_long(self) -> bool:
        """Whether folding the remaining records of a live session takes long (:data:`LONG`)."""
        return self.mode == "live" and self.end_seq - self.state.seq >= LONG

    def fold_rest(self) -> State:
        """Fold all records that the clock allows, and return the state."""
        self.poll()
        while self.behind:
            self.poll()
        return self.state

    def draft(self) -> None:
        """Let polls make the checkpoints that a long log lacks, and write them at its end.

        A log lacks them if another version wrote it, whose checkpoints are unusable.
        If the log's writer lives, or the log cannot be written, nothing is written.
        """
        if self.is_long and self._file is not None:
            self._draft = CheckpointDraft(self._file, len(self.chain.links))
            self._mark = self.chain.mark(len(self.chain.links))

    def save_draft(self) -> None:
        """Write the checkpoints made until now. Never raises LogError or OSError."""
        draft, self._draft = self._draft, None
        if draft is not None and not self.problems:
            with contextlib.suppress(LogError, OSError):  # a log without them is only slower
                draft.save()

    def check(self, seconds: float = math.inf) -> bool:
        """Look for damage in the log for at most ``seconds``; False if a part is left.

        The whole log takes 0.15 s if it has 130 MB, 4.9 s if it is of an earlier version.
        Raises LogError, OSError.
        """
        return self.reader.check(time.monotonic() + seconds)

    def poll(self) -> Changes:
        """Apply records that the clock allows, a bounded number of them (see ``behind``)."""
        self.reader.refresh()
        self.reader.check(time.monotonic() + CHECK_S)
        if isinstance(self.clock, ReplayClock) and self.clock.now() > self.end_t:
            self.clock.jump(self.end_t)
        changes = self._advance(self.clock.now(), time.monotonic() + POLL_S, POLL_RECORDS)
        if self._draft is not None and not self.behind:
            self.save_draft()
        return changes

    def seek(self, t: float) -> Changes:
        """Show the campaign as it was at ``t`` seconds.

        A replay continues from there; without checkpoints it may need a few polls to get
        there (``behind``). A live session returns to the present at the next poll.
        """
        self.reader.refresh()
        t = min(max(0.0, t), self.end_t)
        if isinstance(self.clock, ReplayClock):
            self.clock.jump(t)
            return self._advance(t, time.monotonic() + SEEK_S, None)
        return self._advance(t, math.inf, None)

    def _advance(self, target: float, deadline: float, limit: int | None) -> Changes:
        """Bring the state to time ``target``; stop at ``deadline``, or after ``limit`` records."""
        best = self._best(target)
        ahead = self.chain.links[best - 1].cost - self.state.cost if best else 0
        if target < self.state.t or ahead >= WORTH_A_JUMP:
            self._restore(best)
        changes = Changes()
        self.behind = True
        while True:
            size = BATCH if limit is None else min(BATCH, limit - changes.records)
            records = self.reader.batch(self.state.seq, size) if size else []
            allowed = records[: upto_t(records, target)]
            if not allowed:
                self.behind = bool(not size and self.reader.batch(self.state.seq, 1))
                break
            changes |= apply(self.state, allowed)
            self._remember()
            if len(allowed) < len(records):
                self.behind = False
                break
            if time.monotonic() >= deadline:
                break
        if self._jumped:
            self._jumped = False
            changes |= Changes(campaign=True, reset=True)
        return changes

    # -------------------------------------------------------- checkpoints

    def _best(self, target: float | None = None) -> int:
        """The number (from 1) of the last link not after campaign time ``target``; 0: none.

        ``target`` None: the clock's time.
        """
        if target is None:
            target = self.clock.now()
        return self.chain.upto_t(target)

    def _restore(self, n: int) -> None:
        """Restore link ``n``, or the last one before it that can still be read."""
        self._draft = None
        while True:
            try:
                self.state = self.chain.restore(n)
                break
            except CheckpointError:
                # The later links depend on the unreadable one.
                del self.chain.links[n - 1 :]
                self._mark = None
                n -= 1
        self._jumped = True

    def _remember(self) -> None:
        """Make a checkpoint in the draft and in memory if enough was folded since the last."""
        if self._is_storable:
            try:
                self._add_to_draft()
                self._add_link()
            except (TypeError, ValueError):  # a package's feature keeps what JSON does not have
                self._draft, self._is_storable = None, False

    def _add_to_draft(self) -> None:
        if self._draft is not None and self._mark is not None:
            room = self.reader.bytes_upto(self.state.seq)
            if self._draft.due(self.state.cost - self._mark.cost, room) and self._draft.write(
                to_json(self.state, self._mark), room
            ):
                self._mark = CheckpointMark.of(self.state)

    def _add_link(self) -> None:
        if self.mode == "live" or self.state.cost - self.chain.cost < EVERY:
            return
        mark = self._mark
        if mark is None or mark.seq != self.chain.seq:
            mark = self.chain.mark(len(self.chain.links))
        data = to_json(self.state, mark)
        packed = zlib.compress(json.dumps(data["head"]).encode(), 1)
        self._mark = CheckpointMark.of(self.state)

        def head() -> dict[str, Any]:
            loaded: dict[str, Any] = json.loads(zlib.decompress(packed))
            return loaded

        self.chain.links.append(_link(data, mark.tables.mutants, head))

    def _load_chain(self, path: Path) -> Chain:
        """The links of the log directory that can be read and belong to this log."""
        chain = Chain()
        mutants: dict[str, Mutant] = {}
        directory = path / "log" if (path / "log").is_dir() else path
        if not directory.is_dir():
            return chain
        self._file = file = CheckpointFile(directory)
        for n, (block, _) in enumerate(file.pairs):
            if block.last > self.reader.last_seq:
                break
            try:
                link = _link(file.changes(n), mutants, _head(file, n))
                if link.seq != block.last:
                    break
                chain.links.append(link)
                mutants.update(link.tables.mutants)
            except (LogError, OSError, ValueError, LookupError):
                break
        if not self._is_of_this_log(chain):
            return Chain()
        if chain.links:
            # A hundred thousand rows that live as long as the session: without this each
            # full garbage collection walks them, 30 to 60 ms in the middle of a seek.
            gc.freeze()
        return chain

    def _is_of_this_log(self, chain: Chain) -> bool:
        """Whether the links belong to this log: a deleted log may have left its checkpoints."""
        first = next(self.reader.records(limit=1), None)
        if not chain.links or first is None or not isinstance(first.event, CampaignStarted):
            return True
        try:
            head = chain.links[0].head()
        except CheckpointError:
            return False
        return bool(head.get("started_wall") == first.event.wall)


def _link(
    data: dict[str, Any], before: Mapping[str, Mutant], head: Callable[[], dict[str, Any]]
) -> Link:
    """The link of a checkpoint; ``before``: the mutants in the previous checkpoint."""
    rows = tables(data, before)
    return Link(data["seq"], data["cost"], data["t"], rows, data["recent"], head)


def _head(file: CheckpointFile, n: int) -> Callable[[], dict[str, Any]]:
    def head() -> dict[str, Any]:
        try:
            return file.head(n)
        except (LogError, OSError, ValueError) as e:
            raise CheckpointError(str(e)) from e

    return head


def state_at_end(path: Path) -> State:
    """Return the state at the end of the log. Raises LogError, OSError."""
    return Session(path, LiveClock()).fold_rest()


def state_before(path: Path, command: CommandStatus) -> State:
    """Return the state before a command took effect. Raises LogError, OSError."""
    earlier = max(0.0, command.t - 0.001)  # a checkpoint of the same time may be a later one
    session = Session(path, ReplayClock(t=earlier, paused=True))
    return fold_before(session.state, session.reader.records(session.state.seq), command)


class CheckpointKeeper:
    """Writes checkpoints of a live session's state; for the log's only writer.

    The caller opens a :class:`Session` on the run, polls it to the end, folds each
    appended record into ``session.state``, and calls :meth:`keep` after each flush
    that has written all records in the state.
    """

    def __init__(self, directory: Path, session: Session) -> None:
        self._state = session.state
        chain = session.chain
        self._mark = chain.mark(len(chain.links))
        self.problem = ""
        """Why there are no more checkpoints, for users; an empty string: there are."""
        self._writer: CheckpointWriter | None = None
        with contextlib.suppress(LogError, OSError):  # a log without checkpoints is only slower
            self._writer = CheckpointWriter(directory, session.state.seq, len(chain.links))
            if self._writer.seq != self._mark.seq:  # another process has written them since
                self.close()
                self._writer = CheckpointWriter(directory, session.state.seq, 0)
                self._mark = CheckpointMark()

    def keep(self) -> bool:
        """Write a checkpoint if one is due; True if it was written. Never raises."""
        writer, state = self._writer, self._state
        work = state.cost - self._mark.cost
        if writer is None or work < PER_INSTANCE * len(state.instances) or not writer.due(work):
            return False
        try:
            if not writer.write(to_json(state, self._mark)):
                return False
        except (TypeError, ValueError) as e:  # a package's feature keeps what JSON does not have
            self.problem = f"no more checkpoints: {unstorable(state) or e}"
            self.close()
            return False
        self._mark = CheckpointMark.of(state)
        return True

    def close(self) -> None:
        """Close the checkpoint file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
