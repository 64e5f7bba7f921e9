"""``fuzztui mutants``: list and show the mutants of a campaign file or of a run."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

from fuzztui.cli.json_output import print_json, print_rows
from fuzztui.cli.mutant_lines import MIN_CHANGE, cut, excluded_text, summary_line
from fuzztui.cli.mutants_export import write_report
from fuzztui.cli.mutants_rank import rank_mutants
from fuzztui.cli.output import (
    DAMAGED,
    DONE,
    NOT_RUNNING,
    CliError,
    UsageError,
    at_terminal,
    duration,
    say,
)
from fuzztui.cli.runs import RunStatus, none_left, standing
from fuzztui.cli.samples import campaign_or_project, named
from fuzztui.cli.since import code_changes, name_in_tree, nothing_changed
from fuzztui.cli.target_runs import find_one_target
from fuzztui.cli.worklist import (
    diff_of,
    stage_rows,
    turn_details,
    turn_dict,
    worklist_rows,
    worklist_table,
)
from fuzztui.features.fuzzfirst.fold import queue
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.patches import patch_bytes, renamed_diff
from fuzztui.kernel.base.suggest import near
from fuzztui.kernel.base.text import brief, several, visible
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.mutants import (
    EXCLUDED,
    LIKELY,
    Knowledge,
    excluded_mutants,
    knowledge,
    mutants_summary,
    outcome,
    survivors,
)
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.kernel.wire.conditions import FilterCondition
from fuzztui.kernel.wire.events import MutantsFound, Record
from fuzztui.kernel.wire.selection import Selection, SelectionError, parse_selection
from fuzztui.kernel.wire.verdicts import ACCEPTED
from fuzztui.run.campaign import Campaign, load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.home.finding import is_run

AFL = "afl"
"""The engine kind whose targets are not Python code."""

_AS = "mu2"
"""The engine kind that lists the mutants of a Python target, whatever the campaign's engine."""


UNKNOWN = "unknown"
"""Shown in place of a mutant's state if the log has lost all records about mutants."""

MAX_VALUES = 12
"""Maximum number of values of a condition that an error lists."""

MAX_LINES = 20
"""Maximum number of lines of a reason, which may be a compiler's whole output."""


# ------------------------------------------------------------------- commands


def mutants(options: argparse.Namespace) -> int:
    """Carry out ``list``, ``show``, ``rank``, ``matrix`` or ``export``."""
    if options.csv and options.what != "matrix":
        raise UsageError(f"--csv is for matrix, not for {options.what}")
    if (options.complete or options.budget) and options.what != "matrix":
        raise UsageError(f"--complete and --budget are for matrix, not for {options.what}")
    if options.budget and not options.complete:
        raise UsageError("--budget is for --complete")
    if options.survivors and options.what != "list":
        raise UsageError(f"--survivors is for list, not for {options.what}")
    if options.what in ("show", "matrix") and (options.since or options.in_diff):
        raise UsageError(f"--since and --in-diff are not for {options.what}")
    if options.shard and options.what in ("show", "matrix"):
        raise UsageError(f"--shard is not for {options.what}")
    if options.output and options.what != "export":
        raise UsageError(f"-o is for export, not for {options.what}")
    if options.path is None:
        options.path = _default(options.what)
    if options.what == "rank":
        return rank_mutants(options)
    if options.what == "matrix":
        if options.selections:
            raise UsageError("mutants matrix takes only a run as argument")
        from fuzztui.cli.mutants_matrix import kill_matrix  # with all that runs mutants

        return kill_matrix(options)
    return {"list": _list, "show": _show, "export": _export}[options.what](options)


def _default(what: str) -> Path:
    """Return the run or campaign file for ``mutants WHAT`` without FILE or RUN. Raises CliError."""
    if what == "matrix":
        return find_one_target(None)
    if what in ("list", "export"):
        return campaign_or_project(None)
    needs = "one or more source files" if what == "rank" else "a campaign file or run, and an ID"
    raise UsageError(f"mutants {what} needs {needs}: fuzztui mutants --help")


