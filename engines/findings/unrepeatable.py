"""Why two runs of an input differ: what they call that reads a clock or draws random numbers."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from fuzztui.engines.base.clock import FIXED, FIXED_CLOCKS, SEEDED, FixedClock
from fuzztui.engines.execute.executor import Execution, Executor
from fuzztui.engines.execute.forks import ChildHost, Tell
from fuzztui.engines.findings.compare import same
from fuzztui.kernel.base.text import listed

_SHOWN: Final = 3
MAX_RUNS: Final = 20
"""Inputs that are run; if none of them calls such a function, others will not either."""


def calls_of(executor: Executor, inputs: Sequence[bytes]) -> dict[str, str]:
    """The functions that the inputs call, with the place of the first call; "": unknown.

    The inputs are run twice with a fixed clock, which notes these calls. None are returned if the
    clock is fixed already, or if all inputs still vary.
    """
    if FIXED_CLOCKS:
        return {}
    before, repeatable = random.getstate(), False
    with FixedClock(FIXED) as clock:
        for data in inputs[:MAX_RUNS]:
            one = executor.run(data)
            if random.getstate() != SEEDED:
                clock.calls.setdefault("functions of random", "")
            repeatable |= not differ(executor, one, executor.run(data))
    random.setstate(before)
    return clock.calls if repeatable else {}


def differ(executor: Executor, one: Execution, other: Execution) -> bool:
    """Whether two runs of an input cover different code or return different values."""
    values = partial(same, one.value, other.value)
    return one.observed != other.observed or not executor.guarded(values, True)


def varying_text(varying: int, of: str, calls: Mapping[str, str]) -> str:
    """A message that proposes the fixed clock. ``of``: what was run, such as "31 entries"."""
    vary = "varies" if varying == 1 else "vary"
    shown = listed([f"{name}{_shown(place)}" for name, place in calls.items()], _SHOWN)
    return (
        f"{varying:,} of {of} {vary} between two runs; the program calls {shown}:"
        ' target.clock = "fixed" makes them repeatable'
    )


def why_varying(inputs: Sequence[bytes], of: str, executor: Executor, host: ChildHost) -> str:
    """As :func:`varying_text`, of inputs that are run again in a child process.

    Empty if there is none that varies, or if a fixed clock would not help.
    """

    def work(tell: Tell) -> None:
        executor.in_child()
        tell(calls_of(executor, inputs))

    calls = host.ask(work) if inputs else None
    return varying_text(len(inputs), of, calls) if calls else ""


def _shown(place: str) -> str:
    """A place whose file is relative to the directory from which it was imported."""
    above = [f"{entry}/" for entry in sys.path if entry and place.startswith(f"{entry}/")]
    return f" ({place.removeprefix(max(above, key=len, default=''))})" if place else ""
