"""Fold instances, their statistics, and the campaign's totals over time.

:class:`~fuzztui.kernel.wire.events.Stats` declares how each total over instances is computed.
Besides:

* ``rate`` and ``cpu`` are sums;
* instances that fuzz a mutant count for ``execs``, ``rate`` and ``cpu`` only;
* an instance that is paused or stalled, or has no process, has rate 0, whatever its last
  statistics contain; an instance whose rate is unknown, also because its host is not connected,
  adds nothing to the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from operator import attrgetter, le
from typing import Any

from fuzztui.kernel.model.changes import ChangesBuilder, instance
from fuzztui.kernel.model.folding import EventFold, never
from fuzztui.kernel.model.selectors import SEVERAL_TARGETS
from fuzztui.kernel.model.series import Series
from fuzztui.kernel.model.state import FILE_COUNTS, Instance, State
from fuzztui.kernel.wire.afl import other_numbers
from fuzztui.kernel.wire.events import (
    InstanceHello,
    InstanceState,
    PassiveInstance,
    Resources,
    Stats,
    Synced,
)

IDLE_STATES = frozenset({"paused", "stalled", "restarting", "stopped", "finished", "failed"})
"""Instance states without executions: the rate is 0."""

GONE_STATES = frozenset({"restarting", "stopped", "finished", "failed"})
"""Instance states without a process: the CPU use is 0, too."""

CPU_SERIES = "cpu_s"
"""Name of the series of an instance's CPU seconds."""

MAX_SERIES = 450
"""Number of series of instances from which on further instances get none."""

PASSIVE = "passive"
"""The state of an instance that only :class:`PassiveInstance` names."""

_LARGE = 2**62


def finite(value: float, default: float = 0.0) -> float:
    """Return ``value``, or ``default`` if ``value`` is infinite, huge or not a number."""
    return value if -_LARGE < value < _LARGE else default


def count(value: int) -> int:
    """Return ``value``, or -1 (unknown) if ``value`` is negative or huge."""
    return value if -1 <= value < _LARGE else -1


def series(state: State, name: str) -> Series:
    """Return the series ``name``, added if it is new."""
    found = state.series.get(name)
    if found is None:
        found = state.series[name] = Series()
    return found


def own_series(
    state: State, i: Instance, name: str, make: Callable[[], Series] = Series.brief
) -> Series | None:
    """Return the series ``name`` of one instance; ``make`` makes it if it is new.

    None if the instance fuzzes a mutant, or if there are ``MAX_SERIES`` series already.
    """
    key = f"{name}/{i.id}"
    found = state.instance_series.get(key)
    if found is None and not i.mutant and len(state.instance_series) < MAX_SERIES:
        found = state.instance_series[key] = make()
    return found


def shift(state: State, name: str, old: float, new: float) -> None:
    """Add a point to a sum: one instance's contribution changed from ``old`` to ``new``.

    The sum is the last value of the series: exact for integers; rates have 3 decimals, so
    rounding at each step causes no drift.
    """
    sums = series(state, name)
    total = sums.last + new - old
    sums.add(state.t, round(total, 3) if isinstance(total, float) else total)


def shift_own(state: State, i: Instance, name: str, old: float, new: float) -> None:
    """Call :func:`shift`, unless the instance fuzzes a mutant: its crashes are no findings."""
    if not i.mutant:
        shift(state, name, old, new)


def _maximum(state: State, name: str, old: int, new: int) -> None:
    """Add a point to a maximum: one instance's value changed from ``old`` to ``new``."""
    maxima = state.series.get(name)
    highest = maxima.last if maxima else -1
    if new >= highest:
        highest = new
    elif old >= highest:
        plain = (o for o in state.instances.values() if not (o.mutant or o.binary))
        highest = max((o.stat(name) for o in plain), default=-1)
    if highest >= 0:
        series(state, name).add(state.t, highest)


def _set_rate(state: State, i: Instance, rate: float) -> None:
    before, i.execs_per_sec = i.execs_per_sec, rate
    if rate >= 0 or before > 0:  # else the rate is still unknown: a point of 0 would be a value
        shift(state, "rate", max(0.0, before), max(0.0, rate))
        if (own := own_series(state, i, "rate")) is not None:
            own.add(state.t, max(0.0, rate))


def _set_cpu(state: State, i: Instance, cpu: float) -> None:
    if cpu != i.cpu:
        shift(state, "cpu", i.cpu, cpu)
        i.cpu = cpu


def instance_state(state: State, e: InstanceState, touched: ChangesBuilder) -> None:
    """Set the state of an instance; the rate is 0 if nothing is executed."""
    i = instance(state, e.instance, touched)
    i.state, i.reason = e.state, e.reason
    i.pid, i.restarts = count(e.pid), max(count(e.restarts), 0)
    if e.state == "starting":
        i.warnings = []
    if e.state not in GONE_STATES:
        i.ended_t = -1.0
        i.began_t = state.t if i.began_t < 0 and e.state == "running" else i.began_t
    elif i.ended_t < 0:
        i.ended_t = state.t
    if e.state in IDLE_STATES:
        gone = e.state in GONE_STATES
        if i.execs_per_sec > 0:
            _set_rate(state, i, 0.0)
        i.execs_per_sec = 0.0  # no point if no rate was known: a turn may be too short for one
        if gone:
            _set_cpu(state, i, 0.0)
            i.rss = i.processes = 0
    touched.campaign = True


def out_of_reach(state: State, i: Instance) -> None:
    """Make the rate of an instance unknown, because its host is not connected."""
    if i.state not in IDLE_STATES:
        _set_rate(state, i, -1.0)
        _set_cpu(state, i, 0.0)
        i.rss = i.processes = 0


