"""The worklist and the phases of a fuzz-first campaign: fold, selectors and JSON. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import Any

from fuzztui.kernel.model.changes import ChangesBuilder
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.lineage import lineage
from fuzztui.kernel.model.mutants import bare, changed, put, score_of, with_verdict
from fuzztui.kernel.model.progress import AT_WORK, PHASES, TURN_OVER, WAITING, phase, together
from fuzztui.kernel.model.selectors import ENDED, running_time
from fuzztui.kernel.model.state import Entry, Finding, Instance, Mutant, State
from fuzztui.kernel.model.stats import count, finite
from fuzztui.kernel.wire.events import InstanceHello, MutantPositions, MutantProgress, PhaseStarted
from fuzztui.kernel.wire.finding_kinds import FOLDERS

PROMOTED_BUDGET = 3.0
"""The budget of a promoted mutant as a multiple of that of other mutants."""

AGAIN_BUDGET = 2.0
"""The same for a mutant that has another turn in a later round."""

TIRED_TURNS = 3
"""Turns of a roadblock's mutants, all without a new edge, after which its others come last."""

UNWANTED = ("skipped", "equivalent")
"""Mutant states set by a user that end the mutant's turn."""

LATE = 1e6
"""Distance of the positions of mutants that wait until all others had their turn; more than any
number of mutants that are listed."""

_FUZZING = "fuzzing"

WAIT = "wait"
"""Among the costs of a mutant: seconds for which no worker of the cluster was free."""

_MAX_NAMES = 50
"""Maximum number of named values of one mutant, or of the plan."""


def stage_started(state: State, e: PhaseStarted, touched: ChangesBuilder) -> None:
    """Set the phase and the budget plan."""
    if e.stage != state.stage:
        state.stage, state.stage_t, state.stage_reason = e.stage, state.t, e.reason
    if e.plan:
        state.plan = _reals(e.plan)
    touched.campaign = True


def mutant_stage(state: State, e: MutantProgress, touched: ChangesBuilder) -> None:
    """Set the progress, costs and results of a mutant."""
    before = state.mutants.get(e.id)
    row = before or bare(state, e.id)
    now = _running(state)
    changes: dict[str, Any] = {
        "stage": e.stage,
        "slot": e.slot or row.slot,
        "reason": e.reason or ("" if e.stage == "queued" else row.reason),
        "costs": {**row.costs, **_reals(e.costs)},
        "turn_results": {**row.turn_results, **_wholes(e.brought)},
    }
    if e.stage == _FUZZING and row.stage != _FUZZING:
        changes["turn_began_s"] = now
    elif e.stage == "queued":  # a new turn; the original keeps what was transferred
        earlier = together(row.earlier_results, row.turn_results)
        changes["costs"].pop(WAIT, None)
        changes |= {"turn_began_s": -1.0, "fuzzed_s": 0.0, "slot": ""}
        changes |= {"turn_results": {}, "earlier_results": earlier}
    elif row.stage == _FUZZING and e.stage != _FUZZING and row.turn_began_s >= 0:
        changes["fuzzed_s"] = row.fuzzed_s + max(0.0, now - row.turn_began_s)
    put(state, changed(row, changes), before, touched)
    touched.campaign = True
    if e.stage in TURN_OVER:
        _forget_seeds(state, e.id)


def engine_started(state: State, e: InstanceHello, touched: ChangesBuilder) -> None:
    """Note how long a turn has waited for a worker of the cluster: its budget begins now."""
    if not e.version or not state.plan.get("placed"):
        return
    own = state.instances.get(e.instance)
    mutant = None if own is None else state.mutants.get(own.mutant)
    if mutant is not None and mutant.stage == _FUZZING and WAIT not in mutant.costs:
        waited = max(0.0, _running(state) - mutant.turn_began_s)
        put(state, changed(mutant, {"costs": {**mutant.costs, WAIT: waited}}), mutant, touched)


