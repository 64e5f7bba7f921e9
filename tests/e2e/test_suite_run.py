"""A suite from its start to its end: what runs, what is found, and what pytest says of it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from engine_lab import Lab, events, names, stats, timeless

from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import WeighProperty

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


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path / "lab")
    write(tmp_path / "project")
    yield made
    made.close()


def spec(lab, instance="main", trials=6000, **keys):
    root = lab.root.parent / "project"
    target = {"suite": [str(root / "tests")], "include": ["shop"], "path": [str(root)],
              "cwd": str(root), **keys}  # fmt: skip
    return lab.spec("tests", instance, budget_trials=trials, target=target)


def figures(directory):
    found = {}
    for event in events(directory, "property_figures"):
        found |= event["figures"]
    return {name.removeprefix(f"{FILE}::"): row for name, row in found.items()}


def test_what_runs_and_what_is_found(lab):
    examples = lab.root.parent / "project" / ".hypothesis" / "examples"
    file = spec(lab, examples=str(examples))
    assert lab.run(file) == 0
    main = lab.out / "main"
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
    root = lab.root.parent / "project"
    (root / "tests" / "conftest.py").write_text(
        CONFTEST + "from hypothesis import Phase, settings\n"
        "settings.register_profile('reuse', phases=[Phase.reuse])\n"
        "settings.load_profile('reuse')\n"
    )
    kept = " or ".join(name.partition("[")[0].rpartition(":")[2] for name in FAILING)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider",
         "-k", kept, "tests"],
        cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    failed = {line.split()[1].removeprefix(f"{FILE}::") for line in lines}
    assert failed == set(FAILING), done.stdout


def test_runs_below_the_tests_are_left_out(lab):
    run = lab.root.parent / "project" / "tests" / "runs" / "earlier"
    (run / "log").mkdir(parents=True)
    (run / "supervisor" / "pkg").mkdir(parents=True)
    (run / "supervisor" / "pkg" / "test_own.py").write_text(TESTS)
    assert lab.run(spec(lab, trials=50)) == 0
    (found,) = events(lab.out / "main", "properties_found")
    assert {name.partition("::")[0] for name in found["reasons"]} == {FILE}


@pytest.mark.parametrize("how", ["pytest.fail('no')", "pytest.skip('no')", "raise SystemExit(3)"])
def test_a_fixture_that_cannot_be_torn_down(how, lab):
    (lab.root.parent / "project" / "tests" / "test_shop.py").write_text(
        "import pytest\nfrom hypothesis import HealthCheck, given, settings, strategies as st\n"
        f"@pytest.fixture\ndef bad():\n    yield 1\n    {how}\n"
        "@settings(suppress_health_check=list(HealthCheck))\n"
        "@given(n=st.integers())\ndef test_one(bad, n): ...\n"
        "@given(n=st.integers())\ndef test_two(n): ...\n"
    )
    assert lab.run(spec(lab, trials=300)) == 0
    rows = figures(lab.out / "main")
    assert rows.keys() == {"test_one", "test_two"}
    assert min(row["trials"] for row in rows.values()) > 50


def test_the_time_of_a_fixture_is_not_that_of_a_trial(lab):
    (lab.root.parent / "project" / "tests" / "test_shop.py").write_text(
        "import pytest, time\nfrom hypothesis import given, strategies as st\n"
        "@pytest.fixture(scope='module')\ndef slow():\n    end = time.process_time() + 1.5\n"
        "    while time.process_time() < end: pass\n"
        "@given(n=st.integers())\ndef test_one(slow, n):\n    assert n < 1000\n"
    )
    other = lab.root.parent / "project" / "tests" / "test_two.py"
    other.write_text(
        "from hypothesis import given, strategies as st\n"
        "@given(n=st.integers())\ndef test_b(n): ...\n"
    )
    file = spec(lab, trials=100, timeout_s=0.5)
    assert lab.run(file) == 0
    (crash,) = (lab.out / "main" / "crashes").glob("id:*")
    shown = subprocess.run(
        [lab.python, "-P", "-m", "fuzztui.engines", str(file), "--repro", str(crash)],
        env=lab.env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert shown.returncode == 1
    assert "failure: AssertionError" in shown.stdout


def test_the_same_seed_the_same_campaign(lab):
    for _ in range(2):
        assert lab.run(spec(lab, trials=2500)) == 0
        (lab.out / "main").rename(lab.out.parent / f"done-{len(list(lab.out.parent.iterdir()))}")
    first, second = sorted(lab.out.parent.glob("done-*"))
    assert timeless(first) == timeless(second)
    assert timeless(first, "crashes") == timeless(second, "crashes")
    trials = [{n: row["trials"] for n, row in figures(d).items()} for d in (first, second)]
    assert trials[0] == trials[1]


def test_a_continued_run_is_the_same_too(lab):
    done = []
    for other in (r"\1", r"\g<1>00"):  # measured CPU time
        assert lab.run(spec(lab, trials=1500)) == 0
        file = lab.out / "main" / "events.jsonl"
        file.write_text(re.sub(r'("cpu_ms":\s*[1-9]\d*)', other, file.read_text()))
        assert lab.run(spec(lab, trials=4500)) == 0
        done.append((lab.out / "main").rename(lab.out.parent / f"done-{len(done)}"))
    assert timeless(done[0]) == timeless(done[1])
    trials = [{n: row["trials"] for n, row in figures(d).items()} for d in done]
    assert trials[0] == trials[1]


def test_a_restart_continues_with_weights_and_corpora(lab):
    main = lab.out / "main"
    file = spec(lab, trials=2000)
    asked = WeighProperty(f"{FILE}::test_fixture", 0.0)
    line = json.dumps({"id": "c1", "command": encode_command(asked)})
    (main / "control.jsonl").write_text(line + "\n")
    assert lab.run(file) == 0
    (applied,) = events(main, "command_applied")
    assert applied["id"] == "c1"
    before, queue = figures(main), names(main, "queue")
    assert before["test_fixture"]["trials"] == 0
    assert lab.run(spec(lab, trials=4000)) == 0
    after = figures(main)
    assert after["test_fixture"]["trials"] == 0 and after["test_fixture"]["weight"] == 0
    assert sum(row["trials"] for row in after.values()) == 4000
    assert names(main, "queue")[: len(queue)] == queue
    assert int(stats(main)["corpus_count"]) == sum(row["entries"] for row in after.values())
    # A finding that is known is not saved again.
    seen = [(e["property"], e["signature"]) for e in events(main, "finding_described")]
    assert len(set(seen)) == len(names(main, "crashes"))


def test_a_file_that_cannot_be_collected_is_a_warning_once(lab):
    root = lab.root.parent / "project"
    broken = root / "tests" / "test_broken.py"
    broken.write_text("import no_such_module\n")

    def warnings(instance="main"):
        return [e["text"] for e in events(lab.out / instance, "message") if e["level"] == "warning"]

    assert lab.run(spec(lab, trials=300)) == 0
    (text,) = warnings()
    assert "tests/test_broken.py" in text and "no_such_module" in text
    assert lab.run(spec(lab, trials=400)) == 0
    assert len(warnings()) == 1
    assert lab.run(spec(lab, "s1", trials=300)) == 0
    assert not warnings("s1")
    (root / "tests" / "test_more.py").write_text("import none_either\n")
    assert lab.run(spec(lab, trials=500)) == 0
    assert len(warnings()) == 2
    for name in ("test_broken.py", "test_more.py"):
        (root / "tests" / name).unlink()
    assert lab.run(spec(lab, trials=600)) == 0
    assert len(warnings()) == 2


def test_instances_exchange_entries_and_a_test_may_be_gone(lab):
    assert lab.run(spec(lab, trials=3000)) == 0
    tests = lab.root.parent / "project" / "tests" / "test_shop.py"
    tests.write_text(TESTS.replace("def test_price", "def test_renamed"))
    assert lab.run(spec(lab, "s1", trials=3000)) == 0
    assert any("sync:main" in name for name in names(lab.out / "s1", "queue"))
    assert "test_price" not in figures(lab.out / "s1")
    assert lab.run(spec(lab, trials=3500)) == 0  # its own entries of the test that is gone


def test_functions_beside_tests(lab):
    root = lab.root.parent / "project"
    parts = [str(root / "tests" / "test_shop.py::test_parse"), "shop:parse"]
    (root / "raw.py").write_text("def raw(data: bytes):\n    assert data[:2] != b'\\xff\\xff'\n")
    parts.append(str(root / "raw.py") + ":raw")
    parts.append("shop:parse")  # once more: still one property
    assert lab.run(spec(lab, trials=3000, suite=parts)) == 0
    rows = figures(lab.out / "main")
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
def test_nothing_to_run(lab, suite, words):
    file = spec(lab, suite=[str(lab.root.parent / "project" / suite)])
    assert lab.run(file) == 3
    assert words in (lab.out / "main" / "worker.log").read_text()


def test_the_command_refuses_tests_that_cannot_be_run(tmp_path):
    write(tmp_path)
    for name, source in (("plain", "def test_a(): ..."), ("broken", "def test_a(:")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "test_it.py").write_text(source)
    for name, words in (("plain", "1 other test"), ("broken", "SyntaxError")):
        done = subprocess.run(
            [sys.executable, "-m", "fuzztui", "test", name, "--detach", "--python", sys.executable],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert f"{name}: target.function: no test with @given" in done.stderr
        assert words in done.stderr
    assert not (tmp_path / "runs").exists()


def test_the_command_for_a_project(tmp_path):
    project = tmp_path / "shop"
    write(project)
    fuzztui = [sys.executable, "-m", "fuzztui"]
    env = {k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"}
    done = subprocess.run(
        [*fuzztui, "test", "tests", "--headless", "--budget", "4000", "--python", sys.executable],
        cwd=project, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 10, done.stdout + done.stderr
    status = subprocess.run(
        [*fuzztui, "status", "--json"], cwd=project, env=env, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    rows = {r["name"].removeprefix(f"{FILE}::"): r for r in json.loads(status.stdout)["properties"]}
    assert {name for name, row in rows.items() if row["state"] == "failed"} == set(FAILING)
    assert {name for name, row in rows.items() if row["state"] == "not run"} == set(REASONS)
    assert rows["test_parse"]["signatures"] == [FAILING["test_parse"]]
    assert list((project / ".hypothesis" / "examples").iterdir())
    text = subprocess.run(
        [*fuzztui, "status"], cwd=project, env=env, capture_output=True, text=True, check=True
    ).stdout
    (line,) = [line for line in text.splitlines() if line.startswith("add tests")]
    assert shlex.quote(str(project)) in line
    assert any(line.startswith("pytest ") for line in text.splitlines())
    patch = subprocess.run(
        [*fuzztui, "test", "--write-examples", "--python", sys.executable],
        cwd=project, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "TestMachine::runTest: no @example" in patch.stderr
    applied = subprocess.run(
        ["git", "apply", "-"], cwd=project, input=patch.stdout, text=True, capture_output=True,
        check=False,
    )  # fmt: skip
    assert applied.returncode == 0, applied.stderr
    source = (project / "tests" / "test_shop.py").read_text()
    assert "@example(text='fuzz" in source and "from hypothesis import example\n" in source
    run = project / "runs" / "shop-tests"
    crash = next(run.glob("out/main/crashes/id:*"))
    shown = subprocess.run(
        [*fuzztui, "repro", str(run), str(crash)], env=env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert shown.returncode == 10 and "input: test_shop.py::" in shown.stdout

    # A minimised finding replaces the longer one: in Hypothesis' database, and in the patch.
    before = set((project / ".hypothesis" / "examples").rglob("*"))
    price, *_ = (f for f in crashes(run) if f[0].endswith("::test_price"))
    subprocess.run(
        [*fuzztui, "minimise", str(run), f"main/{price[1]}"], cwd=project, env=env,
        capture_output=True, check=True,
    )  # fmt: skip
    assert set((project / ".hypothesis" / "examples").rglob("*")) - before
    again = subprocess.run(
        [*fuzztui, "test", "tests", "--write-examples", "--python", sys.executable],
        cwd=project, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "\n+@example(numbers=[47113])\n" in again.stdout


def crashes(run: Path) -> list[tuple[str, str]]:
    """Property and file of each finding."""
    described = events(run / "out" / "main", "finding_described")
    return [(e["property"], e["file"]) for e in described if e["category"] == "crash"]


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
    pytest_alone = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    env = {k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"} | {
        "PYTHONPATH": str(tmp_path)
    }
    done = subprocess.run(
        [sys.executable, "-m", "fuzztui", "test", "tests", "--headless", "--budget", "3000",
         "--python", sys.executable],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 10, done.stdout + done.stderr
    alone = subprocess.run(
        pytest_alone, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert "2 failed" in alone.stdout, "only saved examples are run"


@pytest.mark.parametrize("plugin", ["asyncio", "anyio"])
def test_coroutines_run_as_the_plugin_of_the_project_runs_them(lab, plugin):
    pytest.importorskip(f"pytest_{plugin}" if plugin == "asyncio" else plugin)
    fixture = "pytest_asyncio.fixture" if plugin == "asyncio" else "pytest.fixture"
    root = lab.root.parent / "project"
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
    assert lab.run(spec(lab)) == 0
    (found,) = events(lab.out / "main", "properties_found")
    assert {name.rpartition("::")[2]: why for name, why in found["reasons"].items()} == {
        "test_parse": "", "test_method": "",
    }  # fmt: skip
    described = events(lab.out / "main", "finding_described")
    assert {e["signature"][:39] for e in described} == {"ZeroDivisionError @ shop.py:12 in parse"}
