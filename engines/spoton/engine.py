"""spoton (Hussein, McCamant, Whalen: "Generator-Based Fuzzers with Type-Based Targeted
Mutation"): zest whose mutations aim at the types that decide about uncovered branches.

The same loop, corpus, scheduler and feedback; another form of inputs, another mutator, and a
feedback that keeps what is left to cover (Algorithm 1, lines 13, 14, 20 and 29).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from fuzztui.base.text import listed
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.rescue import Unsafe
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.inputs.typed import Annotated
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry, Steerable, ZestScheduler
from fuzztui.engines.loop.loop import Parts
from fuzztui.engines.loop.stages import Fresh, Mutate, Stage
from fuzztui.engines.spoton.distances import Distances
from fuzztui.engines.spoton.feedback import GoalFeedback, Mode
from fuzztui.engines.spoton.form import TypedInput
from fuzztui.engines.spoton.goals import AnalysisFile, Goals, read_document
from fuzztui.engines.spoton.mutator import Choices, TypedMutator
from fuzztui.engines.spoton.relations import TypeRelations
from fuzztui.engines.spoton.steering import TargetingCommands
from fuzztui.engines.spoton.types_file import TYPES, Figures
from fuzztui.engines.zest import engine as zest
from fuzztui.wire.analysed import stale_words

__all__ = ["FORM", "build", "fit"]

FORM: Final = TypedInput
"""The form of its inputs (``engines/process/worker.py``)."""


_VISIT: Final = 5
"""Children in one visit, a tenth of Zest's: a new entry, which is nearest to what is left to cover,
must not wait until each of the others has had its thousand."""


_AIMLESS: Final = 500
"""After so many trials it is told if no mutation could aim."""
_SHOWN: Final = 4
"""Types that are reported then."""


class Sometimes:
    """A stage that proposes what another one does for a share of the trials."""

    def __init__(self, stage: Stage, corpus: Corpus, rng: random.Random, share: float) -> None:
        self._stage, self._corpus = stage, corpus
        self._random, self._share = rng.random, share

    def propose(self) -> Candidate | None:
        """Its proposal; nothing before there is a corpus to be turned from."""
        if not self._corpus.entries or self._random() >= self._share:
            return None
        return self._stage.propose()


def fit(form: InputForm) -> TypedInput:
    """The form. Raises :class:`CannotStart` for inputs that no generator makes."""
    if not isinstance(form, TypedInput):
        raise CannotStart(
            'target.generator is missing: engine.kind = "spoton" mutates the choices of a'
            " generator; name one, let target.function be a Hypothesis test, or use"
            ' engine.kind = "zest"'
        )
    return form


def build(context: Context) -> Parts:
    """The parts of a spoton engine."""
    spec, rng, form = context.spec, context.rng, fit(context.executor.form)
    form.on_drawn = context.journal.rewrite
    settings = _Settings(spec.engine.options)
    base = zest.build(context)
    kin = TypeRelations(form.stacks, settings.aliases)
    targets, distances = Goals(settings.document, _where(context)), Distances(rng, kin)
    feedback = GoalFeedback(targets, distances, base.coverage, settings.mode)
    mutator = TypedMutator(
        rng,
        Choices(_annotating(context, form)),
        form.expect,
        feedback.distances,
        kin,
        targeted=settings.targeted,
    )
    figures = Figures(spec.dir / TYPES, feedback, mutator, context.store.replace)
    scheduler = Steerable(ZestScheduler(base.corpus, _VISIT), base.corpus)
    fresh = Sometimes(Fresh(rng, choices=True), base.corpus, rng, settings.fresh)
    stages: list[Stage] = []
    for stage in base.stages:
        if isinstance(stage, Mutate):
            stages += [fresh, Mutate(base.corpus, scheduler, mutator)]
        else:
            stages.append(stage)

    def on_modules() -> None:
        kin.forget()
        if changed := feedback.renew():
            context.log.message("warning", f"{stale_words(changed)}; until then nothing aims there")

    def on_covered(location: str) -> None:
        context.log.message(
            "info", f"{location} was pinned and is covered: all that is left counts"
        )
        figures.write()

    def tick() -> None:
        if context.journal.counters[j.STOP]:
            figures.write()
        figures.tick()

    def before(candidate: Candidate) -> None:
        feedback.begin(candidate)
        if context.journal.counters[j.TRIAL] == _AIMLESS and (words := _aimless(feedback, kin)):
            context.log.message("warning", words)

    feedback.on_covered = on_covered
    feedback.on_lost = partial(context.log.message, "warning")
    on_modules()
    trials = context.journal.counters[j.TRIAL]
    if not trials and not any(t.types for t in settings.document.targets):
        why = "; ".join(settings.document.notes[:3]) or "it has found no branch that a type decides"
        context.log.message(
            "warning",
            "no mutation aims at a type, all are random:"
            f" {why} (fuzztui targets shows what is known)",
        )
    return replace(
        base,
        scheduler=scheduler,
        stages=stages,
        feedbacks=[feedback, *base.feedbacks],
        before=before,
        on_modules=on_modules,
        tick=tick,
        finish=figures.write,
        execute=TargetingCommands(feedback, mutator, kin, figures).obey,
    )


def _aimless(feedback: GoalFeedback, kin: TypeRelations) -> str:
    """What to say if no entry that was mutated has a choice of any type that decides; else ""."""
    now, standings = feedback.distances.now, feedback.distances.standings
    has_aimed = any(standing.matches for standing in standings.values())
    if has_aimed or not kin.anything_met or not now or any(map(kin.met, now)):
        return ""
    wanted = sorted(now, key=lambda name: (now[name], name))
    made = kin.made()
    has = f"their choices make {listed(made, _SHOWN)}" if made else "their choices have no type"
    return (
        f"after {_AIMLESS} trials no mutation has aimed: the inputs have no part of a type that"
        f" decides ({listed(wanted, _SHOWN)}); {has}: mutations are random (docs/hypothesis.md"
        " tells which strategies give types; engine.aliases, which types are alike)"
    )


class _Settings:
    """The engine's keys, with the campaign file's defaults."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.targeted = _part(options, "targeted", 0.5)
        self.fresh = _part(options, "fresh", 0.05)
        mode = options.get("distances", "frontier")
        if mode not in ("frontier", "global"):
            raise CannotStart(f"engine.distances = {mode!r:.60}: choose frontier or global")
        self.mode = cast("Mode", mode)
        aliases = options.get("aliases") or {}
        if not isinstance(aliases, dict):
            raise CannotStart(f"engine.aliases must be a table of type names, not {aliases!r:.60}")
        self.aliases = {
            str(name): tuple(map(str, made if isinstance(made, list) else [made]))
            for name, made in aliases.items()
        }
        file = options.get("targets")
        self.document = read_document(Path(file)) if file else AnalysisFile({})


def _part(options: Mapping[str, Any], key: str, default: float) -> float:
    value = options.get(key, default)
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise CannotStart(f"engine.{key} = {value!r:.60}: a part is from 0 to 1")
    return float(value)


def _where(context: Context) -> Callable[[str], tuple[str, int] | None]:
    """Of a module that is loaded: the hash of its source and its first cell."""
    modules = context.application.table.modules

    def where(name: str) -> tuple[str, int] | None:
        module = modules.get(name)
        return None if module is None else (module.sha, module.base)

    return where


def _annotating(context: Context, form: TypedInput) -> Callable[[CorpusEntry], Annotated | None]:
    """Learns what an entry's choices are, under the guard and the journal.

    For the journal it is an entry that is run again: one that kills the worker is left out.
    """
    executor, journal = context.executor, context.journal
    unsafe = Unsafe(context.spec.dir).load()

    def annotate(entry: CorpusEntry) -> Annotated | None:
        if entry.id in unsafe:
            return None
        executor.fixture.restore()
        again = Candidate(entry.data, j.REBUILD, entry.id)
        journal.begin(time.monotonic_ns(), again, counts=False)
        found = executor.guarded(lambda: form.annotate(entry.data), None)
        journal.end()
        return found

    return annotate
