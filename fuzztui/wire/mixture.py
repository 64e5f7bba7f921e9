"""The mixture of a text engine: how probable havoc, text and splice steps are; their words.

A step of a mutation is of one of three classes, drawn by three probabilities that add to 1.
Statistics are kept of arms: each operator is one, and so is all that havoc does.
"""

from __future__ import annotations

from math import ceil, floor, fsum
from typing import Final, NamedTuple

__all__ = [
    "CLASSES",
    "MAX_ARMS",
    "MAX_NAME",
    "STACK",
    "STEPS",
    "Mixture",
    "class_of",
    "completed",
    "moved",
    "percentage",
    "stuck",
]

CLASSES: Final = ("havoc", "text", "splice")
"""The classes of steps, in the order in which they are told and drawn."""

MAX_ARMS: Final = 200
"""Arms of one instance that are looked at."""

MAX_NAME: Final = 200
"""Characters of an arm's name."""

STACK: Final = 3.75
"""Steps of an input, on average: 1, 2, 4 or 8, each as probable."""

TOLERANCE: Final = 1e-6
"""How far from 1 the three may add up to."""

A_BIT: Final = 1e-4
"""A smaller difference nobody can tell, nor see."""

_CLASS_OF: Final = {"havoc": "havoc", "fragment": "splice", "balanced": "splice"}


def class_of(arm: str) -> str:
    """The class of an arm, by its name: all that is not named otherwise is an text mutator."""
    return _CLASS_OF.get(arm, "text")


class Mixture(NamedTuple):
    """Three probabilities, in the order of :data:`CLASSES`."""

    havoc: float
    text: float
    splice: float

    @property
    def problem(self) -> str:
        """Why this is no mixture, in words for users; "" for one."""
        for name, part in zip(CLASSES, self, strict=True):
            if not 0 <= part <= 1:  # nor is no number, and one of four hundred digits
                return f"{name} is {str(part)[:20]}, not a probability from 0 to 1"
        whole = fsum(self)
        if abs(whole - 1) > TOLERANCE:
            return f"havoc, text and splice add to {whole:g}, not to 1"
        return ""

    def is_like(self, other: Mixture) -> bool:
        """Whether nobody could tell one from the other."""
        return all(abs(a - b) < A_BIT for a, b in zip(self, other, strict=True))

    def __str__(self) -> str:
        """In words, as engines and the supervisor say it: ``havoc 10%, text 80%, splice 10%``."""
        parts = zip(CLASSES, self, strict=True)
        return ", ".join(f"{name} {percentage(part)}" for name, part in parts)


def percentage(part: float) -> str:
    """A probability as people write it: ``75%``, ``37.5%``."""
    return f"{round(100 * part, 1):g}%"


def completed(given: dict[str, float], present: Mixture) -> Mixture:
    """A mixture of which only some parts are ``given``; ``present``: what is so now.

    The others share what is left as they do now, or havoc takes it (text, where havoc is given).
    Nothing is checked.
    """
    parts = {name: given.get(name, 0.0) for name in CLASSES}
    others = [name for name in CLASSES if name not in given]
    left = 1 - fsum(given.values())
    now = dict(zip(CLASSES, present, strict=True))
    of_others = fsum(now[name] for name in others)
    for name in others:
        parts[name] = left * now[name] / of_others if of_others > 0 else 0.0
    if others and not of_others > 0:
        parts[others[0]] = left
    return Mixture(**parts)


# A mixture is a bar with two boundaries: between havoc and text, between text and splice.

STEPS: Final = 20
"""A boundary is moved in so many steps: 5% each."""


def moved(now: Mixture, boundary: int, by: int) -> Mixture:
    """One boundary (0: havoc and text, 1: text and splice) a step to the left (-1) or right (1).

    To the next whole step, if it is not on one. A boundary pushes the other before it, so that
    every mixture can be reached.
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
    """Why that boundary cannot be moved there, "" if it can."""
    end = CLASSES[0 if boundary == 0 else 2]
    part = now.havoc if boundary == 0 else now.splice
    grows = by > 0 if boundary == 0 else by < 0
    if grows:
        return f"all is {end} already" if part > 1 - A_BIT else ""
    return f"{end} is at 0% already" if part < A_BIT else ""
