"""Mutants and the mutation score: fold, selectors and JSON.

Mutants are enumerated once, with a state and counts from each instance.

Each instance has its own corpus, and so its own state of a mutant. A row has one state for all:

* a mutant that one instance killed stays killed, whatever others report; the first instance
  stays its killer;
* an instance can always replace a state that it reported itself (for example after a requeue);
* skipped and equivalent are set by a user: they replace any other state, and any other state
  replaces them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, Final, NamedTuple

from fuzztui.kernel.base.shards import MAX_SHARDS
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.changes import ChangesBuilder, instance
from fuzztui.kernel.model.folding import EventFold, never
from fuzztui.kernel.model.progress import verdict
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import (
    MAX_PROPERTIES,
    MAX_PROPERTY_NAME,
    MUTANT_STATES,
    Mutant,
    State,
)
from fuzztui.kernel.model.stats import count, finite, series
from fuzztui.kernel.wire.events import (
    MutantRuns,
    MutantsFound,
    MutantsShard,
    MutantState,
    MutationStats,
)
from fuzztui.kernel.wire.verdicts import ACCEPTED, MAX_NAME, MAX_NOTE, is_same_change

_names = tuple(f.name for f in fields(Mutant))
_values = attrgetter(*_names)
_index = {name: i for i, name in enumerate(_names)}

_KILLED: Final = "killed"
_REGION: Final = ("line", "column", "end_line", "end_column", "roadblock")
NEARNESS: Final = ("ran", "infected", "reached")
"""How near an entry came to killing a mutant, the nearest first: the mutant ran on the entry and
made no difference; the entry infected the mutant; the entry only reached it."""
_MAX_KEY: Final = 200
"""Characters of an entry's key."""
MAX_ACCEPTED: Final = 100_000
"""Verdicts about survivors that are kept; later ones are ignored."""
_ACCEPTANCE: Final = {
    "because": MAX_NOTE, "change": MAX_NOTE, "author": MAX_NAME, "date": MAX_NAME,
}  # fmt: skip
_NO_NEWS: Final = frozenset({"pending", "alive", "invalid", _KILLED})
"""States from other instances that do not change a killed mutant."""


def changed(row: Mutant, changes: dict[str, Any]) -> Mutant:
    """Return the row with some fields replaced; 3 times as fast as ``dataclasses.replace``."""
    values = list(_values(row))
    for name, value in changes.items():
        values[_index[name]] = value
    return Mutant(*values)


def put(state: State, row: Mutant, before: Mutant | None, touched: ChangesBuilder) -> None:
    """Store ``row`` under its id; update the counts by state and the series of kills."""
    state.mutants[row.id] = row
    touched.mutants.add(row.id)
    state.static_mutants += row.static - (before is not None and before.static)
    accepted = row.accepted and row.survives
    if accepted != (before is not None and before.accepted and before.survives):
        state.accepted_survivors += 1 if accepted else -1
        touched.campaign = True
    _count_property_kills(state, row, before, touched)
    _count_verdicts(state, verdict(row), "" if before is None else verdict(before))
    if before is not None and before.state == row.state:
        return
    touched.campaign = True
    counts = state.mutant_counts
    counts[row.state] = counts.get(row.state, 0) + 1
    if before is not None:
        counts[before.state] -= 1
    kills = series(state, "killed")
    killed = counts.get(_KILLED, 0)
    if not kills.values or killed != kills.last:
        kills.add(state.t, killed)


def _count_verdicts(state: State, now: str, was: str) -> None:
    counts = state.mutant_verdicts
    if now != was and now:
        counts[now] = counts.get(now, 0) + 1
    if now != was and was:
        counts[was] -= 1


