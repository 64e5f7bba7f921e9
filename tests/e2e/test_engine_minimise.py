"""Findings of engines of ours made smaller, by the engine, the command and the supervisor."""

import base64
import json
import os
import re
import signal
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
from engine_lab import Lab
from homes import Home
from waiting import DEADLINE_S, wait_until

from fuzztui.kernel.remote.client import ControlClient
from fuzztui.kernel.wire.commands import Minimise

pytestmark = pytest.mark.slow

APP = """
import ctypes, os, random, signal

RUNS = []

def plain(data: bytes):
    if data.count(b"(") > 2 and b")" in data:
        raise ValueError("two")
    if b"[" in data:
        raise ValueError("another place")

def text(said: str):
    if "\\u00e9" in said:
        raise KeyError(said)

def dies(data: bytes):
    if b"s" in data:
        segfault()
    if b"t" in data:
        other()
    if b"x" in data:
        os._exit(7)

def segfault():
    ctypes.string_at(0)

def other():
    ctypes.string_at(0)

def parting(data: bytes):
    if data.count(b"p") == 1:
        os.kill(os.getppid(), signal.SIGINT)
    if b"p" in data:
        raise ValueError("and its parent ends, too")

def loops(data: bytes):
    while b"l" in data:
        pass

def deaf(data: bytes):
    if b"d" in data:
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        ctypes.PyDLL(None).pause()

def rarely(data: bytes):
    with open(__file__ + ".runs", "a+") as runs:
        runs.write("x")
        if runs.tell() % 3:
            raise ValueError("twice of three times")

def once(data: bytes):
    RUNS.append(data)
    if len(RUNS) == 1 and b"o" in data:
        raise ValueError("only the first time")

def spoiled(data: bytes):
    if RUNS or b"ab" in data:
        RUNS.append(1)
        raise ValueError("and always from then on")

def closes(data: bytes):
    os.closerange(0, 400)
    if b"c" in data:
        raise ValueError("closed")

def numbers(r):
    return [r.integer(-500, 500) for _ in range(r.below(30))]

def total(made):
    if sum(x for x in made if x > 0) > 700:
        raise OverflowError(str(made))

def falls(made):
    if 444 in made:
        segfault()

def strict(data: bytes):
    if data[:1] == b"<":
        raise SyntaxError("a tag")

def loose(data: bytes):
    if b"!" in data:
        return 1
"""
MACHINE = """
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
import app

class Accounts(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.held = {}

    @rule(name=st.text("abcdef", max_size=4), n=st.integers(1, 1000))
    def pay(self, name, n):
        self.held[name] = self.held.get(name, 0) + n

    @rule(name=st.text("abcdef", max_size=4))
    def close(self, name):
        self.held.pop(name, None)

    @rule()
    def look(self):
        assert sum(self.held.values()) >= 0

    @rule(name=st.text("abcdef", max_size=4))
    def check(self, name):
        assert self.held.get(name, 0) <= 300
"""


@pytest.fixture
def lab(lab: Lab) -> Lab:
    lab.write("app.py", APP)
    lab.write("machine.py", MACHINE)
    lab.env["PYTHONHASHSEED"] = "0"
    return lab


class Answer:
    """What the engine said."""

    def __init__(self, data: bytes, run: subprocess.CompletedProcess[str]) -> None:
        self.status, self.words = run.returncode, run.stderr
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        self.best = next(
            (base64.b64decode(line["best"]) for line in reversed(lines) if "best" in line), data
        )
        self.tries = lines[-1]["tries"] if lines else 0
        self.end = lines[-1].get("end") if lines else None


def minimised(lab: Lab, function: str, data: bytes, *more: str, **keys: Any) -> Answer:
    target = {"include": ["app"], "timeout_s": 2.0, **keys.pop("target", {})}
    at = lab.spec(function, target=target, **keys)
    file = lab.root / "input"
    file.write_bytes(data)
    return Answer(data, lab.ask(at, "--minimise", file, *more))


def repro(lab: Lab, data: bytes) -> str:
    return lab.repro(lab.out / "main/spec.json", data)[1]


NOISE = bytes(range(128, 168))


