"""Format a fuzz-first run as text: the worklist, and one mutant's turn."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fuzztui.cli.mutant_lines import MIN_CHANGE, cut, excluded_text, percent
from fuzztui.cli.mutants_rank import shown_change
from fuzztui.cli.output import duration
from fuzztui.cli.since import name_in_tree
from fuzztui.features.fuzzfirst.fold import brought as brought_by
from fuzztui.features.fuzzfirst.fold import (
    file_of,
    fuzzed_for,
    goes_on,
    has_begun,
    in_rounds,
    most_of,
    mutants_can_run,
    order,
    outlook,
    queue,
    same_program,
    share_of,
    trials_of,
    turns_follow,
)
from fuzztui.features.fuzzfirst.screen.worklist_text import (
    earlier_text,
    roadblock_text,
    transferred_text,
)
from fuzztui.kernel.base.files import read_regular, real_path
from fuzztui.kernel.base.patches import unified_diff
from fuzztui.kernel.base.text import brief, several, visible
from fuzztui.kernel.model.mutants import score_of, with_verdict
from fuzztui.kernel.model.progress import AT_WORK, NO_TURN, PHASES, phase, shown_progress, verdict
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Instance, Mutant, State

_LIVE = PHASES.index("waiting") + 1
"""The first ``_LIVE`` items of ``PHASES`` are the progress of a mutant without problems."""


# --------------------------------------------------------------- the worklist


def worklist_rows(state: State, rows: Iterable[Mutant]) -> list[Mutant]:
    """Sort mutants by progress: being fuzzed, over, waiting, without a turn."""
    return sorted(rows, key=partial(order, can_run=turns_follow(state)))


def worklist_table(state: State, rows: Sequence[Mutant], width: int = 0) -> Iterator[str]:
    """Yield mutants, one on each line of ``width`` columns (0: no limit); IDs are never cut."""
    waiting = queue(state)
    numbers = {m.id: n for n, m in enumerate(waiting, 1)}
    left = outlook(state, waiting=waiting).left
    ids = [brief(m.id) for m in rows]
    of_id = max(map(len, ids), default=0)
    of_line = max((len(str(m.line)) for m in rows), default=0)
    hides = any(m.hides > 0 for m in rows)
    ended, can_run = False, turns_follow(state)
    for m, name in zip(rows, ids, strict=True):
        number = numbers.get(m.id, 0)
        if number > left and not ended and mutants_can_run(state):
            ended = True
            what = "round" if in_rounds(state) else "mutants' budget"
            yield f"   -  the {what} ends here"
        line = str(m.line) if m.line >= 0 else "?"
        head = f"{number or '':>4}  {brief(_progress(m, can_run)):<10} {verdict(m):<6}"
        text = f"{head} {line:>{of_line}} {name:<{of_id}}"
        if hides:
            text = f"{text}  {f'hides {m.hides:,}' if m.hides > 0 else '':<11}"
        left_over = (width or 1 << 30) - len(text) - 2
        if left_over >= MIN_CHANGE:
            text = f"{text}  {cut(shown_change(m.before, m.after), left_over)}"
        yield text.rstrip()


def _progress(m: Mutant, can_run: bool) -> str:
    return shown_progress(m.listed_stage, mutants_phase=can_run)


def turn_dict(state: State, m: Mutant, number: int = 0) -> dict[str, Any]:
    """Return a mutant's turn as an object for ``--json``.

    ``number``: the position in the worklist, from 1; 0 if the mutant does not wait.
    """
    same = same_program(m, state.mutants)
    return {
        "queue": number or None,
        "stage": m.listed_stage,
        "verdict": verdict(m) or None,
        "hides": max(0, m.hides),
        "roadblock": m.roadblock if m.hides > 0 else None,
        "slot": m.slot or None,
        "fuzzed_s": round(fuzzed_for(state, m), 3),
        "trials": trials_of(state, m),
        "share": share_of(state, m),
        "costs": dict(m.costs),
        "brought": dict(m.turn_results),
        "earlier": dict(m.earlier_results),
        "same_as": same.id if same is not None else None,
    }


def turn_details(state: State, m: Mutant) -> Iterator[str]:
    """Yield the details of one mutant's turn as labelled lines."""
    numbers = {one.id: n for n, one in enumerate(queue(state), 1)}
    progress = _progress(m, turns_follow(state))
    if number := numbers.get(m.id):
        progress += f", number {number:,} of {len(numbers):,} waiting"
    if m.slot:
        progress += f" in {m.slot}"
    yield f"progress  {brief(progress)}"
    if (same := same_program(m, state.mutants)) is not None:
        yield f"same as   {brief(same.id)}"
    if roadblock := roadblock_text(m):
        yield f"hides     {roadblock}"
    if m.slot:
        spent = f"{duration(fuzzed_for(state, m))}, {several(int(trials_of(state, m)), 'exec')}"
        yield f"fuzzed    {spent}"
    if transferred := transferred_text(m.turn_results):
        yield f"transfer  {transferred} to the target"
    if "kept" in m.turn_results:
        pruned = m.turn_results.get("aside", 0)
        yield f"pruned    {pruned:,}; {several(m.turn_results['kept'], 'input')} kept"
    if kills := m.turn_results.get("kills", 0):
        yield f"kills     killed by {several(kills, 'input')}; see 'fuzztui mutants matrix'"
    if earlier := earlier_text(m):
        yield f"earlier   {earlier}"
    if file := file_of(m.killer):
        yield f"killer    {brief(file)},*"
    if m.costs:
        costs = ", ".join(f"{brief(name)} {s:.2f} s" for name, s in m.costs.items())
        yield f"costs     {costs}"


