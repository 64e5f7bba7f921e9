"""An engine outside of fuzztui, in one file: it repeats entries and appends random bytes.

``KIND`` is its entry point. ``build`` puts parts of ``fuzztui.engines`` together and adds a
mutator.
"""

from __future__ import annotations

import random

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.rescue import Rescue
from fuzztui.engines.directory.sync import Sync
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.kinds import EngineKind, Option
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry, Steerable, ZestScheduler
from fuzztui.engines.loop.feedback import CoverageFeedback
from fuzztui.engines.loop.parts import Parts
from fuzztui.engines.loop.stages import Fresh, Mutate, Recover, Seeds

KIND = EngineKind(
    "toy",
    "toy_engine",
    options=(Option("appended", "integer", "Bytes to append.", 3, minimum=1, maximum=100),),
    without=("generator", "comparisons"),
    oracle=False,
)


class Append:
    """A mutator: the entry, twice at times, and some bytes."""

    def __init__(self, rng: random.Random, limit: int, appended: int) -> None:
        self._rng, self._limit, self._appended = rng, limit, appended

    def mutate(self, entry: CorpusEntry) -> Candidate:
        """A new input; never changes the entry."""
        data = entry.data * self._rng.randint(1, 2) + self._rng.randbytes(self._appended)
        return Candidate(data[: self._limit], "append", entry.id)


def build(context: Context) -> Parts:
    """The parts of its loop."""
    spec, rng = context.spec, context.rng
    limit, counters = spec.engine.max_size, context.journal.counters
    corpus = Corpus()
    scheduler = Steerable(ZestScheduler(corpus), corpus)
    coverage = CoverageFeedback(context.executor.coverage)

    def seed_done(number: int) -> None:
        counters[j.SEEDS_DONE] = number

    return Parts(
        executor=context.executor,
        corpus=corpus,
        scheduler=scheduler,
        stages=[
            Recover(Rescue(spec.dir)),
            Seeds(context.seeds, counters[j.SEEDS_DONE], limit, seed_done, context.log.message),
            Sync(spec.sync_dir, context.store, limit),
            Mutate(corpus, scheduler, Append(rng, limit, spec.engine.options["appended"])),
            Fresh(rng, choices=False),
        ],
        coverage=coverage,
        feedbacks=[coverage],
        shrink_runs=0,
    )
