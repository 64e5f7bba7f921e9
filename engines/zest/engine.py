"""zest (Padhye et al., "Semantic Fuzzing with Zest", ISSTA 2019), for Python.

Algorithm 1 of the Mu2 paper, with a separate coverage map of valid inputs. Choices of a generator
are mutated as in Zest, plain bytes and text as in AFL; operands of comparisons are put into both,
which the paper does not do (docs/zest.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.rescue import Rescue
from fuzztui.engines.directory.sync import Sync
from fuzztui.engines.inputs.drawn import InputPart
from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.instrument.sparse import FIRST_TRIALS, SparseProbes
from fuzztui.engines.instrument.units import Census
from fuzztui.engines.loop.comparisons import Comparisons
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry, Steerable, ZestScheduler
from fuzztui.engines.loop.example_keeper import ExampleKeeper
from fuzztui.engines.loop.feedback import CoverageFeedback
from fuzztui.engines.loop.mutate import (
    ChoiceMutator,
    Havoc,
    Mutator,
    Splice,
    WeightedMutator,
    YieldMutators,
)
from fuzztui.engines.loop.parts import Parts
from fuzztui.engines.loop.stages import Fresh, Mutate, Recover, Seed, Seeds, Stage
from fuzztui.engines.loop.structure import ChoiceParts, StructureMutator, parts_of_text
from fuzztui.engines.loop.suite import SuiteCorpus, example_seeds
from fuzztui.engines.suite.properties import Suite

_SHRINK_RUNS: Final = 64


def build(
    context: Context,
    census: Census | None = None,
    mutators: Callable[[list[WeightedMutator]], YieldMutators] | None = None,
) -> Parts:
    """The parts of a zest engine, or those that another engine extends.

    ``census``: that of the other engine, which scans it. ``mutators`` returns what the other engine
    uses in the place of zest's own mutators.
    """
    if context.target.suite is not None:
        return build_suite(context, context.target.suite)
    spec, rng, executor = context.spec, context.rng, context.executor
    limit = spec.engine.max_size
    corpus = Corpus()
    scheduler = Steerable(ZestScheduler(corpus), corpus)
    choices = executor.form.choices
    havoc: Mutator
    parts_of: Callable[[CorpusEntry], Sequence[InputPart]]
    others: list[WeightedMutator] = []
    if isinstance(executor.form, GeneratedInput):
        havoc, parts_of = ChoiceMutator(rng), ChoiceParts(context, executor.form)
    else:
        havoc, parts_of = Havoc(rng, limit, context.tokens, text=context.text), parts_of_text
        others = [("splice", 0.15, Splice(rng, corpus, havoc).mutate)]
    structure = StructureMutator(rng, corpus, parts_of, havoc, limit)
    weighted = [("havoc", 0.75, havoc.mutate), *others, ("structure", 0.1, structure.mutate)]
    mutator = mutators(weighted) if mutators else YieldMutators(weighted, rng)

    coverage = CoverageFeedback(executor.coverage)
    compare: list[Stage] = []
    if spec.engine.comparisons:
        compare.append(Comparisons(context, corpus, scheduler, coverage, lambda: mutator.children))
    own = census is None
    if census is None:
        census = Census(context.application)
        census.scan()
    # Not a key of campaigns: tests compare runs with and without sparse code.
    first_trials = int(spec.engine.options.get("sparse_after", FIRST_TRIALS))
    return Parts(
        executor=executor,
        corpus=corpus,
        scheduler=scheduler,
        stages=[
            *_given(context),
            *compare,
            Mutate(corpus, scheduler, mutator),
            Fresh(rng, choices=choices),
        ],
        coverage=coverage,
        feedbacks=[coverage],
        saved=mutator.saved,
        sparse=None
        if executor.coverage.counting
        else SparseProbes(context.application, census, first_trials),
        on_modules=census.scan if own else lambda: None,
        shrink_runs=0 if choices else _SHRINK_RUNS,
    )


def build_suite(context: Context, suite: Suite) -> Parts:
    """The parts of a zest engine that fuzzes several properties in turns.

    All probes stay in the code: each property needs the cells that it has not covered itself.
    """
    spec = context.spec
    properties = SuiteCorpus(context, suite, context.rng)
    context.executor.observers.append(properties)

    def found(file: str, data: bytes) -> None:
        if spec.target.examples:
            examples.save(file, data)

    examples = ExampleKeeper(context)
    return Parts(
        executor=context.executor,
        corpus=properties.corpus,
        scheduler=properties.scheduler,
        stages=[
            *_given(context, example_seeds(suite)),
            properties,
        ],
        coverage=properties.coverage,
        feedbacks=[properties],
        before=properties.before,
        saved=properties.saved,
        found=found,
        tick=properties.tick,
        finish=properties.done,
        execute=properties.execute,
    )


def _given(context: Context, more: Sequence[Seed] = ()) -> list[Stage]:
    """The stages of inputs that are given: by a dead worker, by the user, by peers."""
    spec, words, say = context.spec, context.journal.counters, context.log.message
    limit = spec.engine.max_size

    def seed_done(number: int) -> None:
        words[j.SEEDS_DONE] = number

    return [
        Recover(Rescue(spec.dir)),
        Seeds([*context.seeds, *more], words[j.SEEDS_DONE], limit, seed_done, say),
        Sync(spec.sync_dir, context.store, limit),
    ]
