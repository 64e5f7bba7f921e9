"""The fixed clock: time and random numbers that are the same in each trial (``target.clock``).

The functions of ``time``, ``datetime``, ``os``, ``random`` and ``uuid`` that read a clock or draw
random numbers are replaced in the whole process, before the target is imported. Classes remain the
same classes, so ``isinstance`` and ``from datetime import datetime`` work as before. Modules that
were imported earlier and hold such a function by a name of their own get the replacement, too.

Code of fuzztui, of what runs tests, and of what waits for others (``asyncio``, ``threading``, ...)
keeps the real functions: the calling module decides. So timeouts, deadlines and waiting work.

Each trial begins at the same moment. A reading takes a microsecond, so that loops that wait for a
moment end. ``time.sleep`` returns at once and advances the clock. Extension modules that ask the
operating system themselves see the real time.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator
from datetime import UTC, date, datetime, timedelta
from functools import partial, update_wrapper
from types import FrameType, FunctionType, MethodType
from typing import Any, Final

FIXED: Final = "2024-06-03T12:00:00+00:00"
"""The moment of ``target.clock = "fixed"``."""
_YEARS: Final = range(1970, 3000)
"""Years in which all functions work, in any time zone."""
_REAL: Final = frozenset((
    "fuzztui", "hypothesis", "pytest", "_pytest", "pluggy", "anyio", "asyncio", "concurrent",
    "multiprocessing", "queue", "selectors", "socket", "socketserver", "ssl", "subprocess",
    "tempfile", "threading", "trio",
))  # fmt: skip
"""Packages whose code keeps the real functions. ``tempfile`` needs names that are not taken."""
_PASS_ON: Final = ("random", "secrets", "uuid")
_READING_NS: Final = 1000
_UP_NS: Final = 3600 * 10**9
"""What clocks without a date show when a trial begins."""
_NODE: Final = 0x02_00_00_00_00_01
"""The machine's address in UUIDs."""
CLOCKS: Final = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
_SEEDED: Final = random.Random(0).getstate()

_Site = tuple[dict[str, Any], str, Any]
"""The attributes of a module or class, a name, and its value."""


def moment_of(text: str) -> datetime:
    """The moment of an ISO 8601 text; without an offset it is UTC. Raises ValueError."""
    at = datetime.fromisoformat(text)
    if at.year not in _YEARS:
        raise ValueError(f"{text} is not in the years {_YEARS[0]} to {_YEARS[-1]}")
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def passes_on(frame: FrameType) -> bool:
    """Whether the code that runs in ``frame`` draws random numbers for its caller."""
    return frame.f_globals.get("__name__") in _PASS_ON


def keeps_real(frame: FrameType | None) -> bool:
    """Whether code that runs in ``frame``, or for which that code draws, has the real functions."""
    while frame is not None and passes_on(frame):
        frame = frame.f_back
    return frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in _REAL


def start_over() -> None:
    """Return a fixed clock, if there is one, to the moment at which trials begin."""
    if _installed:
        _installed[-1].reset()


