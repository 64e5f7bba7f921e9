"""Instrumented code is the same program, on every Python that is here."""

import ast
import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from interpreters import pythons

import fuzztui
from fuzztui.engines.instrument.edges import BUCKETS, CoverageMap, Edge, EdgeTable, ModuleEdges
from fuzztui.engines.instrument.guard import Guard, TrialTimeout
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.instrument import Instrumenter
from fuzztui.engines.instrument.markers import compile_with

HERE = Path(__file__).parent
OTHERS = pythons(11, 12, 13)
PYTHONS = [sys.executable, *(pytest.param(p, marks=pytest.mark.slow) for p in OTHERS)]


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS, ids=str)
def test_same_program(python: Path, tmp_path: Path) -> None:
    """Constructs, libraries, tracebacks with columns: no difference in any mode."""
    libraries = Path(yaml.__file__).parent.parent
    package = Path(fuzztui.__file__).parent.parent
    done = subprocess.run(
        [str(python), str(HERE / "semantics_check.py"), str(tmp_path), str(libraries)],
        env=os.environ | {"PYTHONPATH": str(package), "PYTHONHASHSEED": "0"},
        capture_output=True,
        check=False,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for mode, found in json.loads(done.stdout).items():
        assert found["different"] == [], (mode, found["different"])
        assert found["compared"] > 500
        assert found["covered"] > (400 if mode == "sparse" else 900)


def load(
    source: str, mode: str = "edges", **names: object
) -> tuple[ModuleType, CoverageMap, Guard]:
    """A module from instrumented source."""
    coverage, guard = CoverageMap(mode), Guard(0.2)  # type: ignore[arg-type]
    application = Application([], [], EdgeTable(), coverage, guard)
    module = ModuleType("m")
    module.__dict__.update(names)
    exec(application.compile("m", "m.py", source.encode()), module.__dict__)
    return module, coverage, guard


def arms(source: str, call: str) -> set[tuple[int, str]]:
    """Line and kind of the cells that ``call`` covers."""
    table = EdgeTable()
    coverage, guard = CoverageMap(), Guard(1.0)
    code = Application([], [], table, coverage, guard).compile("m", "m.py", source.encode())
    names: dict[str, object] = {}
    exec(code, names)
    coverage.clear()
    with contextlib.suppress(ZeroDivisionError):
        eval(call, names)
    observed = coverage.collect()
    (module,) = table.modules.values()
    return {
        (edge.line, edge.kind)
        for i, edge in enumerate(module.edges)
        if observed >> (8 * (module.base + i)) & 1
    }


BRANCHES = """
def f(n):
    a = 0
    if n > 1: a = 1
    for i in range(n):
        a; (lambda: 0)
        if i == 3: break
    b = 1 if n else 2
    c = n > 2 and n < 5 or n == 9
    match n:
        case 7:
            a = 2
    try:
        1 / (n - 4)
    except ZeroDivisionError:
        raise
    else:
        a = 3
    return [x for x in range(n) if x > 5], (lambda: n)()
"""


@pytest.mark.parametrize(
    ("n", "expected", "absent"),
    [
        (0, {(3, "entry"), (4, "else"), (5, "exit"), (8, "else"), (9, "or"), (10, "no-case")},
         {(9, "and"), (6, "loop"), (19, "kept")}),
        (4, {(4, "then"), (6, "loop"), (7, "else"), (7, "then"), (9, "and"), (8, "then"),
             (16, "except")}, {(5, "exit"), (18, "no-except"), (19, "lambda")}),
        (7, {(12, "case"), (18, "no-except"), (19, "kept"), (19, "lambda")}, {(10, "no-case")}),
    ],
)  # fmt: skip
def test_arms(n: int, expected: set[tuple[int, str]], absent: set[tuple[int, str]]) -> None:
    found = arms(BRANCHES, f"f({n})")
    assert expected <= found, expected - found
    assert not absent & found


def test_blocks_that_an_if_opens_have_no_cell_of_their_own() -> None:
    source = "def f(a):\n    if a: return 1\n    elif g(a):\n        if a.b == 3 and not a: pass\n"
    instrumenter = Instrumenter(0)
    instrumenter.visit(ast.parse(source))
    # g(a) may raise: reaching it is told by the else arm's own cell.
    assert [e.kind for e in instrumenter.edges] == ["then", "else", "and", "then", "else", "else"]


def test_import_time_code_has_no_cells() -> None:
    source = "x = 1 if 2 else 3\nfor i in range(3):\n    if i: pass\nclass C:\n    if x: y = 1\n"
    instrumenter = Instrumenter(0)
    instrumenter.visit(ast.parse(source))
    assert instrumenter.edges == []


def test_names_of_the_program_are_untouched() -> None:
    module, _, _ = load("def f(n):\n    while n: n -= 1\n    return n\n")
    assert set(module.__dict__) - set(ModuleType("m").__dict__) == {"f", "__builtins__"}
    assert hash(module.f.__code__) == hash(module.f.__code__)
    assert module.f.__code__.co_firstlineno == 1


@pytest.mark.parametrize(
    "loop",
    [
        "while True: pass",
        "while n >= 0: n += 1",
        "for i in range(10**18): n = i",
        "for i in itertools.count(): n = i",
        "while True: locals()",
    ],
)
def test_fuel_ends_loops_at_the_same_turn(loop: str) -> None:
    """The guard's clock is not even armed here."""
    turns = []
    for _ in range(2):
        module, _, guard = load(f"def f(n):\n    {loop}\n    return n\n", itertools=itertools)
        guard.start()
        guard._left = 2000
        with pytest.raises(TrialTimeout):
            module.f(0)
        assert guard.expired
        turns.append(guard._left)
    assert turns[0] == turns[1]


def test_swallowed_timeout_comes_again() -> None:
    source = """
def f():
    caught = 0
    for _ in (1, 2, 3):
        try:
            while True: pass
        except BaseException:
            caught += 1
    return caught
"""
    module, _, guard = load(source)
    guard.start()
    assert module.f() == 3
    assert guard.expired


def test_finite_loops_have_fuel_enough() -> None:
    module, _, guard = load("def f(n):\n    while n: n -= 1\n    return n\n")
    guard.start()
    assert module.f(1_000_000) == 0
    assert not guard.expired


def test_clock_interrupts_foreign_code() -> None:
    guard = Guard(0.2)
    guard.arm()
    guard.start()
    try:
        with pytest.raises(TrialTimeout):
            while True:
                time.sleep(0.001)
    finally:
        guard.stop()
        guard.disarm()
    assert guard.expired
    assert guard.where[-1][0].co_name == "test_clock_interrupts_foreign_code"


def test_counts_fall_into_afl_classes() -> None:
    source = "def f(n):\n    while n:\n        n -= 1\n"
    module, coverage, _ = load(source, "counts")
    for n, bucket in [(1, 1), (2, 2), (3, 4), (4, 8), (8, 16), (16, 32), (33, 64), (500, 128)]:
        coverage.clear()
        module.f(n)
        assert coverage.collect() >> 8 & 0xFF == bucket


def test_buckets_are_one_bit() -> None:
    assert all(bin(b).count("1") == 1 for b in BUCKETS[1:])
    assert list(BUCKETS) == sorted(BUCKETS)


@given(st.lists(st.lists(st.integers(0, 63), max_size=20), max_size=5))
def test_map_observes_exactly_what_was_hit(runs: list[list[int]]) -> None:
    coverage = CoverageMap()
    coverage.grow(64)
    for cells in runs:
        coverage.clear()
        for k in cells:
            if k % 2:
                coverage.cells[k] = 1
            else:
                coverage.arms.add(k)
        observed = coverage.collect()
        assert {k for k in range(64) if observed >> 8 * k & 1} == set(cells)
        assert coverage.count(observed) == len(set(cells))


def test_map_grows_while_running() -> None:
    """A module imported by the first input that needs it."""
    coverage = CoverageMap()
    coverage.grow(2)
    coverage.clear()
    coverage.cells[1] = 1
    coverage.grow(5)
    coverage.cells[4] = 1
    assert coverage.count(coverage.collect()) == 2
    coverage.clear()
    assert coverage.collect() == 0


def test_cells_keep_their_numbers(tmp_path: Path) -> None:
    """Whatever the order of imports, and when a source changes."""
    file = tmp_path / "edges.json"

    def write(path: Path, data: bytes) -> None:
        path.write_bytes(data)

    a = ModuleEdges("a", "a.py", "1", 0, (Edge("f", 1, "entry"),) * 3)
    first = EdgeTable(file)
    first.add(a)
    first.add(ModuleEdges("b", "b.py", "1", first.base("b", "1"), (Edge("g", 1, "entry"),) * 2))
    first.save(write)
    second = EdgeTable(file)
    assert second.base("b", "1") == 3
    assert second.base("a", "1") == 0
    assert second.base("a", "2") == 5
    second.add(ModuleEdges("a", "a.py", "2", 5, (Edge("f", 1, "entry"),)))
    assert second.reachable == 1
    second.save(write)
    assert EdgeTable(file).base("c", "1") == 6
    file.write_bytes(b'{"modules": [{"name": ')
    assert EdgeTable(file).base("b", "1") == 0


def test_deeply_nested_source_is_loaded_plainly() -> None:
    depth = 600
    source = "def f(x):\n    return " + "-" * depth + "x\n"
    old = sys.getrecursionlimit()
    application = Application([], [], EdgeTable(), CoverageMap(), Guard(1.0))
    sys.setrecursionlimit(400)
    try:
        code = application.compile("m", "m.py", source.encode())
    finally:
        sys.setrecursionlimit(old)
    names: dict[str, object] = {}
    exec(code, names)
    assert names["f"](3) == 3  # type: ignore[operator]
    assert application.plain == ["m"]


def test_markers_do_not_leak() -> None:
    tree = ast.parse("def f(z):\n    return z == 3j or z == 0j\n")
    Instrumenter(0).visit(tree)
    code = compile_with(
        tree,
        "m.py",
        {"cells": bytearray(9), "arm": set().add, "fuel": int, "tick": int, "next": b""},
    )
    names: dict[str, object] = {}
    exec(code, names)
    assert names["f"](3j)  # type: ignore[operator]
    assert not names["f"](2j)  # type: ignore[operator]
