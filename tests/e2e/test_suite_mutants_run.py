"""mu2 with a suite: which mutants die, by which property, against fresh processes as the truth."""

import json
import subprocess
from pathlib import Path

import pytest
from engine_lab import Lab, events, execs, kill, names, timeless, worker_of
from waiting import DEADLINE_S, wait_until

from fuzztui.kernel.wire.commands import PromoteMutants, SkipMutants, WeighProperty
from fuzztui.run.supervise.command_router import append

pytestmark = pytest.mark.slow

SHOP = """\
RATES = {"EUR": 1 + 2, "USD": 2}
OPEN = []
MEMO = {}


class Refused(Exception):
    pass


def price(n, rate):
    if n > 1000:
        return n * rate - 5
    return n * rate


def rate():
    return RATES[OPEN[-1]]


def squared(n):
    if n not in MEMO:
        MEMO[n] = n * n
    return MEMO[n]


def checked(n):
    if n < 0:
        raise Refused(n)
    return n + 1


def allowed(n):
    return n > 5


def counted(items):
    total = 0
    for item in items:
        total += 1
    return total


def wasted(n):
    n = n + 1
    return 0


def unused(n):
    return n - 1
"""
HELPERS = """\
import shop

SEEN = []


def euros(n):
    SEEN.append(n)
    return shop.price(n, shop.RATES["EUR"])
"""
CONFTEST = """\
import tempfile
from pathlib import Path

import pytest
import shop


@pytest.fixture
def money():
    shop.OPEN.append("EUR")
    yield
    shop.OPEN.pop()


@pytest.fixture
def dollars():
    shop.OPEN.append("USD")
    yield
    shop.OPEN.pop()


@pytest.fixture
def place():
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)
"""
TESTS = """\
import helpers
import pytest
import shop
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

settings.register_profile("any", suppress_health_check=list(HealthCheck))
settings.load_profile("any")
SMALL = st.integers(0, 50)


@given(n=SMALL)
def test_euros(money, n):
    assert shop.rate() == 3 and helpers.euros(n) == 3 * n


@given(n=SMALL)
@example(n=5000)
def test_dollars(dollars, n):
    assert shop.rate() == 2
    assert shop.price(n, 2) == 2 * n - 5 * (n > 1000)


@given(n=SMALL)
def test_squared(n):
    assert shop.squared(n) == n ** 2


@given(n=st.integers(-50, 50))
def test_checked(place, n):
    assert place.is_dir()
    try:
        assert shop.checked(n) > n >= 0
    except shop.Refused:
        assert n < 0


@given(n=SMALL)
def test_allowed(n):
    assume(shop.allowed(n))
    assert n >= 6


@given(n=SMALL)
@example(n=7)
def test_wasted(n):
    assert shop.wasted(n) == 0


@given(st.lists(st.none(), max_size=5))
def test_runs_only(items):
    shop.counted(items)


@given(st.lists(st.none(), max_size=5))
@example([])
@example([None, None])
def test_counted(items):
    assert shop.counted(items) == len(items)
"""
FILE = "tests/test_shop.py"
DRIVER = """\
import json, os, random, sys
from pathlib import Path
from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.execute.loading import load
from fuzztui.engines.instrument.edges import EdgeTable

spec = read_spec(Path(sys.argv[1]))
out = open(sys.argv[2], "w")
folder = Path(sys.argv[3])
loaded = load(spec, folder=folder, table=EdgeTable(), draw=random.Random(0).randbytes)
loaded.executor.guard.arm()
found = {}
for file in sys.argv[4:]:
    found[file] = str(loaded.executor.call(Path(file).read_bytes()).outcome)
json.dump(found, out)
out.close()
os._exit(0)  # the guard's timer is on
"""


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path / "lab")
    root = tmp_path / "project"
    (root / "tests").mkdir(parents=True)
    (root / "shop.py").write_text(SHOP)
    for name, text in (("conftest", CONFTEST), ("helpers", HELPERS), ("test_shop", TESTS)):
        (root / "tests" / f"{name}.py").write_text(text)
    yield made
    made.close()


