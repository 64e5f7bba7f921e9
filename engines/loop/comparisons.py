"""The stage that puts operands of comparisons into inputs (CmpLog, RedQueen, for Python).

Each new entry of the corpus, and each near miss of a mutant, runs once more with recorded operands.
Its children have one operand in the place of the other. How many of the trials they get depends on
how many of them are kept, compared with other children; a small share always remains.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.rescue import UNRECORDED, Unsafe
from fuzztui.engines.directory.sync import NEAR_MISSES, Sync
from fuzztui.engines.inputs.candidate import NO_ENTRY, Candidate
from fuzztui.engines.inputs.drawn import RecordingInput
from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.inputs.operands import Edit, Operands, Scalar, edits_of_bytes, edits_of_choices
from fuzztui.engines.instrument.recorder import OperandRecorder
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import WHOLE, Corpus, CorpusEntry, Steerable
from fuzztui.engines.loop.feedback import CoverageFeedback
from fuzztui.kernel.wire.events import ComparisonsReported

OPERATION: Final = "compare"
"""The operation in the names of entries that this stage has made."""
_CHILDREN: Final = 200
"""Most children of one entry."""
_TRIES: Final = 6
"""Children that get the same operand of the same comparison, over all entries."""
_LATER_TRIES: Final = 50
"""As :data:`_TRIES`, in each later round."""
_LEAST: Final = 0.05
"""Least share of the trials, as long as there are children."""
_PERIOD: Final = 2000
"""Trials after which the results that the share depends on count half."""
_COUNT_EVERY: Final = 64
"""Trials after which they are counted."""
_RECORDING: Final = 10
"""What a recorded run costs at least, in trials."""
_OPERANDS_OF_A_TRIAL: Final = 8
"""Recorded operands that cost as much as a trial."""
COMPILING: Final = 120.0
"""Work of compiling hooks, for each cell of a function (measured: 0.1 to 0.15 ms)."""
_LATER_PRIOR: Final = 0.01
"""In later rounds, the share is small until children are kept."""
_MAX_LEARNT: Final = 1024
"""Most tokens that the dictionary gets in addition to the application's constants."""
_LEARNT_AT_ONE: Final = 64
"""Most tokens of one comparison: a cache that has inputs as keys must not fill the dictionary."""
_LONGEST_TOKEN: Final = 32
OTHER: Final = "other"
"""The name of all other trials in reports: seeds, imported inputs, mutators of other engines."""
_FIRST_REPORT: Final = 500
"""Trials until the trials by operation are reported; then whenever they have grown by a tenth."""
_SHOWN: Final = 80
"""Characters of an operand in an event."""


class Share:
    """The share of trials of one source of children, by how many of them are kept."""

    def __init__(self) -> None:
        self._tried = [0.0, 0.0]
        self._kept = [0.0, 0.0]

    def add(self, own: bool, tried: int, kept: int) -> None:
        """Count trials, and how many of their inputs were kept. ``own``: of this source."""
        self._tried[own] += tried
        self._kept[own] += kept
        if sum(self._tried) >= _PERIOD:
            self._tried = [n / 2 for n in self._tried]
            self._kept = [n / 2 for n in self._kept]

    def share(self, prior: float) -> float:
        """The share of trials, from :data:`_LEAST` to 1.

        ``prior``: kept children of 100 assumed trials, which are added to the results of this
        source; for the other sources it is 1.
        """
        other = (self._kept[0] + 1) / (self._tried[0] + 100)
        own = (self._kept[1] + prior) / (self._tried[1] + 100)
        return max(_LEAST, own / (own + other))


