"""``python -m fuzztui.engines SPEC --mutants [--diff ID]``: a target's mutants."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.loading import LoadedTarget, load
from fuzztui.engines.findings.answers import answering
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.mutants.harness_modules import is_test_file
from fuzztui.engines.mutants.late_modules import import_late_modules
from fuzztui.engines.mutants.operators import DEFAULT_OPERATORS
from fuzztui.engines.mutants.program import Program, PythonMutant
from fuzztui.kernel.base.shards import parse_shard


def list_mutants(spec: Spec, diff: str | None = None) -> int:
    """Load the target and print its mutants as one JSON object. Returns the exit status.

    The object is ``{"mutants": [...], "warnings": [...]}``, or ``{"diff": "..."}`` for the mutant
    with the id ``diff``. The target's own output goes to stderr. Raises :class:`CannotStart`.
    """
    # The target's output is the reason if it ends this process.
    with answering(sort_keys=False) as say:
        loaded = load_with_mutants(spec, output=Path("/dev/stderr"))
        say(_answer(spec, loaded, diff))
    return 0


def load_with_mutants(spec: Spec, output: Path | None = None) -> LoadedTarget:
    """Load the target for its mutants, outside of a campaign; ``prepared`` is the program.

    ``output``: file for the target's output; None: discarded. Raises :class:`CannotStart`.
    """
    return load(
        spec,
        folder=Path.cwd(),
        table=EdgeTable(),
        draw=random.Random(0).randbytes,  # missing choices are the same in every run
        prepare=partial(program_of, spec),
        output=output,
    )


def _answer(spec: Spec, loaded: LoadedTarget, diff: str | None) -> dict[str, Any]:
    application, program = loaded.application, loaded.prepared
    import_late_modules(spec, loaded.executor, application, suite=loaded.target.suite)
    program.scan()
    if diff is None:
        plain = [
            f"module {name} is nested too deeply to be instrumented: it has no mutants"
            for name in application.plain
        ]
        mutants = [described(m) for m in (*program.mutants, *program.excluded)]
        return {"mutants": mutants, "warnings": plain + program.warnings}
    if diff in program.by_id:
        return {"diff": program.diff(program.by_id[diff])}
    raise CannotStart(
        f'there is no mutant "{diff:.200}" in the target; list the ids without --diff'
    )


def program_of(spec: Spec, application: Application) -> Program:
    """The program with the mutations of the ``[engine]`` table. Raises :class:`CannotStart`."""
    options = spec.engine.options
    operators = options.get("operators") or DEFAULT_OPERATORS
    shard = options.get("shard") or ""
    try:
        part = parse_shard(shard) if shard else None
    except ValueError as e:
        raise CannotStart(f"engine.shard: {e}") from None
    # The tests of a suite have no mutants, if they are in the package under test.
    leave_out = is_test_file if spec.target.suite else lambda file: False
    return Program(application, operators, options.get("mutate", ()), part, leave_out)


def described(mutant: PythonMutant) -> dict[str, Any]:
    """A mutant as a JSON object."""
    keys = ("id", "module", "file", "path", "line", "column", "end_line", "end_column")
    more = ("function", "operator", "before", "after", "static", "hash")
    found = {key: getattr(mutant, key) for key in (*keys, *more)}
    return {**found, "excluded": mutant.excluded} if mutant.excluded else found
