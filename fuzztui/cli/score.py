"""``fuzztui score``: compute the exact mutation score of any corpus."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from fuzztui.base.text import several, visible
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import SupervisorError
from fuzztui.cli.mutant_lines import percent, summary_line
from fuzztui.cli.mutants import AFL, own_campaign, python_campaign, survivors_table
from fuzztui.cli.output import BELOW_THRESHOLD, DONE, NOT_RUNNING, USAGE, CliError, at_terminal, say
from fuzztui.cli.runs import find_run, standing
from fuzztui.inprocess.ask import ask
from fuzztui.model.fold import apply
from fuzztui.model.mutants import mutants_summary, score_of
from fuzztui.model.mutants import survivors as grouped_survivors
from fuzztui.model.state import Mutant, State
from fuzztui.wire.events import (
    Event,
    MutantRuns,
    MutantsFound,
    MutantState,
    MutationStats,
    Record,
    Stats,
)

_LINE_EVERY_S = 10.0
"""Seconds between two progress lines if stderr is not a terminal."""


def score(options: argparse.Namespace) -> int:
    """Run every mutant on every input of the corpus that could kill it; print the score."""
    run = find_run(options.run)
    now = standing(run)
    # A damaged log may have lost the engine; the run's copy of the campaign file has it.
    engine = now.state.engine or own_campaign(run / "campaign.toml").kind
    if engine == AFL:
        raise CliError(
            f"{run}: score is for Python targets, not for afl; see 'fuzztui mutants matrix {run}'",
            USAGE,
        )
    corpus = _corpus(run, options.corpus)
    campaign = python_campaign(run / "campaign.toml", options.overrides)
    result = _ask(campaign, run / "out" / "main", corpus, options)
    if options.json:
        folders = [str(folder) for folder in corpus]
        exact = mutants_summary(state_of(result)).exact
        more = {"exact": exact, "corpus": folders, "problems": [*now.problems]}
        print(json.dumps({**result, **more}, indent=1))
    else:
        for line in report(result, corpus, survivors=options.survivors):
            print(line)
    return DONE if options.fail_under is None else _threshold(state_of(result), options.fail_under)


def _threshold(state: State, least: float) -> int:
    """Return the exit code for a score that must be at least ``least`` percent; report why not."""
    s = mutants_summary(state)
    valid = s.total - s.invalid
    if s.killed * 100 >= least * valid and (valid or not least):
        return DONE
    sys.stdout.flush()
    say(
        f"score {s.at_least}{100 * (s.score or 0):.2f}% is below --fail-under {least:g}%: "
        f"{s.killed:,} of {several(valid, 'mutant')} killed"
    )
    return BELOW_THRESHOLD


def _corpus(run: Path, given: Iterable[Path]) -> list[Path]:
    folders = [folder.absolute() for folder in given]
    for folder in folders:
        if not folder.exists():
            raise CliError(f"--corpus {folder}: there is no such directory", USAGE)
    folders = folders or sorted((run / "out").glob("*/queue"))
    if not folders:
        raise CliError(
            f"{run}: has no queue yet; start the campaign, or give --corpus DIR", NOT_RUNNING
        )
    return folders


def _ask(
    campaign: Campaign, directory: Path, corpus: list[Path], options: argparse.Namespace
) -> dict[str, Any]:
    """Return the engine's result; show progress on stderr. Raises :class:`CliError`."""
    progress = _Progress(sys.stderr.isatty())
    limits = ["--jobs", str(options.jobs), "--within", str(options.budget)]
    question = [*limits, "--score", *map(str, corpus)]
    try:
        with closing(ask(campaign, question, directory)) as answers:
            for answer in answers:
                if isinstance(answer.get("progress"), dict):
                    progress.show(answer["progress"])
                elif isinstance(answer.get("result"), dict):
                    return dict(answer["result"])
    except SupervisorError as e:
        raise CliError(str(e)) from None
    finally:
        progress.clear()
    raise CliError("the engine ended without a score")


