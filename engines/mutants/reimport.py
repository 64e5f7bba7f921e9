"""Import the application again with a static mutant, which cannot be swapped in.

Static mutants are in code that runs at import. To be used in a forked child: nothing is restored.
"""

from __future__ import annotations

import ast
import random
import sys
from pathlib import Path

from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.instrument.target import Target, load_target
from fuzztui.engines.mutants.mutant import mutated_node
from fuzztui.engines.mutants.program import Program, PythonMutant
from fuzztui.engines.mutants.recompile import Slots


def reload(program: Program, target: TargetSpec, mutant: PythonMutant | None) -> Target:
    """Load the target again, with ``mutant`` in the application; None: unchanged.

    Works for every mutant, also those that can be swapped in. Raises any exception of the import;
    an exception of the application is wrapped in :class:`CannotStart`.
    """
    application = program.application

    def mutate(name: str, tree: ast.Module) -> None:
        if mutant is not None and name == mutant.module:
            node, change, _ = program.locate(tree, mutant)
            Slots(tree).put(node, mutated_node(change, node))

    application.fresh = lambda name: mutant is not None and name == mutant.module
    application.on_source = mutate
    application.on_module = lambda loaded: None
    program.install(None)
    _forget_harness(target)
    random.seed(0)  # as at the first import
    return load_target(target, application)  # drops the application's modules first


def _forget_harness(target: TargetSpec) -> None:
    """Drop the modules of harness files, which refer to the application's old objects."""
    references = [target.function, target.generator]
    files = {str(Path(r.rpartition(":")[0] or r)) for r in references if ".py" in r}
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in files:
            del sys.modules[name]
