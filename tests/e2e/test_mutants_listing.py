"""``python -m fuzztui.engines SPEC --mutants`` and mutants that need the import."""

import json
import subprocess
from typing import Any

import pytest
from engine_lab import Lab
from waiting import DEADLINE_S

PROGRAM = """
import functools
print("hello from the import")
LIMIT = 2 * 5
class Shape:
    sides = 3 + 1
    def area(self, n=1 + 1): return n * n
def helper(n): return n < LIMIT
"""


@pytest.mark.slow
def test_list_and_diff(lab: Lab) -> None:
    lab.write("prog/__init__.py", "")
    lab.write("prog/core.py", PROGRAM)
    harness = lab.write("harness.py", "import prog.core\ndef target(data: bytes): pass\n")
    spec = lab.spec(f"{harness}:target", target={"include": ["prog"]})
    done = lab.ask(spec, "--mutants")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)  # what the target prints is not among it
    assert "hello" in done.stderr
    assert answer["warnings"] == []
    found = {m["id"]: m for m in answer["mutants"]}
    assert {key for key, m in found.items() if m["static"]} == {
        "prog.core:LIMIT:math:0://",
        "prog.core:Shape.sides:math:0:-",
        "prog.core:Shape.area.<header>:math:0:-",
    }
    helper = found["prog.core:helper:boundary:0:<="]
    assert helper == {
        **{"id": "prog.core:helper:boundary:0:<=", "module": "prog.core"},
        **{"file": "prog/core.py", "path": str(lab.src / "prog/core.py"), "line": 8},
        **{"column": 23, "end_line": 8, "end_column": 32},
        **{"function": "helper", "operator": "boundary", "static": False},
        **{"before": "n < LIMIT", "after": "n <= LIMIT", "hash": helper["hash"]},
    }
    assert len(helper["hash"]) == 12
    done = lab.ask(spec, "--mutants", "--diff", helper["id"])
    assert json.loads(done.stdout)["diff"].splitlines()[-2:] == [
        "-def helper(n): return n < LIMIT",
        "+def helper(n): return n <= LIMIT",
    ]


@pytest.mark.slow
def test_mutants_of_some_functions_keep_their_ids_and_diffs(lab: Lab) -> None:
    lab.write("prog/__init__.py", "")
    lab.write("prog/core.py", PROGRAM)
    lab.write("prog/other.py", "def helper(n): return n < 2\ndef helper_2(n): return n < 2\n")
    harness = lab.write(
        "harness.py", "import prog.core, prog.other\ndef target(data: bytes): pass\n"
    )

    def listed(*mutate: str) -> dict[str, Any]:
        more = {"kind": "mu2", "mutate": list(mutate)}
        spec = lab.spec(f"{harness}:target", target={"include": ["prog"]}, engine=more)
        return {m["id"]: m for m in json.loads(lab.ask(spec, "--mutants").stdout)["mutants"]}

    every = listed()
    some = listed("prog.core:Shape", "prog.other:helper")
    assert {(m["module"], m["function"]) for m in some.values()} == {
        ("prog.core", "Shape"), ("prog.core", "Shape.area"), ("prog.other", "helper"),
    }  # fmt: skip
    assert some.items() <= every.items()
    assert listed("prog.other") == {k: m for k, m in every.items() if "other" in k}
    assert listed("prog.core:nothing") == {}
    spec = lab.spec(
        f"{harness}:target",
        target={"include": ["prog"]},
        engine={"kind": "mu2", "mutate": ["prog.other:helper_2"]},
    )
    done = lab.ask(spec, "--mutants", "--diff", "prog.other:helper_2:boundary:0:<=")
    assert json.loads(done.stdout)["diff"].endswith("+def helper_2(n): return n <= 2\n")


@pytest.mark.slow
def test_options(lab: Lab) -> None:
    lab.write("prog/__init__.py", "def f(a):\n    g(a)\n    return a + 1\n")
    lab.write("prog/core.py", PROGRAM)
    engine = {"kind": "mu2", "operators": ["void-call", "math"], "mutate": ["prog.core"]}
    spec = lab.spec("prog.core:helper", engine=engine)
    ids = {
        m["id"].rpartition(":")[0] for m in json.loads(lab.ask(spec, "--mutants").stdout)["mutants"]
    }
    assert [i for i in ids if ":void-call:" in i and i.startswith("prog.core:expr-")]
    assert len(ids) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "arguments", "words"),
    [
        ({"operators": ["mathematics"]}, [], 'engine.operators: "mathematics" is not an operator'),
        ({}, ["--diff", "no:such:one"], 'there is no mutant "no:such:one"'),
    ],
)
def test_refusals(lab: Lab, engine: dict[str, Any], arguments: list[str], words: str) -> None:
    lab.write("prog.py", "def f(a): return a + 1\n")
    done = lab.ask(lab.spec("prog:f", engine={"kind": "mu2", **engine}), "--mutants", *arguments)
    assert done.returncode == 3
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


REIMPORT = """
import json, os, sys
from pathlib import Path
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.instrument.target import load_target
from fuzztui.engines.mutants.operators import DEFAULT_OPERATORS
from fuzztui.engines.mutants.program import Program
from fuzztui.engines.mutants.program import reload

spec = read_spec(Path(sys.argv[1]))
guard = Guard(1.0)
application = Application(spec.target.include, (), EdgeTable(), CoverageMap(), guard)
program = Program(application, DEFAULT_OPERATORS)
target = load_target(spec.target, application)
program.scan()
print(json.dumps(["original", target.function(b"")]), flush=True)
for mutant in program.mutants:
    if os.fork() == 0:
        try:
            found = reload(program, spec.target, mutant).function(b"")
        except CannotStart as e:
            found = str(e)
        print(json.dumps([mutant.id, found]), flush=True)
        os._exit(0)
    os.wait()
print(json.dumps(["after", target.function(b"")]), flush=True)
"""


def test_reload_imports_the_application_with_a_mutant_in_it(lab: Lab) -> None:
    """Also what cannot be swapped, and a harness that holds objects of the application."""
    lab.write("prog/__init__.py", "from prog.core import LIMIT, Shape\n")
    lab.write("prog/core.py", PROGRAM.replace("hello", "").replace("print", "str"))
    lab.write("prog/bad.py", "TABLE = [1, 2]\nVALUE = TABLE[-2 + 1]\nassert VALUE == 2\n")
    harness = lab.write(
        "harness.py",
        "from prog import LIMIT, Shape\nfrom prog.core import helper\nimport prog.bad\n"
        "def target(data): return LIMIT, Shape.sides, Shape().area(), helper(9)\n",
    )
    spec = lab.spec(f"{harness}:target", target={"include": ["prog"]})
    script = lab.write("script.py", REIMPORT)
    argv = [lab.python, str(script), str(spec)]
    said = subprocess.check_output(argv, env=lab.env, text=True, timeout=DEADLINE_S)
    found = dict(json.loads(line) for line in said.splitlines())
    assert found["original"] == found["after"] == [10, 4, 4, True]
    assert found["prog.core:LIMIT:math:0://"] == [0, 4, 4, False]
    assert found["prog.core:Shape.sides:math:0:-"] == [10, 2, 4, True]
    assert found["prog.core:Shape.area.<header>:math:0:-"] == [10, 4, 0, True]
    assert found["prog.core:Shape.area:math:0://"] == [10, 4, 1, True]
    assert found["prog.core:helper:negate:0:>="] == [10, 4, 4, False]
    assert "importing it raised IndexError" in found["prog.bad:VALUE:math:0:-"]
