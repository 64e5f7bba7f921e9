"""text: zest for compilers and interpreters, whose inputs are programs.

The paper on compiler fuzzing with text-level mutation operators: the same loop, corpus and
feedback; only the mutator is another (:mod:`~fuzztui.engines.text.mixture`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fuzztui.base.text import several
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.store import CRASHES, HANGS, QUEUE, entry_ids
from fuzztui.engines.execute.executor import Execution
from fuzztui.engines.inputs.candidate import Candidate
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import Corpus, CorpusEntry, SteerError
from fuzztui.engines.loop.loop import Parts
from fuzztui.engines.loop.mutate import Havoc
from fuzztui.engines.loop.stages import Mutate, Seeds, Stage
from fuzztui.engines.text.arms import AT, Arms
from fuzztui.engines.text.block import BLOCK, StatsBlock, Writer
from fuzztui.engines.text.careful import Careful
from fuzztui.engines.text.fragments import Fragments
from fuzztui.engines.text.mixture import TextMixture, arms_of
from fuzztui.engines.text.native import load
from fuzztui.engines.text.syntax import Syntax, SyntaxUnavailable, idle
from fuzztui.engines.text.table import FRAGMENT, TEMPLATE
from fuzztui.engines.zest import engine as zest
from fuzztui.wire.commands import Command, SetMixture
from fuzztui.wire.mixture import Mixture

__all__ = ["build", "fit"]

COMBY: Final = ".comby-found"


class FragmentFeedback:
    """A feedback that judges nothing: each entry is parsed once, when it is kept."""

    def __init__(
        self, parser: Careful, fragments: Fragments, tell: Callable[[], None] = lambda: None
    ) -> None:
        """``tell`` is called when an entry was parsed: there may be something to be said."""
        self._parser, self._fragments, self._tell = parser, fragments, tell

    def judge(self, execution: Execution) -> tuple[str, ...]:
        """No reasons."""
        return ()

    def keeps(self, execution: Execution, smaller: Execution) -> bool:
        """There is no news to be lost."""
        return True

    def learn(self, execution: Execution, entry: CorpusEntry) -> None:
        """What it is made of can be spliced from now on."""
        self._fragments.add(entry.data, self._parser.spans(entry.data))
        self._tell()

    def recall(self, execution: Execution, entry: CorpusEntry) -> bool:
        """The same after a restart."""
        self.learn(execution, entry)
        return False


class Matchless:
    """No stage: when the seeds are through it tells, once, of templates that matched nothing."""

    def __init__(
        self, matches: Mapping[str, int], corpus: Corpus, say: Callable[[str, str], None]
    ) -> None:
        self._matches, self._corpus = matches, corpus
        self._say: Callable[[str, str], None] | None = say

    def propose(self) -> None:
        """Nothing."""
        if self._say is None:
            return
        for template, matched in self._matches.items():
            if not matched:
                entries = several(len(self._corpus), "entry", "entries")
                words = f"matches nothing in the {entries} to begin with"
                self._say("warning", f"text.templates: {template!r} {words}")
        self._say = None


class MixtureCommands:
    """Carries out the command ``mixture``; the block makes it outlive a restart."""

    def __init__(self, arms: Arms, publish: Callable[[], None]) -> None:
        self._arms, self._publish = arms, publish

    def obey(self, command: Command) -> str:
        """Do it; returns what was done. Raises :class:`SteerError`."""
        if not isinstance(command, SetMixture):
            raise SteerError(f"this engine does not know how to {command.name}")
        try:
            self._arms.set_mixture(command.mixture, adaptive=command.adaptive)
        except ValueError as e:
            raise SteerError(str(e)) from None
        self._publish()
        return f"{command.mixture}{', adaptive' if command.adaptive else ''}"


def fit(form: InputForm) -> None:
    """Raises :class:`CannotStart` for inputs that are no text."""
    if form.choices:
        raise CannotStart(
            "target.function: a Hypothesis test makes its inputs from choices, which are no text:"
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
        if first:  # a target that kills its workers must not fill the log
            context.log.message(level, text)

    operators = load(settings.library)
    if operators.why or settings.why:
        say("info", f"text operators run in Python, not in C: {operators.why or settings.why}")
    if not spec.engine.seeds:
        say("warning", "engine.seeds: there are none, and text operators need programs to change")
    syntax = _syntax(settings, say, spec.dir / COMBY)
    fragments = Fragments() if syntax is not None else None
    without = set(settings.without)
    if syntax is None:
        without |= {TEMPLATE, FRAGMENT}
    else:
        without |= {TEMPLATE} if not syntax.matches else set()
        without |= {FRAGMENT} if not syntax.language else set()
    writer = Writer(spec.dir / BLOCK, settings.block)
    arms = Arms(writer.block, operators.weights, without)
    _count_saved(spec.dir, arms)
    publish = _Publish(writer, arms)
    publish()
    mutator = TextMixture(
        arms,
        operators.apply,
        base.corpus,
        Havoc(rng, spec.engine.max_size, context.tokens, text=context.text),
        rng=rng,
        fragments=fragments,
    )

    def saved(candidate: Candidate, folder: str) -> None:
        mutator.saved(candidate, folder)
        publish()  # it happens rarely, and the next trial may kill the worker

    harvest = []
    matchless = []
    if syntax is not None and fragments is not None:
        tell = _Dropped(syntax, context.log.message)
        harvest.append(FragmentFeedback(Careful(syntax.spans, spec.dir), fragments, tell))
        matchless.append(Matchless(syntax.matches, base.corpus, say))
    stages: list[Stage] = []
    for stage in base.stages:
        if isinstance(stage, Mutate):
            stages.append(Mutate(base.corpus, base.scheduler, mutator))
        else:
            stages += [stage, *matchless] if isinstance(stage, Seeds) else [stage]
    return replace(
        base,
        stages=stages,
        feedbacks=[*base.feedbacks, *harvest],
        saved=saved,
        tick=publish,
        execute=MixtureCommands(arms, publish).obey,
    )


class _Settings:
    """The table ``text`` of the spec, with the campaign file's defaults."""

    def __init__(self, table: Any) -> None:
        parts = [table.get(name) for name in ("havoc", "text", "splice")]
        mixture = Mixture(*parts) if None not in parts else Mixture(0.25, 0.75, 0.0)
        if mixture.problem:
            raise CannotStart(f"[text]: {mixture.problem}")
        self.block = StatsBlock(*mixture, adaptive=bool(table.get("adaptive")))
        self.language = str(table.get("language") or "")
        self.templates = list(table.get("templates") or ())
        self.without = list(table.get("without") or ())
        self.library = str(table.get("library") or "")
        self.why = str(table.get("why") or "")


