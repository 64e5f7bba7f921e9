"""Targets that stop their own process or lower its limits: no engine waits for them for ever."""

import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from engine_lab import Lab, events, execs, kill, names, reason, worker_of
from waiting import DEADLINE_S, wait_until

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


def spec_of(lab: Lab, act: str, condition: str = "runs == 300", **keys: Any) -> Path:
    lab.write("app.py", TARGET.format(condition=condition, act=act))
    engine = {"seeds": lab.seeds(one=b"seed", two=b"abc")} | keys.pop("engine", {})
    target = {"include": ["app"], "timeout_s": 0.3} | keys.pop("target", {})
    return lab.spec("app:target", target=target, engine=engine, **keys)


def run(lab: Lab, act: str, condition: str = "runs == 300", **keys: Any) -> Path:
    """Run 400 trials; all of them are counted once. Returns the instance's directory."""
    directory = lab.finish(spec_of(lab, act, condition, **{"budget_trials": 400, **keys}))
    assert lab.counted(directory) == 400
    assert not names(directory, "crashes")
    return directory


def hang(directory: Path) -> dict[str, Any]:
    (found,) = Lab.findings(directory).values()
    assert len(names(directory, "hangs")) == 1
    assert found["category"] == "hang"
    return found


# ----------------------------------------------------------------------------- it is stopped


@pytest.mark.parametrize(
    ("act", "word"),
    [
        *((f"os.kill(os.getpid(), signal.{name})", name)
          for name in ("SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU")),
        ("os.killpg(0, signal.SIGSTOP)", "SIGSTOP"),
    ],
    ids=["SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "its process group"],
)  # fmt: skip
def test_a_target_that_stops_itself_hangs(lab: Lab, act: str, word: str) -> None:
    found = hang(run(lab, act))
    assert word in found["title"]
    assert found["place"] == "app.py in target"
    assert "app.py" in found["detail"]


def test_so_does_one_that_has_itself_traced(lab: Lab) -> None:
    trace = "ctypes.CDLL(None).ptrace(0, 0, 0, 0); os.kill(os.getpid(), signal.SIGTERM)"
    assert "traced" in hang(run(lab, trace))["title"]


NO_MEMORY = "resource.setrlimit(resource.RLIMIT_AS, (0, 0))\n    bytearray(1 << 22)"


@pytest.mark.parametrize(
    ("act", "word"),
    [
        ("os.kill(os.getpid(), signal.SIGSTOP)", "SIGSTOP"),
        *((f"resource.setrlimit({limit}, (0, 0))", "RLIMIT_")
          for limit in ("NO_BYTES", "NO_FILES", "resource.RLIMIT_AS", "resource.RLIMIT_DATA")),
        (NO_MEMORY, "RLIMIT_AS"),
    ],
    ids=["stops", "bytes", "files", "address space", "data", "want of memory"],
)  # fmt: skip
def test_an_input_that_stops_or_limits_every_worker_is_one_hang(
    lab: Lab, act: str, word: str
) -> None:
    """The input runs again in a clean process, and is not what its queue begins with.

    After a hard limit saving is impossible: a clean worker continues, and finds the input.
    """
    directory = run(lab, act, "data == b'abc'")
    assert word in hang(directory)["title"]
    (name,) = names(directory, "hangs")
    assert (directory / "hangs" / name).read_bytes() == b"abc"
    if "RLIMIT" in word:
        assert any(word in text for text in lab.messages(directory))
    assert len(names(directory, "queue")) > 1


def test_a_target_that_stops_itself_while_it_is_imported_cannot_start(lab: Lab) -> None:
    lab.write("app.py", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)")
    spec = lab.spec("app:target", target={"timeout_s": 0.3})
    assert lab.run(spec) == 3
    assert "SIGSTOP" in reason(spec.parent)


def at_work(lab: Lab) -> tuple[subprocess.Popen[bytes], int]:
    """A campaign that runs, and its worker."""
    spec = spec_of(lab, "pass")
    nanny = lab.start(spec)
    wait_until(lambda: execs(spec.parent) > 100)
    return nanny, worker_of(nanny)


def is_undisturbed(lab: Lab, nanny: subprocess.Popen[bytes], worker: int) -> None:
    """The same worker continues, and nothing counts as a hang."""
    main = lab.out / "main"
    lab.goes_on(main, 100)
    assert worker_of(nanny) == worker
    lab.end(nanny)
    assert not names(main, "hangs")


def test_who_pauses_the_monitor_and_its_worker_finds_no_hang(lab: Lab) -> None:
    nanny, worker = at_work(lab)
    for pid in (worker, nanny.pid):
        kill(pid, signal.SIGSTOP)
    # More than the worker is given, by the clock of a machine that was suspended.
    subprocess.run([sys.executable, "-c", "import time; time.sleep(3)"], check=True)
    for pid in (nanny.pid, worker):
        kill(pid, signal.SIGCONT)
    is_undisturbed(lab, nanny, worker)


def test_a_debugger_may_hold_the_worker(lab: Lab) -> None:
    nanny, worker = at_work(lab)
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
    is_undisturbed(lab, nanny, worker)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["mu2", "text"])
