"""What a campaign that has ended leaves: its result, what is left, and what to do next. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.discovery import discovery_rate, discovery_text
from fuzztui.kernel.model.examples import failing_examples, new_to_tests, takes_examples
from fuzztui.kernel.model.finding_tallies import Group, groups, is_examined
from fuzztui.kernel.model.mutants import NOT_RUN, UNREACHED, survivor_group, uncompared_text
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.mirrored import run_name
from fuzztui.tui.base import format
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.details import finding_text
from fuzztui.tui.labels.run_files import (
    examples_command,
    near_command,
    place_of,
    run_command,
    start_commands,
)
from fuzztui.tui.labels.status import Status

MAX_LISTED = 3
"""Listed findings; the others are counted."""

MAX_COMMANDS = 3

NAME_CELLS = 10
"""Cells of a row's name."""


@dataclass(frozen=True, slots=True)
class ClosingRow:
    """One row of the closing card. ``screen`` shows more, in its row ``key``; "": none.

    A row without a screen is a command line. ``copied`` is that line for any directory.
    """

    name: str
    text: str
    style: str = ""
    screen: str = ""
    key: str = ""
    copied: str = ""


def closing_rows(state: State, status: Status, run: Path | None) -> list[ClosingRow]:
    """Return the rows of the closing card.

    ``run``: the run directory; None: a watched campaign, or a log alone.
    """
    return list(_rows(state, status, run))


def _rows(state: State, status: Status, run: Path | None) -> Iterator[ClosingRow]:
    every = groups(state)
    found = [g for g in every if is_examined(g.first)]
    if status.unmeasured:
        yield ClosingRow("measured", f"nothing: {status.unmeasured}", "failed", "log")
    yield from _score(state, status)
    if text := uncompared_text(state):
        yield ClosingRow("compared", text, "hang", "log")
    yield from _left(state)
    if not status.unmeasured and (rate := discovery_rate(state)):
        yield ClosingRow("discovery", discovery_text(rate), "", "corpus")
    yield from _findings(found, every)
    if saved := failing_examples(state):
        text = f"plain pytest fails at once, with {several(len(saved), 'finding')}"
        yield ClosingRow("pytest", text, "crash", "findings", saved[0].key)
    if status.state == "failed" or status.unmeasured:
        text = "remove the cause; then check the campaign, and start it again"
        yield ClosingRow("to do", text, "", "log")
    yield from _commands(state, status, run, found or every)


def closing_title(state: str, reason: str) -> str:
    """Return the heading of the closing card."""
    return f"The campaign has {state}" + (f": {reason}" if reason else "")


def closing_text(state: State, status: Status, run: Path) -> str:
    """Return the rows of the closing card as text, for the terminal after the screens."""
    rows = [ClosingRow("run", run_name(run)), *closing_rows(state, status, run)]
    return "\n".join(plain(f"  {row.name:<{NAME_CELLS}} {row.text}") for row in rows)


def _score(state: State, status: Status) -> Iterator[ClosingRow]:
    if state.stage or status.mutants is None:
        return
    m = status.mutants
    score = f"{m.at_least}{format.score(m.score)}"
    known = f"{m.killed:,} of {several(m.total - m.invalid, 'mutant')} killed"
    parts = [f"{score}: {known}", f"{m.alive:,} alive"]
    words = (NOT_RUN, UNREACHED, "pending")
    parts += [f"{n:,} {word}" for word in words if (n := m.count(word))]
    yield ClosingRow("score", ", ".join(parts), "killed", "mutants")


def _left(state: State) -> list[ClosingRow]:
    """One row: survivors by function, or else uncovered goals by file; the largest number first."""
    survivors = Counter(
        m.function or m.module for m in state.mutants.values() if survivor_group(m) and not m.stage
    )
    if survivors:
        return [ClosingRow("survivors", _counted(survivors, "function"), "alive", "mutants")]
    goals: set[str] = set()
    for left in state.uncovered_goals.values():
        goals |= left.keys()
    if goals:
        files = Counter(goal.partition(":")[0] for goal in goals)
        return [ClosingRow("goals left", _counted(files, "file"), "alive", "types")]
    return []


def _counted(counts: Counter[str], noun: str) -> str:
    listed = [f"{name} {n:,}" for name, n in counts.most_common(5)]
    more = len(counts) - len(listed)
    return ", ".join([*listed, *([f"{several(more, noun)} more"] if more > 0 else [])])


def _findings(found: Sequence[Group], every: Sequence[Group]) -> Iterator[ClosingRow]:
    name = "findings"
    for g in found[:MAX_LISTED]:
        text = finding_text(g.first, len(g.findings))
        yield ClosingRow(name, text, g.first.category, "findings", g.first.key)
        name = ""
    if len(found) > MAX_LISTED:
        more = f"and {several(len(found) - MAX_LISTED, 'group')} more"
        yield ClosingRow("", more, "muted", "findings", found[MAX_LISTED].first.key)
    if left := [f for g in every if not is_examined(g.first) for f in g.findings]:
        yield ClosingRow(name, f"{len(left):,} not examined yet", "", "findings", left[0].key)


def _commands(
    state: State, status: Status, run: Path | None, found: Sequence[Group]
) -> list[ClosingRow]:
    """At most three command lines, the most useful first."""
    if run is None:
        return []
    useless = state.state == "failed" or bool(status.unmeasured)
    lines: list[Sequence[str] | str] = []
    if useless:
        lines += start_commands(run)
    if found and (file := place_of(found[0].first, state, run)) is not None:
        # In the run `repro` finds the file by its path there.
        path = file.relative if file.root == run else str(file.path)
        lines.append(["fuzztui", "repro", str(run), path])
    if any(map(takes_examples, new_to_tests(state))) and (line := examples_command(run)):
        lines.append(line)
    if any(survivor_group(m) and not m.stage for m in state.mutants.values()):
        lines.append(["fuzztui", "mutants", "list", str(run), "--survivors"])
    if not useless:
        lines += _longer(state, status, run)
    lines.append(["fuzztui", "replay", str(run)])
    return [
        ClosingRow("next" if n == 0 else "", *_shown(run, line))
        for n, line in enumerate(lines[:MAX_COMMANDS])
    ]


def _shown(run: Path, line: Sequence[str] | str) -> tuple[str, str, str, str, str]:
    if isinstance(line, str):
        return line, "valid", "", "", line
    return near_command(run, line), "valid", "", "", run_command(run, line)


def _longer(state: State, status: Status, run: Path) -> Iterable[Sequence[str]]:
    """The command that continues the campaign: with twice the budget unless it was stopped."""
    words: Sequence[str] = ["fuzztui", str(run / "campaign.toml")]
    if state.state == "stopped":
        return [words]
    if status.budget_s > 0 and status.by_time:
        budget = f"campaign.budget={2 * status.budget_s:.0f}s"
    elif status.budget_trials > 0:
        budget = f"campaign.budget={2 * status.budget_trials} trials"
    else:
        return []
    return [[*words, "--set", budget]]