def _chosen(options: argparse.Namespace) -> tuple[_LookUp, list[Mutant]]:
    """Return the result of :func:`_look_up`, and the mutants that the options select."""
    selections = [selection(text) for text in options.selections]
    code = code_changes(options)
    looked_up = _look_up(options)
    state, _, _ = looked_up
    rows = [*state.mutants.values(), *excluded_mutants(state)]
    if code is not None:
        rows = [m for m in rows if code.in_changed_code(m.path, m.line)]
        if not rows:
            nothing_changed(code, "mutants")
    if options.shard is not None:
        rows = [m for m in rows if options.shard.has(m.id)]
    if selections and (rows or code is None):
        known = knowledge(state)
        as_shown = {m.id: replace(m, state=outcome(m, known)) for m in rows}

        def chosen(m: Mutant) -> bool:
            return any(s.matches(m) or s.matches(as_shown[m.id]) for s in selections)

        rows = list(filter(chosen, rows))
        if not rows:
            raise no_mutants(" ".join(options.selections), state)
    return looked_up, rows


def _export(options: argparse.Namespace) -> int:
    """Write the selected mutants, or all, as a report for Stryker's viewers."""
    (state, file, doubt), rows = _chosen(options)
    if doubt:
        say(doubt)
    run = file.parent if options.path.is_dir() else None
    write_report(options.output, state, rows, None if run is None else RunDir(run))
    return _code(rows)


def _list(options: argparse.Namespace) -> int:
    """List the selected mutants, or all."""
    (state, _, doubt), chosen = _chosen(options)
    rows, excluded = ([m for m in chosen if (m.state == EXCLUDED) is is_] for is_ in (False, True))
    width = shutil.get_terminal_size().columns if at_terminal() else 0
    problems = [doubt] if doubt else []
    if doubt and not options.json:
        print(doubt)
    if state.stage and options.survivors:
        raise UsageError("--survivors is for mu2; with fuzz-first select state=alive")
    have_run = (m.state in ("alive", "killed") for m in state.mutants.values())
    if options.survivors and not any(have_run):
        raise UsageError(
            f"{options.path}: no mutant has run, so there are no survivors; "
            "'fuzztui score RUN' runs them on a corpus"
        )
    if state.stage:
        rows = [*worklist_rows(state, rows), *(excluded if options.json else ())]
        if options.json:
            numbers = {m.id: n for n, m in enumerate(queue(state), 1)}
            turns = [{**mutant_dict(m), **turn_dict(state, m, numbers.get(m.id, 0))} for m in rows]
            print_rows("mutants-list", "mutants", turns, problems)
            return DONE
        _list_worklist(state, rows, width)
        print(*table(excluded, width), sep="\n", end="")
        return DONE
    rows += () if options.survivors else excluded
    summary, known = mutants_summary(state), knowledge(state)
    groups = None
    if options.survivors:
        groups = survivors(rows, known)
        rows = [m for those in groups.values() for m in those]
    if options.json:
        print_rows("mutants-list", "mutants", [mutant_dict(m, known) for m in rows], problems)
        return _code(rows)
    shown = table(rows, width, known) if groups is None else survivors_table(groups, width, known)
    for line in shown:
        print(line)
    narrowed = options.since or options.in_diff or options.shard
    if options.selections or options.survivors or narrowed:
        n = sum(m.state != EXCLUDED for m in rows)
        print(f"{n:,} of {several(summary.total, 'mutant')}{excluded_text(len(excluded))}")
    else:
        print(summary_line(summary) + (", of the known mutants" if state.lost else ""))
    return _code(rows)


def _code(rows: Iterable[Mutant]) -> int:
    """Return the exit code of a command that shows these mutants."""
    return DAMAGED if any(m.state == UNKNOWN for m in rows) else DONE


def _list_worklist(state: State, rows: list[Mutant], width: int) -> None:
    """List mutants in the order in which they are fuzzed."""
    for line in worklist_table(state, rows, width):
        print(line)
    known = ", of the known mutants" if state.lost else ""
    for name, text in stage_rows(state):
        print(f"{name:<8} {brief(text)}{known * (name in ('mutants', 'score'))}")