def spec(lab, instance="main", trials=3000, engine=None, root=None):
    root = root or lab.root.parent / "project"
    target = {"suite": [str(root / "tests")], "include": ["shop"], "path": [str(root)],
              "cwd": str(root)}  # fmt: skip
    options = {"kind": "mu2", **(engine or {})}
    return lab.spec("tests", instance, budget_trials=trials, engine=options, target=target)


def states(directory):
    return {e["id"]: e for e in events(directory, "mutant_state")}


def killed(directory):
    dead = [(name, e) for name, e in states(directory).items() if e["state"] == "killed"]
    return {name: e.get("property", "").rpartition("::")[2] for name, e in dead}


def listed(lab, file):
    done = lab.ask(file, "--mutants")
    return {m["id"]: m for m in json.loads(done.stdout)["mutants"]}


def outcomes(lab, root, files):
    """How the inputs end in a fresh process, by the file's name."""
    script = lab.root / "driver.py"
    script.write_text(DRIVER)
    found = lab.root / "found.json"
    folder = lab.root / "scratch"
    folder.mkdir(exist_ok=True)
    file = spec(lab, "other", root=root, engine={"kind": "zest"})
    command = [lab.python, "-P", str(script), str(file), str(found), str(folder)]
    subprocess.run(
        [*command, *map(str, files)],
        env=lab.env,
        check=True,
        capture_output=True,
        timeout=DEADLINE_S,
    )
    return {Path(name).name: how for name, how in json.loads(found.read_text()).items()}


def test_kills_are_those_of_fresh_processes(lab, tmp_path):
    file = spec(lab)
    main = lab.finish(file)
    mutants = listed(lab, file)
    assert not any(event["level"] == "error" for event in events(main, "engine_message"))
    found, dead = states(main), killed(main)
    entries = sorted((main / "queue").glob("id:*"))
    original = outcomes(lab, lab.root.parent / "project", entries)
    assert "failure" not in original.values()
    truth: dict[str, set[str]] = {}
    for name, m in mutants.items():
        copy = tmp_path / "copies" / str(len(truth))
        (copy / "tests").mkdir(parents=True)
        for one in (lab.root.parent / "project" / "tests").glob("*.py"):
            (copy / "tests" / one.name).write_text(one.read_text())
        lines = SHOP.splitlines(keepends=True)
        line = lines[m["line"] - 1]
        after = m["after"].replace("empty(", "__import__('conftest').e(")
        new = line[: m["column"] - 1] + after + line[m["end_column"] - 1 :]
        (copy / "shop.py").write_text("".join([*lines[: m["line"] - 1], new, *lines[m["line"] :]]))
        conftest = copy / "tests" / "conftest.py"
        conftest.write_text(conftest.read_text() + "\n\ndef e(x):\n    return type(x)()\n")
        try:
            there = outcomes(lab, copy, entries)
        except subprocess.CalledProcessError:
            truth[name] = {"import"}
            continue
        truth[name] = {
            one for one, how in there.items()
            if how in ("failure", "timeout") and original[one] in ("success", "invalid")
        }  # fmt: skip
    assert set(dead) == {name for name, by in truth.items() if by}
    assert {"shop:RATES"} < {name.partition(":math")[0] for name in dead}
    # The killer is one of those, and the property that of its first bytes.
    for name in dead:
        number = int(found[name]["killer"].rpartition("/")[2])
        (entry,) = (one for one in entries if one.name.startswith(f"id:{number:06d}"))
        assert truth[name] == {"import"} or entry.name in truth[name]
    assert "test_runs_only" not in dead.values()
    assert dead["shop:squared:math:0://"] == "test_squared"
    # One that no property reaches, and one that only makes assume() reject.
    assert "shop:unused:math:0:+" not in dead
    rejecting = [name for name in mutants if ":allowed:" in name and name.endswith(":false")]
    assert len(rejecting) == 1 and found[rejecting[0]]["state"] == "alive"


def scored(lab, file):
    """The property that kills each mutant, by a score of the queue."""
    done = lab.ask(file, "--score", lab.out / "main" / "queue")
    (result,) = (r["result"] for r in map(json.loads, done.stdout.splitlines()) if "result" in r)
    assert result["exact"] and not result["flaky"]
    mutants = result["mutants"]
    return {m["id"]: m["property"].rpartition("::")[2] for m in mutants if m["killer"]}


