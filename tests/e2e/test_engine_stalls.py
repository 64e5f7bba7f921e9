"""Targets that stop their own process or lower its limits: no engine waits for them for ever."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_lab import Lab, events, execs, kill, names, reason, stats, worker_of
from waiting import wait_until

pytestmark = pytest.mark.slow

TARGET = """
import ctypes, os, resource, signal, time
NO_FILES = resource.RLIMIT_NOFILE
NO_BYTES = resource.RLIMIT_FSIZE
runs = 0

def target(data: bytes):
    global runs
    runs += 1
    n = 0
    for c in data:
        if c == 65:
            n += 1
        elif c > 200:
            n -= 1
    if {condition}:
        {act}
    return n > 2
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path)
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "one").write_bytes(b"seed")
    (tmp_path / "seeds" / "two").write_bytes(b"abc")
    yield lab
    lab.close()


def spec_of(lab: Lab, act: str, condition: str = "runs == 300", **keys: Any) -> Path:
    lab.write("app.py", TARGET.format(condition=condition, act=act))
    engine = {"seeds": [str(lab.root / "seeds")]} | keys.pop("engine", {})
    target = {"include": ["app"], "timeout_s": 0.3} | keys.pop("target", {})
    return lab.spec("app:target", target=target, engine=engine, **keys)


def run(lab: Lab, act: str, condition: str = "runs == 300", **keys: Any) -> Path:
    """Run 400 trials; all of them are counted once. Returns the instance's directory."""
    spec = spec_of(lab, act, condition, **{"budget_trials": 400, **keys})
    assert lab.run(spec) == 0, (spec.parent / "worker.log").read_text()
    figures = stats(spec.parent)
    assert int(figures["execs_done"]) == 400
    outcomes = ("valid_inputs", "invalid_inputs", "failed_inputs", "total_tmout")
    assert sum(int(figures[key]) for key in outcomes) == 400
    assert not names(spec.parent, "crashes")
    assert int(figures["saved_hangs"]) == len(names(spec.parent, "hangs"))
    return spec.parent


def hang(directory: Path) -> dict[str, Any]:
    (signature,) = {e["signature"] for e in events(directory, "finding_described")}
    found = [e for e in events(directory, "finding_described") if e["signature"] == signature]
    assert len(names(directory, "hangs")) == 1
    assert found[0]["category"] == "hang"
    return found[0]


# ----------------------------------------------------------------------------- it is stopped


@pytest.mark.parametrize("name", ["SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU"])
def test_a_target_that_stops_itself_hangs(lab: Lab, name: str) -> None:
    directory = run(lab, f"os.kill(os.getpid(), signal.{name})")
    found = hang(directory)
    assert name in found["title"]
    assert found["place"] == "app.py in target"
    assert "app.py" in found["detail"]


def test_so_does_one_that_stops_its_process_group(lab: Lab) -> None:
    assert "SIGSTOP" in hang(run(lab, "os.killpg(0, signal.SIGSTOP)"))["title"]


def test_and_one_that_has_itself_traced(lab: Lab) -> None:
    trace = "ctypes.CDLL(None).ptrace(0, 0, 0, 0); os.kill(os.getpid(), signal.SIGTERM)"
    assert "traced" in hang(run(lab, trace))["title"]


def test_an_input_that_stops_every_worker_is_one_hang(lab: Lab) -> None:
    """The input runs again in a clean process, and is not what its queue begins with."""
    stop = "os.kill(os.getpid(), signal.SIGSTOP)"
    directory = run(lab, stop, "data == b'abc'", budget_trials=400)
    (name,) = names(directory, "hangs")
    assert (directory / "hangs" / name).read_bytes() == b"abc"
    assert len(names(directory, "queue")) > 1


def test_a_target_that_stops_itself_while_it_is_imported_cannot_start(lab: Lab) -> None:
    lab.write("app.py", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)")
    spec = lab.spec("app:target", target={"timeout_s": 0.3})
    assert lab.run(spec) == 3
    assert "SIGSTOP" in reason(spec.parent)