def _show(options: argparse.Namespace) -> int:
    """Show one mutant with its details and its diff."""
    if len(options.selections) != 1:
        raise UsageError("mutants show needs one ID ('fuzztui mutants list' shows all IDs)")
    (text,) = options.selections
    chosen = selection(text)
    state, file, doubt = _look_up(options)
    rows = chosen.of(state.mutants.values())
    if not rows:
        raise no_mutants(text, state)
    if len(rows) > 1:
        some = "\n  ".join(m.id for m in rows[:20])
        raise UsageError(
            f"{text} selects {len(rows)} mutants; choose one of:\n  {some}"
            + ("\n  ..." if len(rows) > 20 else "")
        )
    mutant = rows[0]
    diff = diff_of(mutant) if state.stage else _diff(file, options.overrides, mutant)
    if options.json:
        turn = turn_dict(state, mutant) if state.stage else {}
        more = {**turn, "diff": diff, "problems": [doubt] if doubt else []}
        print_json("mutants-show", {**mutant_dict(mutant, knowledge(state)), **more})
        return _code(rows)
    if doubt:
        print(doubt)
    print("\n".join(details(mutant, knowledge(state))))
    if mutant.accepted:
        accepted = state.accepted_mutants.get(mutant.id, {})
        why = accepted.get("because") or "no reason was given"
        by = accepted.get("author")
        print(f"accepted  {brief(why)}" + (f"  (by {brief(by)})" if by else ""))
    for line in turn_details(state, mutant) if state.stage else ():
        print(line)
    if diff:
        print(flush=True)
        if sys.stdout.isatty():
            print(visible(diff, lines=True), end="")
        else:  # for patch, which needs the file's own bytes
            sys.stdout.buffer.write(patch_bytes(diff))
    return _code(rows)


def _diff(file: Path, overrides: Iterable[str], mutant: Mutant) -> str:
    """Return the mutant as a unified diff for ``patch -p1``; an empty string: there is none."""
    from fuzztui.run.inprocess.ask import ask  # imports all launchers: slow

    try:
        campaign = python_campaign(file, overrides)
        for answer in ask(campaign, ["--mutants", f"--diff={mutant.id}"]):
            if isinstance(answer.get("diff"), str):
                name = name_in_tree(Path(mutant.path)) or mutant.file
                return renamed_diff(answer["diff"], name)
    except UserError as e:
        say(f"no diff: {e}")
    return ""


# ------------------------------------------------------------------ selecting


def selection(text: str) -> Selection:
    """Parse a selection. Raises :class:`CliError`."""
    try:
        return parse_selection(text)
    except SelectionError as e:
        raise UsageError(str(e)) from None


def no_mutants(text: str, state: State) -> CliError:
    """Return the error for a selection without mutants, with a hint."""
    if not state.mutants and state.stage:
        return UsageError(f"no mutants: {state.name} has ranked none yet")
    if not state.mutants:
        why = "has none (yet)" if state.engine == "mu2" else f"is for {state.engine}, not mu2"
        return UsageError(f"no mutants: {state.name} {why}")
    similar = near(text, state.mutants, 3, 0.5)
    ids, more = [*state.mutants][:3], len(state.mutants) - 3
    hint = f"the IDs are {', '.join(ids)}" + (f" and {more:,} more" if more > 0 else "")
    if owner := next((m.id for m in state.mutants.values() if text and m.slot == text), ""):
        hint = f"{text} is the turn of the mutant {owner}"
    elif similar:
        hint = "similar IDs are " + ", ".join(similar)
    else:
        with contextlib.suppress(SelectionError):  # several selections
            conditions = parse_selection(text).conditions
            hint = _values(conditions, list(state.mutants.values())) if conditions else hint
    return UsageError(f"no mutant matches {text}; {hint}")


def _values(conditions: Iterable[FilterCondition], mutants: Sequence[Mutant]) -> str:
    """Explain why no mutant is selected: the existing values of the condition's key, as text.

    The condition is the first one of ``conditions`` that no mutant meets.
    """
    for condition in conditions:
        key, wanted = condition.key, condition.value
        if Selection(conditions=(condition,)).of(mutants):
            continue
        values = sorted({Selection.value(m, key) for m in mutants}, key=_in_order)
        if key == "function" and values == [""]:
            return (
                "no function is known (functions of AFL++ targets are known only with "
                'mutants.functions, mutants.covered or mutants.order = "roadblocks")'
            )
        named = values[:MAX_VALUES]
        if len(values) > MAX_VALUES:
            named = near(wanted, values, 3) or named
        more = f" and {len(values) - len(named):,} more" if len(values) > len(named) else ""
        return f"{key}s: {', '.join(named)}{more}"
    return "each condition matches some mutants, but no mutant matches all"


