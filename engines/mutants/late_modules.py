"""Import the modules of the application that the target would import only when it is called.

Otherwise their mutants would be found during the campaign, or never: run, score and list would
count different mutants, and what these modules contain before any input has run would be unknown.
A forked child runs the seeds once and reports the modules; this process imports them.
"""

from __future__ import annotations

import contextlib
import importlib
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.forks import ChildHost, Tell
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.loop.stages import BUILTIN, list_seeds
from fuzztui.engines.suite.properties import Suite

_MAX_SEEDS: Final = 64
_FRESH: Final = 16
"""Inputs that are made for a generator without seeds."""
_FRESH_BYTES: Final = 4096


def first_inputs(
    spec: Spec, *, choices: bool, most: int = _MAX_SEEDS, suite: Suite | None = None
) -> list[bytes]:
    """At most ``most`` inputs with which a campaign starts: the same ones in run, score and list.

    ``choices``: whether inputs are choices of a generator. Missing seeds are left out: the run
    may have been moved to another machine. For a ``suite``: the seeds, and in addition one random
    input for each of at most 64 properties.
    """
    limit = spec.engine.max_size
    found: list[bytes] = []
    seeds = []
    for path in spec.engine.seeds:
        with contextlib.suppress(CannotStart):
            seeds += list_seeds([path], limit, lambda level, text: None)
    for seed in _spread(seeds or (() if choices else BUILTIN), most):
        with contextlib.suppress(OSError):
            found.append(seed.read(limit))
    rng = random.Random(0)
    if suite is not None:
        keys = [one.key for one in _spread(suite.running, _MAX_SEEDS)]
        return [*found, *(key + rng.randbytes(min(limit, _FRESH_BYTES)) for key in keys)]
    if not found and choices:
        found = [rng.randbytes(min(limit, _FRESH_BYTES)) for _ in range(min(most, _FRESH))]
    return found


def import_late_modules(
    spec: Spec,
    executor: Executor,
    application: Application,
    meanwhile: Callable[[], None] = lambda: None,
    suite: Suite | None = None,
) -> None:
    """Import the modules that the first inputs import, and those of earlier runs of the instance.

    Must be called after the target was loaded and before its mutants are enumerated. Errors of
    these imports are ignored: the target gets them again when it is called. ``meanwhile`` is
    called while the inputs run. ``suite``: that of the target.
    """
    earlier = EdgeTable(spec.dir / "edges.json").known_names()
    inputs = first_inputs(spec, choices=executor.form.choices, suite=suite)
    names = [*_reported(inputs, spec, executor, application, meanwhile), *earlier]
    import_modules(filter(application.has, names))


def import_modules(names: Iterable[str]) -> None:
    """Import the modules with these names, unless they are imported already. Errors are ignored."""
    for name in names:
        if name not in sys.modules:
            with contextlib.suppress(BaseException):  # sys.exit() at import is a BaseException
                importlib.import_module(name)


def _reported(
    inputs: Sequence[bytes],
    spec: Spec,
    executor: Executor,
    application: Application,
    meanwhile: Callable[[], None],
) -> Iterable[str]:
    """The names of the modules that these inputs import, in the order of these imports."""
    modules = application.table.modules

    def work(at: int, send: Tell) -> None:
        executor.in_child()
        known = set(modules)
        for number in range(at, len(inputs)):
            executor.call(inputs[number])
            send({"next": number + 1, "modules": [name for name in modules if name not in known]})
            known.update(modules)

    host = replace(ChildHost.of(spec.target, ""), meanwhile=meanwhile)
    found = host.each(len(inputs), work)
    return dict.fromkeys(str(name) for _, message in found for name in message["modules"])


def _spread(items: Sequence[Any], most: int) -> list[Any]:
    """At most ``most`` of the items, evenly spread."""
    step = max(1.0, len(items) / most)
    return [items[int(n * step)] for n in range(min(len(items), most))]
