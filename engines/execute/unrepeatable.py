"""Why two runs of an input differ: which functions it calls that read a clock or draw at random."""

from __future__ import annotations

import datetime
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, ModuleType
from typing import Any, Final

from fuzztui.engines.base.clock import CLOCKS, keeps_real, passes_on
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.forks import ChildHost, Tell
from fuzztui.kernel.base.text import listed, several

_FUNCTIONS: Final = {
    *CLOCKS, *(f"{name}_ns" for name in CLOCKS), "clock_gettime", "clock_gettime_ns", "localtime",
    "gmtime", "ctime", "asctime", "strftime", "urandom", "getrandom",
}  # fmt: skip
_NOW: Final = ("now", "utcnow", "today")
_SHARED: Final = getattr(random.random, "__self__", None)
"""The generator of the functions of ``random``."""
_OF_STATE: Final = ("seed", "getstate", "setstate")
_SEED: Final = random.Random.seed.__code__
_LOGGING: Final = "logging"
"""Notes the time of each record, which changes no behaviour."""
_SHOWN: Final = 3
MAX_RUNS: Final = 20
"""Inputs that are run; if none of them calls such a function, others will not either."""


def calls_of(call: Callable[[], object]) -> dict[str, str]:
    """The functions that ``call``, which runs one input, calls, with the place of the first call.

    Those of code that has the real functions also with a fixed clock are left out.
    """
    found: dict[str, str] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        name = ""
        if event == "c_call":
            name = _name_of(argument)
        elif event == "call" and frame.f_code is _SEED and frame.f_locals.get("a") is None:
            name = "random.seed"
        if not name:
            return
        user: FrameType | None = frame
        while user is not None and passes_on(user):
            own = user.f_code.co_name.replace("__init__", "Random")
            name, user = f"{user.f_globals['__name__']}.{own}", user.f_back
        if user is not None and not keeps_real(user):
            module = str(user.f_globals.get("__name__"))
            if module.partition(".")[0] != _LOGGING:
                found.setdefault(name, f"{_short(user.f_code.co_filename)}:{user.f_lineno}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def advice(calls: Mapping[str, str]) -> str:
    """The end of a message about inputs that vary, which proposes the fixed clock."""
    shown = listed([f"{name} ({place})" for name, place in calls.items()], _SHOWN)
    return f'the program calls {shown}: target.clock = "fixed" makes them repeatable'


def why_flaky(inputs: Sequence[bytes], of: int, executor: Executor, host: ChildHost) -> str:
    """A message about flaky inputs, of ``of`` inputs, that proposes the fixed clock.

    Empty if none are, or if none of the first ones calls such a function in a child process.
    """

    def work(tell: Tell) -> None:
        executor.in_child()
        tell(calls_of(lambda: [executor.call(data) for data in inputs[:MAX_RUNS]]))

    if not inputs or executor.fixture.clock is not None:
        return ""
    calls = host.ask(work)
    if not calls:
        return ""
    are = "is" if len(inputs) == 1 else "are"
    return f"{len(inputs):,} of {several(of, 'input')} {are} flaky; {advice(calls)}"


def _name_of(function: Any) -> str:
    """The name of a function in C that reads a clock or draws at random; "" for any other."""
    owner: Any = getattr(function, "__self__", None)
    if type(owner) is ModuleType and owner.__name__ in ("time", "posix"):
        of, is_one = owner.__name__.replace("posix", "os"), function.__name__ in _FUNCTIONS
    elif owner is _SHARED:
        of, is_one = "random", function.__name__ not in _OF_STATE
    elif issubclass(type(owner), type) and issubclass(owner, datetime.date):
        of, is_one = owner.__name__, function.__name__ in _NOW
    else:
        return ""
    return f"{of}.{function.__name__}" if is_one else ""


def _short(file: str) -> str:
    """A file relative to the directory from which it was imported."""
    above = [entry for entry in sys.path if entry and file.startswith(f"{entry}/")]
    return file[len(max(above, key=len)) + 1 :] if above else file