class Comparisons:
    """Proposes children that pass comparisons which their parents do not pass."""

    def __init__(
        self,
        context: Context,
        corpus: Corpus,
        scheduler: Steerable,
        coverage: CoverageFeedback,
        others: Callable[[], Mapping[str, int]] = dict,
        *,
        recorder: OperandRecorder | None = None,
        trials: Callable[[], int] | None = None,
    ) -> None:
        """``others`` returns the trials of this worker by the mutator that made their inputs.

        ``recorder``: shared with other stages; None: one of its own. ``trials`` returns the trials
        of the property whose corpus this is; then the trials by operation are not reported. None:
        the trials are those of the instance.
        """
        self._corpus, self._rng, self._text = corpus, context.rng, context.text
        self._random = context.rng.random
        spec = context.spec
        self._limit = spec.engine.max_size
        self._near_misses = Sync(spec.sync_dir, context.store, self._limit, NEAR_MISSES)
        self._scheduler = scheduler
        self._coverage, self._journal = coverage, context.journal
        self._recorder = recorder or OperandRecorder(context.application)
        self._count_trials = trials or (lambda: self._journal.counters[j.TRIAL])
        form, self._executor = context.executor.form, context.executor
        self._form = RecordingInput.of(form) if isinstance(form, GeneratedInput) else None
        if self._form is not None:
            self._executor = context.executor.with_form(self._form)
        self._unsafe = {*context.unsafe, *Unsafe(context.spec.dir, UNRECORDED).load()}
        self._tokens, self._learn_tokens = context.tokens, context.learn
        self._learnt: Counter[int] = Counter()
        """Tokens by comparison."""
        self._known = 0
        self._earlier = frozenset(context.reported.entries)
        """Entries of earlier workers, which are not recorded: a child may have killed one."""
        self._new: list[CorpusEntry] = []
        """Entries that were not recorded."""
        self._again: list[CorpusEntry] = []
        """Entries that are recorded again in this round."""
        self._first = True
        """Whether the children are of an entry that was recorded for the first time."""
        self._children: deque[tuple[CorpusEntry, Edit]] = deque()
        self._tries: Counter[tuple[Scalar, int]] = Counter()
        self._tries_allowed = _TRIES
        self._debt = 0
        """Unpaid cost of recorded runs in later rounds, in trials. As long as there is some, each
        trial that would get a child goes to another stage and pays 1."""
        self._saved = 0
        """Trials that other stages got in the place of children, to pay for compiling hooks."""
        self._work = context.work
        self._share = Share()
        self._now = 0.0
        """The share of trials now."""
        self._uncounted = 0
        """Trials until they are counted again if there is no new entry."""
        self._own = self._trials = self._all_own = 0
        self._others = others
        self._trials_before = {k: n for k, n in context.reported.trials.items() if k != OTHER}
        self._report_at = (
            _FIRST_REPORT + context.journal.counters[j.TRIAL] if trials is None else 1 << 62
        )
        self._proposed = ("", "")
        """Place and operand of the last child."""
        self._log = context.log
        if tokens := list(dict.fromkeys(context.reported.tokens))[:_MAX_LEARNT]:
            context.learn([token.encode("utf-8", "replace") for token in tokens])

    def propose(self) -> Candidate | None:
        """A child in a share of the trials; None in other trials, and without children."""
        if self._uncounted > 0 and len(self._corpus.entries) == self._known:
            self._uncounted -= 1
        else:
            self._count()
        if self._random() >= self._now:
            return None
        if self._debt > 0 and not self._first:
            self._debt -= 1
            return None
        found = self._next()
        self._now = self._share.share(1.0 if self._first else _LATER_PRIOR)
        if found is None:
            return None
        entry, edit = found
        self._own += 1
        self._tries[edit.wanted, edit.operands.site] += 1
        self._proposed = self._recorder.place(edit.operands), repr(edit.wanted)[:_SHOWN]
        return Candidate(edit.data[: self._limit], OPERATION, entry.id)

    def _next(self) -> tuple[CorpusEntry, Edit] | None:
        """The next child of an entry that is neither skipped nor demoted.

        Records at most one entry, and returns None if that has no children.
        """
        if not self._children:
            self._first = bool(self._new)
            if not self._first and not self._again:
                self._begin_round()
            entries = self._new or self._again
            if entries and not self._allowed(entries[-1]):
                entries.pop()
            elif entries and self._paid():
                self._plan(entries.pop())
        while self._children:
            entry, edit = self._children.popleft()
            if self._allowed(entry):
                return entry, edit
        return None

    def _begin_round(self) -> None:
        """Record all entries again: an operand may have been tried before there was an entry with
        the right place for it, such as a call with as many arguments.
        """
        self._again = [e for e in self._corpus.partners if e.id not in self._earlier]
        self._rng.shuffle(self._again)
        self._tries.clear()
        self._tries_allowed = _LATER_TRIES

    def _paid(self) -> bool:
        """Whether enough trials went to other stages to compile the hooks of covered functions."""
        price = self._recorder.due(self._coverage.seen) * COMPILING / self._work.mean
        if self._saved < price:
            self._saved += 1
            return False
        self._saved = 0
        return True

    def _allowed(self, entry: CorpusEntry) -> bool:
        if entry.id in self._unsafe:
            return False
        return self._scheduler.steer_of(entry.id) not in ("skipped", "demoted")

    def _count(self) -> None:
        """Count the trials and the new entries since the last call, and set the share."""
        self._uncounted = _COUNT_EVERY
        entries, trials = self._corpus.entries, self._count_trials()
        own = other = 0
        for entry in entries[self._known :]:
            if entry.id in self._earlier or WHOLE in entry.reasons:
                continue
            self._new.append(entry)
            if f",op:{OPERATION}" not in entry.name:
                other += 1
                continue
            own += 1
            if self._own:
                self._report(entries={str(entry.id): list(self._proposed)})
        self._known = len(entries)
        self._take_near_miss()
        self._share.add(True, self._own, own)
        self._share.add(False, max(0, trials - self._trials - self._own), other)
        self._all_own += self._own
        self._own, self._trials = 0, trials
        if self._new and not self._first:
            self._children.clear()  # a new entry comes first
            self._first = True
        self._now = self._share.share(1.0 if self._first else _LATER_PRIOR)
        if trials >= self._report_at:
            self._report_at = trials + trials // 10
            done = {OPERATION: self._all_own, **self._others()}
            before = self._trials_before
            done = {name: n + before.get(name, 0) for name, n in done.items()}
            done[OTHER] = max(0, trials - sum(done.values()))
            self._report(trials={name: n for name, n in done.items() if n})

    def _take_near_miss(self) -> None:
        """Study an input of a mutant that covers nothing new here: it may fail one comparison only.

        A mutant without the check of a checksum accepts inputs whose checksum is wrong; here the
        right one takes its place. (T-Fuzz, Peng et al. 2018, section V, solves the path instead.)
        """
        # One at a time: it is noted as taken, and a worker that ends before its run loses it.
        if not self._new and (near := self._near_misses.propose()) is not None:
            if near.begun is not None:
                near.begun()
            self._new.append(CorpusEntry(NO_ENTRY, "", near.data, 0))

    def _plan(self, entry: CorpusEntry) -> None:
        data, rng = entry.data, self._rng
        pairs = self._record(entry)
        cost = _RECORDING + len(pairs) // _OPERANDS_OF_A_TRIAL
        self._share.add(True, cost, 0)
        if not self._first:
            self._debt += cost
        if self._form is None:
            edits = edits_of_bytes(data, pairs, rng, text=self._text)
        else:
            edits = edits_of_choices(data, self._form.draws, pairs, rng)
        made: dict[bytes, Edit] = {}
        for edit in edits:
            if (
                edit.data != data
                and self._tries[edit.wanted, edit.operands.site] < self._tries_allowed
            ):
                made.setdefault(edit.data, edit)
        children = list(made.values())
        rng.shuffle(children)
        self._children.extend((entry, edit) for edit in children[:_CHILDREN])
        if self._form is None:
            self._learn(data, pairs)
        else:
            self._form.forget()

    def _record(self, entry: CorpusEntry) -> Sequence[Operands]:
        """The operands of one run of the entry, which is no trial."""
        again = Candidate(entry.data, j.RECORD, entry.id)
        self._recorder.prepare(self._coverage.seen)  # before begin(): the run has a time limit
        self._journal.begin(time.monotonic_ns(), again, counts=False)
        pairs = self._recorder.run(lambda: self._executor.call(entry.data))
        self._journal.end()
        return pairs

    def _learn(self, data: bytes, pairs: Sequence[Operands]) -> None:
        """Add texts that the input does not have to the dictionary."""
        known = set(self._tokens)
        new: dict[bytes, str] = {}
        for pair in pairs:
            for operand in (pair.value, pair.wanted):
                token = operand.encode("utf-8", "replace") if isinstance(operand, str) else operand
                if not isinstance(token, bytes) or not 1 < len(token) <= _LONGEST_TOKEN:
                    continue
                if token in known or token in data or self._learnt.total() >= _MAX_LEARNT:
                    continue
                if self._learnt[pair.site] < _LEARNT_AT_ONE:
                    known.add(token)
                    new[token] = self._recorder.place(pair)
                    self._learnt[pair.site] += 1
        if new:
            self._learn_tokens([*new])
            report = {t.decode("utf-8", "backslashreplace"): place for t, place in new.items()}
            self._report(tokens=report)

    def _report(self, **what: Any) -> None:
        self._log.write(ComparisonsReported(instance=self._log.instance, **what))