class _Progress:
    """One progress line, rewritten, on a terminal; otherwise a line every ``_LINE_EVERY_S``."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._due = 0.0

    def show(self, report: dict[str, Any]) -> None:
        """``report``: the engine's progress: what, done, total, killed."""
        part = f"{report.get('what')}: {report.get('done')} of {report.get('total')}"
        text = visible(f"{part}, {several(report.get('killed', 0), 'mutant')} killed")
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{text[:width]}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + _LINE_EVERY_S
            say(text)

    def clear(self) -> None:
        """Clear the line."""
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


# ------------------------------------------------------------------ the report


def state_of(result: dict[str, Any]) -> State:
    """Return the engine's result as the state of a campaign."""
    events: list[Event] = []
    reached: dict[str, list[int]] = {}
    items = result.get("mutants")
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict) or not isinstance(item.get("id"), str):
            continue

        def text(key: str, item: dict[str, Any] = item) -> str:
            return str(item.get(key, ""))

        events.append(MutantsFound("", "", text("file"), text("path"), [item]))
        events.append(
            MutantState(
                "",
                text("id"),
                text("state"),
                killer=text("killer"),
                oracle=text("oracle"),
                detail=text("detail"),
            )
        )
        reached[text("id")] = [int(item.get("reached") is True), 0, 0]
    events.append(MutantRuns("score", reached))
    events.append(Stats("score", corpus=_number(result, "inputs")))
    unsettled = int(result.get("exact") is False)
    events.append(MutationStats("score", unsettled=unsettled, flaky=_number(result, "flaky")))
    state = State()
    apply(state, [Record(n, 0.0, event) for n, event in enumerate(events, 1)])
    return state


def _number(result: dict[str, Any], key: str) -> int:
    number = result.get(key)
    return number if type(number) is int else 0


def report(result: dict[str, Any], corpus: list[Path], *, survivors: bool) -> Iterator[str]:
    """Format the result as lines."""
    state = state_of(result)
    mutants = list(state.mutants.values())
    width = shutil.get_terminal_size().columns if at_terminal() else 0
    for folder in corpus:
        yield visible(f"corpus  {folder}")
    yield f"inputs  {result.get('inputs', 0):,}" + _flaky(result)
    counts = mutants_summary(state)
    yield summary_line(counts)
    warnings = result.get("warnings")
    for warning in warnings if isinstance(warnings, list) else ():
        yield visible(f"warning: {warning}")
    head = counts.at_least.strip() or "score"
    yield from _by("operator", head, mutants, lambda m: m.operator)
    yield from _by("file", head, mutants, lambda m: m.file)
    if survivors:
        yield from survivors_table(grouped_survivors(mutants), width)
    elif left := counts.alive + counts.pending:
        yield ""
        alive = f"({counts.alive:,} alive, {counts.pending:,} pending)"
        yield f"{left:,} not killed {alive}: --survivors lists them"


def _flaky(result: dict[str, Any]) -> str:
    flaky = result.get("flaky")
    return f"  ({flaky} flaky, not used)" if flaky else ""


def _by(what: str, head: str, mutants: list[Mutant], key: Callable[[Mutant], str]) -> Iterator[str]:
    """Yield a table with the number of mutants, killed mutants and score by ``key``."""
    groups: dict[str, list[Mutant]] = {}
    for m in mutants:
        groups.setdefault(key(m), []).append(m)
    if not groups:
        return
    names = {name: visible(name or "?") for name in sorted(groups)}
    widest = max(len(what), *map(len, names.values()))
    yield ""
    yield f"{what:<{widest}} {'mutants':>8} {'killed':>8} {head:>8}"
    for name, shown in names.items():
        valid = [m for m in groups[name] if m.state != "invalid"]
        killed = sum(m.state == "killed" for m in valid)
        part = percent(score_of(killed, len(valid)))
        yield f"{shown:<{widest}} {len(groups[name]):>8,} {killed:>8,} {part:>8}"
