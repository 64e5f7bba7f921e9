"""Pruning on real libraries: what is not infected cannot be killed; probes change nothing."""

import importlib
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest

from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.mutants.operators import OPERATORS
from fuzztui.engines.mutants.program import CannotSwap, Program

LIBRARIES: dict[str, tuple[str, str, Callable[[Any, str], object]]] = {
    "tomllib": (
        "tomllib",
        'a = [1, -2.5, "x"]\n[t.u]\nk = {b = true}\nd = 1979-05-27T07:32:00Z\n'
        '[[n]]\ne = """\ny"""\n',
        lambda m, text: m.loads(text),
    ),
    "yaml": (
        "yaml",
        "a: [1, {b: c}]\nd: !!int '3'\ne: |\n  text\n- x: &q 1\n",
        lambda m, text: m.safe_load(text),
    ),
    "pycparser": (
        "pycparser.c_parser",
        "int f(int a, char *b) { return a < 3 ? -1 : b[2]; }",
        lambda m, text: [str(n[1].coord) for n in m.CParser().parse(text).children()],
    ),
    "tinycss2": (
        "tinycss2",
        "a > b{color:red;x:url(y)}@media print{p{w:calc(1px + 2%)}}",
        lambda m, text: [n.serialize() for n in m.parse_stylesheet(text)],
    ),
}


def inputs(seed: str, count: int) -> list[str]:
    rng = random.Random(1)
    found = [seed, ""]
    for _ in range(count):
        chars = list(seed)
        for _ in range(rng.randrange(1, 6)):
            chars[rng.randrange(len(chars))] = rng.choice(seed + "\0{}[]\"'\n -")
        found.append("".join(chars))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_pruned_mutants_do_as_the_program_does(name: str) -> None:
    module_name, seed, call = LIBRARIES[name]
    coverage, guard = CoverageMap(), Guard(2.0)
    application = Application([name], [], EdgeTable(), coverage, guard)
    program = Program(application, [o.name for o in OPERATORS])
    kept = dict(sys.modules)
    application.install()
    try:
        module = importlib.import_module(module_name)
        program.scan()
        probing = program.probing()
        probing.want(range(len(program.mutants)))
        probing.cover(program.units)

        def run(text: str) -> tuple[str, int]:
            coverage.clear()
            guard.start()
            try:
                seen = repr(call(module, text))
            except Exception as e:
                seen = f"{type(e).__name__}: {e}"
            finally:
                guard.stop()
            return seen, coverage.collect()

        pruned = compared = 0
        for text in inputs(seed, 12):
            program.clear_caches()
            plain = run(text)
            program.install(probing)
            probing.clear()
            assert run(text) == plain
            reached, infected = set(probing.reached()), set(probing.infected())
            program.install(None)
            units = {id(u) for u in program.units_of(plain[1])}
            assert {id(program.mutants[i].unit) for i in reached} <= units
            for mutant in program.mutants:
                if mutant.static or mutant.index in infected or id(mutant.unit) not in units:
                    continue
                pruned += mutant.index in reached
                compared += 1
                try:
                    program.enter(mutant)
                except CannotSwap:
                    continue
                got = run(text)[0]
                program.leave()
                assert got == plain[0], (text, mutant.id)
        assert pruned > 10
        assert compared > 500
    finally:
        sys.meta_path.remove(application)  # type: ignore[arg-type]
        for key in [k for k in sys.modules if k not in kept or application.has(k)]:
            del sys.modules[key]
        sys.modules.update({k: m for k, m in kept.items() if application.has(k)})
