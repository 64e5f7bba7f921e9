"""A program and its mutants, which run in place: the code of live functions is exchanged.

At any time each unit runs one of four codes: *resting* (as imported: coverage, fuel in loops that
may not end; perhaps without the probes of covered cells), as imported with *probes*, the *base*
(compiled like a mutant but unmutated), or one *mutant* (no coverage, fuel everywhere).
"""

from __future__ import annotations

import ast
import random
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Final

from fuzztui.engines.base.clock import start_over
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.target import Target, load_target
from fuzztui.engines.instrument.units import CannotSwap, Code
from fuzztui.engines.mutants.enumeration import Enumeration
from fuzztui.engines.mutants.harness_modules import harness_modules
from fuzztui.engines.mutants.infection import empty_of
from fuzztui.engines.mutants.lasting_state import LastingState
from fuzztui.engines.mutants.late_modules import import_modules
from fuzztui.engines.mutants.mutant import PythonMutant, exact_cuts, mutated_node
from fuzztui.engines.mutants.operators import OPERATORS, MutationOperator
from fuzztui.engines.mutants.probe_recorder import Probing
from fuzztui.engines.mutants.recompile import Slots
from fuzztui.engines.mutants.units import Unit, UnitCompiler
from fuzztui.kernel.base.patches import unified_diff
from fuzztui.kernel.base.shards import Shard

__all__ = ["CannotSwap", "Probing", "Program", "PythonMutant", "Unit", "chosen"]

_KEEP_BYTES: Final = 64 << 20


def chosen(names: Sequence[str]) -> tuple[MutationOperator, ...]:
    """The operators with these names, in the order of :data:`OPERATORS`.

    Raises :class:`CannotStart` if a name is unknown.
    """
    known = {o.name for o in OPERATORS}
    for name in names:
        if name not in known:
            raise CannotStart(
                f'engine.operators: "{name:.60}" is not an operator; choose from'
                f" {', '.join(o.name for o in OPERATORS)}"
            )
    return tuple(o for o in OPERATORS if o.name in names)


