"""Whole runs of the zest engine: what it finds, leaves on disk, repeats, shares and obeys."""

import contextlib
import json
import random
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from engine_lab import Lab, alive, events, execs, kill, names, stats, timeless, worker_of
from homes import write_seeds
from interpreters import pythons
from skipped import needs_afl, nightly
from waiting import DEADLINE_S, wait_until

from fuzztui.engines.base.errors import STUCK
from fuzztui.engines.directory import journal as j
from fuzztui.kernel.wire.commands import (
    Command,
    Pause,
    PromoteEntry,
    ResetEntry,
    Resume,
    SkipEntry,
    Stop,
)
from fuzztui.run.supervise.command_router import append

pytestmark = pytest.mark.slow

EXPECTED = {"expected": ["tomllib.TOMLDecodeError"]}

GATES = '''
def target(data: bytes) -> int:
    """Each gate needs the one before it."""
    if not data.startswith(b"GATE"):
        raise ValueError("no magic")
    if len(data) > 8:
        if data[4] == 0x7f:
            if data[5:8] == b"key":
                raise KeyError("the last gate")
            return 3
        return 2
    return 1
'''


def test_finds_what_lies_behind_gates(lab: Lab) -> None:
    lab.write("app.py", GATES)
    expected = {"expected": ["ValueError"]}
    directory = lab.campaign("app:target", budget_trials=60_000, target=expected)
    (crash,) = names(directory, "crashes")
    data = (directory / "crashes" / crash).read_bytes()
    assert data.startswith(b"GATE\x7fkey")
    event = events(directory, "finding_described")[0]
    assert event["title"] == "KeyError: 'the last gate'"
    assert event["place"] == "app.py:9 in target"
    assert event["file"] == f"crashes/{crash}"
    assert 'raise KeyError("the last gate")' in event["detail"]
    assert "executor.py" not in event["detail"]
    reasons = [e["reasons"] for e in events(directory, "entry_described")]
    assert reasons[0] == ["seed", "edge"]
    assert ["edge", "valid-edge"] in reasons
    assert {e["id"] for e in events(directory, "entry_described")} == set(range(len(reasons)))
    assert len(names(directory, "queue")) == len(reasons)
    has_layout(directory)


UNEVEN = """
def step():
    pass

def target(data: bytes):
    if data.count(b"s") > 9:
        with open({slow!r}, "a") as file:
            file.write(".")
        for _ in range(5_000):
            step()
        return 0
    if data[0:1] == b"a":
        return 1
    if data[0:1] == b"b":
        return 2
    return 3
"""


def test_a_slow_entry_gets_few_children(lab: Lab) -> None:
    slow, trials = lab.root / "slow", 20_000
    lab.write("app.py", UNEVEN.format(slow=str(slow)))
    seeds = write_seeds(lab.root, b"s" * 40, b"a", b"b", b"c")
    engine = {"seeds": seeds, "constants": False, "comparisons": False}
    lab.campaign("app:target", budget_trials=trials, engine=engine)
    # An equal one of four entries would have a quarter of the children.
    assert 0 < len(slow.read_text()) < trials / 80


def has_layout(directory: Path) -> None:
    """Names and files are as AFL's tools and ours expect them, and nobody else may read them."""
    name = re.compile(
        r"id:\d{6},(src:\d{6}(\+\d{6})?,)?time:\d+,execs:\d+,(op:[a-z]+(,rep:\d+)?|orig:\w+)(,\+cov)?"
    )
    assert all(name.fullmatch(n) for n in names(directory, "queue"))
    assert [int(n[3:9]) for n in names(directory, "queue")] == list(
        range(len(names(directory, "queue")))
    )
    assert re.match(r"id:000000,sig:00,src:\d{6}", names(directory, "crashes")[0])
    assert (directory / "crashes" / "README.txt").exists()
    assert (directory / "cmdline").read_text().splitlines()[-1] == str(directory / "spec.json")
    assert "# command line:" in (directory / "fuzzer_setup").read_text()
    plot = (directory / "plot_data").read_text().splitlines()
    assert plot[0].split(", ")[0] == "# relative_time"
    assert all(len(row.split(", ")) == 13 for row in plot)
    assert not list(directory.glob(".part*"))
    for folder in (directory / "queue", directory / "crashes"):
        assert folder.stat().st_mode & 0o077 == 0
    assert all(p.stat().st_mode & 0o077 == 0 for p in (directory / "queue").iterdir())
    edges = json.loads((directory / "edges.json").read_text())
    (module,) = edges["modules"]
    assert module["name"] == "app"
    assert ["target", 4, "entry"] in module["edges"]
    assert len(module["edges"]) == int(stats(directory)["total_edges"])


