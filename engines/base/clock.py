"""The fixed clock: time and random numbers that are the same in each trial (``target.clock``).

Functions of ``time``, ``datetime``, ``os``, ``random`` and ``uuid`` are replaced in the whole
process before the target is imported, also in modules that hold them by a name of their own.
Classes remain the same classes. The calling module decides whether it gets the real function: code
of fuzztui, of what runs tests, and of what waits for others (``asyncio``, ``threading``) does.

Each reading takes a microsecond, so that loops that wait for a moment end; ``time.sleep`` advances
the clock, and returns at once unless another thread runs, which may do what is waited for.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator
from datetime import UTC, date, datetime, timedelta
from functools import partial, update_wrapper
from types import FrameType, MethodType
from typing import Any, Final

FIXED: Final = "2024-06-03T12:00:00+00:00"
"""The moment of ``target.clock = "fixed"``."""
_YEARS: Final = range(1970, 3000)
_REAL: Final = frozenset((
    "fuzztui", "hypothesis", "pytest", "_pytest", "pluggy", "anyio", "asyncio", "concurrent",
    "multiprocessing", "queue", "selectors", "socket", "socketserver", "ssl", "subprocess",
    "tempfile", "threading", "trio",
))  # fmt: skip
"""Packages whose code keeps the real functions. ``tempfile`` needs names that are not taken."""
_PASS_ON: Final = ("random", "secrets", "uuid")
_BEFORE_NS: Final = -(10**9)
"""Where the clock begins while the target is imported and set up, relative to a trial's begin: no
trial begins before what it was set up with."""
_UP_NS: Final = 3600 * 10**9
"""What clocks without a date show when a trial begins."""
_CLOCKS: Final = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
SEEDED: Final = random.Random(0).getstate()

_Site = tuple[dict[str, Any], str, Any]
"""The attributes of a module or class, a name, and its value."""


def moment_of(text: str) -> datetime:
    """The moment of an ISO 8601 text; without an offset it is UTC. Raises ValueError."""
    at = datetime.fromisoformat(text)
    if at.year not in _YEARS:
        raise ValueError(f"{text} is not in the years {_YEARS[0]} to {_YEARS[-1]}")
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def pytest_load_initial_conftests() -> None:
    """As a plugin of pytest, a copy of this file: show all tests another date."""
    fix_clock(another_date())


def another_date() -> str:
    """A moment 400 days and some hours ahead: what depends on the date is different then."""
    return (datetime.now(UTC) + timedelta(400, 26_000)).isoformat()


def fix_clock(moment: str) -> None:
    """Fix the clock of this process at a moment; empty: it remains the real one."""
    if moment:
        FixedClock(moment).install()
        start_over(setting_up=True)


def start_over(*, setting_up: bool = False) -> None:
    """Return a fixed clock, if there is one, to the moment at which trials begin.

    ``setting_up``: to a second before, because what follows is no trial.
    """
    if FIXED_CLOCKS:
        FIXED_CLOCKS[-1].reset(_BEFORE_NS if setting_up else 0)


class FixedClock(ContextDecorator):
    """Replaces the functions: :meth:`install`, or within ``with``; :meth:`reset` begins a trial."""

    def __init__(self, moment: str) -> None:
        """``moment``: see :func:`moment_of`. Raises ValueError."""
        since = moment_of(moment) - datetime(1970, 1, 1, tzinfo=UTC)
        self._start_ns = since // timedelta(microseconds=1) * 1000
        self._elapsed_ns = self._drawn = 0
        self.calls: dict[str, str] = {}
        """The functions that were called, with the place of the first call."""
        self._before: list[_Site] = []
        import uuid  # not at the start of an engine that has no fixed clock

        self._uuid = vars(uuid)
        self._uuid_state: dict[str, Any] = {"_generate_time_safe": None, "_node": 1}
        for name in self._uuid:
            if name.startswith("_last_"):  # of the previous UUID, which the next one must exceed
                self._uuid_state[name] = 0 if "counter" in name else None

    def __enter__(self) -> FixedClock:
        self.install()
        return self

    def __exit__(self, *_: object) -> None:
        _put(self._before)  # modules that were imported meanwhile read the real clock from now on
        FIXED_CLOCKS.remove(self)

    def reset(self, elapsed_ns: int = 0) -> None:
        """Return to the moment, and to the random numbers, with which each trial begins."""
        self._elapsed_ns, self._drawn = elapsed_ns, 0
        random.setstate(SEEDED)
        self._uuid.update(self._uuid_state)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            numpy.seed(0)

    def install(self) -> None:
        """Replace the functions, and begin a trial."""
        sites: list[_Site] = [(self._uuid, name, value) for name, value in self._uuid_state.items()]
        new = {id(real): _Replaced(self, real, fixed) for real, fixed in self._functions()}
        new[id(random.seed)] = self._seed_of(random._inst)
        for name, module in list(sys.modules.items()):
            members = getattr(module, "__dict__", None)
            if type(members) is dict and name.partition(".")[0] not in _REAL:
                held = [(n, new[id(value)]) for n, value in members.items() if id(value) in new]
                sites += [(members, n, function) for n, function in held]
        self._before = _put([*sites, *self._methods()])
        FIXED_CLOCKS.append(self)
        self.reset()

    def is_real(self, name: str, frame: FrameType | None) -> bool:
        """Whether the code in ``frame`` gets the real function of this name; else note the call."""
        while frame is not None and frame.f_globals.get("__name__") in _PASS_ON:
            own = frame.f_code.co_name.replace("__init__", "Random")
            name = f"{frame.f_globals['__name__']}.{own}"
            frame = frame.f_back
        if self not in FIXED_CLOCKS or frame is None:
            return True
        if str(frame.f_globals.get("__name__")).partition(".")[0] in _REAL:
            return True
        if name not in self.calls:
            self.calls[name] = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        return False

    def _functions(self) -> Iterator[tuple[Any, Callable[..., Any]]]:
        """Each function, and what it does with the fixed clock."""
        for name in _CLOCKS:
            start_ns = self._start_ns if name == "time" else _UP_NS
            yield getattr(time, name), partial(self._seconds, start_ns)
            yield getattr(time, f"{name}_ns"), partial(self._ns, start_ns)
        start_of = {time.CLOCK_REALTIME: self._start_ns}.get
        yield time.clock_gettime, lambda which: self._seconds(start_of(which, _UP_NS))
        yield time.clock_gettime_ns, lambda which: self._ns(start_of(which, _UP_NS))
        now = partial(self._seconds, self._start_ns)
        for of in (time.localtime, time.gmtime, time.ctime):
            yield of, lambda at=None, of=of: of(now() if at is None else at)
        local, asctime, strftime = time.localtime, time.asctime, time.strftime
        yield asctime, lambda *at: asctime(*at or (local(now()),))
        yield strftime, lambda form, *at: strftime(form, *at or (local(now()),))
        yield time.sleep, partial(self._sleep, time.sleep)
        yield os.urandom, self._bytes
        yield os.getrandom, self._bytes

    def _methods(self) -> list[_Site]:
        """Methods of classes, of which those in C refuse setattr."""
        at, real_time = vars(datetime)["fromtimestamp"], time.time

        def method(name: str, make: Callable[..., Any]) -> Any:
            def call(cls: Any, tz: Any = None) -> Any:
                is_real = self.is_real(name, sys._getframe(1))
                return make(cls, real_time() if is_real else self._seconds(self._start_ns), tz)

            call.__name__ = name.partition(".")[2]  # by which it is pickled
            return classmethod(call)

        now = method("datetime.now", lambda cls, s, tz: at.__get__(None, cls)(s, tz))
        utc = method(
            "datetime.utcnow", lambda cls, s, _: at.__get__(None, cls)(s, UTC).replace(tzinfo=None)
        )
        today = method("date.today", lambda cls, s, _: cls.fromtimestamp(s))
        return [
            *((_members(datetime), "now", now), (_members(datetime), "utcnow", utc)),
            (_members(date), "today", today),
            (_members(random.Random), "seed", self._seed_of(None)),
        ]

    def _seed_of(self, generator: random.Random | None) -> Any:
        """``seed`` of a generator; None: of the class."""
        real = random.Random.seed

        def seed(generator: Any, a: Any = None, version: int = 2) -> None:
            is_fixed = a is None and not self.is_real("random.seed", sys._getframe(1))
            real(generator, self._draw() if is_fixed else a, version)

        return seed if generator is None else MethodType(seed, generator)

    def _ns(self, start_ns: int) -> int:
        self._elapsed_ns += 1000
        return start_ns + self._elapsed_ns

    def _seconds(self, start_ns: int) -> float:
        return self._ns(start_ns) / 1e9

    def _sleep(self, real: Callable[[float], None], seconds: float) -> None:
        waits = threading.active_count() > 1  # for the work of another thread
        real(seconds if waits or not seconds > 0 else 0)  # refuses what is no time
        if threading.current_thread() is threading.main_thread():
            self._elapsed_ns += int(seconds * 1e9)

    def _draw(self) -> int:
        self._drawn += 1
        return self._drawn

    def _bytes(self, size: int, flags: int = 0) -> bytes:
        return random.Random(self._draw()).randbytes(size)


class _Replaced:
    """Takes the place of a function, also in a class, where a function would become a method."""

    def __init__(self, clock: FixedClock, real: Any, fixed: Callable[..., Any]) -> None:
        update_wrapper(self, real)
        self._clock, self._real, self._fixed = clock, real, fixed
        self._name = f"{real.__module__.replace('posix', 'os')}.{real.__name__}"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        is_real = self._clock.is_real(self._name, sys._getframe(1))
        return (self._real if is_real else self._fixed)(*arguments, **named)

    def __reduce__(self) -> str:
        """Pickle and copy it as the function: by its name."""
        return str(self._real.__name__)


FIXED_CLOCKS: Final[list[FixedClock]] = []
"""The clocks of this process; the last one counts."""


def _after_fork() -> None:
    """``random`` seeds itself in a forked child: repeat that with the fixed clock's numbers."""
    if FIXED_CLOCKS:
        random.setstate(SEEDED)


os.register_at_fork(after_in_child=_after_fork)  # once, and behind what random has registered


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