def test_who_pauses_the_monitor_and_its_worker_finds_no_hang(lab: Lab) -> None:
    spec = spec_of(lab, "pass")
    nanny = lab.start(spec)
    wait_until(lambda: execs(spec.parent) > 100)
    worker = worker_of(nanny)
    for pid in (worker, nanny.pid):
        kill(pid, signal.SIGSTOP)
    # More than the worker is given, by the clock of a machine that was suspended.
    subprocess.run([sys.executable, "-c", "import time; time.sleep(3)"], check=True)
    for pid in (nanny.pid, worker):
        kill(pid, signal.SIGCONT)
    before = execs(spec.parent)
    wait_until(lambda: execs(spec.parent) > before + 100)
    assert worker_of(nanny) == worker
    nanny.send_signal(signal.SIGTERM)
    assert nanny.wait(60) == 0
    assert not names(spec.parent, "hangs")


def test_a_debugger_may_hold_the_worker(lab: Lab) -> None:
    spec = spec_of(lab, "pass")
    nanny = lab.start(spec)
    wait_until(lambda: execs(spec.parent) > 100)
    worker = worker_of(nanny)
    hold = (
        "import ctypes, os, sys, time\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "libc.ptrace.argtypes = [ctypes.c_long] * 4\n"
        "assert libc.ptrace(16, int(sys.argv[1]), 0, 0) == 0, ctypes.get_errno()\n"
        "os.waitpid(int(sys.argv[1]), 0x40000000)\n"
        "time.sleep(4)\n"
        "libc.ptrace(17, int(sys.argv[1]), 0, 0)\n"
    )
    if subprocess.run([sys.executable, "-c", hold, str(worker)], check=False).returncode:
        pytest.skip("no process may be traced here")
    before = execs(spec.parent)
    wait_until(lambda: execs(spec.parent) > before + 100)
    assert worker_of(nanny) == worker
    nanny.send_signal(signal.SIGTERM)
    assert nanny.wait(60) == 0
    assert not names(spec.parent, "hangs")


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["mu2", "text"])
def test_other_engines_go_on_too(lab: Lab, kind: str) -> None:
    stop = "os.kill(os.getpid(), signal.SIGSTOP)"
    spec = spec_of(lab, stop, "data == b'abc'", engine={"kind": kind}, budget_trials=300,
                   target={"input": "bytes"})  # fmt: skip
    assert lab.run(spec, timeout=300) == 0, (spec.parent / "worker.log").read_text()
    assert names(spec.parent, "hangs")
    assert execs(spec.parent) >= 300


def test_a_mutant_that_stops_its_process_is_killed_by_it(lab: Lab) -> None:
    """In a worker first, then in child processes."""
    lab.write("app.py", "import os, signal\ndef target(data: bytes):\n"
              "    if len(data) < 0:\n        os.kill(os.getpid(), signal.SIGSTOP)\n"
              "    return len(data)\n")  # fmt: skip
    spec = lab.spec("app:target", budget_trials=200, engine={"kind": "mu2"},
                    target={"include": ["app"], "timeout_s": 0.3})  # fmt: skip
    assert lab.run(spec, timeout=300) == 0, (spec.parent / "worker.log").read_text()
    killed = [e for e in events(spec.parent, "mutant_state") if e["state"] == "killed"]
    assert killed
    assert not names(spec.parent, "hangs")


# --------------------------------------------------------------------------- limits are lowered


@pytest.mark.parametrize(
    "limit", ["NO_BYTES", "NO_FILES", "resource.RLIMIT_AS", "resource.RLIMIT_DATA"]
)
def test_a_hard_limit_that_is_lowered_is_the_inputs_doing(lab: Lab, limit: str) -> None:
    """Saving is impossible from then on: a clean worker continues, and finds which input it was."""
    directory = run(lab, f"resource.setrlimit({limit}, (0, 0))", "data == b'abc'")
    found = hang(directory)
    assert "RLIMIT_" in found["title"]
    (name,) = names(directory, "hangs")
    assert (directory / "hangs" / name).read_bytes() == b"abc"
    assert any("RLIMIT_" in e["text"] for e in events(directory, "message"))
    assert len(names(directory, "queue")) > 1


def test_both_limits_in_a_late_trial(lab: Lab) -> None:
    lower = "resource.setrlimit(NO_BYTES, (0, 0)); resource.setrlimit(NO_FILES, (3, 3))"
    directory = run(lab, lower, budget_trials=400)
    said = [e["text"] for e in events(directory, "message")]
    assert any("RLIMIT_FSIZE" in text or "RLIMIT_NOFILE" in text for text in said)
    described = {e["id"] for e in events(directory, "entry_described")}
    assert described == set(range(len(names(directory, "queue"))))


