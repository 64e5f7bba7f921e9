"""Events about the mutators of a text engine."""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzztui.kernel.base.bounds import Count
from fuzztui.kernel.wire.events.base import Event


@dataclass(frozen=True, slots=True)
class MutatorStats(Event, kind="operator_figures"):
    """Statistics of a text engine's mutators, cumulative over all starts of the instance.

    ``havoc``, ``text``, ``splice``: present probabilities of a step of that class; their sum is 1.
    ``adaptive``: whether the engine raises the probabilities of mutators with more new entries.
    ``trials``: inputs made. ``names``: the mutators (:mod:`fuzztui.kernel.wire.mixture`). The lists
    after it have one number per name. ``tried``: draws. ``applied``: uses that changed the input.
    ``found``, ``crashes``: trials that used the mutator and became an entry, or a crash or hang.
    ``weights``: the probability within its class, in millionths. ``wishes``: the weights that users
    have set, 1 by default; empty if all are 1.
    """

    instance: str
    havoc: float = 0.0
    text: float = 0.0
    splice: float = 0.0
    adaptive: bool = False
    trials: Count = 0
    names: list[str] = field(default_factory=list)
    tried: list[Count] = field(default_factory=list)
    applied: list[Count] = field(default_factory=list)
    found: list[Count] = field(default_factory=list)
    crashes: list[Count] = field(default_factory=list)
    weights: list[Count] = field(default_factory=list)
    wishes: list[float] = field(default_factory=list)