def _forget_seeds(state: State, key: str) -> None:
    """Keep only those seeds of a turn that are parents: a campaign has thousands of turns."""
    for instance in [i for i in state.instances.values() if i.mutant == key and i.origins]:
        rows = state.entries.values()
        made_of = {str(n) for row in rows if row.instance == instance.id for n in row.src}
        instance.origins = {k: v for k, v in instance.origins.items() if k in made_of}


def mutant_places(state: State, e: MutantPositions, touched: ChangesBuilder) -> None:
    """Set positions in the worklist; ids of unknown mutants are ignored."""
    for key, place in e.places.items():
        before = state.mutants.get(key)
        if before is not None and type(place) in (int, float):
            put(state, changed(before, {"place": finite(place)}), before, touched)


def _running(state: State) -> float:
    """Running time, as in :func:`fuzztui.kernel.model.selectors.running_time`."""
    return (state.t if state.paused_at < 0 else state.paused_at) - state.paused_s


def _reals(figures: Mapping[str, Any]) -> dict[str, float]:
    items = list(figures.items())[:_MAX_NAMES]
    return {name: finite(value) for name, value in items if type(value) in (int, float)}


def _wholes(figures: Mapping[str, Any]) -> dict[str, int]:
    items = list(figures.items())[:_MAX_NAMES]
    return {name: count(value) for name, value in items if type(value) is int}


# ----------------------------------------------------------------- selectors


def queue(state: State) -> list[Mutant]:
    """The mutants whose turn is still to come, in the order in which they will be fuzzed."""
    waiting = (m for m in state.mutants.values() if m.stage in WAITING and m.state == "pending")
    return sorted(waiting, key=lambda m: (m.place, m.seq))


def order(mutant: Mutant, *, can_run: bool = True) -> tuple[int, float, int]:
    """Sort key: running turns, turns that are over (the latest first), the queue, then the others.

    ``can_run``: waiting mutants can still have a turn; if they cannot, they come last.
    """
    where = phase(mutant)
    last = where not in PHASES or (where == "waiting" and not can_run)
    placed = where in ("at work", "waiting")
    group = len(PHASES) if last else PHASES.index(where)
    return group, mutant.place if placed else -mutant.turn_began_s, mutant.seq


def same_program(mutant: Mutant, mutants: Mapping[str, Mutant]) -> Mutant | None:
    """The mutant that is the same program as a dropped one; None if the log does not name it."""
    name = mutant.reason.removeprefix(_SAME).removesuffix(_COMPILED)
    return mutants.get(name) if mutant.stage == "dropped" else None


_SAME, _COMPILED = "the same program as ", " once it is compiled"


def head(state: State, count: int) -> list[Mutant]:
    """The first ``count`` mutants of the :func:`queue`, without sorting all."""
    waiting = (m for m in state.mutants.values() if m.stage in WAITING and m.state == "pending")
    return nsmallest(count, waiting, key=lambda m: (m.place, m.seq))


def share_of(state: State, mutant: Mutant) -> float:
    """The budget of one mutant, in the plan's unit (seconds or trials)."""
    each = state.plan.get("each_s") or state.plan.get("each_trials") or 0.0
    if mutant.steer == "promoted":
        return each * PROMOTED_BUDGET
    return each * (AGAIN_BUDGET if mutant.earlier_results and in_rounds(state) else 1.0)


def in_rounds(state: State) -> bool:
    """Whether the target comes first, and mutants have turns when it is stuck."""
    return "round" in state.plan


def goes_on(state: State) -> bool:
    """Whether the target is fuzzed now, and mutants have turns again when it is stuck."""
    patience = state.plan.get("stuck_s") or state.plan.get("stuck_trials")
    return bool(patience) and state.stage == "target" and state.state not in ENDED


def most_of(state: State, mutant: Mutant) -> float:
    """The most that a mutant's turn may use: more than its budget if the campaign is adaptive."""
    return share_of(state, mutant) * max(1.0, state.plan.get("stretch", 1.0))


def has_begun(state: State, mutant: Mutant) -> bool:
    """Whether an engine of the turn has started: on a cluster it may wait for a worker."""
    if not state.plan.get("placed") or WAIT in mutant.costs:
        return True
    return any(i.version for i in _engines(state, mutant))