def test_other_engines_go_on_too(lab: Lab, kind: str) -> None:
    stop = "os.kill(os.getpid(), signal.SIGSTOP)"
    keys = {"engine": {"kind": kind}, "target": {"input": "bytes"}, "budget_trials": 300}
    directory = lab.finish(spec_of(lab, stop, "data == b'abc'", **keys), timeout=300)
    assert names(directory, "hangs")
    assert execs(directory) >= 300


def test_a_mutant_that_stops_its_process_is_killed_by_it(lab: Lab) -> None:
    """In a worker first, then in child processes."""
    lab.write("app.py", "import os, signal\ndef target(data: bytes):\n"
              "    if len(data) < 0:\n        os.kill(os.getpid(), signal.SIGSTOP)\n"
              "    return len(data)\n")  # fmt: skip
    directory = lab.campaign("app:target", budget_trials=200, engine={"kind": "mu2"}, timeout=300,
                             target={"include": ["app"], "timeout_s": 0.3})  # fmt: skip
    assert any(e["state"] == "killed" for e in events(directory, "mutant_state"))
    assert not names(directory, "hangs")


# --------------------------------------------------------------------------- limits are lowered


def test_both_limits_in_a_late_trial(lab: Lab) -> None:
    lower = "resource.setrlimit(NO_BYTES, (0, 0)); resource.setrlimit(NO_FILES, (3, 3))"
    directory = run(lab, lower)
    said = lab.messages(directory)
    assert any("RLIMIT_FSIZE" in text or "RLIMIT_NOFILE" in text for text in said)
    described = {e["id"] for e in events(directory, "entry_described")}
    assert described == set(range(len(names(directory, "queue"))))


SOFT = "; ".join(
    f"resource.setrlimit({name}, ({value}, resource.getrlimit({name})[1]))"
    for name, value in (("NO_BYTES", 0), ("NO_FILES", 3), ("resource.RLIMIT_AS", 1 << 30))
)
SANDBOX = "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)); bytearray(1 << 20)"


@pytest.mark.parametrize("act", [SOFT, SANDBOX], ids=["soft limits", "enough memory"])
def test_limits_that_can_be_restored_or_leave_enough_are_no_hang(lab: Lab, act: str) -> None:
    directory = run(lab, act, "True")
    assert not events(directory, "finding_described")
    assert not events(directory, "message")
    assert len(names(directory, "queue")) > 1


def test_a_limit_that_is_lowered_while_the_target_is_imported(lab: Lab) -> None:
    lab.write("app.py", "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
              "def target(data: bytes): pass\n")  # fmt: skip
    spec = lab.spec("app:target")
    assert lab.run(spec) == 3
    assert "RLIMIT_FSIZE" in reason(spec.parent)
    assert any("RLIMIT_FSIZE" in text for text in lab.messages(spec.parent))


def test_a_limit_of_cpu_time_is_named_when_it_kills_the_worker(lab: Lab) -> None:
    act = "resource.setrlimit(resource.RLIMIT_CPU, (1, 1))\n        while True: pass"
    directory = lab.finish(
        spec_of(lab, act, "data == b'abc'", budget_trials=100, target={"timeout_s": 20.0}),
        timeout=DEADLINE_S,
    )
    (name,) = names(directory, "crashes")
    assert (directory / "crashes" / name).read_bytes() == b"abc"
    (title,) = {e["title"] for e in events(directory, "finding_described")}
    assert "RLIMIT_CPU to 1" in title
    assert any("RLIMIT_CPU to 1" in text for text in lab.messages(directory))
    assert execs(directory) == 100


def test_what_ends_a_worker_is_never_silent(lab: Lab) -> None:
    """Not even if the target has replaced what a traceback is made with, and forbidden files."""
    act = (
        "import builtins; resource.setrlimit(NO_BYTES, (0, resource.RLIM_INFINITY)); "
        "time.monotonic_ns = time.time = builtins.open = builtins.len = None"
    )
    directory = lab.finish(spec_of(lab, act, "data == b'abc'", budget_trials=100))
    assert "TypeError" in (directory / "worker.log").read_text()
    ((signature, found),) = lab.findings(directory).items()
    assert "status 1" in signature
    assert "TypeError" in found["title"]


# ------------------------------------------------------------------------- few descriptors


def with_files(lab: Lab, spec: Path, soft: int, hard: int) -> int:
    """The exit status of a run with these limits of open files."""
    limit = (soft, hard)
    return lab.run(spec, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))


@pytest.mark.parametrize("files", [64, 128])
@pytest.mark.parametrize("kind", ["zest", "mu2"])
def test_few_open_files_are_enough(lab: Lab, kind: str, files: int) -> None:
    spec = spec_of(lab, "pass", engine={"kind": kind}, budget_trials=300)
    assert with_files(lab, spec, files, files) == 0
    assert execs(spec.parent) == 300


def test_a_soft_limit_of_open_files_is_raised(lab: Lab) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    spec = spec_of(lab, "os.fstat(200)", "runs == 7", budget_trials=20)
    assert with_files(lab, spec, 20, hard) == 0
    assert not names(spec.parent, "crashes")


def test_too_few_open_files_are_told_as_that(lab: Lab) -> None:
    spec = spec_of(lab, "pass")
    assert with_files(lab, spec, 20, 20) == 3
    assert "ulimit -n" in reason(spec.parent)