def _in_order(value: str) -> tuple[int, str]:
    return int(value) if value.isdecimal() and len(value) < 19 else -1, value


# ------------------------------------------------------------------ looking up


def python_campaign(file: Path, overrides: Iterable[str] = ()) -> Campaign:
    """Load a campaign file as if its engine were mu2, without what mu2 does not take.

    Raises :class:`CampaignError`.
    """
    return load(file, overrides, kind=_AS).campaign


def own_campaign(file: Path, overrides: Iterable[str] = ()) -> Campaign:
    """Load a campaign file with its own engine kind. Raises :class:`CampaignError`."""
    return load(file, overrides).campaign


_LookUp = tuple[State, Path, str]


def _look_up(options: argparse.Namespace) -> _LookUp:
    """Return a state with the mutants of ``options.path``, a run or campaign file.

    Also return the campaign file, and a warning that mutants or their states may be missing ("":
    none is). Raises :class:`CliError`.
    """
    path: Path = options.path
    if path.is_dir() and (is_run(path) or path.name == "log"):
        run = find_one_target(path)
        now, file = standing(run), run / "campaign.toml"
        if now.state.mutants or now.state.stage:
            doubt = f"mutants and their states may be missing: {now.damage}" if now.damage else ""
            return now.state, file, doubt
        _refuse_unrecorded(run, now)
        state = found(python_campaign(file, options.overrides))
        if not now.is_lower_bound:
            return state, file, ""
        state.mutants = {m.id: replace(m, state=UNKNOWN) for m in state.mutants.values()}
        state.mutant_counts = {UNKNOWN: len(state.mutants)}
        return state, file, f"the states of mutants are lost: {now.damage}"
    file, _ = named(path)
    if not file.exists():
        raise CliError(f"{path}: there is no such campaign file or run directory", NOT_RUNNING)
    _refuse_fuzzfirst(file, options.overrides)
    return found(python_campaign(file, options.overrides)), file, ""


def _refuse_unrecorded(run: Path, now: RunStatus) -> None:
    """Raise :class:`CliError` if a run's mutants are not in its log and cannot be listed again."""
    campaign = own_campaign(run / "campaign.toml")  # not from the log, which may be damaged
    if campaign.table("mutants") and now.is_lower_bound:
        raise none_left(run, now, "mutants")
    if campaign.table("mutants"):
        raise UsageError(f"no mutants: {campaign.name} has ranked none yet")
    if campaign.kind == AFL:
        raise UsageError(f"{run}: the campaign has no mutants: no table [mutants], engine afl")


def _refuse_fuzzfirst(file: Path, overrides: Iterable[str]) -> None:
    """Raise :class:`CliError` for a fuzz-first campaign, which ranks its mutants while it runs."""
    if own_campaign(file, [*overrides]).table("mutants"):
        raise UsageError(
            f"{file}: a fuzz-first campaign makes and ranks its mutants when it runs; before, use: "
            "fuzztui mutants rank SOURCE..."
        )


def found(campaign: Campaign) -> State:
    """List all mutants of a campaign's target, without running any. Raises :class:`CliError`."""
    from fuzztui.run.inprocess.ask import ask

    say("loading the target to list its mutants")
    try:
        answers = list(ask(campaign, ["--mutants"]))
    except SupervisorError as e:
        raise CliError(f"{campaign.file}: {e}") from None
    state = State(name=campaign.name, engine=campaign.kind)
    answer = next((a for a in answers if isinstance(a.get("mutants"), list)), None)
    if answer is None:
        raise CliError(f"{campaign.file}: the engine returned no list of mutants")
    for warning in answer.get("warnings", []):
        say(str(warning))
    items = [item for item in answer["mutants"] if isinstance(item, dict)]

    def module_of(item: dict[str, Any]) -> tuple[str, ...]:
        return tuple(str(item.get(key, "")) for key in ("module", "file", "path"))

    for seq, ((module, file, path), group) in enumerate(groupby(items, key=module_of), 1):
        apply(state, [Record(seq, 0.0, MutantsFound("", module, file, path, list(group)))])
    if not state.mutants:
        say("the application has no mutants: see target.include, engine.operators, engine.mutate")
    return state


