"""A suite from its start to its end: what runs, what is found, and what pytest says of it."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from engine_lab import Lab, events, names, stats, timeless

from fuzztui.kernel.wire.commands import WeighProperty
from fuzztui.run.supervise.command_router import append

pytestmark = pytest.mark.slow

SHOP = """\
def price(numbers):
    total = 0
    for n in numbers:
        if n == 47113:
            raise ZeroDivisionError("lucky")
        total += n
    return total


def parse(text):
    if text.startswith("fuzz"):
        return 1 // 0
    return len(text)
"""
CONFTEST = """\
import pytest


@pytest.fixture(params=[1, 2])
def factor(request):
    return request.param


@pytest.fixture
def currency(monkeypatch):
    monkeypatch.setenv("SUITE_CURRENCY", "EUR")
    yield "EUR"
"""
TESTS = """\
import os
import unittest

import pytest
import shop
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule


@given(st.lists(st.integers(0, 100000)))
def test_price(numbers):
    assert shop.price(numbers) >= 0


@given(text=st.text())
def test_parse(text):
    assert shop.parse(text) >= 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(n=st.integers())
def test_fixture(currency, n):
    assert os.environ["SUITE_CURRENCY"] == currency


@given(st.integers())
def test_without_fixture(n):
    assert "SUITE_CURRENCY" not in os.environ


@pytest.mark.parametrize("limit", [10, 300])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(n=st.integers(0, 140))
def test_limit(limit, factor, n):
    assert n * factor < limit


class TestIt:
    def setup_method(self):
        self.x = 3

    @given(st.integers())
    def test_method(self, n):
        assume(n > 0)
        assert self.x == 3


class Case(unittest.TestCase):
    def setUp(self):
        self.seen = []

    @given(st.integers())
    def test_case(self, n):
        self.seen.append(n)
        assert len(self.seen) == 1


class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.n = 0

    @rule(k=st.integers(0, 5))
    def add(self, k):
        self.n += k
        if self.n > 20:
            shop.price([47113])


TestMachine = Machine.TestCase


@pytest.mark.skip(reason="not today")
@given(st.integers())
def test_skipped(n): ...


@pytest.mark.xfail
@given(st.integers())
def test_expected(n):
    assert False


@given(st.integers())
async def test_async(n): ...


@given(st.integers())
def test_missing(nofixture, n): ...


