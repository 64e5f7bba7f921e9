"""Keep the effects of mutants out of the fixtures of a suite.

Fixtures are set up by the original. Before another property is set up, the program's lasting state
is restored, since trials and mutants may have changed it. The state after the set-up is the one
with which each run begins. A child process sets up its own fixtures: with those of this process, it
would tear down what this process still uses.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.instrument.target import Target
from fuzztui.engines.mutants.program import Program, PythonMutant, reload
from fuzztui.engines.suite.properties import Suite


def follow_set_ups(suite: Suite, program: Program, before: Callable[[], object] = bool) -> None:
    """Keep the program's lasting state up to date when properties of the suite are set up.

    ``before`` is called before each set-up and tear-down, but not in forked children. It looks for
    state that mutants have changed, and has the mutants run again that depend on it.
    """
    process, moved = os.getpid(), suite.on_set_up

    def on_leave() -> None:
        if os.getpid() == process:
            before()
        program.changed()
        program.clear_caches()

    def on_set_up() -> None:
        moved()
        program.set_up()

    suite.on_leave, suite.on_set_up = on_leave, on_set_up


def reloader(
    program: Program, executor: Executor, first: Target, spec: TargetSpec
) -> Callable[[PythonMutant | None], Executor]:
    """A function that imports the target again, in a child, and returns its executor.

    It raises any exception of the import, and :class:`CannotStart` if a property of the ``first``
    target is not collected any more.
    """
    in_use = [] if first.suite is None else [first.suite]

    def again(mutant: PythonMutant | None) -> Executor:
        while in_use:
            in_use.pop().leave()
        target = reload(program, spec, mutant)
        made = executor.reloaded(target.function, target.expected, target.generator)
        suite = target.suite
        if suite is None or first.suite is None:
            return made
        for one in first.suite.running:
            if one.key not in suite.by_key:
                raise CannotStart(f"{one.name} is not collected any more")
        suite.on_set_up = executor.fixture.moved
        follow_set_ups(suite, program)
        made.prepare = suite.prepare
        in_use.append(suite)
        return made

    return again