def diff_of(m: Mutant) -> str:
    """Return a mutant's change as a unified diff; an empty string if the change is unknown.

    If the file cannot be read or has changed since, the diff has one line, from the log.
    """
    from fuzztui.features.fuzzfirst.build_tree import MAX_BYTES, BuildTreeError, mutated  # slow
    from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant

    if not m.before and not m.after:
        return ""
    path = Path(m.path)
    name = (name_in_tree(path) if m.path else None) or m.file
    with contextlib.suppress(OSError, BuildTreeError):
        source = read_regular(real_path(path), MAX_BYTES)
        mutant = SourceMutant(m.id, m.file, m.line, m.operator, m.before, m.after)
        return unified_diff(name, source, mutated(source, mutant))
    place, before, after = map(visible, (name, m.before, m.after))  # of the log, not of a file
    return f"--- a/{place}\n+++ b/{place}\n@@ -{m.line} +{m.line} @@\n-{before}\n+{after}\n"


# ------------------------------------------------------------------- status


def stage_rows(state: State) -> Iterator[tuple[str, str]]:
    """The rows of ``status`` about the phase and the worklist of a fuzz-first campaign."""
    view = outlook(state)
    unit = " execs" if view.trials else ""

    def amount(n: float) -> str:
        return f"{n:,.0f}{unit}" if view.trials else duration(n)

    def of(n: float) -> str:  # budgets are rounded, small ones shown exactly
        return amount(n) if view.trials else duration(round(n)) if n >= 9.5 else f"{n:.1f}s"

    number = int(state.plan.get("round", 0))
    if in_rounds(state) and state.stage == "mutants":
        yield "phase", f"round {number}, mutants: {amount(view.used)} of {of(view.of)} used"
    elif in_rounds(state):
        after = f", after {several(number, 'round')}, {of(view.used)} of mutants" if number else ""
        again = "; mutants when it is stuck" if goes_on(state) else ""
        yield "phase", f"the target{after}{again}"
    elif state.stage == "mutants":
        eta = f"; the target phase begins in {duration(view.eta_s)}" if view.eta_s >= 0 else ""
        yield "phase", f"1 of 2, mutants: {amount(view.used)} of {of(view.of)} used{eta}"
    else:
        yield "phase", f"2 of 2, the target, after {of(view.used)} of mutants"
    if state.stage_reason:
        yield "because", state.stage_reason
    counts = Counter(phase(m) for m in state.mutants.values())
    words = {} if turns_follow(state) else {"waiting": NO_TURN}
    live, others = (
        ", ".join(f"{counts[name]:,} {words.get(name, name)}" for name in names if counts[name])
        for names in (PHASES[:_LIVE], PHASES[_LIVE:])
    )
    yield (
        "mutants",
        f"{len(state.mutants):,}"
        + (f": {live}" if live else "")
        + excluded_text(len(state.excluded_mutants)),
    )
    if others:
        yield "others", others
    if view.waiting and mutants_can_run(state):
        what = "round" if in_rounds(state) else "budget"
        yield "queue", f"the {what} allows {view.left:,} of {view.waiting:,} waiting mutants"
    for m in state.mutants.values():
        if m.stage in AT_WORK:
            used = trials_of(state, m) if view.trials else fuzzed_for(state, m)
            most = most_of(state, m)
            spent = f"{amount(min(used, most))} of {of(most)}"
            if not has_begun(state, m):
                spent = "waits for a worker of the cluster"
            yield "now", f"{m.slot} {m.stage} {m.file}:{m.line}, {spent}"
    if left_out := int(state.plan.get("messages", 0)):
        yield "left out", f"{left_out:,} in docstrings and messages"
    mutants = state.mutants.values()
    killed, judged = with_verdict(state)
    if judged:
        yield "score", f"{percent(score_of(killed, judged))} ({killed:,} of {judged:,} killed)"
    yield "transfer", (transferred_text(brought_by(mutants)) or "nothing yet") + " to the target"


def folded_slots(state: State) -> tuple[list[Instance], str]:
    """Return the instances to list, and a line that counts the others: ended, each for a mutant."""
    shown = [i for i in state.instances.values() if not (i.mutant and i.state in ENDED)]
    over = len(state.instances) - len(shown)
    line = f"  {several(over, 'instance')} that fuzzed mutants ended" if over else ""
    return shown, line
