"""Text and glyphs for mutants: states, positions, changes. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from fuzztui.kernel.model.mutants import (
    LIKELY,
    NOT_RUN,
    RAN,
    REACHED,
    SURVIVORS,
    UNKNOWN_REACH,
    UNREACHED,
    WAITS,
    Knowledge,
    outcome,
    survivor_group,
)
from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.wire.verdicts import ACCEPTED


@dataclass(frozen=True, slots=True)
class MutantGlyph:
    """How a state is drawn: ``glyph`` in tables, ``fill`` in bars, ``style`` its colour.

    Colour is never the only difference.
    """

    state: str
    glyph: str
    fill: str
    style: str


SIGNS: dict[str, MutantGlyph] = {
    sign.state: sign
    for sign in (
        MutantGlyph("killed", "✓", "█", "killed"),
        MutantGlyph("alive", "●", "▓", "alive"),
        MutantGlyph("pending", "◌", "░", "pending"),
        MutantGlyph(NOT_RUN, "◌", "░", "pending"),
        MutantGlyph(UNREACHED, "○", "·", "muted"),
        MutantGlyph("skipped", "⊘", "╱", "skipped"),
        MutantGlyph("equivalent", "≡", "≡", "equivalent"),
        MutantGlyph("invalid", "!", "×", "invalid"),
    )
}
"""All states of a mutant, in the order of bars, legends and the state filter."""

_RANKS = {
    state: i for i, state in enumerate(("alive", "pending", NOT_RUN, UNREACHED, ACCEPTED, "killed"))
}

_STEERED = {"promoted": "▲ promoted", "first": "↑ first", "last": "↓ last"}

_WORD = re.compile(r"[^\s(),;]+")

CONTEXT = 12
"""Maximal number of characters before a change, and of the replaced text."""

_RETURN = "return "

_TOKEN = re.compile(r"\w+|\s+|[-+*/%@&|^~<>=!]+|[^\w\s]")


def sign(state: str) -> MutantGlyph:
    """Return the glyph of a state."""
    return SIGNS.get(state) or MutantGlyph(state, "?", "?", "muted")


def rank(state: str) -> int:
    """Return the sort key of a state: survivors first, skipped ones last."""
    return _RANKS.get(state, len(_RANKS))


SURVIVING = "survivors"
"""The filter that shows the survivors of all groups."""

GROUP_LABELS = {
    RAN: "no difference",
    WAITS: "still to run",
    NOT_RUN: NOT_RUN,
    REACHED: "never infected",
    UNREACHED: "never reached",
    UNKNOWN_REACH: "never infected",
    ACCEPTED: "accepted",
    SURVIVING: SURVIVING,
}
"""Short names of the groups of survivors, the most interesting first."""


def group_rank(mutant: Mutant) -> int:
    """Return the sort key of a survivor's group; mutants that are no survivors come last."""
    group = survivor_group(mutant)
    return SURVIVORS.index(group) if group else len(SURVIVORS)


def state_sign(mutant: Mutant, known: Knowledge = LIKELY) -> tuple[MutantGlyph, str]:
    """Return the glyph and the word of a mutant's outcome; a survivor may be accepted."""
    glyph = sign(outcome(mutant, known))
    if mutant.accepted and mutant.survives:
        return replace(glyph, style="muted"), ACCEPTED
    return glyph, glyph.state


def steer_text(steer: str) -> str:
    """Return a glyph and a word for what a user did to the mutant's position."""
    return _STEERED.get(steer, steer)


def place(mutant: Mutant) -> str:
    """Return ``file:line``, or the file alone if the line is unknown."""
    return f"{mutant.file}:{mutant.line}" if mutant.line >= 0 else mutant.file


def brief_place(mutant: Mutant) -> str:
    """Return :func:`place` without the folder."""
    return place(replace(mutant, file=mutant.file.rpartition("/")[2] or mutant.file))


def with_places(text: str, mutants: Mapping[str, Mutant]) -> str:
    """Return ``text`` with :func:`place` instead of ids of mutants, which no row shows."""

    def placed(word: re.Match[str]) -> str:
        mutant = mutants.get(word[0])
        return word[0] if mutant is None else place(mutant)

    return _WORD.sub(placed, text)


def brief_change(before: str, after: str) -> str:
    """Return a change in one line that may be cut at its end: ``…self.pos [< → <=] len(text)``.

    The common text appears once; the text before the change, and the replaced text, are cut to
    :data:`CONTEXT`.
    """
    if before.split() != after.split():  # else only blanks changed
        before, after = " ".join(before.split()), " ".join(after.split())
    if before.startswith(_RETURN) and after.startswith(_RETURN):
        before, after = before.removeprefix(_RETURN), after.removeprefix(_RETURN)
    left, gone, come, right = sides(before, after)
    gone, come = gone.strip(), come.strip()
    if not (_balanced(gone) and _balanced(come)):  # half a pair of brackets is not common text
        left = right = ""
        gone, come = before, after
    if gone and come:
        core = f"{_start(gone)} → {come}"
    else:
        core = f"+ {come}" if come else f"- {gone}"
    if not left and not right:
        return core
    left = _end(left)
    blank = " " if right and not right[0].isspace() and not (gone and come) else ""
    return f"{left}[{core}]{blank}{right}"


def sides(before: str, after: str) -> tuple[str, str, str, str]:
    """Return common start, old text, new text and common end of a change, by tokens."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    shortest = min(len(old), len(new))
    head = 0
    while head < shortest and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shortest - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    ends = len(old) - tail, len(new) - tail
    return (
        "".join(old[:head]),
        "".join(old[head : ends[0]]),
        "".join(new[head : ends[1]]),
        "".join(old[ends[0] :]),
    )


def _balanced(text: str) -> bool:
    return all(text.count(left) == text.count(right) for left, right in ("()", "[]", "{}"))


def _start(text: str) -> str:
    return text if len(text) <= CONTEXT else text[: CONTEXT - 1] + "…"


def _end(text: str) -> str:
    return text if len(text) <= CONTEXT else "…" + text[1 - CONTEXT :]
