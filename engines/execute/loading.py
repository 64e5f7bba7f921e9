"""From a spec to a target that can be called, instrumented and observed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from resource import getrlimit
from typing import Any

from fuzztui.engines.base.errors import CannotStart, Limited
from fuzztui.engines.base.spec import EngineSpec, Spec
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.execute.limits import lowered_text
from fuzztui.engines.execute.message_oracle import MessageOracle
from fuzztui.engines.inputs.constants import ConstantPool
from fuzztui.engines.inputs.inputs import BytesInput, GeneratedInput, InputForm, TextInput
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.target import Target, application_packages, load_target

__all__ = ["LoadedTarget", "form_of", "load", "lowered_on_import"]


@dataclass(frozen=True, slots=True)
class LoadedTarget:
    """``executor`` runs ``target``, which lies in ``application``, whose edges are in ``table``."""

    target: Target
    application: Application
    table: EdgeTable
    executor: Executor
    prepared: Any
    """What ``prepare`` returned."""


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
    """Import the target under instrumentation. Raises :class:`CannotStart`.

    ``folder``: where it runs if the campaign does not say. ``prepare`` is called before
    anything is imported. ``draw``, ``on_fresh`` and ``generated``: see :func:`form_of`.
    ``output``: the file for what the target prints, if that is to be kept.
    """
    fixture = Fixture(Path(spec.target.cwd) if spec.target.cwd else folder, output)
    fixture.open()
    guard = Guard(spec.target.timeout_s)
    coverage = CoverageMap("counts" if spec.engine.coverage == "counts" else "edges")
    include = application_packages(spec.target)
    application = Application(include, spec.target.exclude, table, coverage, guard)
    prepared = prepare(application)
    random.seed(0)  # the module's own generator, which targets may use
    target = load_target(spec.target, application)
    try:
        fixture.loaded()
    except Limited as e:
        raise lowered_on_import(spec, e.number) from None
    coverage.grow(table.size)
    form = form_of(target, spec.engine, draw, on_fresh, generated)
    message = spec.target.oracle.message
    executor = Executor(
        target.function,
        form,
        target.expected,
        coverage=coverage,
        guard=guard,
        fixture=fixture,
        alarm=MessageOracle(message) if message else None,
    )
    return LoadedTarget(target, application, table, executor, prepared)


def lowered_on_import(spec: Spec, number: int) -> CannotStart:
    """What to raise if importing the target lowered this limit, and it cannot be restored."""
    said = lowered_text(number, getrlimit(number)[1])
    where = f'target.function = "{spec.target.function}"'
    return CannotStart(f"{where}: importing it {said}; do not lower that limit there")


def form_of(
    target: Target,
    engine: EngineSpec,
    draw: Callable[[int], bytes],
    on_fresh: Callable[[bytes], None] | None = None,
    generated: type[GeneratedInput] = GeneratedInput,
) -> InputForm:
    """How bytes become the target's argument. Raises :class:`CannotStart`.

    A generator that needs more choices than there are has them drawn: ``draw(n)`` returns
    n bytes, and ``on_fresh`` is told of them. ``generated``: the form for a generator.
    Where the spec names a document of goals, its choices may mean constants in it.
    """
    if target.generator is None:
        return TextInput() if target.text else BytesInput()
    file = engine.options.get("targets")
    magic = ConstantPool.read(Path(file)) if file and engine.constants else None
    return generated(target.generator, engine.max_size, draw, on_fresh, magic)
