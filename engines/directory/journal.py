"""``.cur_input``, the trial journal: the running input and all counters, in shared memory.

A memory-mapped file: 64-bit signed counters that worker and monitor share, with the operation of
the running trial between them, then the bytes of its input, then those of an input that is held
while smaller versions of it run. Writing costs no system call. A worker
that is killed at any instruction leaves its input and all counters up to that trial.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

from fuzztui.engines.inputs.candidate import Candidate, from_label

_MAGIC: Final = 0x315A5A5546  # "FUZZ1"

# Counters. The worker writes those of the first group, the monitor those of the second.
(
    MAGIC,
    CAPACITY,
    PHASE,
    TRIAL,
    STARTED,
    LENGTH,
    SRC,
    SRC2,
    VALID,
    INVALID,
    FAILURES,
    TIMEOUTS,
    SEEDS_DONE,
    CORPUS,
    CORPUS_FOUND,
    CORPUS_IMPORTED,
    CORPUS_VARIABLE,
    FAVORED,
    PENDING,
    PENDING_FAVORED,
    CUR_ITEM,
    CYCLES,
    CYCLES_WITHOUT_FINDS,
    MAX_DEPTH,
    EDGES,
    EDGES_VALID,
    EDGES_TOTAL,
    EDGES_VARIABLE,
    CRASHES,
    HANGS,
    LAST_FIND,
    LAST_CRASH,
    LAST_HANG,
    LAST_CRASH_TRIAL,
    SLOWEST_NS,
    TOKENS,
    PAUSED,
    # ---- the monitor's
    STOP,
    RUN_MS,
    START_TIME,
    SUSPECT_TRIAL,
    SUSPECT_KILLS,
    # ---- the worker's again (files are read by later versions: no counter ever moves)
    MUTANT,
    EDGES_THIRD_PARTY,
    LIMIT,
    LIMIT_VALUE,
    LIMITS_CHECKED,
    # statistics of mutation analysis over all workers (written by mu2's report)
    ORIGINAL_NS,
    MUTANTS_NS,
    COMPILE_NS,
    REST_NS,
    MUTANT_RUNS,
    DEAD,
    SKIPPED,
    UNEXECUTED,
    UNINFECTED,
    PUT_OFF,
    AUDITS,
    AUDIT_KILLS,
    NOT_SAVED,
    NOT_SAVED_TOLD,
    # running time at which spoton last reported its types and goals, over all workers
    TYPES_REPORTED,
    GOALS_REPORTED,
    # cells with a probe in trials
    PROBES_LEFT,
) = range(64)

# Words 64 to 79 hold the operation. The next counters are behind it.
LINES_DONE: Final = 80
"""2 more than the id of the last queue entry whose lines are reported; 1: none is; 0: a run of an
older version, which recorded all."""
HELD, HELD_SRC, HELD_SRC2 = range(81, 84)
"""HELD: 0, or 1 more than the bytes of the input that is held (:meth:`TrialJournal.hold`)."""
EDGE_TRIAL: Final = 84
"""The last trial that covered a new edge."""

REPORTED: Final = {
    CYCLES: "cycles_done",
    CYCLES_WITHOUT_FINDS: "cycles_wo_finds",
    TRIAL: "execs_done",
    CORPUS: "corpus_count",
    FAVORED: "corpus_favored",
    CORPUS_FOUND: "corpus_found",
    CORPUS_IMPORTED: "corpus_imported",
    CORPUS_VARIABLE: "corpus_variable",
    MAX_DEPTH: "max_depth",
    CUR_ITEM: "cur_item",
    PENDING_FAVORED: "pending_favs",
    PENDING: "pending_total",
    CRASHES: "saved_crashes",
    HANGS: "saved_hangs",
    LAST_FIND: "last_find",
    LAST_CRASH: "last_crash",
    LAST_HANG: "last_hang",
    EDGES: "edges_found",
    EDGES_TOTAL: "total_edges",
    EDGES_VARIABLE: "var_byte_count",
    TOKENS: "auto_dict_entries",
    EDGES_VALID: "edges_valid",
    PROBES_LEFT: "probes_left",
    VALID: "valid_inputs",
    INVALID: "invalid_inputs",
    FAILURES: "failed_inputs",
    TIMEOUTS: "total_tmout",
    NOT_SAVED: "findings_not_saved",
}
"""The counters that ``fuzzer_stats`` contains as they are, each with its key."""

IDLE, LOADING, RUNNING, SAVING, ENDED, REFUSED = range(6)
"""Values of PHASE. RUNNING: the target executes. SAVING: the execution has ended and is judged.
ENDED, REFUSED: the worker ends on purpose. Other counters: LIMIT, LIMIT_VALUE: the resource limit
that ended the worker, or -1, and its value. LIMITS_CHECKED (written by the monitor): whether limits
are compared after each trial. NOT_SAVED: distinct findings above ``engine.max_findings``, a lower
bound. NOT_SAVED_TOLD: the value of NOT_SAVED in the last message."""

REBUILD: Final = "rebuild"
"""Operation: running a queue entry again after a restart, which is not a trial."""

ANALYSE: Final = "analyse"
"""Operation: running mutants on a queue entry, which is not a trial."""

RECORD: Final = "record"
"""Operation: running a queue entry to record its comparisons, which is not a trial."""

LINES: Final = "lines"
"""Operation: running a queue entry to record its lines, which is not a trial."""

STOP_NOW, FINISH = 1, 2
"""Values of STOP. FINISH: do the work that remains after the budget is used up, then stop."""

_LABEL_AT: Final = 8 * 64
_LABEL_SIZE: Final = 128
assert PROBES_LEFT < _LABEL_AT // 8
_LAST_AT: Final = 1024
COUNTERS: Final = _LAST_AT // 8
"""Words that are mapped as counters, the operation's among them."""
_LAST_SIZE: Final = 3072
_DATA_AT: Final = 4096


