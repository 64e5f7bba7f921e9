"""``fuzztui mutants export``: the mutants of a campaign or run, for Stryker's report viewers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from importlib.util import decode_source
from pathlib import Path
from typing import Final

from fuzztui.cli.matrix import kept_matrix
from fuzztui.cli.output import CliError, put_text, say
from fuzztui.cli.published import SUFFIXES, published
from fuzztui.cli.since import name_in_tree, tree
from fuzztui.features.source.executed import instrumented_sources
from fuzztui.kernel.base.files import read_regular, real_path
from fuzztui.kernel.base.text import brief, listed, several, visible
from fuzztui.kernel.model.mutants import knowledge, nearest
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.tools.export.mutation_report import MutatedSource, TestsOfMutants, mutation_report

_MAX_SOURCE: Final = 16 << 20


def write_report(
    output: Path | None, state: State, mutants: Sequence[Mutant], run: RunDir | None
) -> None:
    """Write the report to a file, or print it. Raises :class:`CliError`.

    ``run``: None if the mutants are those of a campaign file.
    """
    files = _files(mutants, run)
    tests = TestsOfMutants() if run is None else _tests(run, state, mutants)
    report = mutation_report(
        files, mutants, tests, has_run=bool(state.instances), known=knowledge(state)
    )
    text = json.dumps(report, indent=1) + "\n"
    put_text(text, output)
    if output is None:
        return
    shown = sum(len(file["mutants"]) for file in report["files"].values())
    print(visible(f"{output}: {several(shown, 'mutant')} of {several(len(files), 'file')}"))


# ------------------------------------------------------------------ the sources


def _files(mutants: Sequence[Mutant], run: RunDir | None) -> dict[str, MutatedSource]:
    """The sources by path. Raises :class:`CliError` for one that cannot be read."""
    known = {} if run is None else instrumented_sources(run)
    found: dict[str, MutatedSource] = {}
    edited = []
    nameless = 0
    for mutant in mutants:
        if not mutant.path:
            nameless += 1  # the record that lists the mutant was lost
        if not mutant.path or mutant.path in found:
            continue
        path = Path(mutant.path)
        if path.suffix.lower() not in SUFFIXES:
            raise CliError(f"{path}: is not a source file, but the log names mutants in it")
        try:
            data = read_regular(real_path(path), _MAX_SOURCE)
        except OSError as e:
            why = e.strerror or e
            raise CliError(f"{path}: {why}; a report has the source of each mutated file") from None
        if path.as_posix() in known and _sha(data) not in known[path.as_posix()]:
            edited.append(mutant.file or path.name)
        shown = name_in_tree(path) or mutant.file or path.as_posix()
        if any(file.name == visible(shown) for file in found.values()):
            shown = path.as_posix()  # modules of two trees with the same name
        found[mutant.path] = MutatedSource(
            visible(published(shown, tree())), _language(path), _text(path, data)
        )
    if edited:
        say(f"edited since the campaign, so that places may be wrong: {brief(listed(edited))}")
    if nameless:
        say(f"{several(nameless, 'mutant')} left out: the log has lost where they are")
    return found


def _sha(data: bytes) -> str:
    """The hash of a source file in the form of an engine's ``edges.json``."""
    return hashlib.sha256(data).hexdigest()[:16]


def _text(path: Path, data: bytes) -> str:
    if path.suffix == ".py":
        try:
            return decode_source(data)
        except (SyntaxError, UnicodeDecodeError):
            pass
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _language(path: Path) -> str:
    """The name of a language as Prism, the viewers' highlighter, has it."""
    from fuzztui.features.fuzzfirst.source_mutants.generate import language_of  # reads rules: slow

    return language_of(path)


# ------------------------------------------------------------------ the tests


def _tests(run: RunDir, state: State, mutants: Sequence[Mutant]) -> TestsOfMutants:
    """Return which entries kill and reach mutants: from the log and, if any, the kill matrix."""
    tests = TestsOfMutants()
    wanted = {m.id: m for m in mutants}
    for mutant in mutants:
        if mutant.state == "killed" and mutant.killer:
            tests.killers.setdefault(mutant.id, {})[mutant.killer] = mutant.oracle
        if mutant.survives and (near := nearest(mutant)) is not None:
            tests.reached_by.setdefault(mutant.id, []).append(near[0])
    matrix = kept_matrix(run)
    for row in () if matrix is None else matrix.rows:
        id_, folder, name = _test(Path(row.file), run)
        tests.names[id_] = folder, name
        for mutant_id, how in row.kills.items():
            if mutant_id in wanted:
                tests.killers.setdefault(mutant_id, {})[id_] = how
        for mutant_id in _reached(row.reached, matrix.mutants if matrix else ()):
            if mutant_id in wanted:
                tests.reached_by.setdefault(mutant_id, []).append(id_)
    _name_tests(tests, state)
    return tests


def _test(file: Path, run: RunDir) -> tuple[str, str, str]:
    """Return id, folder and name of an entry's file.

    For an entry of ``run`` the id is that of the log (``main/12``), and the folder is relative to
    the run. For other files the id is the path.
    """
    folder = file.parent
    match = re.match(r"id:(\d+)", file.name)
    if match and folder.name == "queue" and folder.parent.parent == run.out:
        return f"{folder.parent.name}/{int(match[1])}", f"out/{folder.parent.name}/queue", file.name
    return visible(str(file)), str(folder), file.name


def _reached(bits: int, mutants: Sequence[str]) -> Iterator[str]:
    text = f"{bits:b}"[::-1]
    at = text.find("1")
    while 0 <= at < len(mutants):
        yield mutants[at]
        at = text.find("1", at + 1)


def _name_tests(tests: TestsOfMutants, state: State) -> None:
    """Name the entries that only the log mentions."""
    for ids in (*tests.killers.values(), *tests.reached_by.values()):
        for id_ in ids:
            if id_ not in tests.names:
                instance, _, number = id_.partition("/")
                entry = state.entries.get(id_)
                name = entry.file.rpartition("/")[2] if entry and entry.file else f"id:{number}"
                tests.names[id_] = f"out/{instance}/queue", name
