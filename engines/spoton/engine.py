"""spoton (Hussein, McCamant, Whalen: "Generator-Based Fuzzers with Type-Based Targeted
Mutation"): zest whose mutations are directed at the types that decide uncovered branches.

Loop, corpus, scheduler and coverage feedback are zest's. The form of inputs and the mutator are
different, and one more feedback records the uncovered goals (Algorithm 1, lines 13, 14, 20, 29).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.directory import journal as j
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.inputs.typed import Annotated
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry
from fuzztui.engines.loop.parts import Parts
from fuzztui.engines.loop.stages import Fresh, Mutate, Stage
from fuzztui.engines.spoton.distances import Distances
from fuzztui.engines.spoton.feedback import GoalFeedback, Mode
from fuzztui.engines.spoton.form import TypedInput
from fuzztui.engines.spoton.goals import AnalysisFile, Goals, read_document
from fuzztui.engines.spoton.mutator import TypedMutator
from fuzztui.engines.spoton.relations import TypeRelations
from fuzztui.engines.spoton.report import TargetingReport
from fuzztui.engines.spoton.steering import TargetingCommands
from fuzztui.engines.spoton.types_file import TYPES, TypesFile
from fuzztui.engines.zest import engine as zest
from fuzztui.kernel.base.text import listed
from fuzztui.kernel.wire.commands import Command
from fuzztui.kernel.wire.targeting import stale_message

FORM: Final = TypedInput
"""The form of this engine's inputs (``engines/process/worker.py``)."""


_UNTARGETED_TRIALS: Final = 500
"""Trials without a targeted mutation after which a warning is logged."""
_SHOWN: Final = 4
"""Types that the warning names."""


class Sometimes:
    """A stage that asks another stage for candidates in a share of the trials."""

    def __init__(self, stage: Stage, corpus: Corpus, rng: random.Random, share: float) -> None:
        self._stage, self._corpus = stage, corpus
        self._random, self._share = rng.random, share

    def propose(self) -> Candidate | None:
        """A candidate of the other stage; None in other trials and while the corpus is empty."""
        if not self._corpus.entries or self._random() >= self._share:
            return None
        return self._stage.propose()


def fit(form: InputForm) -> TypedInput:
    """Return ``form``. Raises :class:`CannotStart` if no generator makes the inputs."""
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
    relations = TypeRelations(form.stacks, settings.aliases)
    goals, distances = Goals(settings.document, _module_lookup(context)), Distances(rng, relations)

    def annotate(entry: CorpusEntry) -> Annotated | None:
        if entry.id in context.unsafe:
            return None
        return context.make_again(entry, lambda: form.annotate(entry.data))

    mutator = TypedMutator(
        rng,
        annotate,
        form.expect,
        distances,
        relations,
        targeted=settings.targeted,
    )
    base = zest.build(context, mutators=mutator.mixed_with)
    feedback = GoalFeedback(goals, distances, base.coverage, settings.mode)
    report = TargetingReport(context.log, context.journal, context.reported)
    types_file = TypesFile(
        spec.dir / TYPES, feedback, mutator, context.store.replace, report.update
    )
    commands = TargetingCommands(feedback, mutator, relations, types_file)
    fresh = Sometimes(Fresh(rng, choices=True), base.corpus, rng, settings.fresh)
    stages: list[Stage] = []
    for stage in base.stages:
        if isinstance(stage, Mutate):
            stages.append(fresh)
        stages.append(stage)

    def on_modules() -> None:
        base.on_modules()
        relations.forget()
        if changed := feedback.renew():
            text = f"{stale_message(changed)}; until then no mutation is directed there"
            context.log.message("warning", text)

    def on_covered(location: str) -> None:
        text = f"{location} was pinned and is covered: mutations are directed at all goals again"
        context.log.message("info", text)
        types_file.write()

    def tick() -> None:
        if context.journal.counters[j.STOP]:
            finish()
        types_file.tick()

    def finish() -> None:
        types_file.write()
        report.finish()

    def execute(command: Command) -> str:
        answer = commands.execute(command)
        report.answered()
        return answer

    def before(candidate: Candidate) -> None:
        feedback.begin(candidate)
        context.executor.all_probes = feedback.samples
        if context.journal.counters[j.TRIAL] == _UNTARGETED_TRIALS and (
            message := _untargeted_message(feedback, relations)
        ):
            context.log.message("warning", message)

    feedback.on_covered = on_covered
    feedback.on_lost = partial(context.log.message, "warning")
    on_modules()
    if not context.journal.counters[j.TRIAL] and not any(t.types for t in settings.document.goals):
        why = "; ".join(settings.document.notes[:3]) or (
            "the static analysis found no branch that a type decides"
        )
        context.log.message(
            "warning",
            "no mutation is directed at a type, all are random:"
            f" {why} (fuzztui targets shows the analysis)",
        )
    return replace(
        base,
        stages=stages,
        feedbacks=[feedback, *base.feedbacks],
        before=before,
        on_modules=on_modules,
        tick=tick,
        finish=finish,
        execute=execute,
    )


def _untargeted_message(feedback: GoalFeedback, relations: TypeRelations) -> str:
    """A warning if no mutated entry has a choice of any deciding type; else an empty string."""
    now, stats_by_type = feedback.distances.now, feedback.distances.stats_by_type
    has_aimed = any(stats.matches for stats in stats_by_type.values())
    if has_aimed or not relations.any_met or not now or any(map(relations.met, now)):
        return ""
    names = sorted(now, key=lambda name: (now[name], name))
    made = relations.made()
    has = f"their choices make {listed(made, _SHOWN)}" if made else "their choices have no type"
    return (
        f"after {_UNTARGETED_TRIALS} trials no mutation was directed at a type: the inputs have no"
        f" part of a type that decides ({listed(names, _SHOWN)}); {has}: mutations are random"
        " (docs/hypothesis.md lists the strategies that give types; engine.aliases declares"
        " types as equal)"
    )


class _Settings:
    """The keys of ``[engine]``, with their defaults. Raises :class:`CannotStart` if one is bad."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        targeted = options.get("targeted")
        self.targeted = None if targeted is None else _share_of(targeted, "targeted")
        self.fresh = _share_of(options.get("fresh", 0.05), "fresh")
        mode = options.get("distances", "frontier")
        if mode not in ("frontier", "global"):
            raise CannotStart(
                f"engine.distances = {mode!r:.60} is unknown: choose frontier or global"
            )
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


def _share_of(value: object, key: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise CannotStart(f"engine.{key} = {value!r:.60}: a share must be a number from 0 to 1")
    return float(value)


def _module_lookup(context: Context) -> Callable[[str], tuple[str, int] | None]:
    """A function from a module's name to the hash of its source and its first cell.

    The function returns None for a module that is not loaded.
    """
    modules = context.application.table.modules

    def where(name: str) -> tuple[str, int] | None:
        module = modules.get(name)
        return None if module is None else (module.sha, module.base)

    return where