def fuzzed_for(state: State, mutant: Mutant, now: float | None = None) -> float:
    """Seconds of running time for which a mutant was fuzzed so far (``now``: campaign time)."""
    spent = mutant.fuzzed_s
    if mutant.stage == _FUZZING and mutant.turn_began_s >= 0:
        if not has_begun(state, mutant):
            return 0.0
        spent += max(0.0, running_time(state, now) - mutant.turn_began_s)
    return max(0.0, spent - mutant.costs.get(WAIT, 0.0))


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is left of the mutants' budget, in its unit, and how many mutants it allows."""

    of: float
    """The mutants' part of the budget; 0 if there is none."""
    used: float
    trials: bool
    """Whether the unit of the budget is trials, not seconds."""
    left: int
    """Number of waiting mutants that the budget still allows, without those at work."""
    waiting: int
    eta_s: float
    """Seconds until the target phase; -1: unknown."""
    extra: float = 0.0
    """What a turn cost so far beside its mutant's budget, on average; below 0: turns end early."""
    least: float = 0.0
    """What a turn takes at least, because the next mutant must be built meanwhile."""

    def cost(self, share: float) -> float:
        """Return what the turn of a mutant with this budget will cost, as turns did so far."""
        return max(share + self.extra, self.least, 0.0)


def budget(state: State, now: float | None = None) -> tuple[float, float]:
    """The used part and the whole of the mutants' budget, in its unit."""
    if of := state.plan.get("mutants_trials", 0.0):
        return float(sum(i.stats.execs for i in state.instances.values() if i.mutant)), of
    of, before = state.plan.get("mutants_s", 0.0), state.plan.get("before_s", 0.0)
    if state.stage != "mutants":
        return min(of, before), of
    used = before + running_time(state, now) - state.plan.get("began_s", 0.0)
    return min(of, max(0.0, used)), of


def spent_on_mutants(state: State, now: float) -> dict[str, float]:
    """Return the plan for the target phase: with what mutants have used of their budget."""
    used, _ = budget(state, now)
    return {**state.plan, "before_s": 0.0 if state.plan.get("mutants_trials") else used}


def mutants_can_run(state: State, now: float | None = None) -> bool:
    """Whether waiting mutants can still have a turn in this phase."""
    used, of = budget(state, now)
    return state.stage == "mutants" and used < of and state.state != "finished"


MIN_LEFT = 1.0
"""The mutants' budget counts as used up if less than this is left, in its unit."""


def turns_follow(state: State, now: float | None = None) -> bool:
    """Whether waiting mutants can still have a turn, before the campaign is started again."""
    return mutants_can_run(state, now) or goes_on(state)


def can_go_on(state: State) -> bool:
    """Whether waiting mutants get turns later, in a campaign in its target phase.

    They do when the target is stuck; or if a part of the mutants' budget is left, and the campaign
    is started again.
    """
    used, of = budget(state)
    return goes_on(state) or of - used >= MIN_LEFT


def outlook(state: State, now: float | None = None, waiting: list[Mutant] | None = None) -> Outlook:
    """What the mutants' budget still allows, given the queue as it is now.

    ``waiting``: the :func:`queue`, if the caller has it already.
    """
    plan = state.plan
    trials = bool(plan.get("mutants_trials") or plan.get("stuck_trials"))
    used, of = budget(state, now)
    if state.stage == "mutants":  # of this round
        began = plan.get("round_began", 0.0)
        used, of = max(0.0, used - began), of - began
    waiting = queue(state) if waiting is None else waiting
    if not mutants_can_run(state, now):
        at_end = state.stage == "mutants" and used >= of and not trials
        return Outlook(of, min(used, of), trials, 0, len(waiting), 0.0 if at_end else -1.0)
    abreast = 1.0 if trials else max(1.0, plan.get("abreast", 1.0))
    view = Outlook(of, used, trials, 0, len(waiting), -1.0, *_measured(state, abreast))
    room = (of - used) * abreast
    for mutant in (m for m in state.mutants.values() if m.stage in ("pruning", _FUZZING)):
        spent = trials_of(state, mutant) if trials else fuzzed_for(state, mutant, now)
        room -= max(0.0, view.cost(share_of(state, mutant)) - spent)
    left = 0
    for mutant in waiting:
        if room <= 0:
            break
        room -= view.cost(share_of(state, mutant))
        left += 1
    seconds = -1.0 if trials else max(0.0, of - used)
    # All mutants are listed, and the queue ends before the budget does.
    if not trials and room > 0 and "listed" in plan:
        seconds = max(0.0, of - used - room / abreast)
    return replace(view, left=left, eta_s=seconds)