def test_constants_of_modules_imported_late(lab: Lab) -> None:
    """They become tokens, though there were none at first; the same in every run."""
    lab.write("pkg2/__init__.py", "")
    lab.write("pkg2/late.py", "def check(d):\n    if d[:9] == b'SECRETKEY': raise KeyError\n")
    lab.write("pkg2/app.py", "def target(data: bytes):\n    from pkg2.late import check\n"
              "    return check(data)\n")  # fmt: skip
    found = []
    for _ in range(2):
        directory = lab.campaign("pkg2.app:target", budget_trials=5_000)
        assert int(stats(directory)["auto_dict_entries"]) > 0
        found.append(timeless(directory))
        assert len(names(directory, "crashes")) == 1
        shutil.rmtree(directory)
    assert found[0] == found[1]


def test_input_that_dies_while_made_smaller_is_kept(lab: Lab) -> None:
    """The find itself survives although a smaller form of it kills the process."""
    lab.write(
        "app.py",
        "import os\ndef target(data: bytes):\n    if data.startswith(b'AB'):\n"
        "        if len(data) < 6: os._exit(4)\n        return 1\n",
    )
    seed = b"AB" + b"x" * 30
    directory = lab.campaign("app:target", budget_trials=3, engine={"seeds": lab.seeds(s=seed)})
    first = names(directory, "queue")[0]
    assert first.endswith(",orig:s,+cov")
    assert (directory / "queue" / first).read_bytes() == seed
    (crash,) = names(directory, "crashes")
    assert len((directory / "crashes" / crash).read_bytes()) < 6
    assert not (directory / ".rescue").exists()


def test_entries_are_small(lab: Lab) -> None:
    lab.write("app.py", GATES)
    seeds = lab.seeds(s=b"GATE" + b"x" * 3000)
    directory = lab.campaign("app:target", budget_trials=1, engine={"seeds": seeds})
    (name,) = names(directory, "queue")
    assert 9 <= (directory / "queue" / name).stat().st_size < 200


def test_sample_program_gives_its_bug_up(lab: Lab) -> None:
    """sample_campaigns/crate-zest.toml: an off-by-one that needs a packed entry."""
    samples = Path(__file__).resolve().parents[2] / "sample_campaigns"
    spec = lab.spec(
        "crate:extract",
        target={"path": [str(samples)], "expected": ["crate.FormatError"]},
        engine={"seeds": [str(samples / "seeds" / "crate")]},
    )
    nanny = lab.start(spec)
    wait_until(lambda: names(spec.parent, "crashes"))
    lab.end(nanny)
    event = events(spec.parent, "finding_described")[0]
    assert event["title"] == "IndexError: bytearray index out of range"
    assert event["place"].endswith("in unpack")


def test_same_seed_same_run(lab: Lab) -> None:
    """Determinism by trial count: names (but for the time) and bytes agree."""
    found = []
    for seed in (7, 7, 8):
        directory = lab.campaign("tomllib:loads", budget_trials=8_000, target=EXPECTED, seed=seed)
        found.append(timeless(directory))
        shutil.rmtree(directory)
    assert len(found[0]) > 30
    assert found[0] == found[1] != found[2]


def test_generator_run_repeats_too(lab: Lab) -> None:
    lab.write("app.py", "def f(x):\n    if x['n'] > 99000 and x['s'] == 'bb':\n        1/0\n")
    lab.write(
        "gen.py",
        "def generate(r):\n    return {'n': r.integer(0, 100000), 's': r.text('ab', 0, 4)}\n",
    )
    found = []
    for _ in range(2):
        target = {"generator": str(lab.src / "gen.py")}
        directory = lab.campaign("app:f", budget_trials=10_000, target=target)
        found.append(timeless(directory) | timeless(directory, "crashes"))
        (_crash,) = names(directory, "crashes")
        (event,) = lab.findings(directory).values()
        assert "'s': 'bb'" in event["input"]
        shutil.rmtree(directory)
    assert found[0] == found[1]


