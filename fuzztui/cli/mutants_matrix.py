"""``fuzztui mutants matrix``: which inputs kill which mutants of a fuzz-first run."""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any

from fuzztui.cli.json_output import print_json
from fuzztui.cli.mutant_lines import cut
from fuzztui.cli.output import DONE, CliError, at_terminal, say
from fuzztui.cli.progress import Estimate
from fuzztui.cli.runs import none_left, standing
from fuzztui.cli.target_runs import find_one_target
from fuzztui.features.fuzzfirst.kill_matrix import KillMatrix
from fuzztui.features.fuzzfirst.whole_matrix import WholeMatrix
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.progress import verdict
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.kernel.wire.events import MutantState
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.supervise.ended_log import ended_log

_KILLERS = 3
"""Maximum number of killers of a mutant that its line lists."""


def kill_matrix(options: argparse.Namespace) -> int:
    """Print which inputs kill which mutants. Raises :class:`CliError`."""
    run, as_json = find_one_target(options.path), options.json
    now = standing(run)
    state = now.state
    if not state.stage and now.is_lower_bound:
        if as_json:
            print_json("mutants-matrix", {"problems": [*now.problems]})
        raise none_left(run, now, "fuzz-first")
    if not state.stage:
        raise CliError(f"{run}: there is no kill matrix, because the campaign is not fuzz-first")
    if options.complete:
        _complete(run, options.budget)
        now = standing(run)
        state = now.state
    try:
        matrix = KillMatrix(run / "mutants" / "kills.jsonl")
    except SupervisorError as e:
        raise CliError(str(e)) from None
    if as_json:
        whole = {**_matrix_dict(state, matrix), "problems": [*now.problems]}
        print_json("mutants-matrix", whole)
    elif options.csv:
        print(_matrix_csv(state, matrix), end="")
    else:
        width = shutil.get_terminal_size().columns if at_terminal() else 0
        for line in matrix_lines(state, matrix, width):
            print(line)
    return DONE


def _rows(state: State, matrix: KillMatrix) -> Iterator[tuple[Mutant | None, str, dict[str, str]]]:
    for id in matrix.mutants():
        yield state.mutants.get(id), id, dict(matrix.killers(id))


def _matrix_dict(state: State, matrix: KillMatrix) -> dict[str, Any]:
    rows = [
        {
            "id": id,
            "file": m.file if m else None,
            "line": m.line if m and m.line >= 0 else None,
            "killers": killers,
        }
        for m, id, killers in _rows(state, matrix)
    ]
    alive = [m.id for m in _alive(state, matrix)]
    return {"killed": rows, "alive": alive}


def _matrix_csv(state: State, matrix: KillMatrix) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["mutant", "file", "line", "input", "oracle"])
    for m, id, killers in _rows(state, matrix):
        place = (m.file, m.line) if m else ("", "")
        writer.writerows([id, *place, killer, oracle] for killer, oracle in killers.items())
    return out.getvalue()


def matrix_lines(state: State, matrix: KillMatrix, width: int = 0) -> Iterator[str]:
    """Yield a line for each killed mutant, the easiest to kill first; then the best inputs."""
    rows = sorted(_rows(state, matrix), key=lambda row: -len(row[2]))
    if not rows:
        yield "no mutant is killed yet"
        return
    of_id = max(len(brief(id)) for _, id, _ in rows)
    yield f"{'inputs':>6}  {'mutant':<{of_id}}  killed by"
    inputs: Counter[str] = Counter()
    for _, id, killers in rows:
        inputs.update(killers.keys())
        named = [f"{killer} ({oracle})" for killer, oracle in list(killers.items())[:_KILLERS]]
        more = f" and {len(killers) - _KILLERS:,} more" if len(killers) > _KILLERS else ""
        line = f"{len(killers):>6,}  {brief(id):<{of_id}}  {brief(', '.join(named))}{more}"
        yield cut(line, width) if width else line
    best = ", ".join(f"{brief(name)} ({n:,})" for name, n in inputs.most_common(_KILLERS))
    alone = sum(len(killers) == 1 for _, _, killers in rows)
    killed = f"{several(len(rows), 'mutant')} killed by {several(len(inputs), 'input')}"
    yield f"{killed}, {alone:,} of them by one input only; {len(_alive(state, matrix)):,} alive"
    yield f"the inputs that kill most: {best}"


def _alive(state: State, matrix: KillMatrix) -> list[Mutant]:
    mutants = state.mutants.values()
    return [m for m in mutants if verdict(m) == "alive" and not matrix.killers(m.id)]


def _complete(run: Path, budget_s: float) -> None:
    """Run all kept inputs on all mutants that were built. Raises :class:`CliError`."""
    until = time.monotonic() + budget_s if budget_s else inf
    try:
        with ended_log(run) as (run_dir, log), Estimate() as progress:
            campaign = load(run_dir.campaign).campaign

            def record(event: MutantState) -> None:
                log.record(event)
                log.flush()  # before the mutant counts as done

            whole = WholeMatrix(campaign, run_dir, log.state, record)
            shown = lambda done, of: progress.show("mutants", done, of)  # noqa: E731
            asyncio.run(whole.run(progress.show_text, shown, until))
    except SupervisorError as e:
        raise CliError(str(e)) from None
    except OSError as e:
        raise CliError(f"{e.filename or run}: {e.strerror or e}") from None
    for mutant, why in list(whole.failed.items())[:_KILLERS]:
        say(f"{brief(mutant)}: cannot be run again: {brief(why)}")
    if len(whole.failed) > _KILLERS:
        say(f"and {len(whole.failed) - _KILLERS:,} more mutants cannot be run again")
    if whole.left:
        say(f"no time for {several(whole.left, 'mutant')}; the same command continues")
