"""Run the inputs of a run again for their coverage, of a Python target or of a C target."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fuzztui.cli.mutants import AFL
from fuzztui.cli.output import CliError, UsageError, say
from fuzztui.cli.progress import Estimate
from fuzztui.features.source.executed import (
    Coverage,
    CoveredInput,
    ExecutedLines,
    executed_lines,
    instrumented_files,
)
from fuzztui.features.source.functions import with_functions
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.observe.afl_names import parse_name

ByLine = dict[str, dict[int, CoveredInput | None]]
"""By file and executed line an input; None: the line ran on import."""

_T = TypeVar("_T")


def covered(
    campaign: Campaign,
    run: RunDir,
    inputs: Sequence[CoveredInput],
    root: Path,
    *,
    what: str = "inputs",
    over_time: bool = False,
) -> Coverage:
    """Run the inputs; show the progress as ``what``. Raises :class:`UserError`."""
    if campaign.kind != AFL:
        files = instrumented_files(run, campaign)
        with Estimate() as progress:
            found = executed_lines(campaign, run, files, inputs, partial(progress.show, what))
        return with_functions(found.coverage(root, over_time=over_time))
    from fuzztui.features.gcov.corpus import corpus_coverage

    total = len(inputs) * (1 + over_time)
    with Estimate() as progress:
        return _in_build(
            campaign, run,
            lambda: corpus_coverage(
                campaign, run, inputs, root, note=partial(_note, progress), over_time=over_time,
                progress=lambda done: progress.show(what, done, total),
            ),
        )  # fmt: skip


def traced_runs(
    campaign: Campaign, run: RunDir, orders: Sequence[Sequence[CoveredInput]], progress: Estimate
) -> tuple[dict[str, list[int]], list[ByLine]]:
    """Run a Python target. Returns statements by file, then for each order the first input that
    executes each line. Raises :class:`UserError`.
    """
    files = instrumented_files(run, campaign)
    found: list[ExecutedLines] = []
    total = sum(map(len, orders))
    for order in orders:
        before = len(found) * len(order)

        def show(done: int, _: int, before: int = before) -> None:
            progress.show("inputs", before + done, total)

        found.append(executed_lines(campaign, run, files, order, show))
    return found[0].statements, [each.first_inputs() for each in found]


def runs_in_build(
    campaign: Campaign, run: RunDir, orders: Sequence[Sequence[CoveredInput]], progress: Estimate
) -> tuple[dict[str, list[int]], list[ByLine]]:
    """Run a C target. Returns the same as :func:`traced_runs`. Raises :class:`UserError`."""
    from fuzztui.features.gcov.by_line import first_entries

    by_time, *others = orders
    by_key: dict[str, CoveredInput | None] = {i.key: i for i in reversed(by_time)}
    # In the order in which the campaign itself measures coverage.
    by_time = sorted(by_time, key=lambda i: parse_name(i.file.name).time_ms)
    files = [[i.file for i in order] for order in (by_time, *others)]
    total = sum(map(len, files))
    found = _in_build(
        campaign, run,
        lambda: first_entries(
            campaign, run, files, lambda done: progress.show("entries", done, total),
            partial(_note, progress),
        ),
    )  # fmt: skip
    statements = {file: sorted(lines) for file, lines in found[0].statements.items()}
    return statements, [
        {
            file: {line: by_key[key] for line, key in lines.items() if key in by_key}
            for file, lines in order.lines.items()
        }
        for order in found
    ]


def _in_build(campaign: Campaign, run: RunDir, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Do work that builds a C target for coverage. Raises :class:`UserError`."""
    if not campaign.target.get("build"):
        raise UsageError(
            f"{run.path}: the lines of a C target are measured in a build of their own, and this "
            "campaign has no target.build; add it to the campaign file, and start the campaign "
            "again"
        )
    try:
        return asyncio.run(work())
    except (OSError, ValueError, LookupError, TypeError) as e:
        raise CliError(f"target.coverage: {e}") from None


def _note(progress: Estimate, text: str) -> None:
    progress.clear()
    say(f"{text}; building the target for it")