@pytest.mark.parametrize(
    ("function", "data", "smallest"),
    [
        ("plain", b"a(b(c[d(e)f(g]h)" + NOISE, {b"((()", b"(()(", b"()((", b")((("}),
        ("text", "one é two é".encode(), {"é".encode()}),
        ("dies", b"asts", {b"s"}),
        ("dies", b"axxa" + NOISE, {b"x"}),
        ("loops", b"all", {b"l"}),
        ("once", b"foot" + NOISE, {b"o"}),
        ("spoiled", b"ab-ab" + NOISE, {b"ab"}),
        ("closes", b"acac", {b"c"}),
    ],
    ids=["exception", "text", "segfault", "exit", "loop", "once", "spoiled", "closes"],
)
def test_inputs(lab: Lab, function: str, data: bytes, smallest: set[bytes]) -> None:
    """To nothing but what is needed, with the failure that it was; twice the same."""
    keys: dict[str, Any] = {"target": {"timeout_s": 0.2}} if function == "loops" else {}
    found = minimised(lab, f"app:{function}", data, **keys)
    assert (found.status, found.end, found.words) == (0, "", "")
    assert found.best in smallest
    again = minimised(lab, f"app:{function}", data, **keys)
    assert (again.best, again.tries) == (found.best, found.tries)


def test_what_hangs_where_python_cannot_be_interrupted(lab: Lab) -> None:
    found = minimised(lab, "app:deaf", b"add", target={"timeout_s": 0.2})
    assert (found.end, found.best) == ("", b"d")


@pytest.mark.parametrize("kind", ["zest", "spoton", "text", "mu2"])
def test_generators(lab: Lab, kind: str) -> None:
    keys: dict[str, Any] = {"engine": {"kind": kind}, "target": {"generator": "app:numbers"}}
    found = minimised(lab, "app:total", bytes(range(20, 150)), **keys)
    assert found.end == ""
    said = repro(lab, found.best)
    (numbers,) = re.findall(r"^input: \[(\d+), (\d+)\]$", said, re.MULTILINE)
    assert sum(map(int, numbers)) == 701
    assert "failure: OverflowError" in said


def test_choices_of_what_kills_its_process(lab: Lab) -> None:
    """How many were drawn is not known then, only that there were enough."""
    data = bytes([29]) + b"".join(n.to_bytes(2, "big") for n in range(930, 959))
    found = minimised(lab, "app:falls", data, target={"generator": "app:numbers"})
    assert (found.end, found.best) == ("", b"\1" + (944).to_bytes(2, "big"))


def test_what_is_known_is_kept_whatever_ends_it(lab: Lab) -> None:
    data = b"ppp" + bytes(range(128, 228))
    found = minimised(lab, "app:parting", data)
    assert (found.status, found.end) == (0, "stopped")
    assert b"p" in found.best
    assert len(found.best) < len(data)


def test_stateful_tests(lab: Lab) -> None:
    """From many steps of chance to the two that it takes."""
    keys = {"engine": {"kind": "spoton"}, "target": {"include": ["machine"], "timeout_s": 5.0}}
    main = lab.campaign("machine:Accounts", timeout=300, budget_trials=400, seed=3, **keys)
    crash = next((main / "crashes").glob("id:*")).read_bytes()
    before = repro(lab, crash)
    found = minimised(lab, "machine:Accounts", crash, **keys)
    assert found.end == ""
    after = repro(lab, found.best)
    steps = [line.partition(": ")[2] for line in after.splitlines() if line.startswith("Draw ")]
    assert before.count("\nDraw ") >= len(steps) == 2
    assert re.fullmatch(r"pay\((name='', n=\d+|n=\d+, name='')\)", steps[0])
    assert steps[1] == "check(name='')"


def test_a_second_implementation(lab: Lab) -> None:
    """What one refuses and the other does not is a failure, too."""
    found = minimised(
        lab, "app:strict", b"<html>!", oracle={"against": "app:loose"},
        target={"expected": ["SyntaxError"]},
    )  # fmt: skip
    assert (found.end, found.best) == ("", b"<")


def test_what_is_not_minimised(lab: Lab) -> None:
    harmless = minimised(lab, "app:plain", b"harmless")
    assert harmless.status == 3
    assert "the input does not fail (success)" in harmless.words
    flaky = minimised(lab, "app:rarely", b"flaky")
    assert flaky.status == 3
    assert "the input is flaky" in flaky.words
    assert flaky.words.rstrip().endswith(" in rarely; then: success")
    missing = minimised(lab, "app:nothing", b"")
    assert "module app has no function 'nothing'" in missing.words