# -------------------------------------------------------------------- showing


def mutant_dict(m: Mutant, known: Knowledge = LIKELY) -> dict[str, Any]:
    """Return a mutant as an object for ``--json``; unknown values are ``null``."""
    return {
        "id": m.id,
        "module": m.module,
        "file": m.file,
        "path": m.path,
        **{
            name: number if (number := getattr(m, name)) >= 0 else None
            for name in ("line", "column", "end_line", "end_column")
        },
        "function": m.function,
        "operator": m.operator,
        "before": m.before,
        "after": m.after,
        "static": m.static,
        "state": outcome(m, known),
        "killer": m.killer or None,
        "property": m.by_property or None,
        "oracle": m.oracle or None,
        "trial": m.trial if m.trial >= 0 else None,
        "killed_s": m.killed_t if m.killed_t >= 0 else None,
        "detail": m.detail,
        "reason": m.reason,
        "accepted": m.accepted,
        "steer": m.steer,
        "reached": m.reached,
        "infected": m.infected,
        "runs": m.runs,
    }


def table(rows: Iterable[Mutant], width: int = 0, known: Knowledge = LIKELY) -> Iterator[str]:
    """Yield mutants by file, one on each line of ``width`` columns (0: no limit).

    IDs are never cut, because commands need them; the change is cut or left out.
    """
    files: dict[str, int] = {}
    rows = sorted(rows, key=lambda m: (files.setdefault(m.file, len(files)), m.line))
    ids = [brief(m.id) for m in rows]
    of_id = max(map(len, ids), default=0)
    of_line = max((len(str(m.line)) for m in rows), default=0)
    of_state = max([10, *(len(outcome(m, known)) for m in rows)])
    left = (width or 1 << 30) - (of_state + 1 + of_line + 1 + of_id + 2)
    last = None
    for m, name in zip(rows, ids, strict=True):
        if m.file != last:
            last = m.file
            yield brief(m.file or "?")
        line = str(m.line) if m.line >= 0 else "?"
        state = ACCEPTED if m.accepted and m.survives else outcome(m, known)
        text = f"{state:<{of_state}} {line:>{of_line}} {name}"
        about = brief(m.reason) if m.state == EXCLUDED else change(m)
        if left >= MIN_CHANGE:
            text = f"{text:<{of_state + 1 + of_line + 1 + of_id}}  {cut(about, left)}"
        yield text.rstrip()


def survivors_table(
    groups: Mapping[str, Sequence[Mutant]], width: int = 0, known: Knowledge = LIKELY
) -> Iterator[str]:
    """Yield a table for each group of survivors, with the number of mutants."""
    for name, those in groups.items():
        yield ""
        yield f"{name}: {several(len(those), 'mutant')}"
        yield from table(those, width, known)


def change(m: Mutant) -> str:
    """Format the change of a mutant on one line."""
    return brief(f"{m.before.strip()} -> {m.after.strip()}") if m.before or m.after else ""


def details(m: Mutant, known: Knowledge = LIKELY) -> Iterator[str]:
    """Yield the details of one mutant as labelled lines."""
    yield brief(m.id)
    where = f"{m.file}:{m.line}" + (f" in {m.function}" if m.function else "")
    yield f"place     {brief(where)}"
    yield f"operator  {brief(m.operator)}" + ("  (code that runs at import)" if m.static else "")
    yield f"change    {change(m)}"
    state = outcome(m, known)
    if m.killer:
        state += f" by {m.killer}"
    if m.oracle:
        state += f" ({m.oracle})"
    if m.trial >= 0:
        state += f" at trial {m.trial:,}"
    if m.killed_t >= 0:
        state += f", {duration(m.killed_t)} into the campaign"
    if m.steer:
        state += f"  [{m.steer}]"
    yield f"state     {brief(state)}"
    for name, text in (("property", m.by_property), ("because", m.reason), ("detail", m.detail)):
        for n, line in enumerate(text.splitlines()[:MAX_LINES]):
            yield f"{'' if n else name:<9} {visible(line)}"
    if m.counts:
        runs = several(m.runs, "time")
        yield f"inputs    {m.reached:,} reached it, {m.infected:,} infected; run {runs}"