def _count_property_kills(
    state: State, row: Mutant, before: Mutant | None, touched: ChangesBuilder
) -> None:
    """Update the numbers of mutants that properties of a suite have killed."""
    was = before.by_property if before is not None and before.state == _KILLED else ""
    now = row.by_property if row.state == _KILLED else ""
    if was == now:
        return
    kills = dict(state.property_kills)  # screens see a change by another object
    for name, more in ((was, -1), (now, 1)):
        if name and (name in kills or len(kills) < MAX_PROPERTIES):
            kills[name] = kills.get(name, 0) + more
    state.property_kills = kills
    touched.campaign = True


EXCLUDED = "excluded"
"""State of a mutant that a pragma in the source excludes."""


def bare(state: State, key: str) -> Mutant:
    """Return a mutant of which only the id is known."""
    return Mutant(key, "", "", "", -1, "", "", "", "", state.t, state.seq)


def excluded_mutants(state: State) -> list[Mutant]:
    """Return the mutants that a pragma excludes."""
    every = list(state.excluded_mutants.items())
    return [changed(bare(state, key), place) for key, place in every]


def _text(item: dict[str, Any], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def _number(item: dict[str, Any], name: str) -> int:
    value = item.get(name)
    return count(value) if type(value) is int else -1


def mutants_shard(state: State, e: MutantsShard, touched: ChangesBuilder) -> None:
    """Set which part of the program's mutants the campaign has."""
    number, of = count(e.number), count(e.of)
    known = 1 <= number <= of
    state.shard, state.shards = (number, of) if known else (0, 0)
    numbers = {n for n in e.numbers if type(n) is int and 1 <= n <= of} | {number}
    state.shard_numbers = sorted(numbers)[:MAX_SHARDS] if known else []
    state.shard_mutants = max(count(e.mutants), 0)
    state.shard_program = e.program
    touched.campaign = True


def shard_dict(state: State) -> dict[str, Any] | None:
    """Which part of the program's mutants the campaign has; None: all."""
    if not state.shard:
        return None
    return {
        "number": state.shard,
        "numbers": list(state.shard_numbers),
        "of": state.shards,
        "mutants": state.shard_mutants,
        "program": state.shard_program,
    }


def mutants_found(state: State, e: MutantsFound, touched: ChangesBuilder) -> None:
    """Add mutants, or update their location and code: the target may have been edited."""
    if e.instance:
        instance(state, e.instance, touched)
    for item in e.mutants:
        key = item.get("id") if isinstance(item, dict) else None
        if not isinstance(key, str) or not key:
            continue
        before = state.mutants.get(key)
        place = {
            "module": e.module,
            "file": e.file,
            "path": e.path,
            **{name: _number(item, name) for name in _REGION},
            "hides": _number(item, "hides" if "hides" in item else "opens"),  # of November 2026
            "function": _text(item, "function"),
            "operator": _text(item, "operator"),
            "before": _text(item, "before"),
            "after": _text(item, "after"),
            "static": item.get("static") is True,
        }
        if excluded := _text(item, "excluded"):
            state.excluded_mutants[key] = {**place, "state": EXCLUDED, "reason": excluded}
            touched.campaign = True
            if before is not None:
                _drop(state, before, touched)
            continue
        state.excluded_mutants.pop(key, None)
        change = _text(item, "before"), _text(item, "after")
        place["accepted"] = _is_accepted(state, key, *change)
        if "place" in item:
            spot = item["place"]
            place |= {"place": finite(spot) if type(spot) in (int, float) else 0.0}
            place["stage"] = (before.stage if before else "") or "queued"
        row = changed(before or bare(state, key), place)
        if row != before:
            put(state, row, before, touched)


def _drop(state: State, row: Mutant, touched: ChangesBuilder) -> None:
    """Remove a mutant from all counts: a pragma was written since."""
    gone = bare(state, row.id)
    put(state, gone, row, touched)
    state.mutant_counts[gone.state] -= 1
    _count_verdicts(state, "", verdict(gone))
    del state.mutants[row.id]
    touched.mutants.discard(row.id)  # readers look up the ids
    touched.reset = True


def _is_accepted(state: State, key: str, before: str, after: str) -> bool:
    accepted = state.accepted_mutants.get(key)
    return accepted is not None and is_same_change(accepted["change"], before, after)


def accept(state: State, row: dict[str, Any], touched: ChangesBuilder) -> None:
    """Fold a user's verdict about a survivor: accepted, or not any more."""
    key = row.get("id")
    if not isinstance(key, str) or not 0 < len(key) <= MAX_NOTE:
        return
    if row.get("verdict") != ACCEPTED:
        state.accepted_mutants.pop(key, None)
    elif key in state.accepted_mutants or len(state.accepted_mutants) < MAX_ACCEPTED:
        state.accepted_mutants[key] = {
            name: _text(row, name)[:most] for name, most in _ACCEPTANCE.items()
        }
    if (mutant := state.mutants.get(key)) is not None:
        accepted = _is_accepted(state, key, mutant.before, mutant.after)
        if accepted != mutant.accepted:
            put(state, changed(mutant, {"accepted": accepted}), mutant, touched)
        touched.mutants.add(key)


def mutant_state(state: State, e: MutantState, touched: ChangesBuilder) -> None:
    """Set the state of a mutant by the rules of this module."""
    if e.instance:
        instance(state, e.instance, touched)
    if e.id in state.excluded_mutants:
        return
    before = state.mutants.get(e.id)
    row = before or bare(state, e.id)
    word = e.state if e.state in MUTANT_STATES else "pending"
    if word == "pending" and e.instance in row.counts:  # requeued: runs are counted from 0 again
        row = changed(row, {"counts": {**row.counts, e.instance: [*row.counts[e.instance][:2], 0]}})
    if row.state == _KILLED and row.instance != e.instance and word in _NO_NEWS:
        if row is not before:
            put(state, row, before, touched)
        return
    killed_t = -1.0
    if word == _KILLED:
        killed_t = row.killed_t if row.state == _KILLED else state.t
    row = replace(
        row,
        state=word,
        instance=e.instance,
        killer=e.killer,
        oracle=e.oracle,
        by_property=e.property[:MAX_PROPERTY_NAME] if word == _KILLED else "",
        trial=count(e.trial),
        killed_t=killed_t,
        detail=e.detail,
        # A verdict keeps the reason that its turn ended with.
        reason=e.reason or (row.reason if row.stage and word in ("alive", _KILLED) else ""),
        steer=e.steer,
    )
    put(state, row, before, touched)


def mutant_runs(state: State, e: MutantRuns, touched: ChangesBuilder) -> None:
    """Set an instance's counts of mutants."""
    instance(state, e.instance, touched)
    for key, figures in e.runs.items():
        if not isinstance(figures, list) or len(figures) != 3 or not key:
            continue
        if key in state.excluded_mutants:
            continue
        if not all(type(figure) is int for figure in figures):
            continue
        before = state.mutants.get(key)
        row = before or bare(state, key)
        known = [max(count(figure), 0) for figure in figures]
        changes: dict[str, Any] = {"counts": {**row.counts, e.instance: known}}
        match e.near.get(key):
            case [str(entry), str(how)] if entry and how in NEARNESS:
                changes["near"] = {**row.near, e.instance: [entry[:_MAX_KEY], how]}
        row = changed(row, changes)
        put(state, row, before, touched)


_reals = [f.name for f in fields(MutationStats) if f.type == "float"]
_whole = [f.name for f in fields(MutationStats) if f.type == "Count"]


def mutation_stats(state: State, e: MutationStats, touched: ChangesBuilder) -> None:
    """Replace an instance's statistics of mutation analysis."""
    instance(state, e.instance, touched)
    figures: dict[str, Any] = {name: finite(getattr(e, name)) for name in _reals}
    figures |= {name: max(count(getattr(e, name)), 0) for name in _whole}
    if before := state.mutation.get(e.instance):  # a worker that restarts counts from 0 again
        figures["uncompared"] = max(before.uncompared, figures["uncompared"])
    figures["share"] = finite(e.share, -1.0)
    figures["left_s"] = max(finite(e.left_s, -1.0), -1.0)
    figures["pass_share"] = min(1.0, max(-1.0, finite(e.pass_share, -1.0)))
    figures["unsettled"] = count(e.unsettled)
    state.mutation[e.instance] = replace(e, **figures)
    touched.campaign = True


# ----------------------------------------------------------------- selectors


@dataclass(frozen=True, slots=True)
class Summary:
    """How many mutants are in each state, the mutation score, and how far an exact pass is.

    A score is from 0 to 1; None if it would divide by 0.
    """

    total: int
    killed: int
    alive: int
    pending: int
    skipped: int
    equivalent: int
    invalid: int
    accepted: int
    """How many of the alive and pending mutants a user has accepted."""
    static: int
    """How many of all mutants cannot be swapped into the running target, so that each of their runs
    needs a child process."""
    score: float | None
    """The killed share of the mutants that can be made; in fuzz-first of those with a verdict.
    Skipped and equivalent mutants count as not killed."""
    adjusted: float | None
    """The score if skipped and equivalent mutants are left out of the denominator; in fuzz-first
    equal to ``score``."""
    unsettled: int = -1
    """Pairs of a survivor and a kept input that an exact pass has still to examine; 0: the score is
    exact; -1: not known."""
    left_s: float = -1.0
    """Estimated seconds until the running exact pass ends; -1: not known, or none runs."""
    pass_share: float = -1.0
    """The used share of the exact pass's budget, 0 to 1: the largest of all instances. 0 also if
    the pass has no limit; -1: no pass has run."""
    never_reached: int = 0
    not_run: int = 0
    """The two replace ``pending`` after the campaign's end. ``never_reached``: no input reached the
    mutant. ``not_run``: there are inputs that may kill the mutant, but it was not run on them,
    because the budget was used up or the campaign was stopped."""
    excluded: int = 0
    """Mutants that a pragma in the source excludes; they are not in ``total``."""
    scored: tuple[int, int] = (0, 0)
    """Numerator and denominator of ``score``."""
    could_run: bool = True
    """Whether there was an input on which mutants could run. Without one the score is not exact,
    although ``unsettled`` is 0."""

    def count(self, word: str) -> int:
        """The number of mutants whose :func:`outcome` is ``word``."""
        number: int = getattr(self, word.replace(" ", "_"))
        return number

    @property
    def left(self) -> int:
        """The number of mutants that are not killed and that an input might still kill."""
        return self.alive + self.pending + self.never_reached + self.not_run

    @property
    def exact(self) -> bool | None:
        """Whether the score is exact, not a lower bound; None: not known."""
        return None if self.unsettled < 0 else self.unsettled == 0 and self.could_run

    @property
    def at_least(self) -> str:
        """What to write before the score: ``"at least "`` if it is a lower bound, else nothing."""
        return "at least " if self.exact is False else ""


def score_of(killed: int, of: int) -> float | None:
    """The mutation score if ``killed`` of ``of`` mutants are killed; None if ``of`` is 0."""
    return killed / of if of > 0 else None


def with_verdict(state: State) -> tuple[int, int]:
    """The numbers of killed mutants and of mutants with a verdict: the score of fuzz-first."""
    killed = state.mutant_verdicts.get(_KILLED, 0)
    return killed, killed + state.mutant_verdicts.get("alive", 0)


def mutants_summary(state: State) -> Summary:
    """The sums over all mutants. Slower after the end of a campaign: examines pending mutants."""
    summary = _by_state(state)
    if state.stage:  # most mutants have had no turn yet
        scored = with_verdict(state)
        score = score_of(*scored)
        return replace(summary, score=score, adjusted=score, scored=scored)
    if not summary.pending or state.state not in ENDED:
        return summary
    known = knowledge(state)
    found = Counter(outcome(m, known) for m in list(state.mutants.values()) if m.state == "pending")
    return replace(
        summary,
        alive=summary.alive + found["alive"],
        pending=0,
        never_reached=found[UNREACHED],
        not_run=found[NOT_RUN],
    )


def _by_state(state: State) -> Summary:
    counts = {word: state.mutant_counts.get(word, 0) for word in MUTANT_STATES}
    total, killed = len(state.mutants), counts["killed"]
    made = total - counts["invalid"]
    stats = state.mutation.values()
    unsettled = [f.unsettled for f in stats if f.unsettled >= 0]
    return Summary(
        total=total,
        accepted=state.accepted_survivors,
        static=state.static_mutants,
        excluded=len(state.excluded_mutants),
        score=score_of(killed, made),
        adjusted=score_of(killed, made - counts["skipped"] - counts["equivalent"]),
        scored=(killed, made),
        unsettled=sum(unsettled) if unsettled else -1,
        left_s=max((f.left_s for f in stats), default=-1.0),
        pass_share=max((f.pass_share for f in stats), default=-1.0),
        could_run=_could_run(state, counts),
        **counts,
    )


def _could_run(state: State, counts: dict[str, int]) -> bool:
    """Whether mutants have run on an input, or there is one on which they could."""
    if counts["killed"] or counts["alive"] or not counts["pending"]:
        return True
    known = ((state.instances.get(name), f.flaky) for name, f in list(state.mutation.items()))
    return any(i is not None and i.corpus > flaky for i, flaky in known)


RAN: Final = "ran, and made no difference"
WAITS: Final = "still to be run"
"""Of a pending mutant that an input has infected, or that is static: only a run shows whether an
input reaches a static mutant."""
NOT_RUN: Final = "not run"
"""Of pending mutants after the end: there are inputs on which they were not run and that may kill
them."""
REACHED: Final = "reached, and never infected"
UNREACHED: Final = "never reached"
UNKNOWN_REACH: Final = "never infected"
"""Of pending mutants in logs of older engines, which did not report whether they were reached."""
SURVIVORS: Final = (RAN, WAITS, NOT_RUN, REACHED, UNREACHED, UNKNOWN_REACH, ACCEPTED)
"""Groups of survivors. Those of the first show what the inputs or their checks lack; a user has
accepted those of the last."""


class Knowledge(NamedTuple):
    """What is known of the mutants that have not run."""

    reach: bool = True
    """Whether the log shows which mutants were reached; older engines did not report that."""
    over: bool = False
    """Whether the campaign has ended, so that nothing is run any more."""
    exact: bool | None = True
    """:attr:`Summary.exact` of a campaign that has ended; True while it runs."""


LIKELY: Final = Knowledge()


def knowledge(state: State) -> Knowledge:
    """What is known of the mutants of a campaign that have not run."""
    reach = any(f.unsettled >= 0 for f in list(state.mutation.values()))
    over = state.state in ENDED and not state.stage
    return Knowledge(reach, over, _by_state(state).exact if over else True)


def outcome(m: Mutant, known: Knowledge) -> str:
    """The state of a mutant; after the end, a pending one is *never reached*, *not run* or alive.

    A pending mutant whose expression had the original's value on every input counts as alive.
    """
    if m.state != "pending" or not known.over or m.stage:
        return m.state
    group = _group(m, known)
    return group if group in (UNREACHED, NOT_RUN) else "alive"


def survivors(rows: Iterable[Mutant], known: Knowledge = LIKELY) -> dict[str, list[Mutant]]:
    """The mutants that are not killed, by group in the order of :data:`SURVIVORS`."""
    groups: dict[str, list[Mutant]] = {name: [] for name in SURVIVORS}
    for m in rows:
        if name := survivor_group(m, known):
            groups[name].append(m)
    return {name: those for name, those in groups.items() if those}


def survivor_group(m: Mutant, known: Knowledge = LIKELY) -> str:
    """The group of a survivor, one of :data:`SURVIVORS`; empty if it is no survivor."""
    return ACCEPTED if m.accepted and m.survives else _group(m, known)


def _group(m: Mutant, known: Knowledge) -> str:
    if m.state == "alive" or (m.state == "pending" and m.runs):
        return RAN
    if m.state != "pending":
        return ""
    if m.infected or m.static:  # a static mutant has no probes
        return NOT_RUN if known.over else WAITS
    if known.over and known.exact is False:  # inputs are left that were not looked at
        return NOT_RUN
    return REACHED if m.reached else UNREACHED if known.reach else UNKNOWN_REACH


def nearest(m: Mutant) -> tuple[str, str] | None:
    """The entry that came nearest to killing a mutant and how near; None if none is known."""
    found = [(entry, how) for entry, how in list(m.near.values()) if how in NEARNESS]
    return min(found, key=lambda near: NEARNESS.index(near[1]), default=None)


def uncompared_text(state: State) -> str:
    """A text about kept inputs whose value is compared only in part; empty if there are none."""
    unseen = sum(f.uncompared for f in list(state.mutation.values()))
    if not unseen:
        return ""
    return (
        f"{several(unseen, 'value')} of kept inputs only in part, so changes of the rest kill no "
        "mutant; 'fuzztui check' names a target.compare that may show it"
    )


COUNTED_STATES: Final = (*MUTANT_STATES, "never_reached", "not_run")
"""The states by which mutants are counted: each mutant is in one of them."""

_COUNTED: Final = ("total", *COUNTED_STATES, "static", ACCEPTED)
_TIMES = ("original_s", "mutants_s", "compile_s", "rest_s")
_PAIRS = (
    "runs", "dead", "skipped", "unexecuted", "uninfected", "put_off", "audits", "audit_kills",
)  # fmt: skip


def mutants_dict(state: State) -> dict[str, Any] | None:
    """``mutants`` of ``fuzztui status --json``; None when the campaign has none.

    ``share`` is the mean over the instances.
    """
    if not state.mutants:
        return None
    summary = mutants_summary(state)
    figures = list(state.mutation.values())
    shares = [f.share for f in figures if f.share >= 0]
    return {
        **{word: getattr(summary, word) for word in _COUNTED},
        "score": summary.score,
        "adjusted_score": summary.adjusted,
        "excluded": summary.excluded,
        "shard": shard_dict(state),
        "exact": summary.exact,
        "unsettled": summary.unsettled if summary.unsettled >= 0 else None,
        "exact_left_s": summary.left_s if summary.left_s >= 0 else None,
        "exact_budget_used": summary.pass_share if summary.pass_share >= 0 else None,
        "time": {name: round(sum(getattr(f, name) for f in figures), 3) for name in _TIMES},
        "pairs": {name: sum(getattr(f, name) for f in figures) for name in _PAIRS},
        "flaky": sum(f.flaky for f in figures),
        "uncompared": sum(f.uncompared for f in figures),
        "backlog": sum(f.backlog for f in figures),
        "share": sum(shares) / len(shares) if shares else None,
        "phase": next((f.phase for f in figures if f.phase), ""),
    }


def _is_kill(state: State, e: MutantState) -> bool:
    """Whether the event list shows the event: only a kill, as all states would fill the list."""
    return e.state == "killed"


FOLDS = (
    EventFold(MutantsFound, mutants_found, rows=lambda e: e.mutants),
    EventFold(MutantsShard, mutants_shard),
    EventFold(MutantState, mutant_state, _is_kill),
    EventFold(MutantRuns, mutant_runs, rows=lambda e: e.runs),
    EventFold(MutationStats, mutation_stats, never),
)
