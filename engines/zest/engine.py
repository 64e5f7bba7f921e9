"""zest (Padhye et al., "Semantic Fuzzing with Zest", ISSTA 2019), for Python.

Algorithm 1 of the Mu2 paper, with a separate coverage map of valid inputs. Choices of a generator
are mutated as in Zest, plain bytes and text as in AFL.
"""

from __future__ import annotations

from typing import Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.rescue import Rescue
from fuzztui.engines.directory.sync import Sync
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import Corpus, Steerable, ZestScheduler
from fuzztui.engines.loop.feedback import CoverageFeedback
from fuzztui.engines.loop.loop import Parts
from fuzztui.engines.loop.mutate import ChoiceMutator, Havoc, Mutator, Splice, WeightedMutators
from fuzztui.engines.loop.stages import Fresh, Mutate, Recover, Seeds

_SHRINK_RUNS: Final = 64


def build(context: Context) -> Parts:
    """The parts of a zest engine."""
    spec, rng, executor = context.spec, context.rng, context.executor
    limit, words = spec.engine.max_size, context.journal.counters
    corpus = Corpus()
    scheduler = Steerable(ZestScheduler(corpus), corpus)
    choices = executor.form.choices
    mutators: list[tuple[str, float, Mutator]]
    if choices:
        mutators = [("choices", 1.0, ChoiceMutator(rng))]
    else:
        havoc = Havoc(rng, limit, context.tokens, text=context.text)
        mutators = [("havoc", 0.85, havoc), ("splice", 0.15, Splice(rng, corpus, havoc))]

    def seed_done(number: int) -> None:
        words[j.SEEDS_DONE] = number

    coverage = CoverageFeedback(executor.coverage)
    return Parts(
        executor=executor,
        corpus=corpus,
        scheduler=scheduler,
        stages=[
            Recover(Rescue(spec.dir)),
            Seeds(context.seeds, words[j.SEEDS_DONE], limit, seed_done, context.log.message),
            Sync(spec.sync_dir, context.store, limit),
            Mutate(corpus, scheduler, WeightedMutators(mutators, rng)),
            Fresh(rng, choices=choices),
        ],
        coverage=coverage,
        feedbacks=[coverage],
        shrink_runs=0 if choices else _SHRINK_RUNS,
    )
