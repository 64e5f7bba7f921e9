"""Whether a campaign still finds anything, and what its user can do if it does not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from fuzztui.kernel.model.feature import features, list_of
from fuzztui.kernel.model.selectors import Totals, last_news_t, totals
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Stats

STALL_S: Final = 20 * 60.0
MIN_STALL_S: Final = 60.0
_SHARE: Final = 0.25

_FEW_VALID: Final = 0.05
_UNSTABLE: Final = 90.0
_MIN_TRIALS: Final = 1000
_FEW_SEEDS: Final = 3
_COMPARING: Final = ("zest", "mu2")
"""Engines that report what comparisons have brought, unless they are off."""


class Advice(NamedTuple):
    """What may help a campaign that finds nothing new: a sentence without a full stop."""

    text: str
    is_certain: bool = False
    """Whether it is certain that nothing is left to find; else the advice is a guess."""


def stall_after(state: State) -> float:
    """Return after how many seconds without anything new the screens report a stall.

    20 minutes; in a campaign with a short time budget a quarter of the budget, at least a minute.
    """
    if state.budget_s <= 0:
        return STALL_S
    return min(STALL_S, max(MIN_STALL_S, _SHARE * state.budget_s))


def quiet_s(state: State, now: float) -> float:
    """Return the seconds since the last entry or finding of the target; imports do not count.

    Counted from the start of the target's phase and from the end of a pause, if these are later. 0
    while the campaign does not fuzz the target: before and after it runs, in a pause, while mutants
    are fuzzed, in an exact pass. ``now``: campaign time in seconds.
    """
    passing = any(f.phase for f in list(state.mutation.values()))
    if state.state != "running" or state.stage == "mutants" or passing:
        return 0.0
    own = [i for i in list(state.instances.values()) if not i.mutant]
    began = min((i.began_t for i in own if i.began_t >= 0), default=now)
    return max(0.0, now - max(last_news_t(state), began, state.stage_t, state.resumed_t))


_STUCK: Final = "stuck: no new edge in "


def stuck_text(limit: str) -> str:
    """Return the reason with which an instance ends, so that mutants of the target get turns."""
    return f"{_STUCK}{limit}"


def stuck_reason(state: State) -> str:
    """Return why instances of the target have ended for mutants; an empty string: none has."""
    own = (i for i in state.instances.values() if not i.mutant and i.state == "finished")
    return next((i.reason for i in own if i.reason.startswith(_STUCK)), "")


def advice(state: State) -> str:
    """Return what is likely to help a campaign that finds nothing new: one sentence."""
    return next(_reasons(state, totals(state)), "add a seed of another kind, or stop")


def _reasons(state: State, sums: Totals) -> Iterator[str]:
    """Yield what may help, the most certain first."""
    s = sums.stats
    of_features = [*_of_features(state)]
    if 0 < s.edges_total <= s.edges:
        yield "every edge is covered"
    yield from (one.text for one in of_features if one.is_certain)
    if (valid := _valid_share(s)) is not None and valid < _FEW_VALID:
        yield f"only {valid:.1%} of the inputs are valid: add valid seeds or a dictionary"
    if 0 < s.stability < _UNSTABLE:
        yield f"stability is {s.stability:.0f}%: make the target deterministic"
    if state.engine in _COMPARING and not state.trials_by:
        yield "comparisons are off: set engine.comparisons"
    yield from (one.text for one in of_features if not one.is_certain)
    # afl-fuzz does not describe its entries; a seed is what no mutator has made.
    seeds = (e for e in list(state.entries.values()) if e.saved and not (e.op or e.sync))
    if len(list(islice(seeds, _FEW_SEEDS))) < _FEW_SEEDS:
        yield "there are few seeds: add one"


def _of_features(state: State) -> Iterator[Advice]:
    """The advice of features; if one fails, its error as an advice."""
    for feature in features():
        if feature.advice:
            check = partial(list_of, Advice)
            yield from feature.made_or(feature.advice, check, lambda e: [Advice(e)], state)


def _valid_share(s: Stats) -> float | None:
    tried = s.valid + s.invalid
    known = s.valid >= 0 and s.invalid >= 0 and tried >= _MIN_TRIALS
    return s.valid / tried if known else None