_READY = (*AT_WORK, *TURN_OVER, "built")
"""Stages of a mutant that builds, and is no duplicate."""


def _measured(state: State, abreast: float) -> tuple[float, float]:
    """Return :attr:`Outlook.extra` and :attr:`Outlook.least`, of the turns and builds so far."""
    trials = bool(state.plan.get("mutants_trials"))
    adaptive = state.plan.get("stretch", 1.0) > 1
    executed: Counter[str] = Counter()
    for instance in state.instances.values() if trials else ():
        executed[_slot_of(instance.id)] += instance.stats.execs
    extra = builds = 0.0
    turns = ready = 0
    for m in state.mutants.values():
        builds += m.costs.get("build", 0.0)  # one after the other, also those that fail
        ready += m.stage in _READY
        if m.stage == "done" and m.state not in UNWANTED:  # these a user has ended early
            beside = m.costs.get("prune", 0.0) + m.costs.get("handover", 0.0)
            more = (executed[m.slot] if trials else m.fuzzed_s + beside) - share_of(state, m)
            # Turns are shorter than their budget by accident, unless the campaign is adaptive.
            extra += more if adaptive else max(0.0, more)
            turns += 1
    return extra / max(1, turns), 0.0 if trials else builds * abreast / max(1, ready)


def trials_of(state: State, mutant: Mutant) -> float:
    """Number of trials of a mutant so far, in its present or latest turn."""
    return float(sum(i.stats.execs for i in _engines(state, mutant)))


def _engines(state: State, mutant: Mutant) -> list[Instance]:
    """The instances of a mutant's present or latest turn."""
    if not mutant.slot:
        return []
    return [i for i in state.instances.values() if _slot_of(i.id) == mutant.slot]


def _slot_of(instance: str) -> str:
    """Return the turn of an instance: ``m7`` and ``m7-s1`` are of ``m7``."""
    slot, _, number = instance.rpartition("-s")
    return slot if number.isdecimal() else instance


def mutant_behind(state: State, row: Entry | Finding) -> str:
    """The id of the mutant from which an entry or finding descends; an empty string: none.

    The mutant whose fuzzing found the nearest such ancestor. Inputs that were transferred from a
    mutant's corpus have one, and so have all their descendants.
    """
    own = state.instances.get(row.instance)
    if own is not None and own.mutant:
        return own.mutant
    for step in lineage(state, row):
        instance = state.instances.get(step.key.partition("/")[0])
        if instance is not None and instance.mutant:
            return instance.mutant
    return ""


def brought(mutants: Iterable[Mutant]) -> dict[str, int]:
    """The sums of these mutants' results over all turns, by name, without those that are 0."""
    sums: Counter[str] = Counter()
    for mutant in mutants:
        results = together(mutant.earlier_results, mutant.turn_results)
        sums.update({k: v for k, v in results.items() if v > 0})
    return dict(sums)


def roadblocks(mutants: Iterable[Mutant]) -> list[dict[str, Any]]:
    """The conditions that mutants change to reach lines behind them, those with most lines first.

    ``turns``: the number of its mutants whose turns are over; ``edges``: what these have brought.
    """
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for m in sorted(mutants, key=lambda m: -m.place):  # the latest ranking is the last
        if m.hides > 0:
            row = found.setdefault((m.file, m.roadblock), {"turns": 0, "edges": 0})
            row["hides"] = m.hides
            row["turns"] += (m.stage == "done") + bool(m.earlier_results)
            row["edges"] += together(m.earlier_results, m.turn_results).get("edges", 0)
    rows = [{"file": file, "line": line, **row} for (file, line), row in found.items()]
    return sorted(rows, key=lambda r: (-r["hides"], r["file"], r["line"]))


