"""Load the target of a spec: import, instrument, and build its executor."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from resource import getrlimit
from typing import Any

from fuzztui.engines.base.clock import fix_clock
from fuzztui.engines.base.errors import CannotStart, Limited
from fuzztui.engines.base.spec import EngineSpec, Spec
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.execute.limits import lowered_text
from fuzztui.engines.execute.message_oracle import MessageOracle
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.inputs import GeneratedInput, InputForm, TextInput
from fuzztui.engines.instrument.cache import user_cache
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.target import Target, application_packages, load_target


@dataclass(frozen=True, slots=True)
class LoadedTarget:
    """A loaded target with its application, the table of edges, and the executor."""

    target: Target
    application: Application
    table: EdgeTable
    executor: Executor
    prepared: Any
    """The result of ``prepare``."""


def load(
    spec: Spec,
    *,
    folder: Path,
    table: EdgeTable,
    draw: Callable[[int], bytes],
    prepare: Callable[[Application], object] = lambda application: None,
    on_fresh: Callable[[bytes], None] | None = None,
    generated: type[GeneratedInput] = GeneratedInput,
    output: Path | None = None,
) -> LoadedTarget:
    """Import the target with instrumentation. Raises :class:`CannotStart`.

    ``folder``: the working directory if ``target.cwd`` is not set. ``prepare`` is called before
    the import. ``draw``, ``on_fresh`` and ``generated``: see :func:`form_of`. ``output``: file for
    the target's output; None: discarded.
    """
    fixture = Fixture(Path(spec.target.cwd) if spec.target.cwd else folder, output)
    fixture.open()
    guard = Guard(spec.target.timeout_s, wall=spec.target.timeout_wall)
    coverage = CoverageMap("counts" if spec.engine.coverage == "counts" else "edges")
    include = application_packages(spec.target)
    application = Application(include, spec.target.exclude, table, coverage, guard)
    application.cache = user_cache()
    prepared = prepare(application)
    random.seed(0)  # targets may use the global generator
    fix_clock(spec.target.clock)
    target = load_target(spec.target, application)
    try:
        fixture.loaded()
    except Limited as e:
        raise lowered_on_import(spec, e.number) from None
    coverage.grow(table.size)
    form = form_of(target, spec.engine, draw, on_fresh, generated)
    message = spec.target.oracle.message
    suite = target.suite
    executor = Executor(
        target.function,
        form,
        target.expected,
        coverage=coverage,
        guard=guard,
        fixture=fixture,
        message_oracle=MessageOracle(message) if message else None,
    )
    if suite is not None:
        suite.on_set_up = fixture.moved
        executor.prepare = suite.prepare
        fixture.moved()
    return LoadedTarget(target, application, table, executor, prepared)


def lowered_on_import(spec: Spec, number: int) -> CannotStart:
    """The error if importing the target lowered this limit and it cannot be restored."""
    lowered = lowered_text(number, getrlimit(number)[1])
    where = f'target.function = "{spec.target.function}"'
    return CannotStart(f"{where}: importing the target {lowered}; do not lower this limit there")


def form_of(
    target: Target,
    engine: EngineSpec,
    draw: Callable[[int], bytes],
    on_fresh: Callable[[bytes], None] | None = None,
    generated: type[GeneratedInput] = GeneratedInput,
) -> InputForm:
    """The input form of the target. Raises :class:`CannotStart`.

    If a generator needs more choices, ``draw(n)`` returns n bytes, and ``on_fresh`` is called with
    them. ``generated``: the form for a generator. If the spec names a file of constants, choices
    may select those, whatever ``engine`` says: they did when they were drawn.
    """
    if target.generator is None:
        return TextInput() if target.text else InputForm()
    file = engine.options.get("constants_file")
    if not file and engine.constants:  # of a run that spoton began before it wrote that file
        file = engine.options.get("targets")
    magic = ConstantPool.read(Path(file)) if file else None
    return generated(target.generator, engine.max_size, draw, on_fresh, magic)
