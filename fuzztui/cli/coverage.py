"""``fuzztui coverage``: which lines the inputs of a run execute, for the usual tools."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzztui.cli.beside import interrupt_at_eof
from fuzztui.cli.coverage_runs import covered, runs_in_build, traced_runs
from fuzztui.cli.coverage_tables import frontier_table, functions_table
from fuzztui.cli.json_output import print_json
from fuzztui.cli.mutants import AFL, own_campaign
from fuzztui.cli.output import DONE, UsageError, duration, put_text, say
from fuzztui.cli.progress import Estimate
from fuzztui.cli.repro import finding_file
from fuzztui.cli.runs import standing
from fuzztui.cli.score import corpus_of
from fuzztui.cli.target_runs import find_one_target
from fuzztui.features.source.executed import Coverage, CoveredInput, id_of
from fuzztui.kernel.base.files import files_in, status
from fuzztui.kernel.base.text import several, visible
from fuzztui.kernel.model.state import State
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.tools.export.coverage import formatted, ranges


def coverage(options: argparse.Namespace) -> int:
    """Run the inputs of a run again, with each line traced, and report the lines."""
    if options.until_eof:
        interrupt_at_eof()
    if options.over_time and options.format not in (None, "json"):
        raise UsageError("--over-time is for the table and --format json")
    run = RunDir(find_one_target(options.run))
    state = standing(run.path).state  # damage of the log is reported also if the campaign is gone
    campaign = own_campaign(run.campaign, options.overrides)
    if options.table and options.format:
        raise UsageError(f"--{options.table} is a table; --format json has functions and frontier")
    entry = options.entry
    inputs = corpus_inputs(run, state)
    if options.by_line:
        return _by_line(campaign, run, inputs, options)
    if entry:
        file = _entry(run, entry)
        inputs = [i for i in inputs if i.file == file] or [CoveredInput(file, entry)]
    root = (options.root or Path()).absolute()
    found = covered(campaign, run, inputs, root, over_time=options.over_time)
    if options.format:
        text = formatted(found, options.format, absolute=options.absolute)
    else:
        tables = {"functions": functions_table, "frontier": frontier_table}
        table = tables.get(options.table, _table)
        text = "\n".join(map(visible, table(found))) + "\n"
    if found.note:
        say(found.note)
    put_text(text, options.output)
    if options.output is None:
        return DONE
    total = found.total
    print(visible(f"{options.output}: {len(total.executed):,} of "
                  f"{several(len(total.statements), 'line')} ({total.percent:.1f}%)"))  # fmt: skip
    return DONE


def corpus_inputs(run: RunDir, state: State) -> list[CoveredInput]:
    """Return the queue entries of a run, the one that was found first at the start."""
    times = {f"{e.instance}/{e.file.rpartition('/')[2]}": e.t for e in state.entries.values()}
    found = []
    for file in files_in(corpus_of(run.path, [])):
        instance = file.parent.parent.name
        t = times.get(f"{instance}/{file.name}", -1.0)
        name = f"{instance}/{file.name.partition(',')[0]}"
        found.append(CoveredInput(file.absolute(), name, t))
    return sorted(found, key=lambda item: (item.t, item.entry))


def _entry(run: RunDir, given: str) -> Path:
    """The file of ``12``, ``id:12``, ``INSTANCE/12``, or a path. Raises :class:`CliError`."""
    if (wanted := entry_id(given)) is None:
        return finding_file(run, given)
    names = run.out.glob(f"{wanted[0] or '*'}/queue/id:*")
    ids = [f for f in sorted(names) if id_of(f.name) == wanted[1]]
    if not ids:
        raise UsageError(f"--entry {given}: there is no such queue entry in {run.path}")
    return next((f for f in ids if f.parent.parent.name == "main"), ids[0]).absolute()


def entry_id(given: str) -> tuple[str, int] | None:
    """Return the instance (or "") and the id of ``12``, ``id:12`` or ``INSTANCE/12``."""
    match = re.fullmatch(r"(?:([\w.-]+)/)?(?:id:)?(\d{1,18})", given)
    return (match[1] or "", int(match[2])) if match else None


def _by_line(
    campaign: Campaign, run: RunDir, inputs: Sequence[CoveredInput], options: argparse.Namespace
) -> int:
    """Print, as JSON, the first and the smallest entry that execute each line.

    Inputs run one after the other, and the first one that executes a line is reported for it. For
    the first entry they are in the order in which they were found, for the smallest by size.
    """
    if options.entry or options.over_time or options.format or options.output or options.table:
        raise UsageError("--by-line prints JSON about all inputs, without other options")
    sizes = {i.file: size_of(i.file) for i in inputs}
    smallest_first = sorted(inputs, key=lambda i: (sizes[i.file], i.entry))
    runs = runs_in_build if campaign.kind == AFL else traced_runs
    with Estimate(lines=options.progress) as progress:
        all_statements, (first, smallest) = runs(campaign, run, (inputs, smallest_first), progress)
    print_json("coverage-by-line", {"by_line": {
        file: {
            "statements": statements,
            "first": [
                [n, *((i.key, max(0.0, i.t)) if i is not None else ("", 0.0))]
                for n, i in sorted(first.get(file, {}).items())
            ],
            "smallest": [
                [n, i.key, sizes[i.file]]
                for n, i in sorted(smallest.get(file, {}).items()) if i is not None
            ],
        }
        for file, statements in all_statements.items()
    }}, indent=None)  # fmt: skip
    return DONE


def size_of(file: Path) -> int:
    """The size of a file in bytes; 0 if it is gone."""
    found = status(file)
    return 0 if found is None else found.st_size


def _table(coverage: Coverage) -> Iterator[str]:
    """Yield a table of files, and the growth if it was asked for."""
    rows = [*coverage.files, coverage.total]
    width = max(len("file"), *(len(f.name) for f in rows))
    yield f"{'file':<{width}} {'lines':>7} {'missed':>7} {'cover':>7}  missing"
    for file in rows:
        missing = "" if file is rows[-1] else ranges(file.missing, file.statements)
        numbers = f"{len(file.statements):>7,} {len(file.missing):>7,} {file.percent:>6.1f}%"
        yield f"{file.name:<{width}} {numbers}  {missing}".rstrip()
    if coverage.growth:
        yield ""
        yield f"{'time':>8} {'lines':>7}  entry"
        for g in coverage.growth:
            yield f"{duration(g.t) if g.t >= 0 else '?':>8} {g.lines:>7,}  {g.entry}"
