"""Values that screens, reports and ``status`` derive from a state, by pure functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final

from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.wire.events import Stats

ENDED = frozenset({"finished", "stopped", "failed"})
"""States of a campaign, or of an instance, that has come to its end."""

SEVERAL_TARGETS: Final = "targets"
"""``State.engine`` of a campaign of several targets: each instance is one of them."""

WAITS_FOR_TURN: Final = "waits for its turn"
"""The reason of the state ``paused`` of an instance that has no turn, as no user has paused it."""


def fuzzes_mutant(state: State, instance: str) -> bool:
    """Return whether an instance fuzzes a mutant: what it finds is not what the target has."""
    found = state.instances.get(instance)
    return found is not None and bool(found.mutant)


def standing_name(state: State, *, supervised: bool) -> str:
    """Return the state's name; ``interrupted`` if the supervisor ended before the campaign.

    While a supervisor builds the target, its log is empty: ``starting``.
    """
    started = state.state != "empty" or state.seq  # the first records may be lost
    if not supervised and started and state.state not in ENDED:
        return "interrupted"
    return "starting" if supervised and not started else state.state


@dataclass(frozen=True, slots=True)
class Totals:
    """Numbers of the whole campaign, by the rules that :class:`Stats` declares.

    Instances that fuzz mutants count for executions and resources only: what was found is what the
    target's instances found. Maxima, such as edges, are of the plain binary: others have maps of
    their own, in which the same code has other edges. Of several targets there are no maxima.
    """

    stats: Stats
    """``execs_per_sec``: of the instances whose rate is known; -1: there are none."""
    cpu: float
    rss: int
    last_find_t: float


_RULES = {f.name: f.metadata["total"] for f in fields(Stats) if f.metadata.get("total")}


def totals(state: State) -> Totals:
    """Compute the totals over all instances."""
    all_ = list(state.instances.values())
    own = [i for i in all_ if not i.mutant]
    plain = [i for i in own if not i.binary and state.engine != SEVERAL_TARGETS]
    among = {"sum": own, "max": plain, "min": own}
    numbers = {
        name: _total(rule, [i.stat(name) for i in (all_ if name == "execs" else among[rule])])
        for name, rule in _RULES.items()
    }
    numbers["edges_total"] = known_total(numbers["edges"], numbers["edges_total"])
    rate = known_rate([i.execs_per_sec for i in all_])
    return Totals(
        stats=Stats("", execs_per_sec=rate, **{n: v for n, v in numbers.items() if v >= 0}),
        cpu=round(sum(i.cpu for i in all_), 3),
        rss=sum(i.rss for i in all_),
        last_find_t=max((i.last_find_t for i in own), default=-1.0),
    )


def _total(rule: str, values: list[Any]) -> Any:
    """Apply a rule of :class:`Stats` to the known values; -1 if there are none."""
    known = [value for value in values if value >= 0]
    if not known:
        return -1
    return sum(known) if rule == "sum" else max(known) if rule == "max" else min(known)


def known_total(edges: int, total: int) -> int:
    """Return ``total``; -1 if it is unknown, or less than ``edges``: a share would exceed 100%.

    afl-fuzz's total is a guess for targets that load code late, and instances may fuzz
    builds of different sizes.
    """
    return total if total > 0 and total >= edges else -1


def known_rate(rates: list[float]) -> float:
    """Return the sum of the known rates; -1 if that is 0 and a rate is unknown."""
    known = round(sum(r for r in rates if r >= 0), 3)
    return known if known or min(rates, default=0.0) >= 0 else -1.0


# ---------------------------------------------------------------------- time


def running_time(state: State, now: float | None = None) -> float:
    """Campaign time until now (or ``now``) without pauses, in seconds: what time budgets limit."""
    until = state.t if now is None else now
    return (until if state.paused_at < 0 else state.paused_at) - state.paused_s


def overtime(state: State) -> float:
    """Seconds of running time beyond the time budget that an exact pass has used; 0 if none has.

    The pass has a budget of its own (``engine.exact_budget``).
    """
    passed = any(f.pass_share >= 0 for f in list(state.mutation.values()))
    over = running_time(state) - state.budget_s
    return over if passed and state.budget_s > 0 and over >= 1 else 0.0


def exact_words(exact_s: float, span: Callable[[float], str]) -> str:
    """Text to append to a time budget: ``, then at most 15s for the exact score``; may be empty."""
    return f", then at most {span(exact_s)} for the exact score" if exact_s > 0 else ""


def fuzzing_time(state: State) -> float:
    """Seconds of running time without :func:`overtime`, in which the exact pass runs no trials."""
    return running_time(state) - overtime(state)


def throughput(state: State) -> float:
    """Executions per second: now, or over :func:`fuzzing_time` once the campaign has ended.

    -1: unknown, because no rate was measured yet or because the log has lost records.
    """
    t = totals(state)
    if state.state not in ENDED:
        return t.stats.execs_per_sec
    before = sum(max(0, i.execs_before) for i in list(state.instances.values()))
    return _average_rate(max(0, t.stats.execs - before), fuzzing_time(state), state.lost)


def tree_of(instance: Instance) -> str:
    """The label of an instance's campaign if several are watched at once; else ""."""
    return instance.id.rpartition(":")[0]


