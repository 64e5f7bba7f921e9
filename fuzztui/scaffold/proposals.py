"""Make a draft of a campaign for a Python target, by what it did with some inputs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from fuzztui.base.atomic import replace_text
from fuzztui.base.cpus import usable_cpus
from fuzztui.base.files import temporary_directory
from fuzztui.base.text import several
from fuzztui.scaffold.files import HARNESS, CampaignDraft, generator_of_tokens
from fuzztui.scaffold.inputs import GENERIC, mutated, tokens
from fuzztui.scaffold.python_targets import BYTES, EITHER, TEXT, TYPED, PythonTarget
from fuzztui.scaffold.tree import PythonFile
from fuzztui.scaffold.trial import InputTrial, run_trial

MOSTLY: Final = 0.9
"""The share of rejected inputs from which on a generator is tried."""

_CHANCES: Final = 80
"""Mutated inputs in a trial."""
_KEPT: Final = 40
"""Seeds that are written at most."""
_MIN_TOKENS: Final = 8
_SEED: Final = 1

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A draft, and what the trial has shown, as text for users."""

    draft: CampaignDraft
    shown: Sequence[str] = ()
    with_generator: CampaignDraft | None = None
    """The same with a generator, if that is accepted more often."""
    generator_text: str = ""


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
    files: Iterable[PythonFile],
    seeds: Sequence[bytes],
    file: Path,
    progress: Progress,
) -> Proposal:
    """Run the target on inputs, and fill the draft. Raises CampaignError, NoAnswer.

    ``file``: where the campaign file will be.
    """
    if target.takes == TYPED:
        return Proposal(draft)
    packages = [target.package]
    starts = list(dict.fromkeys([*seeds, *GENERIC]))
    kinds = [TEXT, BYTES] if target.takes == EITHER else [target.takes]
    tried: list[tuple[InputTrial, CampaignDraft]] = []
    for kind in kinds:
        variant = draft.with_target(input=kind)
        tried.append((run_trial(file, variant.text(), starts, packages, progress), variant))
    first, draft = max(tried, key=lambda pair: pair[0].fits)
    good = [data for data, ok in zip(starts, first.accepted, strict=True) if ok]
    chances = mutated(good or starts, _CHANCES, random.Random(_SEED))
    second = run_trial(file, draft.text(), chances, packages, progress)
    both = first.with_counts_of(second)
    draft = _with_expected(draft, both)
    draft = replace(draft, seeds=[data for data in good if data][:_KEPT])
    share = second.rejected_share
    tests = f", {len(seeds)} of them from the project's tests" if seeds else ""
    shown = [
        f"{len(good)} of {several(len(starts), 'input')}{tests}: accepted",
        f"{share:.0%} of {_CHANCES} mutated inputs rejected{_by(second.expected)}",
    ]
    if both.failures:
        shown.append(f"other exceptions, which will be findings: {_counts(both.failures)}")
    if both.hung or both.died:
        shown.append(f"{both.hung} inputs hung, {both.died} ended the process")
    if share < MOSTLY:
        return Proposal(draft, shown)
    pieces = tokens(files, target.package, good or starts)
    if len(pieces) < _MIN_TOKENS:
        return Proposal(draft, shown)
    text = generator_of_tokens(pieces, as_bytes=draft.target.get("input") == BYTES)
    made = _generated(draft, text, file, packages, progress)
    result = f"{made.rejected_share:.0%} rejected"
    if made.accepted_count <= 2 * second.accepted_count:
        return Proposal(draft, [*shown, f"a generator of tokens is no better: {result}"])
    better = replace(_with_generator(draft, HARNESS), harness=text)
    return Proposal(draft, shown, better, f"a generator of {len(pieces)} tokens: {result}")


def _with_generator(draft: CampaignDraft, harness: str) -> CampaignDraft:
    # Seeds are choices then, which no test has.
    return replace(draft.with_target(generator=f"{harness}:generate", input=None), seeds=())


def _generated(
    draft: CampaignDraft, text: str, file: Path, packages: Sequence[str], progress: Progress
) -> InputTrial:
    """Run the target on what a generator makes of random choices."""
    choices = [random.Random(n).randbytes(400) for n in range(_CHANCES)]
    with temporary_directory() as folder:
        harness = Path(folder) / HARNESS
        replace_text(harness, text)
        with_it = _with_generator(draft, str(harness))
        return run_trial(file, with_it.text(), choices, packages, progress)


def _with_expected(draft: CampaignDraft, trial: InputTrial) -> CampaignDraft:
    names = [name for name, _ in trial.expected.most_common() if " " not in name]
    own = [name for name in names if name != "ValueError"]
    draft = draft.with_target(expected=own or names or None)
    if own and "ValueError" in names:  # raised by something else than the package's own errors
        draft = draft.with_target(expected=[*own, "ValueError"])
    return draft


def _by(counts: Counter[str]) -> str:
    return f", by {_counts(counts)}" if counts else ""


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({n})" for name, n in counts.most_common(4))