def test_budget_goes_on_where_it_was(lab: Lab) -> None:
    directory = lab.campaign("tomllib:loads", budget_trials=5_000, target=EXPECTED)
    before = timeless(directory)
    lab.campaign("tomllib:loads", budget_trials=12_000, target=EXPECTED)
    assert execs(directory) == 12_000
    after = timeless(directory)
    assert before.items() < after.items()
    assert sum("orig:builtin" in n for n in after) == sum("orig:builtin" in n for n in before)
    assert int(stats(directory)["corpus_count"]) == len(after)
    # A budget that is used up: nothing to do, and no error.
    lab.finish(directory / "spec.json")
    assert execs(directory) == 12_000


def test_coverage_is_rebuilt(lab: Lab) -> None:
    edges = []
    for trials in (10_000, 10_001):
        figures = stats(lab.campaign("tomllib:loads", budget_trials=trials, target=EXPECTED))
        edges.append((int(figures["edges_found"]), int(figures["edges_valid"])))
    before, again = edges
    assert again >= before
    assert again[0] - before[0] <= 1


def test_time_budget(lab: Lab) -> None:
    directory = lab.campaign("tomllib:loads", budget_s=1.0, target=EXPECTED)
    assert int(stats(directory)["run_time"]) >= 1  # more where it had to wait for a processor


def test_counts_mode_keeps_more(lab: Lab) -> None:
    kept = {}
    for mode in ("edges", "counts"):
        keys = {"budget_trials": 10_000, "target": EXPECTED, "engine": {"coverage": mode}}
        kept[mode] = len(names(lab.campaign("tomllib:loads", mode, **keys), "queue"))
    assert kept["counts"] > kept["edges"]


# ------------------------------------------------------------------------------ AFL's tools


