"""text: zest for compilers and interpreters, whose inputs are programs.

After the paper on compiler fuzzing with text-level mutation operators. Loop, corpus and feedback
are zest's; the mutator is different (:mod:`~fuzztui.engines.text.mixture`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.store import QUEUE, entry_ids
from fuzztui.engines.execute.executor import Execution
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry, SteerError
from fuzztui.engines.loop.feedback import Feedback
from fuzztui.engines.loop.mutate import Havoc
from fuzztui.engines.loop.parts import Parts
from fuzztui.engines.loop.stages import Mutate, Seeds, Stage
from fuzztui.engines.text.arms import AT, MixtureState
from fuzztui.engines.text.block import BLOCK, StatsBlock, Writer
from fuzztui.engines.text.careful import GuardedParser
from fuzztui.engines.text.fragments import Fragments
from fuzztui.engines.text.mixture import TextMixture, arms_of
from fuzztui.engines.text.native import load
from fuzztui.engines.text.syntax import Syntax, SyntaxUnavailable
from fuzztui.engines.text.table import FRAGMENT, TEMPLATE
from fuzztui.engines.zest import engine as zest
from fuzztui.kernel.base.text import several
from fuzztui.kernel.wire.commands import Command, SetMixture, WeighMutator
from fuzztui.kernel.wire.finding_kinds import FOLDERS
from fuzztui.kernel.wire.mixture import Mixture


class FragmentFeedback(Feedback):
    """A feedback that keeps no input; it parses each kept entry once for its fragments."""

    def __init__(self, syntax: Syntax, directory: Path, say: Callable[[str, str], None]) -> None:
        self.fragments = Fragments()
        self._syntax, self._say = syntax, say
        self._parser = GuardedParser(syntax.spans, directory)

    def learn(self, execution: Execution, entry: CorpusEntry) -> None:
        """Add the entry's fragments to the pool."""
        self.fragments.add(entry.data, self._parser.spans(entry.data))
        for problem in self._syntax.news():
            self._say("warning", problem)


class UnmatchedTemplates:
    """A stage without candidates: warns once, after the seeds, of templates without a match."""

    def __init__(
        self, matches: Mapping[str, int], corpus: Corpus, say: Callable[[str, str], None]
    ) -> None:
        self._matches, self._corpus = matches, corpus
        self._say: Callable[[str, str], None] | None = say

    def propose(self) -> None:
        """Warn on the first call. Always returns None."""
        if self._say is None:
            return
        for template, matched in self._matches.items():
            if not matched:
                entries = several(len(self._corpus), "entry", "entries")
                message = f"matches nothing in the {entries} at the start"
                self._say("warning", f"text.templates: {template!r} {message}")
        self._say = None


def fit(form: InputForm) -> None:
    """Raises :class:`CannotStart` if inputs are not text."""
    if form.choices:
        raise CannotStart(
            "target.function: a Hypothesis test makes its inputs from choices, which are not text;"
            ' name a function that takes text, or use engine.kind = "zest"'
        )