def test_soft_limits_are_restored(lab: Lab) -> None:
    hard = "resource.getrlimit({0})[1]"
    lower = "; ".join(
        f"resource.setrlimit({name}, ({value}, {hard.format(name)}))"
        for name, value in (("NO_BYTES", 0), ("NO_FILES", 3), ("resource.RLIMIT_AS", 1 << 30))
    )
    directory = run(lab, lower, "True")
    assert not events(directory, "finding_described")
    assert not events(directory, "message")
    assert len(names(directory, "queue")) > 1


def test_memory_that_a_target_allows_itself_is_no_hang(lab: Lab) -> None:
    """A sandbox: also permanently, but it leaves some."""
    act = "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)); bytearray(1 << 20)"
    directory = run(lab, act, "True")
    assert not events(directory, "finding_described")
    assert not events(directory, "message")


def test_want_of_memory_is_not_blamed_on_the_inputs_that_follow(lab: Lab) -> None:
    act = "resource.setrlimit(resource.RLIMIT_AS, (0, 0))\n    bytearray(1 << 22)"
    directory = run(lab, act, "data == b'abc'")
    assert "RLIMIT_AS" in hang(directory)["title"]
    assert not names(directory, "crashes")
    assert len(names(directory, "hangs")) == 1


def test_a_limit_that_is_lowered_while_the_target_is_imported(lab: Lab) -> None:
    lab.write("app.py", "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
              "def target(data: bytes): pass\n")  # fmt: skip
    spec = lab.spec("app:target")
    assert lab.run(spec) == 3
    assert "RLIMIT_FSIZE" in reason(spec.parent)
    assert any("RLIMIT_FSIZE" in e["text"] for e in events(spec.parent, "message"))


def test_a_limit_of_cpu_time_is_named_when_it_kills_the_worker(lab: Lab) -> None:
    act = "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n        while True: pass"
    spec = spec_of(lab, act, "data == b'abc'", budget_trials=100, target={"timeout_s": 20.0})
    assert lab.run(spec, timeout=180) == 0, (spec.parent / "worker.log").read_text()
    (name,) = names(spec.parent, "crashes")
    assert (spec.parent / "crashes" / name).read_bytes() == b"abc"
    (title,) = {e["title"] for e in events(spec.parent, "finding_described")}
    assert "RLIMIT_CPU to 1" in title
    said = [e["text"] for e in events(spec.parent, "message")]
    assert any("RLIMIT_CPU to 1" in text for text in said)
    assert execs(spec.parent) == 100


def test_what_ends_a_worker_is_never_silent(lab: Lab) -> None:
    """Not even if the target has replaced what a traceback is made with, and forbidden files."""
    act = (
        "import builtins; resource.setrlimit(NO_BYTES, (0, resource.RLIM_INFINITY)); "
        "time.monotonic_ns = time.time = builtins.open = builtins.len = None"
    )
    spec = spec_of(lab, act, "data == b'abc'", budget_trials=100)
    assert lab.run(spec) == 0
    assert "TypeError" in (spec.parent / "worker.log").read_text()
    (found,) = {e["signature"] for e in events(spec.parent, "finding_described")}
    assert "status 1" in found
    (title,) = {e["title"] for e in events(spec.parent, "finding_described")}
    assert "TypeError" in title


# ------------------------------------------------------------------------- few descriptors


@pytest.mark.parametrize("files", [64, 128])
@pytest.mark.parametrize("kind", ["zest", "mu2"])
def test_few_open_files_are_enough(lab: Lab, kind: str, files: int) -> None:
    spec = spec_of(lab, "pass", engine={"kind": kind}, budget_trials=300)
    limit = (files, files)
    assert lab.run(spec, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit)) == 0
    assert execs(spec.parent) == 300


def test_a_soft_limit_of_open_files_is_raised(lab: Lab) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    spec = spec_of(lab, "os.fstat(200)", "runs == 7", budget_trials=20)
    limit = (20, hard)
    assert lab.run(spec, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit)) == 0
    assert not names(spec.parent, "crashes")


def test_too_few_open_files_are_told_as_that(lab: Lab) -> None:
    spec = spec_of(lab, "pass")
    limit = (20, 20)
    assert lab.run(spec, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit)) == 3
    assert "ulimit -n" in reason(spec.parent)
    assert os.path.exists(spec)