def tool(lab: Lab, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run one of AFL's tools."""
    return subprocess.run(
        words, env=lab.env | {"TERM": "xterm"}, capture_output=True, text=True, timeout=DEADLINE_S,
        check=False,
    )  # fmt: skip


@needs_afl("afl-whatsup")
def test_afl_whatsup_reads_it(lab: Lab) -> None:
    spec = lab.spec("tomllib:loads", target=EXPECTED)
    nanny = lab.start(spec)
    wait_until(lambda: execs(spec.parent) > 1000)
    done = tool(lab, "afl-whatsup", lab.out)
    assert done.returncode == 0, done.stderr
    assert "syntax error" not in done.stderr
    assert "Fuzzers alive : 1" in done.stdout
    assert ">>> tomllib:loads" in done.stdout
    assert re.search(r"Total execs : \d+ thousands", done.stdout)
    assert re.search(r"items \d+/\d+", done.stdout)
    lab.end(nanny)


@needs_afl("afl-whatsup")
def test_afl_whatsup_executes_nothing(lab: Lab) -> None:
    """It sources fuzzer_stats: a target's name must not become a command."""
    harness = lab.write("x$(touch hacked);.py", "def target(d): pass")
    lab.write("app.py", "def f(d):\n    return len(d) > 3 and 1\n")
    lab.campaign(f"{harness}:target", budget_trials=100, target={"include": ["app"]})
    tool(lab, "afl-whatsup", "-d", lab.out)
    assert not list(lab.root.rglob("hacked"))


@pytest.mark.skipif(
    not (shutil.which("afl-plot") and shutil.which("gnuplot")), reason="afl-plot or gnuplot missing"
)
def test_afl_plot_draws_it(lab: Lab) -> None:
    spec = lab.spec("tomllib:loads", target=EXPECTED)
    lab.run_until(lambda: execs(spec.parent) > 1000, spec)  # with the row of the end: two
    plots = lab.root / "plots"
    done = tool(lab, "afl-plot", spec.parent, plots)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("high_freq.png", "low_freq.png", "exec_speed.png", "edges.png"):
        assert (plots / name).stat().st_size > 500


# ------------------------------------------------------------------------------- steering


class Remote:
    """Sends commands as the supervisor does and reads the answers."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.n = 0

    def send(self, command: Command) -> str:
        self.n += 1
        append(self.directory / "control.jsonl", f"c{self.n}", command)
        return f"c{self.n}"

    def answers(self, id_: str) -> list[dict[str, object]]:
        kinds = ("command_applied", "command_rejected")
        return [e for e in events(self.directory) if e["k"] in kinds and e["id"] == id_]

    def ask(self, command: Command) -> dict[str, object]:
        id_ = self.send(command)
        wait_until(lambda: self.answers(id_))
        (answer,) = self.answers(id_)
        return answer


def test_pause_and_resume(lab: Lab) -> None:
    spec = lab.spec("tomllib:loads", target=EXPECTED)
    nanny = lab.start(spec)
    remote = Remote(spec.parent)
    wait_until(lambda: execs(spec.parent) > 1000)
    paused = remote.ask(Pause())
    assert paused["k"] == "command_applied"
    wait_until(lambda: execs(spec.parent) == paused["trial"])
    # A worker that dies while paused is paused when it comes back.
    worker = worker_of(nanny)
    kill(worker)
    wait_until(lambda: worker_of(nanny) not in (0, worker))
    wait_until(lambda: "killed" in str(events(spec.parent, "message")))
    assert execs(spec.parent) == paused["trial"]
    resumed = remote.ask(Resume())
    assert resumed["trial"] == paused["trial"]
    wait_until(lambda: execs(spec.parent) > int(str(paused["trial"])))
    stopped = remote.ask(Stop())
    assert stopped["k"] == "command_applied"
    assert nanny.wait(DEADLINE_S) == 0


def test_skip_promote_reset(lab: Lab) -> None:
    spec = lab.spec("tomllib:loads", target=EXPECTED)
    nanny = lab.start(spec)
    remote = Remote(spec.parent)
    wait_until(lambda: len(names(spec.parent, "queue")) > 20)
    for entry in range(5, 20):
        assert remote.ask(SkipEntry(entry))["k"] == "command_applied"
    applied = remote.ask(PromoteEntry(3))
    assert "next" in str(applied["detail"])
    rejected = remote.ask(SkipEntry(4_000_000))
    assert rejected["k"] == "command_rejected"
    assert "no queue entry" in str(rejected["reason"])
    assert remote.ask(ResetEntry(6))["k"] == "command_applied"
    with (spec.parent / "control.jsonl").open("a") as file:
        file.write('torn\n{"id": "odd", "command": {"c": "explode"}}\n[]\n\x00\n')
    wait_until(lambda: remote.answers("odd"))
    assert "unknown command" in str(remote.answers("odd")[0]["reason"])
    steer = {e["id"]: e.get("steer", "") for e in events(spec.parent, "entry_described")}
    assert {i for i, s in steer.items() if s == "skipped"} == {5, *range(7, 20)}
    # The engine dies whole; the next one obeys without answering again.
    answered = len(events(spec.parent, "command_applied"))
    last = int(re.findall(r"execs:(\d+)", names(spec.parent, "queue")[-1])[0])
    worker = worker_of(nanny)
    kill(nanny.pid)
    wait_until(lambda: not alive(worker))
    nanny = lab.start(spec)
    wait_until(lambda: execs(spec.parent) > last + 15_000)
    assert len(events(spec.parent, "command_applied")) == answered
    assert remote.ask(SkipEntry(6))["k"] == "command_applied"
    lab.end(nanny)
    late = [n for n in names(spec.parent, "queue") if int(re.findall(r"execs:(\d+)", n)[0]) > last]
    parents = {int(re.findall(r"src:(\d+)", n)[0]) for n in late}
    assert not parents & {5, *range(7, 20)}


# ------------------------------------------------------------------------------ exchanging


def test_instances_share_finds(lab: Lab) -> None:
    lab.write("app.py", GATES)
    seeds = lab.seeds(s=b"GATE\x7f12345")
    rich = lab.campaign("app:target", "rich", budget_trials=50, engine={"seeds": seeds})
    # An AFL peer's queue, with things in it that must not hurt.
    other = lab.out / "afl" / "queue"
    other.mkdir(parents=True)
    (other / "id:000000,time:0,execs:0,orig:x").write_bytes(b"GATE")
    (other / "id:000001,sync:poor,src:000000").write_bytes(b"GATE\x7fkey--")
    (other / "README").write_text("not an entry")
    nanny = lab.start(lab.spec("app:target", "poor", engine={"constants": False}))
    poor = lab.out / "poor"
    wait_until(lambda: any("sync:rich" in n for n in names(poor, "queue")))
    wait_until(lambda: any("sync:afl,src:000000" in n for n in names(poor, "queue")))
    count = len(names(rich, "queue"))
    # One after the other: the first that is kept says nothing of those behind it.
    wait_until(lambda: struct.unpack("<I", (poor / ".synced/rich").read_bytes()) == (count,))
    lab.end(nanny)
    assert not any("sync:poor" in n for n in names(poor, "queue"))
    described = [e["reasons"] for e in events(poor, "entry_described")]
    assert any(r[0] == "imported" for r in described)
    assert int(stats(poor)["corpus_imported"]) >= 2


# ------------------------------------------------------------------- nothing found is lost


def loaded(directory: Path) -> bool:
    """Whether the worker that runs now has left loading behind."""
    words = (directory / ".cur_input").read_bytes()[: 8 * j.COUNTERS]
    return struct.unpack_from("q", words, 8 * j.PHASE)[0] != j.LOADING


@pytest.mark.parametrize("whom", ["both", *nightly("worker", "parent")])
def test_killed_again_and_again(lab: Lab, whom: str) -> None:
    """SIGKILL at random moments: every described find has its file, ids have no gaps."""
    code = "\n".join(
        f"    if data[:2] == bytes([{i}, {i * 7 % 256}]): raise ValueError('{i}')"
        for i in range(60)
    )
    # One line each: sixty causes to be found.
    lab.write("app.py", f"def target(data: bytes):\n{code}\n")
    seeds = lab.seeds(**{f"{i:02d}": bytes([i, i * 7 % 256]) for i in range(60)})
    spec = lab.spec("app:target", engine={"seeds": seeds})
    rng = random.Random(whom)
    nanny = lab.start(spec)
    last = 0
    for turn in range(25):
        if turn % 5 == 4:  # one that is always killed while it loads is given up after ten times
            wait_until(lambda n=nanny, w=last: worker_of(n) not in (0, w) and loaded(spec.parent))
        with contextlib.suppress(subprocess.TimeoutExpired):
            nanny.wait(rng.random() * 0.3)
        last = worker = worker_of(nanny)
        if whom in ("worker", "both"):
            kill(worker)
        if whom in ("parent", "both"):
            kill(nanny.pid)
            nanny.wait()
            wait_until(lambda worker=worker: not alive(worker))
            nanny = lab.start(spec)
    for _ in range(2):  # the first may be an older count that is only written now
        lab.goes_on(spec.parent)
    wait_until(lambda: len(names(spec.parent, "crashes")) >= 60)
    lab.end(nanny)
    described = {e["signature"]: e["file"] for e in events(spec.parent, "finding_described")}
    assert len(described) == 60
    assert {f"crashes/{n}" for n in names(spec.parent, "crashes")} == set(described.values())
    ids = [int(n[3:9]) for n in names(spec.parent, "queue")]
    assert ids == list(range(len(ids)))
    lab.counted(spec.parent)


# ----------------------------------------------------------------------------------- repro


def test_repro(lab: Lab) -> None:
    lab.write("app.py", GATES)
    spec = lab.spec("app:target", target={"expected": ["ValueError"]})
    assert lab.repro(spec, b"GATE") == (0, "success: 1\n")
    assert lab.repro(spec, b"x") == (0, "invalid, as expected: ValueError: no magic\n")
    status, said = lab.repro(spec, b"GATE\x7fkey-")
    assert status == 1
    assert said.startswith("failure: KeyError: 'the last gate'\nTraceback")
    assert said.count('File "') == 1
    for loop in (
        "while True: pass",
        "while True: time.sleep(0.01)",
        "try:\n        while True: pass\n    except BaseException: raise ValueError from None",
    ):
        lab.write("app.py", f"import time\ndef target(d):\n    {loop}")
        status, said = lab.repro(spec, b"")
        assert (status, said[:8]) == (1, "timeout:")
        assert 'app.py", line' in said
        assert "in target" in said
    lab.write("app.py", "import itertools\ndef target(d):\n    sum(itertools.count())")
    status, said = lab.repro(spec, b"")
    assert status == 1
    assert "in target" in said


def test_repro_tells_who_failed(lab: Lab) -> None:
    lab.write("app.py", "def target(d): return 1 / 0")
    file = lab.write("gen.py", "def gen(r): return 1 // r.below(2)")
    spec = lab.spec("app:target", target={"generator": f"{file}:gen"})
    status, said = lab.repro(spec, b"\0")
    assert status == 1
    assert said.startswith("failure: ZeroDivisionError while the input was made: integer")
    status, said = lab.repro(spec, b"\1")
    assert status == 1
    assert said.startswith("input: 1\nfailure: ZeroDivisionError: division by zero\n")


# ------------------------------------------------------------------ what is instrumented


def warnings(lab: Lab) -> list[str]:
    return lab.messages(lab.out / "main", "warning")


@pytest.mark.parametrize("kind", ["zest", "mu2"])
def test_that_nothing_is_executed_is_told_once(lab: Lab, kind: str) -> None:
    lab.write("app.py", "from work import target\ndef never(): pass\n")
    lab.write("work.py", "def target(data: bytes): return len(data)")
    lab.campaign("app:target", engine={"kind": kind}, budget_trials=299)
    for trials in (300, 301, 700):
        lab.campaign("app:target", engine={"kind": kind}, budget_trials=trials)
        early, told = warnings(lab)  # at the end of the first run, and at the usual number
    assert [text.partition(" ")[0] for text in (early, told)] == ["299", "300"]
    assert f"app in {lab.src}/app.py" in told and f"{lab.src}/work.py" in told
    assert "'work'" in told


@pytest.mark.parametrize(
    ("target", "generator"),
    [("return 1", ""), ("raise KeyError", ""), ("return 1", "r.assume(False)")],
)
def test_what_is_executed_is_no_news(lab: Lab, target: str, generator: str) -> None:
    """Also if all of it fails; of a generator that gives all up it is told why."""
    lab.write("app.py", f"def target(data):\n    {target}\n")
    lab.write("gen.py", f"def gen(r):\n    r.below(9)\n    {generator}\n")
    made = {"target": {"generator": "gen:gen" * bool(generator)}}
    lab.campaign("app:target", budget_trials=600, **made)
    said = warnings(lab)
    assert len(said) == bool(generator)
    assert all("and none of their inputs was valid, so coverage" in w for w in said)


# ------------------------------------------------------------------------- other Pythons


@pytest.mark.parametrize("python", pythons(12, 13), ids=str)
def test_under_another_python(tmp_path: Path, python: Path) -> None:
    lab = Lab(tmp_path, str(python))
    lab.write("app.py", GATES)
    expected = {"expected": ["ValueError"]}
    directory = lab.campaign("app:target", budget_trials=60_000, target=expected)
    assert len(names(directory, "crashes")) == 1
    (hello,) = events(directory, "instance_hello")
    asked = [python, "-c", "import platform; print(platform.python_version())"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert hello["python"] == done.stdout.strip()


def test_an_engine_that_finds_no_new_edge_ends_as_stuck(lab: Lab) -> None:
    """After the same trial in each run; a limit from there on counts anew."""
    lab.write("app.py", GATES)
    ends = []
    for name in ("one", "two"):
        limits = {"stuck_trials": 700, "target": {"expected": ["ValueError"]}}
        spec = lab.spec("app:target", budget_trials=60_000, **limits)
        assert lab.run(spec) == STUCK
        directory = spec.parent
        first = execs(directory)
        last = max(
            int(entry.partition(",execs:")[2].partition(",")[0])
            for entry in names(directory, "queue")
            if entry.endswith("+cov")
        )
        assert first == last + 700
        assert lab.run(spec) == STUCK
        assert execs(directory) == first
        spec = lab.spec("app:target", budget_trials=60_000, stuck_from=first, **limits)
        assert lab.run(spec) == STUCK
        ends.append((first, execs(directory)))
        assert execs(directory) >= first + 700
        directory.rename(lab.root / name)
    assert ends[0] == ends[1]
    spec = lab.spec("app:target", budget_trials=300, **limits)
    assert lab.run(spec) == 0