class _Publish:
    """Called between trials: the block is written when there is something new in it."""

    def __init__(self, writer: Writer, arms: Arms) -> None:
        self._writer, self._arms = writer, arms
        self._trials = self._changes = -1

    def __call__(self) -> None:
        trials, changes = self._arms.block.trials, self._arms.changes
        settings = changes != self._changes
        if (settings or trials != self._trials) and self._writer.publish(settings=settings):
            self._trials, self._changes = trials, changes


class _Dropped:
    """Says which templates are left out since it was called last."""

    def __init__(self, syntax: Syntax, say: Callable[[str, str], None]) -> None:
        self._syntax, self._say, self._said = syntax, say, len(syntax.problems)

    def __call__(self) -> None:
        for template, problem in [*self._syntax.problems.items()][self._said :]:
            self._say("warning", _left_out(template, problem))
        self._said = len(self._syntax.problems)


def _syntax(settings: _Settings, say: Callable[[str, str], None], kept: Path) -> Syntax | None:
    templates = settings.templates
    if not settings.language and not templates:
        return None
    try:
        syntax = Syntax(settings.language, templates, kept)
    except SyntaxUnavailable as e:
        say("warning", f'text.language = "{settings.language}": {e}')
        return None
    block = settings.block
    if words := idle(settings.language, block.splice, block.adaptive, settings.templates):
        say("info", words)
    for template, problem in syntax.problems.items():
        say("warning", _left_out(template, problem))
    return syntax


def _left_out(template: str, problem: str) -> str:
    return f"text.templates: {template!r} is left out: {problem}"


def _count_saved(directory: Path, arms: Arms) -> None:
    """What was saved tells by its name what made it: also what a worker saved and then died, before
    it wrote the block, or what its parent saved for it."""
    queue, failed = (_saved_by(directory, *folders) for folders in ((QUEUE,), (CRASHES, HANGS)))
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