def tired(mutants: Iterable[Mutant]) -> set[tuple[str, int]]:
    """File and line of roadblocks whose mutants had turns enough, and brought no new edge."""
    rows = roadblocks(mutants)
    return {(r["file"], r["line"]) for r in rows if r["turns"] >= TIRED_TURNS and not r["edges"]}


def late_places(state: State, base: float) -> dict[str, float]:
    """New positions of waiting mutants whose roadblocks are :func:`tired`: behind all others.

    ``base``: the position of the first mutant of the present ranking.
    """
    exhausted = tired(state.mutants.values())
    return {
        m.id: m.place + LATE
        for m in queue(state)
        if (m.file, m.roadblock) in exhausted and m.place < base + LATE and m.steer != "promoted"
    }


def first_places(state: State, again: Iterable[Mutant], base: float) -> dict[str, float]:
    """New positions in front of all others: of promoted mutants, then of ``again``."""
    waiting = queue(state)
    first = [m.id for m in waiting if m.steer == "promoted"]
    first += [m.id for m in again if m.id not in first]
    front = min([base, *(m.place for m in waiting)]) - len(first)
    return {key: front + n for n, key in enumerate(first)}


def best(mutants: Iterable[Mutant]) -> list[Mutant]:
    """The better half of the mutants whose latest turn brought the target new edges."""

    def edges(mutant: Mutant) -> int:
        return mutant.turn_results.get("edges", 0) if mutant.stage == "done" else 0

    found = [m for m in mutants if edges(m) > 0 and m.state not in UNWANTED]
    return sorted(found, key=lambda m: (-edges(m), m.place, m.seq))[: (len(found) + 1) // 2]


def file_of(killer: str) -> str:
    """Return how the path of a killer's file in the run begins; "" if it is no finding of a turn.

    ``killer``: for example ``m7/crashes/3``.
    """
    slot, _, rest = killer.partition("/")
    part, _, number = rest.partition("/")
    if part not in FOLDERS or not number.isdecimal() or len(number) > 9:
        return ""
    turn = slot.partition("-")[0]
    return f"mutants/slots/{turn}/out/{slot}/{part}/id:{int(number):06}"


def first_dict(state: State) -> dict[str, Any] | None:
    """``first`` of ``fuzztui status --json``; None for campaigns that fuzz no mutants first."""
    if not state.stage:
        return None
    view = outlook(state)
    mutants = state.mutants.values()
    killed, judged = with_verdict(state)
    phases = Counter(map(phase, mutants))
    working = [] if state.state in ENDED else [m.id for m in mutants if m.stage in AT_WORK]
    found = [f for f in state.findings.values() if mutant_behind(state, f)]
    return {
        "stage": state.stage,
        "stage_s": state.stage_t,
        "reason": state.stage_reason,
        "round": int(state.plan.get("round", 0)),
        "plan": dict(state.plan),
        "unit": "trials" if view.trials else "s",
        "mutants_budget": view.of,
        "mutants_used": view.used,
        "waiting": view.waiting,
        "allowed": view.left,
        "eta_s": view.eta_s if view.eta_s >= 0 and state.state not in ENDED else None,
        "fuzzing": working,
        "phases": {name: phases[name] for name in PHASES},
        "killed": killed,
        "judged": judged,
        "score": score_of(killed, judged),
        "brought": brought(mutants),
        "roadblocks": roadblocks(mutants),
        "findings_thanks_to_mutants": sorted(f.key for f in found),
    }


def figures(state: State) -> dict[str, Any]:
    """The key of ``fuzztui status --json`` about the worklist."""
    return {"first": first_dict(state)}


FOLDS = (
    EventFold(InstanceHello, engine_started),
    EventFold(PhaseStarted, stage_started),
    EventFold(MutantProgress, mutant_stage),
    EventFold(MutantPositions, mutant_places, rows=lambda e: e.places),
)
