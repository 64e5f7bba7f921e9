"""``fuzztui score``: the exact mutation score of a corpus, whoever made it."""

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
from fuzztui.cli.mutants import AFL, own_campaign, python_campaign, table
from fuzztui.cli.output import BELOW_THRESHOLD, DONE, NOT_RUNNING, USAGE, CliError, at_terminal, say
from fuzztui.cli.runs import find_run, standing
from fuzztui.inprocess.ask import ask
from fuzztui.model.fold import apply
from fuzztui.model.mutation_score import mutants_summary, score_of
from fuzztui.model.state import Mutant, State
from fuzztui.wire.events import Event, MutantsFound, MutantState, Record

_LINE_EVERY_S = 10.0
"""Between two lines of progress where nobody looks at a terminal."""


def score(options: argparse.Namespace) -> int:
    """Run every mutant on every input of the corpus that could kill it; print what came of it."""
    run = find_run(options.run)
    now = standing(run)
    # A damaged log may have lost the engine; the run's copy of the campaign file has it.
    engine = now.state.engine or own_campaign(run / "campaign.toml").kind
    if engine == AFL:
        words = f"score is for Python targets; see 'fuzztui mutants matrix {run}'"
        raise CliError(f"{run}: its campaign is for afl: {words}", USAGE)
    corpus = _corpus(run, options.corpus)
    campaign = python_campaign(run / "campaign.toml", options.overrides)
    result = _ask(campaign, run / "out" / "main", corpus, options.jobs)
    if options.json:
        folders = [str(folder) for folder in corpus]
        print(json.dumps({**result, "corpus": folders, "problems": [*now.problems]}, indent=1))
    else:
        for line in report(result, corpus, survivors=options.survivors):
            print(line)
    return DONE if options.fail_under is None else _judged(state_of(result), options.fail_under)


def _judged(state: State, least: float) -> int:
    """The exit code for a score that must be at least ``least`` percent; says why it is not."""
    s = mutants_summary(state)
    made = s.total - s.invalid
    if s.killed * 100 >= least * made and (made or not least):
        return DONE
    sys.stdout.flush()
    say(
        f"score {100 * (s.score or 0):.2f}% is below --fail-under {least:g}%: "
        f"{s.killed:,} of {several(made, 'mutant')} killed"
    )
    return BELOW_THRESHOLD


def _corpus(run: Path, given: Iterable[Path]) -> list[Path]:
    folders = [folder.absolute() for folder in given]
    for folder in folders:
        if not folder.exists():
            raise CliError(f"--corpus {folder}: there is no such directory", USAGE)
    folders = folders or sorted((run / "out").glob("*/queue"))
    if not folders:
        raise CliError(f"{run}: has no queue yet: start it, or name a --corpus DIR", NOT_RUNNING)
    return folders


def _ask(campaign: Campaign, directory: Path, corpus: list[Path], jobs: int) -> dict[str, Any]:
    """The engine's result, with progress on stderr meanwhile. Raises :class:`CliError`."""
    progress = _Progress(sys.stderr.isatty())
    question = ["--jobs", str(jobs), "--score", *map(str, corpus)]
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
    """A line that rewrites itself on a terminal, else one now and then."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._due = 0.0

    def show(self, told: dict[str, Any]) -> None:
        """``told`` is the engine's: done, total, killed, what."""
        words = f"{told.get('what')}: {told.get('done')} of {told.get('total')}"
        text = visible(f"{words}, {several(told.get('killed', 0), 'mutant')} killed")
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{text[:width]}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() >= self._due:
            self._due = time.monotonic() + _LINE_EVERY_S
            say(text)

    def clear(self) -> None:
        """Leave no half line behind."""
        if self._terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


# ------------------------------------------------------------------ the report


def state_of(result: dict[str, Any]) -> State:
    """The engine's result as a campaign would have it."""
    events: list[Event] = []
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
    state = State()
    apply(state, [Record(n, 0.0, event) for n, event in enumerate(events, 1)])
    return state


def report(result: dict[str, Any], corpus: list[Path], *, survivors: bool) -> Iterator[str]:
    """The result for users."""
    state = state_of(result)
    mutants = list(state.mutants.values())
    width = shutil.get_terminal_size().columns if at_terminal() else 0
    for folder in corpus:
        yield visible(f"corpus  {folder}")
    yield f"inputs  {result.get('inputs', 0):,}" + _flaky(result)
    yield summary_line(mutants_summary(state))
    yield from _by("operator", mutants, lambda m: m.operator)
    yield from _by("file", mutants, lambda m: m.file)
    alive = [m for m in mutants if m.state in ("alive", "pending")]
    if survivors:
        yield ""
        yield "survivors (pending: no input could tell it from the program)"
        yield from table(alive, width)
    elif alive:
        yield ""
        yield f"--survivors lists the {len(alive):,} that nothing killed"


def _flaky(result: dict[str, Any]) -> str:
    flaky = result.get("flaky")
    return f"  ({flaky} not used: they do not always end alike)" if flaky else ""


def _by(what: str, mutants: list[Mutant], key: Callable[[Mutant], str]) -> Iterator[str]:
    """A small table: mutants, killed and score of each value of something."""
    groups: dict[str, list[Mutant]] = {}
    for m in mutants:
        groups.setdefault(key(m), []).append(m)
    if not groups:
        return
    names = {name: visible(name or "?") for name in sorted(groups)}
    widest = max(len(what), *map(len, names.values()))
    yield ""
    yield f"{what:<{widest}} {'mutants':>8} {'killed':>8} {'score':>7}"
    for name, shown in names.items():
        made = [m for m in groups[name] if m.state != "invalid"]
        killed = sum(m.state == "killed" for m in made)
        part = percent(score_of(killed, len(made)))
        yield f"{shown:<{widest}} {len(groups[name]):>8,} {killed:>8,} {part:>7}"
