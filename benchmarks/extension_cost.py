"""What counters of an extension module cost in each trial, by their number.

Extensions of N counters are generated and compiled with clang. One function of 200 comparisons runs
a trial, the others are not called. CPU time is measured, in turn, of trials without counters, of
trials that cover what valid inputs have covered, and of trials that cover something else and are
judged.

    python benchmarks/extension_cost.py [--rounds 9] [--calls 2000] [--counters 1000,10000,100000]
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path

from lab.options import parse
from lab.rows import Rows

from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.sparse import SparseProbes
from fuzztui.engines.instrument.target import load_target
from fuzztui.engines.instrument.units import Census
from fuzztui.run.process.library import counter_library

COMPARISONS = 200
"""Comparisons in a function, each of which has two counters without optimisation."""
FUNCTION = """
static __attribute__((noinline)) long f{number}(long x) {{
  volatile long sum = 0;
{body}
  return sum;
}}"""
MODULE = """#include <Python.h>
{functions}
static PyObject *parse(PyObject *self, PyObject *data) {{
  (void)self;
  unsigned char *text = (unsigned char *)PyBytes_AS_STRING(data);
  long sum = 0;
  switch (text[0] % {count}) {{
{cases}
  }}
  return PyLong_FromLong(sum);
}}
static PyMethodDef methods[] = {{{{"parse", parse, METH_O, ""}}, {{NULL, NULL, 0, NULL}}}};
static struct PyModuleDef module = {{PyModuleDef_HEAD_INIT, "{name}", NULL, -1, methods}};
PyMODINIT_FUNC PyInit_{name}(void) {{ return PyModule_Create(&module); }}
"""


def compiled(folder: Path, counters: int) -> str:
    """Compile an extension with about so many counters; returns its name."""
    name, rng = f"counters{counters}", random.Random(counters)
    count = max(2, counters // (2 * COMPARISONS))
    functions = []
    for number in range(count):
        lines = [f"  if (x == {rng.randrange(1 << 30)}) sum += {n};" for n in range(COMPARISONS)]
        functions.append(FUNCTION.format(number=number, body="\n".join(lines)))
    cases = "\n".join(f"    case {n}: sum = f{n}(text[1]); break;" for n in range(count))
    source = folder / f"{name}.c"
    source.write_text(
        MODULE.format(functions="".join(functions), count=count, cases=cases, name=name)
    )
    include = sysconfig.get_paths()["include"]
    flags = ["-O0", "-shared", "-fPIC", "-fsanitize-coverage=inline-8bit-counters,pc-table"]
    argv = ["clang", *flags, f"-I{include}", str(source), "-o", str(folder / f"{name}.so")]
    subprocess.run(argv, check=True)
    return name


def trials(folder: Path, name: str) -> tuple[int, dict[str, Callable[[], object]]]:
    """The number of counters, and what is timed, by its name."""
    library, why = counter_library()
    spec = TargetSpec(f"{name}:parse", path=(str(folder),), include=(name,), extensions=(name,),
                      counters={"library": str(library or ""), "why": why})  # fmt: skip
    guard, coverage, table = Guard(1.0), CoverageMap(), EdgeTable()
    application = Application(spec.include, (), table, coverage, guard)
    target = load_target(spec, application)
    executor = Executor(target.function, InputForm(), (), coverage=coverage, guard=guard,
                        fixture=Fixture(folder))  # fmt: skip
    executor.fixture.loaded()
    executor.sparse = SparseProbes(application, Census(application))
    one, other = (executor.run(data).observed for data in (b"\0a", b"\1b"))
    counters = list(coverage.compiled)

    def without() -> None:
        coverage.compiled.clear()
        executor.trial(b"\0a", one)

    def covered() -> None:
        coverage.compiled[:] = counters
        executor.trial(b"\0a", one)

    def uncovered() -> bool:
        coverage.compiled[:] = counters
        return executor.trial(b"\0a", other).observed | one != one

    return coverage.size, {"without": without, "covered": covered, "uncovered": uncovered}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--counters", default="1000,10000,100000")
    args = parse(parser, "extension_cost", rounds=1, calls=10, counters="1000")
    rows = Rows("extension_cost", args.results)
    if shutil.which("clang") is None:
        sys.exit("clang is missing: it comes with afl++")
    folder = Path(tempfile.mkdtemp(prefix="extension-cost-"))
    print(f"microseconds of a trial, medians of {args.rounds} rounds of {args.calls:,}")
    print(f"{'counters':>9} {'without':>9} {'covered':>9} {'uncovered':>9}")
    try:
        for number in map(int, args.counters.split(",")):
            counters, timed = trials(folder, compiled(folder, number))
            found: dict[str, list[float]] = {kind: [] for kind in timed}
            for _ in range(args.rounds):
                for kind, run in timed.items():
                    took = timeit.timeit(run, timer=time.process_time, number=args.calls)
                    found[kind].append(took / args.calls)
            rows.add(counters=counters, seconds=found)
            shown = (f"{1e6 * statistics.median(times):9.2f}" for times in found.values())
            print(f"{counters:9,}", *shown, flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