def test_the_same_seed_the_same_kills(lab):
    for n in range(2):
        lab.finish(spec(lab)).rename(lab.out.parent / f"done-{n}")
    first, second = (lab.out.parent / f"done-{n}" for n in range(2))
    assert timeless(first) == timeless(second)
    swapped = [
        [(e["id"], e["state"], e.get("killer"), e.get("trial")) for e in events(d, "mutant_state")
         if "RATES" not in e["id"]]
        for d in (first, second)
    ]  # fmt: skip
    assert swapped[0] == swapped[1] and len(swapped[0]) > 10


def test_killed_workers_lose_no_kill_and_the_score_is_that_of_the_exact_pass(lab):
    file = spec(lab, trials=6000)
    engine = lab.start(file)
    main = lab.out / "main"
    for after in (300, 2000):
        wait_until(lambda after=after: execs(main) > after)
        kill(worker_of(engine))
    wait_until(lambda: engine.poll() is not None)
    assert engine.returncode == 0
    seen = [e["id"] for e in events(main, "mutant_state") if e["state"] == "killed"]
    assert len(seen) == len(set(seen))
    dead = scored(lab, file)
    assert set(killed(main)) == set(dead)
    assert dead["shop:squared:math:0://"] == "test_squared"
    assert set(killed(main).values()) >= {"test_squared", "test_counted"}


def test_users_steer_mutants_and_properties(lab):
    main = lab.out / "main"
    file = spec(lab, trials=2500)
    asked = [
        SkipMutants("function=squared"),
        PromoteMutants("function=allowed"),
        PromoteMutants("function=wasted,operator=math"),  # infected by an example first
        WeighProperty(f"{FILE}::test_counted", 0.0),
    ]
    for n, command in enumerate(asked):
        append(main / "control.jsonl", f"c{n}", command)
    assert lab.run(file) == 0
    assert {e["id"] for e in events(main, "command_applied")} == {"c0", "c1", "c2", "c3"}
    found = states(main)
    assert {e["state"] for name, e in found.items() if ":squared:" in name} == {"skipped"}
    rows = {}
    for event in events(main, "property_figures"):
        rows |= event["figures"]
    (promoted,) = (e for name, e in found.items() if ":wasted:math:" in name)
    assert promoted["steer"] == "promoted" and promoted["state"] == "alive"
    # Its examples are seeds: they run, also of a property without turns.
    assert rows[f"{FILE}::test_counted"]["trials"] <= 3


def test_examples_are_the_first_inputs(lab):
    tests = lab.root.parent / "project" / "tests" / "test_shop.py"
    tests.write_text(
        TESTS.replace("@example([])", "@example([4, 4])\n@example([]).xfail()").replace(
            "== len(items)", "== len(items) and items != [4, 4]"
        )
    )
    file = spec(lab, trials=200, engine={"kind": "zest"})
    main = lab.finish(file)
    (event,) = events(main, "finding_described")
    assert event["property"] == f"{FILE}::test_counted" and "orig:example-of-" in event["file"]
    kept = [name for name in names(main, "queue") if "orig:example-of-test_dollars-1" in name]
    assert len(kept) == 1
    assert kept[0].startswith("id:000000,") and (main / "queue" / kept[0]).stat().st_size == 6
    children = [n for n in names(main, "queue") if ",src:000000" in n]
    assert not children
    # Again, they are not run again; the finding runs by its file.
    assert lab.run(spec(lab, trials=400, engine={"kind": "zest"})) == 0
    assert len(events(main, "finding_described")) == 1
    assert "[4, 4]" in lab.repro(file, main / event["file"])[1]


def test_mutants_that_run_at_import_are_killed_by_a_single_test_too(lab):
    root = lab.root.parent / "project"
    (root / "single.py").write_text(
        "import shop\nfrom hypothesis import given, strategies as st\n\n\n"
        "@given(st.integers(1, 9))\ndef test_rate(n):\n"
        "    assert shop.price(n, shop.RATES['EUR']) == n * 3\n"
    )
    target = {"include": ["shop"], "path": [str(root)], "cwd": str(root)}
    file = lab.spec(f"{root / 'single.py'}:test_rate", budget_trials=300, engine={"kind": "mu2"},
                    target=target)  # fmt: skip
    assert lab.run(file) == 0
    assert "shop:RATES:math:0:-" in killed(lab.out / "main")
