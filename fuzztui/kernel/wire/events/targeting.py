"""Events about type targeting: types and goals of a spoton engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.base.bounds import Count
from fuzztui.kernel.wire.events.base import Event


@dataclass(frozen=True, slots=True)
class TargetingStats(Event, kind="type_figures", by_engines=True):
    """Statistics of a spoton engine's types, cumulative over all starts of the instance.

    ``targeted``: the part of mutations, 0 to 1, that are targeted. ``pinned``: the location of the
    pinned goal, or an empty string. Counts of goals: ``targets`` in all loaded modules,
    ``uncovered`` among them, and uncovered ones on the ``frontier``. ``names``: the types, the most
    probable first. The lists after it have one number per type: ``distances`` (steps; -1: no
    uncovered goal depends on the type), ``weights`` (set by the user; 0: banned), ``factors`` (1 to
    8; misses divide the probability by this), ``probabilities`` (of the next pick, in millionths),
    ``picks``, ``matches``, ``misses``, ``new_arms`` (edges first covered by a mutation targeted
    at the type). ``ignored``: locations of the goals that the user ignores. ``changed``: files that
    were edited after the analysis; their goals are unknown. ``analysis``: the analysis that the
    locations belong to (:mod:`fuzztui.kernel.wire.targeting`); empty: not reported. ``adaptive``:
    the part ``targeted`` follows from what such mutations bring; nobody has fixed it.
    """

    instance: str
    targeted: float = 0.0
    pinned: str = ""
    targets: Count = 0
    uncovered: Count = 0
    frontier: Count = 0
    names: list[str] = field(default_factory=list)
    distances: list[Count] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)
    probabilities: list[Count] = field(default_factory=list)
    picks: list[Count] = field(default_factory=list)
    matches: list[Count] = field(default_factory=list)
    misses: list[Count] = field(default_factory=list)
    new_arms: list[Count] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    analysis: str = ""
    adaptive: bool = False


@dataclass(frozen=True, slots=True)
class GoalsUncovered(Event, kind="targets_left", by_engines=True):
    """Changes in the list of uncovered goals: at most some hundreds, the frontier first.

    ``left``: ``{location: {"frontier": bool, "reached": n, "types": [[name, distance], ...]}}``
    of new and changed goals, types nearest first (no types: the goal cannot be targeted).
    ``reached`` of ``asked`` trials reached the goal's decision; reported again when the count has
    about doubled. ``gone``: locations that are covered now, or that other goals have displaced
    from the list. ``anew``: earlier events of this kind are void.
    """

    instance: str
    asked: Count = 0
    left: dict[str, Any] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    anew: bool = False
