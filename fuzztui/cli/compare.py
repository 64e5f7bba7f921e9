"""``fuzztui compare``: runs of one target, or groups of runs, at one time or at their ends."""

from __future__ import annotations

import argparse
import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fuzztui import __version__
from fuzztui.cli.output import DONE, NOT_RUNNING, CliError, UsageError, duration, say, short_path
from fuzztui.cli.progress import Estimate
from fuzztui.cli.runs import RunStatus, find_log, no_records, open_session, standing_of
from fuzztui.cli.written import TEXT, chosen_format, write_page
from fuzztui.kernel.base.text import brief, listed
from fuzztui.tools.report.compare_page import compare_json, compare_page
from fuzztui.tools.report.compared import (
    CannotCompare,
    ComparedRun,
    RunComparison,
    check,
    used_budget,
)

if TYPE_CHECKING:
    from fuzztui.tui.base.themed import ThemedApp
    from fuzztui.tui.base.themes import ThemeFile

MAX_RUNS = 500
PANES = 2
"""Runs that the screen shows."""

_GROUP = re.compile(r"([\w.+-]+)=(.+)", re.DOTALL)


def compare(options: argparse.Namespace) -> int:
    """Print or write the comparison."""
    if options.json and options.format not in (None, "json"):
        raise UsageError("--json and --format: give one of them")
    if options.json:
        options.format = "json"
    if options.screen and (options.format or options.output):
        raise UsageError("--screen and a file: give one of them")
    format_ = chosen_format(options, TEXT)
    groups, paths = parsed(options.runs)
    runs = _located(paths)
    ends = {run: _end(run) for run, _ in runs}
    at = _time(options.at, ends)
    read = _at_their_ends([*ends]) if options.at is None else []
    if at_ends := bool(read):
        at = max(ends.values())
    else:
        read = [*_read([*ends], at)]
    names = _names([run for run, _ in runs])
    compared, problems = [], []
    for (run, group), name, now in zip(runs, names, read, strict=True):
        compared.append(ComparedRun(name, short_path(run), now.state, group, ends[run], now.damage))
        problems += [*now.problems]
    try:
        check(compared)
    except CannotCompare as e:
        raise UsageError(f"{e}; name runs of one target") from None
    of = RunComparison(at, compared, groups, at_ends)
    if options.screen:
        return _on_screen(of, problems)
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    page = compare_page(of, f"Written by fuzztui {__version__} compare, {written}")
    write_page(page, "compare", compare_json(of, problems), format_, options)
    return DONE


def _on_screen(of: RunComparison, problems: Sequence[str]) -> int:
    """Show two runs side by side."""
    from fuzztui.tui import run_still

    if of.groups or len(of.runs) != PANES:
        raise UsageError("--screen shows two runs: name two, without groups")
    code = run_still(partial(_compare_app, of))
    for problem in problems:
        say(problem)
    return code


def _compare_app(of: RunComparison, themes: Iterable[ThemeFile], theme: str) -> ThemedApp:
    from fuzztui.tools.report.compare_screen import CompareApp  # importing Textual is slow

    return CompareApp(of, themes, theme)


def parsed(words: Sequence[str]) -> tuple[list[str], list[tuple[str, int]]]:
    """Return the names of groups, and the runs, each with the number of its group.

    Without groups each run has a number of its own. Raises :class:`CliError`.
    """
    matches = [None if _exists(word) else _GROUP.fullmatch(word) for word in words]
    if not any(matches):
        paths = [path for word in words for path in _expanded(word)]
        if len(paths) < 2:
            raise UsageError("compare needs two or more runs, or groups of runs: A=RUN,RUN")
        return [], [(path, n) for n, path in enumerate(paths)]
    if not all(matches):
        alone = next(word for word, match in zip(words, matches, strict=True) if match is None)
        raise UsageError(f"{alone}: give all runs in groups, NAME=RUN,RUN, or none of them")
    names: list[str] = []
    found: list[tuple[str, int]] = []
    for match in filter(None, matches):
        if match[1] in names:
            raise UsageError(f"the group {match[1]} is named twice: join its runs by commas")
        paths = [path for word in match[2].split(",") if word for path in _expanded(word)]
        found += [(path, len(names)) for path in paths]
        names.append(match[1])
    if len(names) < 2:
        raise UsageError(f"{names[0]} is the only group: compare needs two or more")
    return names, found


def _exists(word: str) -> bool:
    """Whether a word is a path; a list of runs may be longer than the name of a file may be."""
    try:
        return Path(word).exists()
    except OSError:
        return False


def _expanded(word: str) -> Iterator[str]:
    """The runs that a word names: a pattern names several."""
    if _exists(word) or not glob.has_magic(word):
        yield word
        return
    found = sorted(path for path in glob.glob(word) if Path(path).is_dir())  # noqa: PTH207
    if not found:
        raise CliError(f"{word}: matches no directory", NOT_RUNNING)
    yield from found


def _located(paths: Sequence[tuple[str, int]]) -> list[tuple[Path, int]]:
    if len(paths) > MAX_RUNS:
        raise UsageError(f"{len(paths):,} runs are more than {MAX_RUNS}")
    runs = [(Path(os.path.normpath(find_log(Path(path))[0])), group) for path, group in paths]
    counts = Counter(run.resolve() for run, _ in runs)
    if twice := [run for run, n in counts.items() if n > 1]:
        raise UsageError(f"{listed([str(run) for run in twice])}: named twice")
    return runs


def _end(run: Path) -> float:
    """Campaign time of the end of a log. Raises :class:`CliError` if there is nothing in it."""
    session = open_session(run)
    if not session.end_seq:
        raise no_records(run, session.problems)
    return session.end_t


def _read(runs: Sequence[Path], at: float | None) -> Iterator[RunStatus]:
    """Yield the runs as they were at a campaign time; None: at their ends."""
    progress = Estimate()
    for n, run in enumerate(runs):
        progress.show("reading the logs: run", n, len(runs))
        progress.clear()  # a long log has a progress line of its own
        yield standing_of(open_session(run, at=at), None)


def _at_their_ends(runs: Sequence[Path]) -> list[RunStatus]:
    """The runs at their ends if all have used the same budget and no log is damaged; else none."""
    read: list[RunStatus] = []
    for now in _read(runs, None):
        used = used_budget(now.state)
        if used is None or now.is_lower_bound or (read and used != used_budget(read[0].state)):
            return []
        read.append(now)
    return read


def _time(given: float | None, ends: dict[Path, float]) -> float:
    """The campaign time of the comparison: ``given``, or the end of the shortest run.

    Raises :class:`CliError` if a run is shorter than ``given``.
    """
    run, end = min(ends.items(), key=lambda pair: pair[1])
    if given is None:
        return end
    if given > end:
        has = f"{short_path(run)} has {duration(end)} of campaign time only"
        raise UsageError(f"--at {duration(given)}: {has}")
    return given


def _names(runs: Sequence[Path]) -> list[str]:
    """A name for each run: of its directory, with as much of the path as makes it unique."""
    for depth in range(1, 1 + max(len(run.parts) for run in runs)):
        names = [brief("/".join(run.parts[-depth:]), 80) for run in runs]
        if len(set(names)) == len(names):
            return names
    return [f"{n}: {run.name}" for n, run in enumerate(runs, 1)]