class TrialJournal:
    """The mapped file. ``counters`` is indexed by the constants of this module.

    One worker writes at a time. The monitor reads, and writes only its own counters.
    """

    __slots__ = ("_labels", "_map", "capacity", "counters")

    def __init__(self, path: Path, capacity: int) -> None:
        """Open or create the file. ``capacity``: maximum bytes of an input. Raises OSError.

        All blocks are allocated at once, so that a disk that fills up later cannot turn a write
        into SIGBUS. The content of a file that is not a journal is overwritten.
        """
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            size = max(_DATA_AT + 2 * capacity + _LABEL_SIZE, os.fstat(fd).st_size)
            size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
            os.posix_fallocate(fd, 0, size)
            self._map = mmap.mmap(fd, size)
        finally:
            os.close(fd)
        self.counters: memoryview[int] = memoryview(self._map)[: COUNTERS * 8].cast("q")
        self.capacity = capacity
        self._labels: dict[str, bytes] = {}
        if self.counters[MAGIC] != _MAGIC:
            self._map[:_DATA_AT] = bytes(_DATA_AT)
            self.counters[MAGIC] = _MAGIC
        if self.counters[CAPACITY] != capacity:
            self.counters[CAPACITY], self.counters[HELD] = capacity, 0

    # -------------------------------------------------------------- the worker

    def begin(self, now_ns: int, candidate: Candidate, *, counts: bool = True) -> None:
        """Record the input that is about to run. ``counts``: whether the run is the next trial."""
        counters, data, label = self.counters, candidate.data, candidate.label
        # Not RUNNING while the fields change: a kill in between leaves no partial input.
        counters[PHASE] = IDLE
        counters[MUTANT] = 0
        n = len(data) if len(data) <= self.capacity else self.capacity
        counters[LENGTH] = n
        self._map[_DATA_AT : _DATA_AT + n] = data if n == len(data) else data[:n]
        padded = self._labels.get(label)
        if padded is None:
            padded = label.encode("utf-8", "replace")[:_LABEL_SIZE].ljust(_LABEL_SIZE, b"\0")
            if len(self._labels) < 1000:
                self._labels[label] = padded
        self._map[_LABEL_AT : _LABEL_AT + _LABEL_SIZE] = padded
        counters[SRC] = candidate.src
        counters[SRC2] = candidate.src2
        counters[STARTED] = now_ns
        # In this order: after a kill in between, the input runs again and is counted then.
        counters[PHASE] = RUNNING
        if counts:
            counters[TRIAL] += 1

    def extend(self, data: bytes) -> None:
        """Append ``data`` to the running input: choices that were drawn on demand."""
        at = self.counters[LENGTH]
        n = min(len(data), self.capacity - at)
        if n > 0:
            self._map[_DATA_AT + at : _DATA_AT + at + n] = data[:n]
            self.counters[LENGTH] = at + n

    def rewrite(self, data: bytes) -> None:
        """Replace the bytes of the running input; the rest of the trial stays."""
        n = min(len(data), self.capacity)
        self.counters[LENGTH] = 0  # a kill in between leaves no mixture of two inputs
        self._map[_DATA_AT : _DATA_AT + n] = data[:n]
        self.counters[LENGTH] = n

    def hold(self) -> None:
        """Keep the running trial's input, while others run, until :meth:`release`."""
        counters, held_at = self.counters, _DATA_AT + self.capacity
        n = counters[LENGTH]
        label = self._map[_LABEL_AT : _LABEL_AT + _LABEL_SIZE]
        held = label + self._map[_DATA_AT : _DATA_AT + n]
        self._map[held_at : held_at + len(held)] = held
        counters[HELD_SRC], counters[HELD_SRC2] = counters[SRC], counters[SRC2]
        counters[HELD] = n + 1

    def release(self) -> None:
        """Forget the held input: it is saved."""
        self.counters[HELD] = 0

    def again(self, now_ns: int, mutant: int = -1) -> None:
        """Record another run of the same input: on the original, or on the mutant of this index."""
        self.counters[MUTANT] = mutant + 1
        self.counters[STARTED] = now_ns
        self.counters[PHASE] = RUNNING

    def judging(self) -> None:
        """Record that the execution has ended; its results are not saved yet."""
        self.counters[PHASE] = SAVING

    def end(self) -> None:
        """Record that all results are saved."""
        self.counters[PHASE] = IDLE

    def leave_message(self, text: str) -> None:
        """Add to the worker's last message for the monitor; needs no descriptor."""
        data = (self.last_message() + text).encode("utf-8", "backslashreplace")[-_LAST_SIZE:]
        self._map[_LAST_AT : _LAST_AT + _LAST_SIZE] = data.ljust(_LAST_SIZE, b"\0")

    # --------------------------------------------------------------- the reader

    def last_message(self, *, clear: bool = False) -> str:
        """The worker's last message; its end if it was too long, empty if there is none."""
        raw = self._map[_LAST_AT : _LAST_AT + _LAST_SIZE]
        if clear:
            self._map[_LAST_AT : _LAST_AT + _LAST_SIZE] = bytes(_LAST_SIZE)
        return raw.rstrip(b"\0").decode("utf-8", "replace")

    def input(self) -> bytes:
        """The input of the running, or last, trial."""
        n = max(0, min(self.counters[LENGTH], len(self._map) - _DATA_AT))
        return self._map[_DATA_AT : _DATA_AT + n]

    def label(self) -> str:
        """How the input was made (:attr:`Candidate.label`)."""
        return self._label(_LABEL_AT)

    def _label(self, at: int) -> str:
        return self._map[at : at + _LABEL_SIZE].rstrip(b"\0").decode("utf-8", "replace")

    def candidate(self) -> Candidate:
        """The candidate of the running, or last, trial, to be run again."""
        return from_label(self.input(), self.label(), self.counters[SRC], self.counters[SRC2])

    def held(self) -> Candidate | None:
        """The held input, to be run again; None if there is none."""
        counters, held_at = self.counters, _DATA_AT + self.capacity
        n = counters[HELD] - 1
        if not 0 <= n <= self.capacity:
            return None
        data = self._map[held_at + _LABEL_SIZE : held_at + _LABEL_SIZE + n]
        return from_label(data, self._label(held_at), counters[HELD_SRC], counters[HELD_SRC2])

    def is_stuck(self, trials: int, since: int) -> bool:
        """Whether no new edge was covered in ``trials`` trials after ``since``; 0: never."""
        counters = self.counters
        return 0 < trials <= counters[TRIAL] - max(counters[EDGE_TRIAL], since)

    @property
    def is_counted(self) -> bool:
        """Whether the outcome of the last trial was counted."""
        counters = self.counters
        counted = counters[VALID] + counters[INVALID] + counters[FAILURES] + counters[TIMEOUTS]
        return counted >= counters[TRIAL]

    def close(self) -> None:
        """Unmap; the file stays."""
        self.counters.release()
        self._map.close()