def test_limits(lab: Lab) -> None:
    data = b"((())" + os.urandom(500).translate(None, b"()[")
    few = minimised(lab, "app:plain", data, "--tries", "9")
    assert (few.tries, few.end) == (9, "stopped after 9 tries")
    assert len(few.best) < len(data)
    none = minimised(lab, "app:plain", data, "--seconds", "0")
    assert (none.best, none.end) == (data, "stopped after 0 s")


# -------------------------------------------------------------------- command and supervisor


@pytest.fixture
def campaign(home: Home) -> Home:
    """A run that continues, of a target that never takes long, with a finding put into it."""
    (home.path / "app.py").write_text(APP)
    home.file.write_text(
        '[campaign]\nname = "e2e"\noutput = "run"\nseed = 1\n'
        '[target]\nfunction = "app:total"\ngenerator = "app:numbers"\ninclude = ["app"]\n'
        '[engine]\nkind = "zest"\n'
    )
    home.detach()
    wait_until(lambda: any((home.run / "out/main/crashes").glob("id:*")))
    return home


def finding(home: Home) -> Path:
    return next((home.run / "out/main/crashes").glob("id:*"))


def test_the_command(campaign: Home) -> None:
    """With a supervisor and without; it says what the input is that is left."""
    file = finding(campaign)
    said = campaign("minimise", "run", f"main/crashes/{file.name}")
    first, *rest = said.splitlines()
    small = campaign.run / "minimised/main" / file.name
    size = len(small.read_bytes())
    assert first.startswith(f"{len(file.read_bytes())} -> {size} bytes: {small} (")
    assert re.fullmatch(r"input: \[\d+, \d+\]", rest[0])
    assert rest[1].startswith("failure: OverflowError: ")
    assert small.stat().st_mode & 0o777 == 0o600
    campaign.stop()
    campaign("minimise", "run", str(file), "-o", str(campaign.path / "small"))
    assert (campaign.path / "small").read_bytes() == small.read_bytes()
    seed = campaign.path / "seed"
    seed.write_bytes(bytes(9))
    campaign("minimise", "run", str(seed), code=1)
    assert "the input does not fail (success)" in campaign.stderr


def test_the_supervisor_does_it_and_tells_how_far_it_is(campaign: Home) -> None:
    file = finding(campaign)
    with closing(ControlClient(campaign.run, "test")) as client:
        result = client.send(Minimise(f"crashes/{file.name}", "main"), DEADLINE_S)
    small = campaign.run / "minimised/main" / file.name
    assert result.ok, result
    assert f" -> {len(small.read_bytes())} bytes: {small} (" in result.detail
    log = campaign("ctl", "run", "minimise", "main/crashes/nothing", code=1)
    assert "no such finding" in log + campaign.stderr


def test_what_a_file_lacks_is_drawn(campaign: Home) -> None:
    """What is left is larger than it, and makes the same failure of itself."""
    file, output = campaign.path / "short", campaign.path / "small"
    file.write_bytes(bytes([29]))
    said = campaign("minimise", "run", str(file), "-o", str(output))
    small = output.read_bytes()
    assert len(small) == 5
    assert said.startswith(f"1 -> 5 bytes: {output} (")
    assert "still" not in said.splitlines()[0]
    assert sum(int.from_bytes(small[at : at + 2], "big") - 500 for at in (1, 3)) == 701


def test_ctrl_c_before_it_has_begun(campaign: Home) -> None:
    file, imported = finding(campaign), campaign.path / "imported"
    slow = f"import pathlib, time\npathlib.Path({str(imported)!r}).touch()\ntime.sleep(300)\n"
    (campaign.path / "app.py").write_text(slow + APP)
    process = campaign.popen("minimise", "run", str(file))
    wait_until(imported.exists)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1
    assert "stopped before the finding was reproduced" in said
    assert "SIG" not in said


