"""Inputs that are accepted more often than mutated bytes: by text mutators, or by a generator."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fuzztui.engines.text.reference import Rng, apply
from fuzztui.engines.text.table import NAMES
from fuzztui.tools.scaffold.arguments import BYTES, TEXT
from fuzztui.tools.scaffold.files import HARNESS, CampaignDraft, generator_of_tokens
from fuzztui.tools.scaffold.harness import edits_text
from fuzztui.tools.scaffold.trial import InputTrial

_MIN_TOKENS: Final = 8
MIN_EXAMPLES: Final = 3
"""Accepted inputs from which on parts of them are exchanged."""
_MIN_BYTES: Final = 8
"""Size of an input in which text mutators find something to change."""
_TRIES: Final = 2000
"""Attempts to apply text mutators: many do not apply to an input."""
_GROWTH: Final = 1 << 12
_SEED: Final = 1

Run = Callable[[CampaignDraft, Sequence[bytes]], InputTrial]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A draft, and what the trial has shown, as text for users."""

    draft: CampaignDraft
    shown: Sequence[str] = ()
    better: CampaignDraft | None = None
    """The same with inputs that are accepted more often, by a generator or text mutators."""
    better_text: str = ""
    accepts: bool = True
    """Whether any input was accepted; True without a trial."""
    rate: float = 0.0
    """Inputs per second; 0: not known."""


def better_inputs(
    proposal: Proposal,
    good: Sequence[bytes],
    tokens: Sequence[str],
    *,
    accepted: int,
    count: int,
    run: Run,
) -> Proposal:
    """Try text mutators and two generators; return ``proposal`` with what they have shown.

    The best of them becomes its ``better`` draft if more than twice as many inputs were accepted as
    ``accepted``, the number with mutated bytes, of ``count``. ``good``: accepted inputs.
    """
    draft = proposal.draft
    kind = BYTES if draft.target.get("input") == BYTES else TEXT
    tried: list[tuple[int, CampaignDraft, str, str]] = []
    programs = [data for data in good if len(data) >= _MIN_BYTES and _is_text(data)]
    changed = text_mutated(programs, count) if len(programs) >= MIN_EXAMPLES else []
    if changed:
        as_text = replace(draft, kind="text")
        number = run(draft, changed).accepted_count * count // len(changed)
        tried.append((number, as_text, "text mutators", "Use text mutators?"))
    choices = [random.Random(n).randbytes(400) for n in range(count)]
    for text, name in _generators(kind, good, tokens):
        # Seeds are choices then, which no test has.
        keys = draft.with_target(generator=f"{HARNESS}:generate", input=None)
        made = replace(keys, seeds=(), harnesses={**draft.harnesses, HARNESS: text})
        question = "Use that generator, in a file that you can extend?"
        tried.append((run(made, choices).accepted_count, made, name, question))
    shown = [f"{1 - number / count:.0%} rejected with {name}" for number, _, name, _ in tried]
    best = max(tried, key=lambda one: one[0], default=None)
    proposal = replace(proposal, shown=[*proposal.shown, *shown])
    if best is None or best[0] <= 2 * accepted:
        return proposal
    question = f"Most inputs are invalid. {best[3]}"
    return replace(proposal, better=best[1], better_text=question, accepts=True)


def _generators(kind: str, good: Sequence[bytes], tokens: Sequence[str]) -> list[tuple[str, str]]:
    """Return harnesses with generators, and what they do."""
    found = []
    examples = [data for data in good if data]
    if len(tokens) >= _MIN_TOKENS:
        text = generator_of_tokens(tokens, as_bytes=kind == BYTES)
        found.append((text, f"a generator of {len(tokens)} tokens"))
        if len(examples) >= MIN_EXAMPLES:
            text = edits_text(kind, examples, tokens)
            found.append((text, "a generator that exchanges tokens of accepted inputs"))
    return found


def _is_text(data: bytes) -> bool:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character in "\n\t\r" for character in text)


def text_mutated(inputs: Sequence[bytes], count: int) -> list[bytes]:
    """Return inputs as text mutators make them; fewer than ``count`` if few of them apply."""
    rng = Rng(_SEED)
    found: list[bytes] = []
    for number in range(_TRIES):
        if len(found) == count or not inputs:
            break
        data = inputs[number % len(inputs)]
        made = apply(data, len(data) + _GROWTH, rng, rng.below(len(NAMES)))
        if made is not None and made != data:
            found.append(made)
    return found
