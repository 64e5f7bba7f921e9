"""Mutants that cannot be swapped in: import the application again with one of them in it.

For code that runs while a module is imported. Meant for a forked child: nothing is put back.
"""

from __future__ import annotations

import ast
import random
import sys
from pathlib import Path

from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.instrument.target import Target, load_target
from fuzztui.engines.mutants.mutant import made
from fuzztui.engines.mutants.program import Program, PythonMutant
from fuzztui.engines.mutants.recompile import Slots

__all__ = ["reload"]


def reload(program: Program, target: TargetSpec, mutant: PythonMutant | None) -> Target:
    """Load the target again, the application with ``mutant`` in it, or unchanged.

    Works for every mutant, also those that can be swapped in. Raises whatever the import
    raises; that is a :class:`Refusal` where an exception came out of the application.
    """
    application = program.application

    def mutate(name: str, tree: ast.Module) -> None:
        if mutant is not None and name == mutant.module:
            node, change, _ = program.locate(tree, mutant)
            Slots(tree).put(node, made(change, node))

    application.fresh = lambda name: mutant is not None and name == mutant.module
    application.on_source = mutate
    application.on_module = lambda loaded: None
    program.install(None)
    _forget_harness(target)
    random.seed(0)  # as it was at the first import
    return load_target(target, application)  # which forgets the application's modules


def _forget_harness(target: TargetSpec) -> None:
    """Harness files are modules that hold the application's old objects."""
    references = [target.function, target.generator]
    files = {str(Path(r.rpartition(":")[0] or r)) for r in references if ".py" in r}
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in files:
            del sys.modules[name]