@pytest.fixture
def large(campaign: Home) -> Path:
    """A crashing input of 59 bytes, whose target is slow from now on."""
    slow = "def total(made):\n    import time\n    time.sleep(0.05)"
    (campaign.path / "app.py").write_text(APP.replace("def total(made):", slow))
    file = campaign.path / "large"
    file.write_bytes(bytes([29]) + (999).to_bytes(2, "big") * 29)
    return file


@pytest.mark.parametrize("end", [None, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_the_smallest_so_far_is_kept_when_the_caller_is_gone(
    campaign: Home, large: Path, end: signal.Signals | None
) -> None:
    output = campaign.path / "small"
    words = ("minimise", "run", str(large), "-o", str(output), "--progress", "--until-eof")
    process = campaign.popen(*words, stdin=subprocess.PIPE)
    assert process.stdin and process.stdout and process.stderr
    while not re.search(r"59 -> (\d|[1-4]\d) bytes", process.stderr.readline()):
        assert process.poll() is None
    process.stdout.close()  # as where the caller was killed: nothing can be printed any more
    process.stderr.close()
    if end is None:
        process.stdin.close()
    else:
        process.send_signal(end)
    process.wait(DEADLINE_S)
    assert 0 < len(output.read_bytes()) < 50


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_the_engine_reports_the_smallest_when_its_group_is_stopped(
    lab: Lab, signum: signal.Signals
) -> None:
    """As ``timeout`` and Ctrl-C do: all processes of the group get the signal."""
    lab.write("app.py", APP.replace("def plain(", "import time\ndef plain(").replace(
        "    if data.count", "    time.sleep(0.02)\n    if data.count"))  # fmt: skip
    at = lab.spec("app:plain", target={"include": ["app"], "timeout_s": 2.0})
    file = lab.root / "input"
    file.write_bytes(b"a(b(c[d(e)f(g]h)" + NOISE)
    argv = [lab.python, "-P", "-m", "fuzztui.engines", str(at), "--minimise", str(file)]
    process = subprocess.Popen(
        argv, env=lab.env, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout
    lines = [json.loads(process.stdout.readline())]
    while "best" not in lines[-1]:
        lines.append(json.loads(process.stdout.readline()))
    os.killpg(process.pid, signum)
    lines += map(json.loads, process.communicate(timeout=DEADLINE_S)[0].splitlines())
    assert lines[-1]["end"]
    best = [base64.b64decode(line["best"]) for line in lines if "best" in line]
    assert len(best[-1]) <= len(best[0]) < len(file.read_bytes())
    assert all(0 <= line["part"] <= 1 for line in lines)


def test_the_command_ends_in_time(campaign: Home, large: Path) -> None:
    output = campaign.path / "small"
    said = campaign("minimise", "run", str(large), "-o", str(output), "--time", "1")
    assert "more may be possible" in said
    assert 0 < len(output.read_bytes()) < 59


def test_a_screen_that_is_killed_leaves_no_minimising_behind(
    campaign: Home, large: Path, terminal: Any
) -> None:
    file = campaign.run / "out/main/crashes" / finding(campaign).name
    file.write_bytes(large.read_bytes())
    campaign("ctl", "run", "stop")
    screen = terminal("attach", str(campaign.run), columns=120, rows=40)
    screen.wait("STOPPED")
    screen.keys("3", then="Traceback")
    screen.keys("m", then=lambda text: re.search(r"59 -> (\d|[1-4]\d) bytes", text))
    command = psutil.Process(screen.pid("minimise"))
    os.kill(screen.pid("attach"), signal.SIGKILL)
    wait_until(lambda: not command.is_running() or command.status() == psutil.STATUS_ZOMBIE)
    smaller = campaign.run / "minimised/main" / file.name
    assert 0 < len(smaller.read_bytes()) < 50


def test_ctrl_c_keeps_the_smallest_so_far(campaign: Home, large: Path) -> None:
    output = campaign.path / "small"
    terminal, stderr = os.openpty()
    process = campaign.popen("minimise", "run", str(large), "-o", str(output), stderr=stderr)
    os.close(stderr)
    shown = b""
    while not re.search(rb"59 -> (\d|[1-4]\d) bytes", shown):  # it has got somewhere
        shown += os.read(terminal, 4096)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=DEADLINE_S)
    os.close(terminal)
    assert process.returncode == 0
    assert "; stopped: more may be possible" in said
    assert len(output.read_bytes()) < 50