def test_plain(): ...
"""
FILE = "tests/test_shop.py"
FAILING = {
    "test_price": "ZeroDivisionError @ shop.py:5 in price",
    "test_parse": "ZeroDivisionError @ shop.py:12 in parse",
    "test_limit[1-10]": "AssertionError",
    "test_limit[2-10]": "AssertionError",
    "TestMachine::runTest": "ZeroDivisionError @ shop.py:5 in price",
}
RUNNING = {
    *FAILING, "test_fixture", "test_without_fixture", "test_limit[1-300]", "test_limit[2-300]",
    "TestIt::test_method", "Case::test_case",
}  # fmt: skip
REASONS = {
    "test_skipped": "not today",
    "test_expected": "xfail",
    "test_async": "coroutine",
    "test_missing": "nofixture",
}


def write(root: Path) -> None:
    (root / "tests").mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '--nonsense'\n")
    (root / "shop.py").write_text(SHOP)
    (root / "tests" / "conftest.py").write_text(CONFTEST)
    (root / "tests" / "test_shop.py").write_text(TESTS)


def run(*words, cwd, code=0, **env):
    """Run a command, which ends with ``code``. Returns it, with its output."""
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False,
        env={k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"} | env,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


def fuzztui(*words, cwd, code=0):
    more = ("--python", sys.executable) if words[0] == "test" else ()
    return run(sys.executable, "-m", "fuzztui", *words, *more, cwd=cwd, code=code)


@pytest.fixture
def root(tmp_path):
    """The project."""
    write(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def lab(tmp_path, root):
    made = Lab(tmp_path / "lab")
    yield made
    made.close()


def spec(lab, instance="main", trials=6000, **keys):
    root = lab.root.parent / "project"
    target = {"suite": [str(root / "tests")], "include": ["shop"], "path": [str(root)],
              "cwd": str(root), **keys}  # fmt: skip
    return lab.spec("tests", instance, budget_trials=trials, target=target)


def ran(lab, instance="main", **keys):
    """Run the suite to its end. Returns the directory of the instance."""
    return lab.finish(spec(lab, instance, **keys))


def figures(directory):
    found = {}
    for event in events(directory, "property_figures"):
        found |= event["figures"]
    return {name.removeprefix(f"{FILE}::"): row for name, row in found.items()}


def test_what_runs_and_what_is_found(lab, root):
    examples = root / ".hypothesis" / "examples"
    main = ran(lab, examples=str(examples))
    (found,) = events(main, "properties_found")
    reasons = {name.removeprefix(f"{FILE}::"): why for name, why in found["reasons"].items()}
    assert {name for name, why in reasons.items() if not why} == RUNNING
    assert found["others"] == 1
    for name, words in REASONS.items():
        assert words in reasons[name]
    # Every property has had its turns, and all trials are some property's.
    rows = figures(main)
    assert set(rows) == RUNNING
    assert min(row["trials"] for row in rows.values()) > 50
    assert sum(row["trials"] for row in rows.values()) == 6000
    assert abs(sum(row["share"] for row in rows.values()) - 1_000_000) < 20
    # Findings of each property, also where several have the same signature.
    described = {}
    for event in events(main, "finding_described"):
        described[event["property"].removeprefix(f"{FILE}::"), event["signature"]] = event
    assert {name for name, _ in described} == set(FAILING)
    for name, signature in FAILING.items():
        assert any(n == name and s.startswith(signature) for n, s in described)
    assert len(names(main, "crashes")) == len(described)
    assert {name for name, row in rows.items() if row["findings"]} == set(FAILING)

    assert {e["file"] for e in events(main, "example_saved")} == {
        e["file"] for e in described.values()
    }

    # What was found is a failing example: with only these, pytest fails with the same errors.
    (root / "tests" / "conftest.py").write_text(
        CONFTEST + "from hypothesis import Phase, settings\n"
        "settings.register_profile('reuse', phases=[Phase.reuse])\n"
        "settings.load_profile('reuse')\n"
    )
    kept = " or ".join(name.partition("[")[0].rpartition(":")[2] for name in FAILING)
    alone = (sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider")
    done = run(*alone, "-k", kept, "tests", cwd=root, code=1, PYTHONPATH=str(root))
    lines = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    failed = {line.split()[1].removeprefix(f"{FILE}::") for line in lines}
    assert failed == set(FAILING), done.stdout


def test_runs_below_the_tests_are_left_out(lab, root):
    earlier = root / "tests" / "runs" / "earlier"
    (earlier / "log").mkdir(parents=True)
    (earlier / "supervisor" / "pkg").mkdir(parents=True)
    (earlier / "supervisor" / "pkg" / "test_own.py").write_text(TESTS)
    (found,) = events(ran(lab, trials=50), "properties_found")
    assert {name.partition("::")[0] for name in found["reasons"]} == {FILE}


@pytest.mark.parametrize("how", ["pytest.fail('no')", "pytest.skip('no')", "raise SystemExit(3)"])
def test_a_fixture_that_cannot_be_torn_down(how, lab, root):
    (root / "tests" / "test_shop.py").write_text(
        "import pytest\nfrom hypothesis import HealthCheck, given, settings, strategies as st\n"
        f"@pytest.fixture\ndef bad():\n    yield 1\n    {how}\n"
        "@settings(suppress_health_check=list(HealthCheck))\n"
        "@given(n=st.integers())\ndef test_one(bad, n): ...\n"
        "@given(n=st.integers())\ndef test_two(n): ...\n"
    )
    rows = figures(ran(lab, trials=300))
    assert rows.keys() == {"test_one", "test_two"}
    assert min(row["trials"] for row in rows.values()) > 50


def test_the_time_of_a_fixture_is_not_that_of_a_trial(lab, root):
    (root / "tests" / "test_shop.py").write_text(
        "import pytest, time\nfrom hypothesis import given, strategies as st\n"
        "@pytest.fixture(scope='module')\ndef slow():\n    end = time.process_time() + 1.5\n"
        "    while time.process_time() < end: pass\n"
        "@given(n=st.integers())\ndef test_one(slow, n):\n    assert n < 1000\n"
    )
    other = root / "tests" / "test_two.py"
    other.write_text(
        "from hypothesis import given, strategies as st\n"
        "@given(n=st.integers())\ndef test_b(n): ...\n"
    )
    file = spec(lab, trials=100, timeout_s=0.5)
    assert lab.run(file) == 0
    (crash,) = (lab.out / "main" / "crashes").glob("id:*")
    status, said = lab.repro(file, crash)
    assert status == 1
    assert "failure: AssertionError" in said


def test_the_same_seed_the_same_campaign(lab):
    for number in range(2):
        ran(lab, trials=2500).rename(lab.out.parent / f"done-{number}")
    first, second = (lab.out.parent / f"done-{number}" for number in range(2))
    assert timeless(first) == timeless(second)
    assert timeless(first, "crashes") == timeless(second, "crashes")
    trials = [{n: row["trials"] for n, row in figures(d).items()} for d in (first, second)]
    assert trials[0] == trials[1]


def test_a_continued_run_is_the_same_too(lab):
    done = []
    for other in (r"\1", r"\g<1>00"):  # measured CPU time
        file = ran(lab, trials=1500) / "events.jsonl"
        file.write_text(re.sub(r'("cpu_ms":\s*[1-9]\d*)', other, file.read_text()))
        done.append(ran(lab, trials=4500).rename(lab.out.parent / f"done-{len(done)}"))
    assert timeless(done[0]) == timeless(done[1])
    trials = [{n: row["trials"] for n, row in figures(d).items()} for d in done]
    assert trials[0] == trials[1]


def test_a_restart_continues_with_weights_and_corpora(lab):
    main = lab.out / "main"
    file = spec(lab, trials=2000)
    append(main / "control.jsonl", "c1", WeighProperty(f"{FILE}::test_fixture", 0.0))
    assert lab.run(file) == 0
    (applied,) = events(main, "command_applied")
    assert applied["id"] == "c1"
    before, queue = figures(main), names(main, "queue")
    assert before["test_fixture"]["trials"] == 0
    ran(lab, trials=4000)
    after = figures(main)
    assert after["test_fixture"]["trials"] == 0 and after["test_fixture"]["weight"] == 0
    assert sum(row["trials"] for row in after.values()) == 4000
    assert names(main, "queue")[: len(queue)] == queue
    assert int(stats(main)["corpus_count"]) == sum(row["entries"] for row in after.values())
    # A finding that is known is not saved again.
    seen = [(e["property"], e["signature"]) for e in events(main, "finding_described")]
    assert len(set(seen)) == len(names(main, "crashes"))


def test_a_file_that_cannot_be_collected_is_a_warning_once(lab, root):
    broken = root / "tests" / "test_broken.py"
    broken.write_text("import no_such_module\n")

    def warnings(instance="main"):
        return lab.messages(lab.out / instance, "warning")

    ran(lab, trials=300)
    (text,) = warnings()
    assert "tests/test_broken.py" in text and "no_such_module" in text
    ran(lab, trials=400)
    assert len(warnings()) == 1
    ran(lab, "s1", trials=300)
    assert not warnings("s1")
    (root / "tests" / "test_more.py").write_text("import none_either\n")
    ran(lab, trials=500)
    assert len(warnings()) == 2
    for name in ("test_broken.py", "test_more.py"):
        (root / "tests" / name).unlink()
    ran(lab, trials=600)
    assert len(warnings()) == 2


def test_instances_exchange_entries_and_a_test_may_be_gone(lab, root):
    ran(lab, trials=3000)
    tests = root / "tests" / "test_shop.py"
    tests.write_text(TESTS.replace("def test_price", "def test_renamed"))
    ran(lab, "s1", trials=3000)
    assert any("sync:main" in name for name in names(lab.out / "s1", "queue"))
    assert "test_price" not in figures(lab.out / "s1")
    ran(lab, trials=3500)  # its own entries of the test that is gone


def test_functions_beside_tests(lab, root):
    parts = [str(root / "tests" / "test_shop.py::test_parse"), "shop:parse"]
    (root / "raw.py").write_text("def raw(data: bytes):\n    assert data[:2] != b'\\xff\\xff'\n")
    parts.append(str(root / "raw.py") + ":raw")
    parts.append("shop:parse")  # once more: still one property
    rows = figures(ran(lab, trials=3000, suite=parts))
    assert set(rows) == {"test_parse", "shop:parse", "raw.py:raw"}
    assert sum(row["trials"] for row in rows.values()) == 3000


@pytest.mark.parametrize(
    ("suite", "words"),
    [
        ("tests/test_shop.py::test_plain", "no test with @given"),
        ("tests/test_shop.py::test_skipped", "not today"),
        ("tests/test_shop.py::test_none", "test_none"),
    ],
)
def test_nothing_to_run(lab, suite, words, root):
    file = spec(lab, suite=[str(root / suite)])
    assert lab.run(file) == 3
    assert words in (lab.out / "main" / "worker.log").read_text()


def test_the_command_refuses_tests_that_cannot_be_run(tmp_path):
    write(tmp_path)
    for name, source in (("plain", "def test_a(): ..."), ("broken", "def test_a(:")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "test_it.py").write_text(source)
    for name, words in (("plain", "1 other test"), ("broken", "SyntaxError")):
        done = fuzztui("test", name, "--detach", cwd=tmp_path, code=2)
        assert f"{name}: target.function: no test with @given" in done.stderr
        assert words in done.stderr
    assert not (tmp_path / "runs").exists()


def test_the_command_for_a_project(tmp_path):
    project = tmp_path / "shop"
    write(project)
    fuzztui("test", "tests", "--headless", "--budget", "4000", cwd=project, code=10)
    status = json.loads(fuzztui("status", "--json", cwd=project).stdout)
    rows = {r["name"].removeprefix(f"{FILE}::"): r for r in status["properties"]}
    assert {name for name, row in rows.items() if row["state"] == "failed"} == set(FAILING)
    assert {name for name, row in rows.items() if row["state"] == "not run"} == set(REASONS)
    assert rows["test_parse"]["signatures"] == [FAILING["test_parse"]]
    examples = project / ".hypothesis" / "examples"
    assert list(examples.iterdir())
    lines = fuzztui("status", cwd=project).stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("add tests")]
    assert shlex.quote(str(project)) in line
    assert any(line.startswith("pytest ") for line in lines)
    patch = fuzztui("test", "--write-examples", cwd=project)
    assert "TestMachine::runTest: no @example" in patch.stderr
    (tmp_path / "patch").write_text(patch.stdout)
    run("git", "apply", tmp_path / "patch", cwd=project)
    source = (project / "tests" / "test_shop.py").read_text()
    assert "@example(text='fuzz" in source and "from hypothesis import example\n" in source
    place = project / "runs" / "shop-tests"
    crash = next(place.glob("out/main/crashes/id:*"))
    shown = fuzztui("repro", place, crash, cwd=tmp_path, code=10)
    assert "input: test_shop.py::" in shown.stdout

    # A minimised finding replaces the longer one: in Hypothesis' database, and in the patch.
    before = set(examples.rglob("*"))
    found = events(place / "out" / "main", "finding_described")
    price, *_ = (
        e["file"]
        for e in found
        if e["category"] == "crash" and e["property"].endswith("::test_price")
    )
    fuzztui("minimise", place, f"main/{price}", cwd=project)
    assert set(examples.rglob("*")) - before
    again = fuzztui("test", "tests", "--write-examples", cwd=project)
    assert "\n+@example(numbers=[47113])\n" in again.stdout


FRESH = """\
import remainders
from hypothesis import Phase, given, settings
from hypothesis import strategies as st


