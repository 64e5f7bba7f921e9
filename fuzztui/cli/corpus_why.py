"""``fuzztui corpus why RUN ID``: why an entry is kept, and what would be lost without it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fuzztui.cli.corpus_running import EDGES, Care, why_out
from fuzztui.cli.coverage import entry_id
from fuzztui.cli.matrix import kept_matrix
from fuzztui.cli.mutants import AFL
from fuzztui.cli.output import DONE, UsageError, duration, say
from fuzztui.cli.runs import standing
from fuzztui.cli.target_runs import find_one_target
from fuzztui.features.corpus.entries import CorpusInput, CorpusInputs
from fuzztui.features.corpus.measure import Measured
from fuzztui.features.source.executed import id_of
from fuzztui.kernel.base.text import brief, several, visible
from fuzztui.kernel.model.lineage import children, descendants, lineage
from fuzztui.kernel.model.saved import identity
from fuzztui.kernel.model.state import Entry, State
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.inprocess.replay import VALID

_SHOWN = 10
_STEPS = 6


def why(options: argparse.Namespace) -> int:
    """Print why an entry is kept. The inputs of the run are run once for that."""
    run = RunDir(find_one_target(options.run))
    state = standing(run.path).state
    with Care(run, options, EDGES) as care:
        inputs = care.of_run(run)
        entry = _find(inputs, run, options.entry)
        measured = care.run_inputs(inputs.entries, passes=1)
    at = inputs.entries.index(entry)
    known = _known(state)
    row = known.get(entry.name)
    lines = [f"{entry.name}  ({entry.size:,} bytes)"]
    lines += _reasons(row, state)
    for other in inputs.same.get(entry.sha256, ()):
        lines.append(f"same input   {other}")
    if measured.inputs[at].fails:
        lines.append(f"not counted  {why_out(measured.inputs[at])}")
    order = sorted(range(len(inputs.entries)), key=lambda n: _found(inputs.entries[n], known))
    lines += _edges(measured, order, at, is_afl=care.campaign.kind == AFL)
    lines += _first_kills(state, row)
    if state.mutants and care.campaign.kind != AFL:
        lines += _kills(run, entry, inputs)
    lines += _relatives(state, row)
    for line in lines:
        print(visible(line))
    return DONE


# ------------------------------------------------------------------ which entry


def _find(inputs: CorpusInputs, run: RunDir, given: str) -> CorpusInput:
    """Return the entry of ``12``, ``main/12``, ``id:12`` or a path. Raises :class:`CliError`."""
    if (wanted := entry_id(given)) is not None:
        instance, number = wanted
        found = [e for e in _all_names(inputs) if id_of(e[0].partition("/")[2]) == number]
        found = [e for e in found if not instance or e[0].startswith(f"{instance}/")]
        names = {name.partition("/")[0] for name, _ in found}
        if len(names) > 1:
            found = [e for e in found if e[0].startswith("main/")] or found[:1]
            say(f"{given}: is in the queues of {', '.join(sorted(names))}; this is {found[0][0]}")
    else:
        path = Path(given).absolute()
        if not path.exists() and (run.path / given).exists():
            path = run.path / given
        queue = [part for part in path.parents if part.name == "queue"]
        name = f"{queue[0].parent.name}/{path.relative_to(queue[0])}" if queue else given
        found = [e for e in _all_names(inputs) if e[0] == name]
    if not found:
        raise UsageError(
            f"{given}: there is no such queue entry in {run.path}; name one as 12, INSTANCE/12 "
            "or by its file"
        )
    return found[0][1]


def _all_names(inputs: CorpusInputs) -> Iterator[tuple[str, CorpusInput]]:
    for entry in inputs.entries:
        yield entry.name, entry
        for name in inputs.same.get(entry.sha256, ()):
            yield name, entry


def _known(state: State) -> dict[str, Entry]:
    """The entries of the log by the names of their files."""
    return {
        f"{e.instance}/{e.file.removeprefix('queue/')}": e
        for e in state.entries.values()
        if e.saved
    }


def _found(entry: CorpusInput, known: dict[str, Entry]) -> tuple[float, int, str]:
    """A key by which entries are ordered as they were found."""
    row = known.get(entry.name)
    if row is None:
        return float("inf"), 0, entry.name
    return row.t, row.seq, entry.name


# ------------------------------------------------------------------ output


def _reasons(row: Entry | None, state: State) -> Iterator[str]:
    if row is None:
        yield "kept for     unknown: the log does not name this entry"
        return
    yield f"found        at {duration(row.t)}" + (f", by {row.op}" if row.op else "")
    reasons = list(row.reasons)
    if not reasons:
        reasons = ["new coverage"] if row.cov else ["imported"] if row.sync else []
    if reasons:
        yield f"kept for     {', '.join(reasons)}"
    if row.outcome:
        yield f"outcome      {row.outcome}"
    if row.steer:
        yield f"steered      {row.steer}"


def _edges(measured: Measured, order: Sequence[int], at: int, *, is_afl: bool) -> Iterator[str]:
    mine = measured.edges(measured.inputs[at].all)
    before = others = 0
    is_before = True
    for n in order:
        if n == at:
            is_before = False
        elif not measured.inputs[n].fails:
            others |= measured.inputs[n].all
            before |= measured.inputs[n].all if is_before else 0
    first = mine - measured.edges(before)
    only = mine - measured.edges(others)
    note = " (numbers of the instrumentation)" if is_afl and mine else ""
    yield f"covers       {several(len(mine), 'edge')}{note}"
    yield f"first        {several(len(first), 'edge')} that no earlier entry covers"
    yield from _places(measured, first)
    items = [*measured.numbers.things(measured.inputs[at].all & ~others)]
    more = [item for item in items if isinstance(item, tuple) and item[0] not in only]
    valid = 0 if is_afl else sum(item[1] == VALID for item in more)
    extra = f", {several(valid, 'edge')} by a valid input" if valid else ""
    extra += f", {several(len(more) - valid, 'count')} of edges" if len(more) > valid else ""
    yield f"only         {several(len(only), 'edge')}{extra} would be lost without it"
    yield from _places(measured, only)


def _places(measured: Measured, edges: Iterable[object]) -> Iterator[str]:
    """Yield lines with the places of edges, each line of code once."""
    lines: dict[tuple[str, int], int] = {}
    bare = []
    for edge in edges:
        place = measured.places.get(edge)
        if place is None:
            bare.append(str(edge))
        else:
            lines[place] = lines.get(place, 0) + 1
    shown = [
        brief(file) + (f":{line}" if line else "") + (f" ({number} edges)" if number > 1 else "")
        for (file, line), number in sorted(lines.items())
    ]
    shown += sorted(bare, key=lambda text: (len(text), text))
    for text in shown[:_SHOWN]:
        yield f"             {text}"
    if len(shown) > _SHOWN:
        yield f"             and {len(shown) - _SHOWN:,} more"


def _first_kills(state: State, row: Entry | None) -> Iterator[str]:
    """Yield the mutants that the entry was the first to kill, as the campaign has recorded."""
    if row is not None and state.mutants:
        victims = sorted(m.id for m in state.mutants.values() if m.killer == row.key)
        yield f"first kills  {several(len(victims), 'mutant')} that no earlier entry killed"
        yield from _some(victims)


def _kills(run: RunDir, entry: CorpusInput, inputs: CorpusInputs) -> Iterator[str]:
    """Yield the number of mutants that the entry kills, and those that no other entry kills."""
    matrix = kept_matrix(run)
    known = {r.sha256 for r in matrix.rows} if matrix is not None else set()
    missing = sum(e.sha256 not in known for e in inputs.entries)
    if matrix is None or missing:
        which = f"lacks {several(missing, 'entry', 'entries')}" if known else "is not computed yet"
        yield f"only kills   unknown: the kill matrix {which}; fuzztui score {run.path} --matrix"
        return
    hashes = {e.sha256 for e in inputs.entries}
    mine = next((set(r.kills) for r in matrix.rows if r.sha256 == entry.sha256), set())
    others = {k for r in matrix.rows if r.sha256 in hashes - {entry.sha256} for k in r.kills}
    only = sorted(mine - others)
    yield f"kills        {several(len(mine), 'mutant')}"
    yield f"only kills   {several(len(only), 'mutant')} would survive without it"
    yield from _some(only)


def _some(names: Sequence[str]) -> Iterator[str]:
    for name in names[:_SHOWN]:
        yield f"             {brief(name)}"
    if len(names) > _SHOWN:
        yield f"             and {len(names) - _SHOWN:,} more"


# ------------------------------------------------------------------ relatives


def _relatives(state: State, row: Entry | None) -> Iterator[str]:
    """Yield the entry's ancestors, and how many entries and findings descend from the entry."""
    if row is None:
        return
    steps = lineage(state, row)
    names = [row.key]
    for step in steps[:_STEPS]:
        names.append(step.key)
    text = " < ".join(names)
    if len(steps) > _STEPS:
        text += f" < ... {len(steps) - _STEPS:,} more"
    root = steps[-1].entry if steps else row
    yield f"lineage      {text}" + (" (a seed)" if root is not None and not root.src else "")
    name = identity(row)
    below = descendants(state, name)
    made = sum(isinstance(one, Entry) for one in children(state, name))
    entries = sum(isinstance(one, Entry) for one in below)
    yield (
        f"descendants  {several(made, 'child', 'children')}, "
        f"{several(entries, 'entry', 'entries')} and "
        f"{several(len(below) - entries, 'finding')} in all"
    )