def instance_hello(state: State, e: InstanceHello, touched: ChangesBuilder) -> None:
    """Set the version, the capabilities and the mutant of an instance."""
    i = instance(state, e.instance, touched)
    i.engine, i.version, i.python = e.engine, e.version, e.python
    i.passive, i.received = "", 0  # an engine runs there now
    i.capabilities = [str(c) for c in e.capabilities]
    i.unable = {str(k): str(v) for k, v in e.unable.items()}
    i.directory = e.directory or i.directory
    i.binary, i.options = e.binary, e.options
    i.command_line = e.command_line or i.command_line
    if e.mutant and not i.mutant:
        for name in sorted(FILE_COUNTS):
            if counted := i.stat(name):
                shift(state, name, counted, 0)
        i.mutant = e.mutant
    if e.pid:
        i.pid = e.pid


_NUMBERS = [f for f in fields(Stats) if f.type in ("Count", "float")]
_BOUNDS: dict[str, tuple[Any, Any]] = {
    f.name: (f.default if "key" in f.metadata else -_LARGE, f.default) for f in _NUMBERS
}
"""The lowest possible value of each number, and the value of an unknown one."""
_LOWEST = tuple(low for low, _ in _BOUNDS.values())
_numbers = attrgetter(*_BOUNDS)
_SERIES = {f.name: f.metadata["total"] for f in _NUMBERS if f.metadata.get("series")}
_REPORTED = tuple(name for name in _SERIES if name not in FILE_COUNTS | {"execs"})
_COUNTED = tuple(name for name in _SERIES if name in FILE_COUNTS)
_reported = attrgetter(*_REPORTED)
_counted = attrgetter(*_COUNTED)


def _sound(e: Stats) -> Stats:
    """Replace impossible numbers by the value of unknown ones."""
    numbers = _numbers(e)
    if all(map(le, _LOWEST, numbers)) and max(numbers) < _LARGE and not e.other:
        return e  # nearly always
    wrong: dict[str, Any] = {
        name: unknown
        for name, (low, unknown) in _BOUNDS.items()
        if not low <= getattr(e, name) < _LARGE
    }
    if e.other:
        wrong["other"] = other_numbers(e.other)
    return replace(e, **wrong) if wrong else e


def stats(state: State, e: Stats, touched: ChangesBuilder) -> None:
    """Set the statistics of an instance and update the totals."""
    i = instance(state, e.instance, touched)
    touched.campaign = True
    t = state.t
    before, counted = i.stats, _counted(i)
    i.stats = e = _sound(e)
    if i.execs_before < 0:
        i.execs_before = e.execs
    rate = 0.0 if i.state in IDLE_STATES else round(e.execs_per_sec, 3)
    _set_rate(state, i, rate if rate >= 0 else -1.0)
    shift(state, "execs", before.execs, e.execs)
    if not i.mutant:
        for name, old, new in zip(_REPORTED, _reported(before), _reported(e), strict=True):
            if _SERIES[name] != "max":
                shift(state, name, old, new)
            elif not (i.binary or state.engine == SEVERAL_TARGETS):  # those have maps of their own
                _maximum(state, name, old, new)
        for name, old, new in zip(_COUNTED, counted, _counted(i), strict=True):
            shift(state, name, old, new)
        if e.edges >= 0 and (own := own_series(state, i, "edges")) is not None:
            own.add(t, e.edges)
    i.stats_t = max(0.0, t - e.age)
    if e.find_age >= 0:
        i.last_find_t = max(0.0, t - e.find_age)
    i.slow_t = -1.0 if e.slow_age < 0 else max(0.0, t - e.slow_age)


def passive_instance(state: State, e: PassiveInstance, touched: ChangesBuilder) -> None:
    """Set where the entries of a passive instance come from, and how many there are."""
    i = instance(state, e.instance, touched)
    i.passive, i.received = e.source or "unknown", max(count(e.entries), 0)
    i.state, i.reason = PASSIVE, ""
    touched.campaign = True


def synced(state: State, e: Synced, touched: ChangesBuilder) -> None:
    """Set the peers of an instance."""
    i = instance(state, e.instance, touched)
    whole = {k: v for k, v in e.peers.items() if type(v) is int}
    i.peers = {str(k): count(v) for k, v in whole.items()}


def resources(state: State, e: Resources, touched: ChangesBuilder) -> None:
    """Set the CPU and memory use of an instance."""
    i = instance(state, e.instance, touched)
    cpu = max(0.0, round(finite(e.cpu), 3))
    shift(state, "cpu", i.cpu, cpu)
    i.cpu = cpu
    # ``cpu`` is the mean since the measurement before, and 0 in the first one after a start.
    since = state.t - i.cpu_t if i.cpu_t >= 0 else 0.0
    i.cpu_from_t = i.cpu_from_t if i.cpu_t >= 0 else state.t
    i.cpu_s, i.cpu_t = round(max(0.0, i.cpu_s) + cpu * since, 3), state.t
    if (own := own_series(state, i, CPU_SERIES, Series.of_last_hour)) is not None:
        own.add(state.t, i.cpu_s)
    i.rss, i.processes = max(count(e.rss), 0), max(count(e.processes), 0)
    touched.campaign = True


FOLDS = (
    EventFold(InstanceState, instance_state),
    EventFold(InstanceHello, instance_hello),
    EventFold(PassiveInstance, passive_instance, never),
    EventFold(Stats, stats, never),
    EventFold(Synced, synced, never),
    EventFold(Resources, resources, never),
)
