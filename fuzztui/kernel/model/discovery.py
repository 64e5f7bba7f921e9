"""How much is left to find: an upper bound of the discovery rate, never a share of a total.

Estimators of what is reachable (Good-Turing, Chao) are too low for a fuzzer: an input that covers
something new becomes a parent at once, so what it covers is soon no longer rare (Boehme, Liyanage,
Wuestholz: Estimating Residual Risk in Greybox Fuzzing, FSE 2021, section 4). The number of
discoveries in the last half of the trials is known, and the rate falls: its upper Poisson bound
also holds for as many trials to come, if nothing is changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt
from typing import Any, Final

from fuzztui.kernel.model.measured import unguided
from fuzztui.kernel.model.selectors import SEVERAL_TARGETS
from fuzztui.kernel.model.state import Entry, Instance, State
from fuzztui.kernel.model.watched_targets import watched_targets

LEVEL: Final = 0.95
"""Confidence of the bound."""

MIN_TRIALS: Final = 1000
"""Trials in the last half below which there is no bound, because the campaign has just begun."""

_LARGEST: Final = 500
"""Number of discoveries above which the normal approximation replaces the Poisson distribution."""


@dataclass(frozen=True, slots=True)
class DiscoveryRate:
    """The discoveries in the last half of the trials of all instances."""

    trials: int
    edges: int
    """Trials that covered something new to their instance."""
    kills: int
    """Trials that killed mutants; -1: the engine does not run mutants."""

    def at_most(self, found: int, trials: int = 100_000) -> float:
        """Return the upper bound, at :data:`LEVEL`, of the discoveries in ``trials`` more trials.

        ``found``: the number of discoveries in the last half of the trials.
        """
        return min(float(trials), poisson_bound(found) / self.trials * trials)


def discovery_rate(state: State) -> DiscoveryRate | None:
    """Return the discovery rate; None if it is unknown.

    It is unknown if records of the log are lost, while mutants of the program are fuzzed (their
    trials are not the target's), if no trial has executed instrumented code, and after a restart of
    afl-fuzz: some versions count from 0 again; and of several targets together.
    Inputs imported from another instance are no discoveries. An edge that two instances find
    counts twice, so that the bound is rather too high.
    """
    if state.lost or state.stage or unguided(state) or state.engine == SEVERAL_TARGETS:
        return None
    if len(watched_targets(state)) > 1:
        return None
    trials = dict.fromkeys(state.instances, 0)
    for instance in state.instances.values():
        if not _counts_from_start(state, instance):
            return None
        trials[instance.id] = max(0, instance.stats.execs)
    late = [e for e in state.entries.values() if _is_late(e, trials.get(e.instance, 0))]
    half = sum(n - n // 2 for n in trials.values())
    if half < MIN_TRIALS:
        return None
    kills = sum("kill" in e.reasons or e.kills > 0 for e in late) if state.mutants else -1
    return DiscoveryRate(half, sum(e.is_new for e in late), kills)


def _counts_from_start(state: State, instance: Instance) -> bool:
    return not (state.engine == "afl" and instance.restarts)


def _is_late(entry: Entry, trials: int) -> bool:
    return entry.saved and not entry.sync and trials // 2 < entry.execs <= trials


def poisson_bound(found: int) -> float:
    """Return the upper bound at :data:`LEVEL` of a Poisson mean of which ``found`` were seen.

    With the bound as mean, the probability of ``found`` or fewer events is 5%.
    """
    if found > _LARGEST:
        return found + 2 + 1.645 * sqrt(found + 1)  # above the exact bound by less than 1
    low, high = 0.0, 10.0 + 4 * found
    for _ in range(60):
        mean = (low + high) / 2
        term = total = exp(-mean) if mean < 700 else 0.0
        for n in range(1, found + 1):
            term *= mean / n
            total += term
        low, high = (mean, high) if total > 1 - LEVEL else (low, mean)
    return high


def discovery_dict(state: State) -> dict[str, Any] | None:
    """``discovery`` of ``fuzztui status --json``; None if the rate is unknown."""
    if (rate := discovery_rate(state)) is None:
        return None
    return {
        "trials": rate.trials,
        "edges": rate.edges,
        "edges_per_100k_at_most": round(rate.at_most(rate.edges), 2),
        "kills": rate.kills if rate.kills >= 0 else None,
        "kills_per_100k_at_most": round(rate.at_most(rate.kills), 2) if rate.kills >= 0 else None,
        "level": LEVEL,
    }


def discovery_text(rate: DiscoveryRate) -> str:
    """Return the bound in words, for 100,000 trials."""
    found = f"{_upwards(rate.at_most(rate.edges))} add coverage"
    if rate.kills >= 0:
        found += f", {_upwards(rate.at_most(rate.kills))} kills"
    return f"next 100k trials: at most {found} (95%)"


def _upwards(number: float) -> str:
    """Return a bound as text, rounded up to two digits."""
    whole = int(-(-number // 1))
    digits = max(0, len(str(whole)) - 2)
    return f"{-(-whole // 10**digits) * 10**digits:,}"