@settings(phases=[Phase.reuse])
@given(st.integers(1, 100_000))
def test_remainder(n):
    remainders.check(n)


@settings(phases=[Phase.reuse])
@given(st.lists(st.integers(0, 1000), min_size=3), st.text())
def test_sum(numbers, text):
    remainders.check(sum(numbers) + len(text))
"""


def test_the_saved_examples_are_those_of_the_findings(tmp_path):
    """Findings by fresh inputs: the generator draws beyond the bytes that the engine has given."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_fresh.py").write_text(FRESH)
    (tmp_path / "remainders.py").write_text(
        "def check(n):\n    if n % 97 == 5:\n        raise KeyError(n)\n"
    )
    fuzztui("test", "tests", "--headless", "--budget", "3000", cwd=tmp_path, code=10)
    alone = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    done = run(*alone, cwd=tmp_path, code=1, PYTHONPATH=str(tmp_path))
    assert "2 failed" in done.stdout, "only saved examples are run"


@pytest.mark.parametrize("plugin", ["asyncio", "anyio"])
def test_coroutines_run_as_the_plugin_of_the_project_runs_them(lab, plugin, root):
    pytest.importorskip(f"pytest_{plugin}" if plugin == "asyncio" else plugin)
    fixture = "pytest_asyncio.fixture" if plugin == "asyncio" else "pytest.fixture"
    (root / "tests" / "test_shop.py").write_text(f"""\
import asyncio, pytest, shop
from hypothesis import given, strategies as st
{"import pytest_asyncio" if plugin == "asyncio" else ""}

@{fixture}
async def loop():
    return asyncio.get_running_loop()

@pytest.mark.{plugin}
@given(st.text())
async def test_parse(loop, text):
    await asyncio.sleep(0)
    {"assert asyncio.get_running_loop() is loop" if plugin == "asyncio" else ""}
    shop.parse(text)

class TestIt:
    @pytest.mark.{plugin}
    @given(n=st.integers())
    async def test_method(self, n):
        await asyncio.sleep(0)
""")
    main = ran(lab)
    (found,) = events(main, "properties_found")
    assert {name.rpartition("::")[2]: why for name, why in found["reasons"].items()} == {
        "test_parse": "", "test_method": "",
    }  # fmt: skip
    described = events(main, "finding_described")
    assert {e["signature"][:39] for e in described} == {"ZeroDivisionError @ shop.py:12 in parse"}
