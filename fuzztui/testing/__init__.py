"""For tests: replay a corpus with pytest, make a generator's input again, stop the clock."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzztui.engines.base.clock import FixedClock
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.source import Source
from fuzztui.engines.strategies import generator_of

__all__ = ["fixed_clock", "made"]

_LIMIT = 1 << 20

fixed_clock = FixedClock
"""``with fixed_clock("2024-06-03T12:00")``, or a decorator: the clock of a trial, and its random
numbers, as with ``target.clock``."""


def made(generator: object, choices: bytes, constants: Path | None = None) -> Any:
    """Return the input that a generator makes from its choices.

    ``generator``: a function, a Hypothesis strategy or a type, as in ``target.generator``.
    ``constants``: the file of constants that choices may select.
    """
    pool = ConstantPool.read(constants) if constants is not None else None
    source = Source(choices, _LIMIT, random.Random(0).randbytes, pool)
    found = generator_of("made(generator)", generator) or generator
    call: Callable[[Source], Any] = found  # type: ignore[assignment]
    return call(source)