class FixedClock(ContextDecorator):
    """Replaces the functions: :meth:`install`, or within ``with``; :meth:`reset` begins a trial."""

    def __init__(self, moment: str) -> None:
        """``moment``: see :func:`moment_of`. Raises ValueError."""
        since = moment_of(moment) - datetime(1970, 1, 1, tzinfo=UTC)
        self._start_ns = since // timedelta(microseconds=1) * 1000
        self._elapsed_ns = self._drawn = 0
        self._before: list[_Site] = []
        import uuid  # not at the start of an engine that has no fixed clock

        self._uuid = vars(uuid)
        self._uuid_state: dict[str, Any] = {"_generate_time_safe": None, "_node": _NODE}
        for name in self._uuid:
            if name.startswith("_last_"):  # of the previous UUID, which the next one must exceed
                self._uuid_state[name] = 0 if "counter" in name else None

    def __deepcopy__(self, memo: object) -> FixedClock:
        return self  # the replacements are bound to it, and functions are not copied

    def __enter__(self) -> FixedClock:
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        _put(self._before)  # modules that were imported meanwhile read the real clock from now on
        _installed.remove(self)

    def reset(self) -> None:
        """Return to the moment, and to the random numbers, with which each trial begins."""
        self._elapsed_ns = self._drawn = 0
        random.setstate(_SEEDED)
        self._uuid.update(self._uuid_state)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            numpy.seed(0)

    def install(self) -> None:
        """Replace the functions, and begin a trial."""
        sites: list[_Site] = [(self._uuid, name, value) for name, value in self._uuid_state.items()]
        new = {id(real): self._function(real, fixed) for real, fixed in self._functions()}
        for name, module in list(sys.modules.items()):
            members = getattr(module, "__dict__", None)
            if type(members) is dict and name.partition(".")[0] not in _REAL:
                held = [(n, new[id(value)]) for n, value in members.items() if id(value) in new]
                sites += [(members, n, function) for n, function in held]
        self._before = _put([*sites, *self._methods()])
        _installed.append(self)
        self.reset()

    # --------------------------------------------------------------- the replacements

    def _is_real(self, frame: FrameType) -> bool:
        return self not in _installed or keeps_real(frame)

    def _function(self, real: Any, fixed: Callable[..., Any]) -> Any:
        def call(clock: FixedClock, *arguments: Any, **named: Any) -> Any:
            chosen = real if clock._is_real(sys._getframe(1)) else fixed
            return chosen(*arguments, **named)

        # A method, because a class may hold it: a function would get the instance there.
        return MethodType(update_wrapper(call, real), self)

    def _functions(self) -> Iterator[tuple[Any, Callable[..., Any]]]:
        """Each function, and what it does with the fixed clock."""
        for name in CLOCKS:
            start_ns = self._start_ns if name == "time" else _UP_NS
            yield getattr(time, name), partial(self._seconds, start_ns)
            yield getattr(time, f"{name}_ns"), partial(self._ns, start_ns)
        start_of = {time.CLOCK_REALTIME: self._start_ns, time.CLOCK_TAI: self._start_ns}.get
        yield time.clock_gettime, lambda which: self._seconds(start_of(which, _UP_NS))
        yield time.clock_gettime_ns, lambda which: self._ns(start_of(which, _UP_NS))
        for of in (time.localtime, time.gmtime, time.ctime):
            yield of, lambda at=None, of=of: of(self._now() if at is None else at)
        local, asctime, strftime = time.localtime, time.asctime, time.strftime
        yield asctime, lambda *at: asctime(*at or (local(self._now()),))
        yield strftime, lambda form, *at: strftime(form, *at or (local(self._now()),))
        yield time.sleep, partial(self._sleep, time.sleep)
        yield os.urandom, self._bytes
        yield os.getrandom, self._bytes
        seed = random.seed
        yield seed, lambda a=None, version=2: seed(self._draw() if a is None else a, version)

    def _methods(self) -> Iterator[_Site]:
        """Methods of classes that refuse setattr, as sites."""
        dates, moments, generators = map(_members, (date, datetime, random.Random))
        at = partial(moments["fromtimestamp"].__get__, None)
        seed = generators["seed"]
        fixed: list[tuple[dict[str, Any], str, Callable[..., Any]]] = [
            (moments, "now", lambda cls, tz=None: at(cls)(self._now(), tz)),
            (moments, "utcnow", lambda cls: at(cls)(self._now(), UTC).replace(tzinfo=None)),
            (dates, "today", lambda cls: cls.fromtimestamp(self._now())),
            (generators, "seed", lambda g, a=None, version=2: seed(
                g, self._draw() if a is None else a, version)),
        ]  # fmt: skip
        return ((members, name, self._method(members[name], f)) for members, name, f in fixed)

    def _method(self, real: Any, fixed: Callable[..., Any]) -> Any:
        is_plain = isinstance(real, FunctionType)

        def call(owner: Any, *arguments: Any, **named: Any) -> Any:
            if not self._is_real(sys._getframe(1)):
                return fixed(owner, *arguments, **named)
            bound = real.__get__(owner) if is_plain else real.__get__(None, owner)
            return bound(*arguments, **named)

        return call if is_plain else classmethod(call)

    def _ns(self, start_ns: int) -> int:
        self._elapsed_ns += _READING_NS
        return start_ns + self._elapsed_ns

    def _seconds(self, start_ns: int) -> float:
        return self._ns(start_ns) / 1e9

    def _now(self) -> float:
        return self._seconds(self._start_ns)

    def _sleep(self, real: Callable[[float], None], seconds: float) -> None:
        real(seconds if not seconds > 0 else 0)  # refuses what is no time; other threads run
        self._elapsed_ns += int(seconds * 1e9)

    def _draw(self) -> int:
        self._drawn += 1
        return self._drawn

    def _bytes(self, size: int, flags: int = 0) -> bytes:
        return random.Random(self._draw()).randbytes(size)


_installed: Final[list[FixedClock]] = []
"""The clocks of this process; the last one counts."""


def _members(cls: type) -> dict[str, Any]:
    """The dictionary behind a class's ``__dict__``, which can be changed also of one in C."""
    return next(d for d in gc.get_referents(cls.__dict__) if isinstance(d, dict))


def _put(sites: list[_Site]) -> list[_Site]:
    """Set these values. Returns the sites with the values before."""
    import ctypes

    before = [(members, name, members[name]) for members, name, _ in sites]
    for members, name, value in sites:
        members[name] = value
    for cls in (date, datetime, random.Random):
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
    return before