def last_news_t(state: State) -> float:
    """Campaign time of the target's last finding or own entry (not imported); -1: none yet."""
    own = [i for i in list(state.instances.values()) if not i.mutant]
    return max([-1.0, *(i.last_find_t for i in own), *list(state.latest.values())])


def own_time(instance: Instance, now: float) -> float:
    """Seconds from the begin of ``instance`` to its end, or to ``now``; -1 before it began."""
    end = now if instance.ended_t < 0 else instance.ended_t
    return max(0.0, end - instance.began_t) if instance.began_t >= 0 else -1.0


def instance_throughput(
    instance: Instance, running_s: float, *, over: bool, lost: int = 0
) -> float:
    """The executions per second of ``instance``, as in :func:`throughput`; -1: unknown.

    ``running_s``: the :func:`fuzzing_time` of the campaign, in seconds. ``over``: the campaign has
    ended. ``lost``: number of records that the log has lost. If several campaigns are watched at
    once, the average is over the instance's own time, because each campaign ran at another time.
    """
    if over and tree_of(instance) and (own := own_time(instance, running_s)) >= 0:
        running_s = own
    own_execs = instance.stats.execs - max(0, instance.execs_before)
    return _average_rate(max(0, own_execs), running_s, lost) if over else instance.execs_per_sec


def other_text(instance: Instance) -> str:
    """Return the numbers that the engine reports and fuzztui does not know, with their keys."""
    return ", ".join(f"{name} {value:,}" for name, value in instance.stats.other.items())


def _average_rate(execs: int, seconds: float, lost: int) -> float:
    if lost:
        return -1.0  # an unknown part of the executions and of the running time is missing
    return round(execs / seconds, 2) if seconds > 0 else 0.0


def remaining(state: State) -> float | None:
    """Seconds of the time budget that are left; None without a time budget."""
    return max(0.0, state.budget_s - running_time(state)) if state.budget_s > 0 else None


def progress(state: State) -> float | None:
    """The used share of the budget nearest to its end, from 0 to 1; None without a budget."""
    parts = []
    if state.budget_s > 0:
        parts.append(running_time(state) / state.budget_s)
    if state.budget_trials > 0:
        parts.append(totals(state).stats.execs / state.budget_trials)
    return min(1.0, max(parts)) if parts else None


def wall_time(state: State, t: float) -> float:
    """Unix time of campaign time ``t``, from the latest record with both times; 0: unknown."""
    return state.wall + (t - state.wall_t) if state.wall else 0.0


def pending_commands(state: State) -> list[str]:
    """Ids of commands without an answer yet, oldest first."""
    return [c.id for c in state.commands.values() if c.state == "pending"]