class Program(Enumeration):
    """The application's mutants. Create it before the target is loaded, call :meth:`scan` after."""

    def __init__(
        self,
        application: Application,
        operators: Sequence[str],
        only: Sequence[str] = (),
        shard: Shard | None = None,
        leave_out: Callable[[str], bool] = lambda file: False,
    ) -> None:
        """``leave_out``: whether the module in a file has no mutants.

        ``only``: what to mutate: packages, modules, or ``MODULE:NAME``, a function or class;
        empty: the whole application. ``shard``: the part of its mutants; None: all.

        Raises :class:`CannotStart` if an operator is unknown.
        """
        super().__init__(application, chosen(operators), only, shard, leave_out)
        self.keep_bytes = _KEEP_BYTES
        """Approximate bound of the memory for compiled mutants, in bytes."""
        # Units and, for static mutants, whole modules are compiled with mutants.
        application.constants["empty"] = empty_of
        self.compiler = UnitCompiler(
            self.operators, application.constants, counting=application.coverage.counting
        )
        self.lasting: LastingState | None = None
        """The program's lasting state; None: not taken yet (:meth:`remember`), or left as it is."""
        self._puts_back = True
        self._probings: list[Probing] = []
        self._probing: Probing | None = None  # installed
        self._entered: Unit | None = None
        self._loaded = 0
        """Number of modules loaded before the mutant was entered; 0: no mutant is in."""
        self._quiet: set[Unit] = set()
        self._kept: deque[tuple[PythonMutant, int]] = deque()  # compiled mutants and their size
        self._kept_bytes = 0

    @property
    def compile_ns(self) -> int:
        """Total time for preparing and compiling units, in nanoseconds."""
        return self.compiler.compile_ns

    def remember(self, target: TargetSpec) -> None:
        """Take a snapshot of the lasting state. Call this when everything is loaded, before the
        first input runs. Call it again after more modules were loaded: their present state is
        added, and that of the other modules stays as it was.
        """
        if not self._puts_back:
            return
        before, self.lasting = self.lasting, _lasting_state(self.application, target)
        if before is not None:
            self.lasting.keep(before)

    def leave_state(self) -> None:
        """Restore no lasting state from now on: the program behaves differently if it is."""
        self._puts_back, self.lasting = False, None

    def changed(self) -> bool:
        """Whether lasting state has changed that was not known to change; if so, restore it.

        Runs since the last call may then have depended on each other. From now on, that state is
        restored before and after each run of a mutant.
        """
        if self.lasting is None or not self.lasting.look():
            return False
        self.clear_caches()
        return True

    def set_up(self) -> None:
        """Restore the present lasting state from now on, to which set-up fixtures belong."""
        if self.lasting is not None:
            self.lasting.accept()

    def on_grown(self, unit: Unit) -> None:
        """Drop the compiled code of a unit with more live functions, which the code lacks."""
        self.leave()
        self.end_quiet()
        unit.live.probed, unit.base = None, None
        unit.live.run(unit.live.resting)
        for number in unit.points:
            for index in self.points[number].mutants:
                self.mutants[index].code = None
        for probing in self._probings:
            probing.forget(unit)

    # ------------------------------------------------------------------ swapping

    def install(self, probing: Probing | None) -> None:
        """Run the original with these probes until the next call; None: without probes."""
        if probing is self._probing:
            return
        self.leave()
        changed = [u for p in (self._probing, probing) if p is not None for u in p.units()]
        self._probing = probing
        for unit in dict.fromkeys(changed):
            self._set_probed(unit, None if probing is None else probing.code_of(unit))

    def on_compiled(self, probing: Probing, unit: Unit, code: Code | None) -> None:
        """Use the code of a unit that ``probing`` has compiled, if ``probing`` is installed."""
        if probing is self._probing:
            self._set_probed(unit, code)

    def _set_probed(self, unit: Unit, code: Code | None) -> None:
        if unit.live.probed is not code:
            unit.live.probed = code
            if unit not in self._quiet:
                unit.live.run(unit.live.resting)

    def enter(self, mutant: PythonMutant) -> None:
        """Swap the mutant in. Raises :class:`CannotSwap`; the original is then unchanged."""
        unit = mutant.unit
        if unit is None:
            raise CannotSwap("the mutant is in code that runs at import")
        code = mutant.code
        if code is None:
            code = self._compile(unit, mutant)
        if self._entered is not None:
            self.leave()
        self._entered = unit
        self._loaded = len(self.application.table.modules)
        for function, body in code:
            function.__code__ = body
        self.clear_caches()

    def enter_base(self, mutant: PythonMutant) -> None:
        """Swap in the base of the mutant's unit: compiled like a mutant, but unmutated."""
        unit = mutant.unit
        if unit is None:
            raise CannotSwap("the mutant is in code that runs at import")
        code = self.compiler.base(unit)
        self.leave()
        self._entered = unit
        unit.live.run(code)
        self.clear_caches()

    def leave(self) -> None:
        """Restore the code that :meth:`enter` or :meth:`enter_base` replaced."""
        unit = self._entered
        if unit is None:
            return
        self._entered = None
        for function, body in unit.base if unit in self._quiet and unit.base else unit.live.resting:
            function.__code__ = body
        before, self._loaded = self._loaded, 0
        if before and len(self.application.table.modules) > before:
            # Only the mutant made the program import these modules: they are not part of it.
            self.application.unload(before)
        self.clear_caches()

    def quiet(self, units: Iterable[Unit]) -> None:
        """Run these units without coverage and probes, while many mutants run on one input."""
        self.leave()
        for unit in units:
            try:
                code = self.compiler.base(unit)
            except CannotSwap:
                continue
            self._quiet.add(unit)
            unit.live.run(code)

    def end_quiet(self) -> None:
        """End :meth:`quiet`."""
        self.leave()
        quiet, self._quiet = self._quiet, set()
        for unit in quiet:
            unit.live.run(unit.live.resting)

    def clear_caches(self) -> None:
        """Clear the ``lru_cache``\\ s around the application's functions, and restore the other
        lasting state, so that the original and mutants do not use each other's results.
        """
        for cache in self.caches:
            cache.cache_clear()
        if self.lasting is not None:
            self.lasting.put_back()

    def _compile(self, unit: Unit, mutant: PythonMutant) -> Code:
        """Compile a mutant and cache its code; drop the oldest if the cache is too large."""
        prepared = self.compiler.for_mutants(unit)
        point = prepared.points[mutant.point - unit.points[0]]
        _, change = point.changes[mutant.change]
        changed = mutated_node(change, point.node)
        code, size = self.compiler.mutant(unit, prepared, point.node, changed)
        mutant.code = code
        self._kept.append((mutant, size))
        self._kept_bytes += size
        while self._kept_bytes > self.keep_bytes and len(self._kept) > 1:
            oldest, size = self._kept.popleft()
            oldest.code = None
            self._kept_bytes -= size
        return code

    # ------------------------------------------------------------------- queries

    def units_of(self, observed: int) -> list[Unit]:
        """The units with a covered cell in an observation of the coverage map."""
        data = observed.to_bytes(self.application.coverage.size, "little")
        return [u for u in dict.fromkeys(compress(self.owners, data)) if u is not None]

    def probing(self) -> Probing:
        """A new, empty set of mutants with probes."""
        self._probings.append(Probing(self))
        return self._probings[-1]

    def diff(self, mutant: PythonMutant) -> str:
        """What runs as the mutant, as a unified diff of its file (:func:`unified_diff`)."""
        source = self.sources[mutant.module]
        tree = ast.parse(source.text.source)
        _, change, point = self.locate(tree, mutant)
        cuts = exact_cuts(source.text, tree, point, change)
        return unified_diff(source.file, source.text.source, source.text.file_after(cuts))


def reload(program: Program, target: TargetSpec, mutant: PythonMutant | None) -> Target:
    """Load the target again, with ``mutant`` in the application; None: unchanged.

    For static mutants, which are in code that runs at import and cannot be swapped in; works for
    the others too. Call this in a forked child: nothing is restored. Raises any exception of
    the import; an exception of the application is wrapped in :class:`CannotStart`.
    """
    application = program.application

    def mutate(name: str, tree: ast.Module) -> None:
        if mutant is not None and name == mutant.module:
            node, change, _ = program.locate(tree, mutant)
            Slots(tree).put(node, mutated_node(change, node))

    application.fresh = lambda name: mutant is not None and name == mutant.module
    application.on_source = mutate
    program.install(None)
    _forget_harness(target, application)
    random.seed(0)  # as at the first import
    start_over(setting_up=True)
    names = [name for name in sys.modules if application.has(name)]
    loaded = load_target(target, application, again=True)  # drops the application's modules first
    import_modules(names)  # those that no other module imports, as before the first run
    program.lasting = None
    program.remember(target)
    return loaded


def _lasting_state(application: Application, target: TargetSpec) -> LastingState:
    """A snapshot of the lasting state of the application and its harness."""
    references = [target.function, target.generator, target.compare]
    harness = {*harness_modules(target), *(r.rpartition(":")[0] for r in references)}
    return LastingState(lambda name: name in harness or application.has(name))


def _forget_harness(target: TargetSpec, application: Application) -> None:
    """Drop the modules of the harness, which refer to the application's old objects."""
    for name in harness_modules(target):
        if not application.has(name):  # else loading the target drops it
            del sys.modules[name]
