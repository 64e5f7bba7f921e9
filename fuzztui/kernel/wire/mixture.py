"""The mixture of a text engine: the probabilities of havoc, text and splice steps.

A step of a mutation is in one of three classes; the probabilities of the classes add up to 1.
Statistics are per mutator: each text mutator is one; all of havoc is one, too.
"""

from __future__ import annotations

from math import ceil, floor, fsum
from typing import Final, NamedTuple

CLASSES: Final = ("havoc", "text", "splice")
"""The classes of steps, in the order of reports and screens."""

MAX_ARMS: Final = 200
"""Mutators of one instance that are read; further ones are ignored."""

MAX_NAME: Final = 200
"""Characters of a mutator's name."""

STACK: Final = 3.75
"""Steps per input, on average: 1, 2, 4 or 8 with equal probabilities."""

TOLERANCE: Final = 1e-6
"""Allowed distance between 1 and the sum of the three probabilities."""

A_BIT: Final = 1e-4
"""Probabilities that differ by less than this count as equal."""

_CLASS_OF: Final = {"havoc": "havoc", "fragment": "splice", "balanced": "splice"}


def class_of(mutator: str) -> str:
    """Return the class of a mutator by its name; unknown names are text mutators."""
    return _CLASS_OF.get(mutator, "text")


class Mixture(NamedTuple):
    """Three probabilities, in the order of :data:`CLASSES`."""

    havoc: float
    text: float
    splice: float

    @property
    def problem(self) -> str:
        """Why the mixture is invalid, as a text for users; an empty string if it is valid."""
        for name, part in zip(CLASSES, self, strict=True):
            if not 0 <= part <= 1:  # rejects NaN and integers of 400 digits, too
                return f"{name} is {str(part)[:20]}, not a probability from 0 to 1"
        whole = fsum(self)
        if abs(whole - 1) > TOLERANCE:
            return f"havoc, text and splice add up to {whole:g}, not to 1"
        return ""

    def is_like(self, other: Mixture) -> bool:
        """Whether the two mixtures count as equal."""
        return all(abs(a - b) < A_BIT for a, b in zip(self, other, strict=True))

    def __str__(self) -> str:
        """Return the mixture as messages show it: ``havoc 10%, text 80%, splice 10%``."""
        parts = zip(CLASSES, self, strict=True)
        return ", ".join(f"{name} {percentage(part)}" for name, part in parts)


BEST: Final = Mixture(havoc=0.25, text=0.5, splice=0.25)
"""The mixture with the most edges in measurements, if it is adaptive (docs/text.md)."""


def percentage(part: float) -> str:
    """Return a probability as ``75%`` or ``37.5%``."""
    return f"{round(100 * part, 1):g}%"


def completed(given: dict[str, float], present: Mixture) -> Mixture:
    """Return a mixture with the ``given`` parts. ``present``: the mixture now.

    The other parts share the rest in their present ratio; if all of them are 0, havoc gets the
    rest (text if havoc is given). Nothing is checked.
    """
    parts = {name: given.get(name, 0.0) for name in CLASSES}
    others = [name for name in CLASSES if name not in given]
    left = 1 - fsum(given.values())
    now = dict(zip(CLASSES, present, strict=True))
    of_others = fsum(now[name] for name in others)
    for name in others:
        parts[name] = left * (now[name] / of_others) if of_others > 0 else 0.0  # no underflow
    if others and not of_others > 0:
        parts[others[0]] = left
    return Mixture(**parts)


# Screens show a mixture as a bar with two boundaries: havoc | text and text | splice.

STEPS: Final = 20
"""Steps of a boundary between 0 and 100%: 5% each."""


def moved(now: Mixture, boundary: int, by: int) -> Mixture:
    """Move one boundary (0: havoc | text, 1: text | splice) one step left (-1) or right (1).

    A boundary between two steps moves to the next whole step. A boundary pushes the other one
    along, so that every mixture can be reached.
    """
    cuts = [now.havoc * STEPS, (now.havoc + now.text) * STEPS]
    at = cuts[boundary]
    slack = A_BIT * STEPS
    to = floor(at + slack) + 1 if by > 0 else ceil(at - slack) - 1
    cuts[boundary] = to = min(STEPS, max(0, to))
    if boundary == 0:
        cuts[1] = max(cuts[1], to)
    else:
        cuts[0] = min(cuts[0], to)
    havoc = round(cuts[0] / STEPS, 4)
    splice = round(1 - cuts[1] / STEPS, 4)
    return Mixture(havoc, round(1 - havoc - splice, 4), splice)


def stuck(now: Mixture, boundary: int, by: int) -> str:
    """Return why this boundary cannot be moved; an empty string if it can."""
    end = CLASSES[0 if boundary == 0 else 2]
    part = now.havoc if boundary == 0 else now.splice
    grows = by > 0 if boundary == 0 else by < 0
    if grows:
        return f"{end} is already at 100%" if part > 1 - A_BIT else ""
    return f"{end} is already at 0%" if part < A_BIT else ""


def named_by(op: str) -> list[str]:
    """Return the mutators that an entry's ``op`` names: ``text-swap-args+havoc,rep:4``."""
    names = op.partition(",rep:")[0].split("+")
    return [name.removeprefix("text-") for name in names if name]
