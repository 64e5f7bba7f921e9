"""The clock 400 days and some hours ahead: for outcomes, and as a plugin of pytest.

A copy of this file runs under the target's interpreter, which need not have fuzztui. Programs in
Python see another date; extension modules that read the system's clock themselves do not.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import time
from typing import Any

SHIFT_S = 400 * 86_400 + 26_000
_SHIFT = datetime.timedelta(seconds=SHIFT_S)


def _shift_time() -> None:
    def shifted(name: str, at: int) -> None:
        """Let a function of ``time`` use the shifted clock if its argument ``at`` is left out."""
        real = getattr(time, name)

        def call(*arguments: Any) -> Any:
            if len(arguments) <= at or arguments[at] is None:
                moment = time.localtime() if name in ("strftime", "asctime") else seconds()
                arguments = (*arguments[:at], moment)
            return real(*arguments)

        setattr(time, name, call)

    real_seconds, real_ns, real_clock = time.time, time.time_ns, time.clock_gettime

    def seconds() -> float:
        return real_seconds() + SHIFT_S

    def clock(which: int) -> float:
        return real_clock(which) + (SHIFT_S if which == time.CLOCK_REALTIME else 0)

    time.time, time.clock_gettime = seconds, clock
    time.time_ns = lambda: real_ns() + SHIFT_S * 1_000_000_000
    for name, at in (("localtime", 0), ("gmtime", 0), ("ctime", 0), ("asctime", 0)):
        shifted(name, at)
    shifted("strftime", 1)


def _shift_datetime() -> None:
    """Replace methods of the classes, which stay the same classes: values are compared by them."""
    real = {name: vars(datetime.datetime)[name] for name in ("now", "utcnow")}

    def now(cls: Any, tz: Any = None) -> Any:
        return real["now"].__get__(None, cls)(tz) + _SHIFT

    def utcnow(cls: Any) -> Any:
        return real["utcnow"].__get__(None, cls)() + _SHIFT

    def today(cls: Any) -> Any:
        if issubclass(cls, datetime.datetime):
            return cls.now()
        day = datetime.datetime.now()
        return cls(day.year, day.month, day.day)

    _put(datetime.datetime, now=now, utcnow=utcnow)
    _put(datetime.date, today=today)


def _put(cls: type, **methods: Any) -> None:
    # Classes in C refuse setattr, but not a change of the dictionary behind their __dict__.
    (members,) = (d for d in gc.get_referents(cls.__dict__) if isinstance(d, dict))
    members.update({name: classmethod(method) for name, method in methods.items()})
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


def pytest_load_initial_conftests() -> None:
    """Shift the clock, before anything of the user is imported. Also a hook of pytest."""
    _shift_datetime()
    _shift_time()