def build(context: Context) -> Parts:
    """The parts of a text engine."""
    spec, rng = context.spec, context.rng
    fit(context.executor.form)
    base = zest.build(context)
    settings = _Settings(spec.text)
    first = not context.journal.counters[j.TRIAL]

    def say(level: str, text: str) -> None:
        if first:  # only once: a target that often kills its workers must not fill the log
            context.log.message(level, text)

    library = load(settings.library)
    if library.why or settings.why:
        say("info", f"text mutators run in Python, not in C: {library.why or settings.why}")
    if not spec.engine.seeds:
        say("warning", "engine.seeds is empty, but text mutators need programs to change")
    syntax = _syntax(settings, say)
    parsing = FragmentFeedback(syntax, spec.dir, context.log.message) if syntax else None
    without = set(settings.without)
    if syntax is None:
        without |= {TEMPLATE, FRAGMENT}
    else:
        without |= {TEMPLATE} if not (syntax.matches or settings.rules) else set()
        without |= {FRAGMENT} if not syntax.language else set()
    writer = Writer(spec.dir / BLOCK, settings.block)
    arms = MixtureState(writer.block, library.weights, without)
    _count_saved(spec.dir, arms)
    publish = _Publish(writer, arms)
    publish()
    mutator = TextMixture(
        arms,
        library.apply,
        base.corpus,
        Havoc(rng, spec.engine.max_size, context.tokens, text=context.text),
        rng=rng,
        pool=None if parsing is None else parsing.fragments.pool,
        each_step=settings.each_step,
    )

    def saved(candidate: Candidate, folder: str) -> None:
        mutator.saved(candidate, folder)
        publish()  # at once: this is rare, and the next trial may kill the worker

    def execute(command: Command) -> str:
        """Execute a command about mutators; the statistics block keeps it over restarts."""
        try:
            match command:
                case SetMixture():
                    arms.set_mixture(command.mixture, adaptive=command.adaptive)
                    answer = f"{command.mixture}{', adaptive' if command.adaptive else ''}"
                case WeighMutator() if not command.problem:
                    answer = arms.weigh(command.mutator, command.weight)
                case _:
                    problem = f"this engine does not support the command {command.name}"
                    raise SteerError(command.problem or problem)
        except ValueError as e:
            raise SteerError(str(e)) from None
        publish()
        return answer

    unmatched = [UnmatchedTemplates(syntax.matches, base.corpus, say)] if syntax else []
    stages: list[Stage] = []
    for stage in base.stages:
        if isinstance(stage, Mutate):
            stages.append(Mutate(base.corpus, base.scheduler, mutator))
        else:
            stages += [stage, *unmatched] if isinstance(stage, Seeds) else [stage]
    return replace(
        base,
        stages=stages,
        feedbacks=[*base.feedbacks, *([parsing] if parsing else [])],
        saved=saved,
        tick=publish,
        execute=execute,
    )


class _Settings:
    """The settings in the table ``text``. Raises :class:`CannotStart` for a bad mixture."""

    def __init__(self, table: Any) -> None:
        parts = [table.get(name) for name in ("havoc", "text", "splice")]
        mixture = Mixture(*parts) if None not in parts else Mixture(0.25, 0.75, 0.0)
        if mixture.problem:
            raise CannotStart(f"[text]: {mixture.problem}")
        self.block = StatsBlock(*mixture, adaptive=bool(table.get("adaptive")))
        self.each_step = table.get("roll") == "step"
        self.language = str(table.get("language") or "")
        self.templates = list(table.get("templates") or ())
        self.rules = bool(table.get("rules"))
        self.without = list(table.get("without") or ())
        self.library = str(table.get("library") or "")
        self.why = str(table.get("why") or "")


class _Publish:
    """Writes the statistics block if it has changed. Called between trials."""

    def __init__(self, writer: Writer, arms: MixtureState) -> None:
        self._writer, self._arms = writer, arms
        self._trials = self._changes = -1

    def __call__(self) -> None:
        trials, changes = self._arms.block.trials, self._arms.changes
        settings = changes != self._changes
        if (settings or trials != self._trials) and self._writer.publish(settings=settings):
            self._trials, self._changes = trials, changes


def _syntax(settings: _Settings, say: Callable[[str, str], None]) -> Syntax | None:
    templates, rules = settings.templates, settings.rules
    if not (settings.language or templates or rules):
        return None
    try:
        syntax = Syntax(settings.language, templates, rules=rules)
    except SyntaxUnavailable as e:
        say("warning", f'text.language = "{settings.language}": {e}')
        return None
    if syntax.missing:
        say("warning", f'text.language = "{settings.language}": {syntax.missing}')
    for problem in syntax.news():
        say("warning", problem)
    return syntax


def _count_saved(directory: Path, arms: MixtureState) -> None:
    """Correct the counters by the names of saved files, which contain the mutators.

    A worker may die after saving a file and before writing the block, or the monitor may save the
    file for a dead worker.
    """
    queue, failed = (_saved_by(directory, *folders) for folders in ((QUEUE,), FOLDERS))
    for arm, found, crashes in zip(arms.block.arms, queue, failed, strict=True):
        arm.found, arm.crashes = max(arm.found, found), max(arm.crashes, crashes)


def _saved_by(directory: Path, *folders: str) -> list[int]:
    saved = [0] * len(AT)
    for folder in folders:
        for name in entry_ids(directory / folder).values():
            label = name.partition(",op:")[2].removesuffix(",+cov")
            for number in arms_of(label):
                saved[number] += 1
    return saved
