"""Make a draft of a campaign for a Python target, by what it did with some inputs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fuzztui.engines.findings.candidates import compare_advice
from fuzztui.kernel.base.cpus import usable_cpus
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.kernel.base.text import several
from fuzztui.run.inprocess.ask import NoAnswer
from fuzztui.tools.scaffold.arguments import BYTES, EITHER, TEXT, TYPED, Argument
from fuzztui.tools.scaffold.better import MIN_EXAMPLES, Proposal, Run, better_inputs
from fuzztui.tools.scaffold.calls import HarnessCall
from fuzztui.tools.scaffold.files import MAX_SEEDS, CampaignDraft
from fuzztui.tools.scaffold.harness import MAX_EXAMPLES, generator_text, harness_text
from fuzztui.tools.scaffold.inputs import GENERIC, mutated, spread, tokens
from fuzztui.tools.scaffold.python_targets import PythonTarget
from fuzztui.tools.scaffold.tree import PythonFile
from fuzztui.tools.scaffold.trial import InputTrial, Progress, run_trial

MOSTLY: Final = 0.9
"""The share of rejected inputs from which on something better than bytes is tried."""

CHANCES: Final = 80
"""Mutated or drawn inputs in a trial."""
_CHOICES: Final = 400
"""Bytes of choices for a drawn input; the generator draws others after them."""
_SLOW: Final = 30.0
"""Inputs per second in a trial below which a message is shown."""
_SEED: Final = 1


def draft_for(target: PythonTarget, name: str, python: str, path: Sequence[str]) -> CampaignDraft:
    """Return the draft before any trial; ``path``: where modules are imported from; empty: here."""
    keys: dict[str, object] = {"function": target.reference}
    if target.package:
        keys["include"] = [target.package]
    if target.takes in (TEXT, BYTES):
        keys["input"] = target.takes
    if target.kind_of_input:
        keys["generator"] = target.kind_of_input
    if path:
        keys["path"] = list(path)
    if python:
        keys["python"] = python
    typed = target.takes == TYPED and find_spec("mypy") is not None
    about = {"target.function": "a Hypothesis test: its strategies make the input"}
    return CampaignDraft(
        name,
        "spoton" if typed else "zest",
        keys,
        min(2, usable_cpus()),
        notes=about if target.is_test else {},
    )


def propose(
    target: PythonTarget,
    draft: CampaignDraft,
    *,
    files: Sequence[PythonFile],
    seeds: Sequence[bytes],
    file: Path,
    progress: Progress,
) -> Proposal:
    """Run the target on inputs, and fill the draft. Raises CampaignError, NoAnswer.

    ``file``: where the campaign file will be.
    """
    if target.takes == TYPED:
        return Proposal(draft)
    run = partial(_run, file, (target.package,), progress)
    starts = list(dict.fromkeys([*seeds, *GENERIC]))
    if target.call is not None and not target.call.is_one_input:
        return _drawn(target.call, draft, starts, partial(tokens, files, target.package), run)
    first, draft = _kind_of_input(target, draft, starts, run)
    good = [data for data, ok in zip(starts, first.accepted, strict=True) if ok]
    chances = mutated(good or starts, CHANCES, random.Random(_SEED))
    second = run(draft, chances)
    both = first.with_counts_of(second)
    draft = _with_expected(draft, both)
    draft = replace(draft, seeds=spread(filter(None, good), MAX_SEEDS))
    share = second.rejected_share
    tests = f", {len(seeds)} of them from the project's tests" if seeds else ""
    shown = [
        f"{len(good)} of {several(len(starts), 'input')}{tests}: accepted",
        f"{share:.0%} of {CHANCES} mutated inputs rejected{_by(second.expected)}",
        *_remarks(both),
    ]
    proposal = Proposal(draft, shown, accepts=bool(both.accepted_count), rate=both.rate)
    if second.is_misused:
        remark = "perhaps it wants another argument, or a subclass: call it in a harness of yours"
        return replace(proposal, shown=[*shown, remark])
    if share < MOSTLY:
        return proposal
    pieces = tokens(files, target.package, good or starts)
    accepted = second.accepted_count
    return better_inputs(proposal, good, pieces, accepted=accepted, count=CHANCES, run=run)


def _run(
    file: Path,
    packages: Sequence[str],
    progress: Progress,
    draft: CampaignDraft,
    inputs: Sequence[bytes],
) -> InputTrial:
    """Run the target; the harnesses are in a temporary directory for that."""
    with temporary_directory() as folder:
        text = draft.laid_out(Path(folder)).text()
        try:
            return run_trial(file, text, inputs, packages, progress)
        except NoAnswer as e:
            raise NoAnswer(str(e).replace(f"{folder}/", "")) from None


def _kind_of_input(
    target: PythonTarget, draft: CampaignDraft, starts: Sequence[bytes], run: Run
) -> tuple[InputTrial, CampaignDraft]:
    """Try the target with text, bytes and open files; return the trial and draft of the best.

    If the target's annotations say which kind it takes, only that one is tried.
    """
    tried: list[tuple[InputTrial, CampaignDraft, HarnessCall | None, str]] = []

    def attempt(call: HarnessCall | None, kinds: Sequence[str]) -> None:
        for kind in kinds:
            variant = draft.with_target(input=kind)
            if call is not None:
                variant = with_harness(variant, call, harness_text(call, kind))
            tried.append((run(variant, starts), variant, call, kind))

    if target.call is not None:
        attempt(target.call, target.call.kinds)
    else:
        attempt(None, [TEXT, BYTES] if target.takes == EITHER else [target.takes])
        if target.takes == EITHER and not any(one[0].fits for one in tried):
            call = _direct_call(target, Argument("file", EITHER, in_file=True))
            if call is not None:
                attempt(call, call.kinds)
    trial, variant, call, kind = max(tried, key=lambda one: one[0].fits)
    if trial.is_lazy:
        call = call or _direct_call(target, Argument("data", kind))
        if call is not None:
            attempt(replace(call, consumes=True), [kind])
            trial, variant, _, _ = tried[-1]
    return trial, variant


def _direct_call(target: PythonTarget, argument: Argument) -> HarnessCall | None:
    """Return how a harness calls a function of one argument; None if it is not in a module."""
    module = target.reference.partition(":")[0]
    owner, _, name = target.name.rpartition(".")
    if not name or not target.where or not all(map(str.isidentifier, module.split("."))):
        return None
    return HarnessCall(module, owner or name, name if owner else "", bool(owner), (), (argument,))


def _drawn(
    call: HarnessCall,
    draft: CampaignDraft,
    examples: Sequence[bytes],
    pieces: Callable[[Sequence[bytes]], Sequence[str]],
    run: Run,
) -> Proposal:
    """Run a harness that draws the arguments, and make a proposal with it."""
    given = draft
    choices = [random.Random(n).randbytes(_CHOICES) for n in range(CHANCES)]
    examples = spread(examples, MAX_EXAMPLES)

    def variant(kind: str, text: str) -> CampaignDraft:
        made = with_harness(draft.with_target(input=None), call, text)
        return made.with_target(generator=f"{call.harness}:generate")

    tried = []
    for kind in call.kinds:
        numbers = [bytes((n % len(examples),)) + choices[n] for n in range(2 * len(examples))]
        text = generator_text(call, kind, examples, pieces(examples), probe=True)
        probe = run(variant(kind, text), numbers)
        tried.append((probe, kind))
    probe, kind = max(tried, key=lambda pair: pair[0].fits)
    if probe.is_lazy and not call.consumes:
        return _drawn(replace(call, consumes=True), given, examples, pieces, run)
    good = [e for n, e in enumerate(examples) if any(probe.accepted[n :: len(examples)])]
    of = good if len(good) >= MIN_EXAMPLES else examples
    draft = variant(kind, generator_text(call, kind, of, pieces(of)))
    trial = run(draft, choices)
    rejected = sum(trial.expected.values())
    shown = [
        f"{len(good)} of {several(len(examples), 'text')} accepted with drawn arguments",
        f"{trial.accepted_count} of {CHANCES} drawn inputs accepted, {rejected} rejected"
        f"{_by(trial.expected)}",
        *_remarks(trial),
    ]
    if trial.is_misused:
        shown.append(f"perhaps it wants other arguments: change generate() in {call.harness}")
    both = trial.with_counts_of(probe)
    draft, accepts = _with_expected(draft, both), bool(trial.accepted_count)
    return Proposal(draft, shown, accepts=accepts, rate=trial.rate)


def with_harness(draft: CampaignDraft, call: HarnessCall, text: str) -> CampaignDraft:
    """Return the draft with a harness (``text``), whose function ``target`` is the target."""
    verb = "reads to the end what is returned by" if call.consumes else "calls"
    draft = draft.with_target(function=f"{call.harness}:target")
    return replace(
        draft,
        harnesses={**draft.harnesses, call.harness: text},
        notes={**draft.notes, "target.function": f"{verb} {call.place}"},
    )


def _with_expected(draft: CampaignDraft, trial: InputTrial) -> CampaignDraft:
    names = [name for name, _ in trial.expected.most_common() if " " not in name]
    own = [name for name in names if name != "ValueError"]
    draft = draft.with_target(expected=own or names or None)
    if own and "ValueError" in names:  # raised by something else than the package's own errors
        draft = draft.with_target(expected=[*own, "ValueError"])
    return draft


def _remarks(trial: InputTrial) -> list[str]:
    shown = []
    if trial.failures:
        shown.append(f"other exceptions, which will be findings: {_counts(trial.failures)}")
    if trial.is_lazy:
        shown.append("returns iterators, which nothing reads: write a harness that does")
    if trial.unseen and not trial.is_lazy:
        shown.append(
            f"of {several(trial.unseen.total(), 'value')} a part cannot be compared, so no test "
            f"sees a change of it: {_counts(trial.unseen)}; {compare_advice(trial.instead)}"
        )
    if 0 < trial.rate < _SLOW:
        shown.append(f"slow: {trial.rate:.0f} inputs per second")
    if trial.hung or trial.died:
        shown.append(f"{trial.hung} inputs hung, {trial.died} ended the process")
    return shown


def _by(counts: Counter[str]) -> str:
    return f", by {_counts(counts)}" if counts else ""


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({n})" for name, n in counts.most_common(4))
