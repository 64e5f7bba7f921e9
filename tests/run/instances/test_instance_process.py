import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from waiting import turns_of_the_loop, until, wait_until

from fuzztui.run.instances import process as processes
from fuzztui.run.instances.launcher import Launch
from fuzztui.run.instances.process import EngineProcess, last_reason
from fuzztui.run.observe.resources import ResourceMeter
from fuzztui.run.process import identity
from fuzztui.run.process.identity import (
    MARK_INSTANCE,
    MARK_RUN,
    ProcessId,
    descendants,
    kill_marked,
)
from fuzztui.run.process.reaper import Reaper, own_children

ESCAPE = (
    "import subprocess, sys, time\n"
    "p = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
    "print(p.pid, flush=True); time.sleep(1000)"
)


def python(code: str) -> Launch:
    return Launch([sys.executable, "-c", code], {"ADDED": "yes"})


def gone(pid: int) -> bool:
    """Wait until a process is dead; it may still be a zombie."""
    return wait_until(lambda: ProcessId.of(pid) is None)


def line_of(directory: Path) -> str:
    """The first line that the process prints."""

    def printed() -> str:
        line, end, _ = (directory / "worker.log").read_text().partition("\n")
        return line if end else ""

    return wait_until(printed)


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "main"
    path.mkdir()
    yield path
    kill_marked(tmp_path)


async def test_exit_status_and_signal(directory, tmp_path):
    process = EngineProcess.start(python("raise SystemExit(3)"), tmp_path, directory)
    assert await process.ended() == 3
    assert await process.ended() == 3  # as often as one likes
    process = EngineProcess.start(python("import time; time.sleep(1000)"), tmp_path, directory)
    process.identity.signal(signal.SIGKILL)
    assert await process.ended() == -signal.SIGKILL


async def test_its_surroundings(directory, tmp_path):
    code = (
        "import os, sys\n"
        "print(os.environ['ADDED'], os.environ['FUZZTUI_RUN'], os.environ['FUZZTUI_INSTANCE'],"
        " os.getsid(0) == os.getpid(), sys.stdin.read() == '', os.getcwd())"
    )
    process = EngineProcess.start(python(code), tmp_path, directory)
    await process.ended()
    assert line_of(directory) == f"yes {tmp_path} main True True {directory}"


async def test_output_is_appended_and_never_through_a_fifo(directory, tmp_path):
    for word in ("one", "two"):
        await EngineProcess.start(python(f"print('{word}')"), tmp_path, directory).ended()
    assert (directory / "worker.log").read_text() == "one\ntwo\n"
    (directory / "worker.log").unlink()
    os.mkfifo(directory / "worker.log")
    with pytest.raises(OSError, match=r"worker\.log|device"):
        EngineProcess.start(python("print()"), tmp_path, directory)


async def test_an_interpreter_that_is_not_there(directory, tmp_path):
    with pytest.raises(FileNotFoundError) as e:
        EngineProcess.start(Launch(["/nowhere/python"]), tmp_path, directory)
    assert e.value.filename == "/nowhere/python"


async def test_stop_is_gentle_at_first_even_to_a_stopped_process(directory, tmp_path):
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
        "print('up', flush=True); time.sleep(1000)"
    )
    process = EngineProcess.start(python(code), tmp_path, directory)
    line_of(directory)
    process.identity.signal(signal.SIGSTOP)
    assert await process.stop(20) is True
    assert await process.ended() == 0


async def test_what_does_not_go_is_killed_with_all_below_it(directory, tmp_path):
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ESCAPE
    process = EngineProcess.start(python(code), tmp_path, directory)
    child = int(line_of(directory))
    assert [p.pid for p in descendants(process.pid)] == [child]
    assert await process.stop(0.1) is False
    assert await process.ended() == -signal.SIGKILL
    assert gone(child)


async def test_the_sweep_finds_what_left_the_tree(directory, tmp_path):
    process = EngineProcess.start(python(ESCAPE), tmp_path, directory)
    child = int(line_of(directory))
    process.identity.signal(signal.SIGKILL)
    await process.ended()
    assert ProcessId.of(child) is not None
    assert await EngineProcess.kill_leftovers(tmp_path, "other") == 0
    assert await EngineProcess.kill_leftovers(tmp_path, "main") == 1
    assert gone(child)


def test_a_similar_mark_is_not_the_mark(tmp_path):
    environment = {**os.environ, MARK_RUN: f"{tmp_path}2", MARK_INSTANCE: "main", "X": "a=b"}
    process = subprocess.Popen(["sleep", "1000"], env=environment)
    assert kill_marked(tmp_path) == 0
    assert process.poll() is None
    assert kill_marked(Path(f"{tmp_path}2")) == 1
    assert process.wait() == -signal.SIGKILL


def test_a_process_is_found_in_the_moment_of_its_start(tmp_path, monkeypatch):
    """The kernel shows an empty environment of a program that it is just loading."""
    environment = {**os.environ, MARK_RUN: str(tmp_path)}
    for _ in range(20):
        process = subprocess.Popen(["sleep", "1000"], env=environment)
        with monkeypatch.context() as patched:  # the other processes would take too much time
            patched.setattr(identity, "_pids", lambda pid=process.pid: iter([pid]))
            assert [p.pid for p in identity.marked(tmp_path)] == [process.pid]
        assert kill_marked(tmp_path) == 1
        assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("pidfd", [True, False])
async def test_adoption_sees_the_end_without_a_status(directory, tmp_path, monkeypatch, pidfd):
    code = (
        "import sys; from pathlib import Path\n"
        "from fuzztui.run.instances.process import EngineProcess, Launch\n"
        "launch = Launch(['sleep', '1000'])\n"
        "p = EngineProcess.start(launch, Path(sys.argv[1]), Path(sys.argv[1]) / 'main')\n"
        "print(p.pid, flush=True); import os; os._exit(0)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=True, text=True
    )
    if not pidfd:
        monkeypatch.setattr(processes, "_POLL_S", 0.01)
        monkeypatch.delattr(os, "pidfd_open")
        monkeypatch.setattr(os, "pidfd_open", _no_pidfd, raising=False)
    process = EngineProcess.adopt(directory)
    assert process is not None
    assert process.pid == int(out.stdout)
    end = asyncio.ensure_future(process.ended())
    await turns_of_the_loop()
    assert not end.done()
    os.kill(process.pid, signal.SIGKILL)
    assert await end is None
    assert EngineProcess.adopt(directory) is None


def _no_pidfd(pid: int) -> int:
    raise OSError(38, "Function not implemented")


def test_a_pid_alone_proves_nothing():
    me = ProcessId.of(os.getpid())
    assert me is not None
    assert me.alive()
    assert ProcessId.from_json(me.to_json()) == me
    assert not ProcessId(me.pid, me.start + 1, me.boot).alive()
    assert not ProcessId(me.pid, me.start, "another boot").alive()
    ProcessId(me.pid, me.start + 1, me.boot).signal(signal.SIGKILL)  # nobody is hit


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"pid": 1}', '{"pid": "1", "start": 1, "boot": "x"}', "\0" * 100]
)
def test_nobody_is_adopted_by_a_strange_file(directory, text):
    (directory / "process.json").write_text(text)
    assert EngineProcess.adopt(directory) is None


def test_a_zombie_is_dead():
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert ProcessId.of(process.pid) is None
    process.wait()


def test_the_reason_is_the_last_word_of_the_engine(directory):
    assert last_reason(directory) == ""
    (directory / "worker.log").write_bytes(
        b"fuzztui: old\n" + b"\xff" * 200_000 + b"\nfuzztui: target.function: no such\nbye\n"
    )
    assert last_reason(directory) == "target.function: no such"


async def test_orphans_are_reaped_and_engines_are_not():
    engine = subprocess.Popen(["true"])
    os.waitid(os.P_PID, engine.pid, os.WEXITED | os.WNOWAIT)
    engines = {engine.pid}
    reaper = Reaper(lambda: engines)
    loop = asyncio.get_running_loop()
    reaper.start(loop)
    reaper.reap()
    assert engine.wait() == 0
    engines.clear()
    out = subprocess.run(["sh", "-c", "sleep 0.05 & echo $!"], capture_output=True, check=True)
    orphan = int(out.stdout)
    await until(lambda: not psutil.pid_exists(orphan))
    loop.remove_signal_handler(signal.SIGCHLD)
    ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)  # the tests' process continues as it was


async def test_children_of_threads_are_theirs():
    reaper = Reaper(set)
    loop = asyncio.get_running_loop()
    reaper.start(loop)

    def run():
        with own_children():
            return subprocess.run(["sh", "-c", "exit 7"], check=False).returncode

    # Without that some of them would be said to have ended with 0.
    ended = await asyncio.gather(*(asyncio.to_thread(run) for _ in range(60)))
    assert set(ended) == {7}
    loop.remove_signal_handler(signal.SIGCHLD)
    ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)


def test_resources_of_a_tree():
    code = (
        "import subprocess, sys\n"
        "c = subprocess.Popen([sys.executable, '-c', 'while True: pass'])\n"
        "print('up', flush=True); c.wait()"
    )
    tree = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    idle = subprocess.Popen(["sleep", "1000"])
    try:
        tree.stdout.readline()
        meter = ResourceMeter()
        roots = {"busy": tree.pid, "idle": idle.pid, "dead": 2**22 + 1}
        first = {r.instance: r for r in meter.measure(roots)}
        assert set(first) == {"busy", "idle"}
        assert first["busy"].cpu == 0
        second = first

        def worked() -> float:
            """Whether the busy one has had the processor between two measurements."""
            second.update({r.instance: r for r in meter.measure(roots)})
            return second["busy"].cpu

        wait_until(worked)
        assert second["busy"].processes == 2
        assert second["busy"].cpu > 0
        assert second["busy"].rss > second["idle"].rss > 0
        assert second["idle"].cpu == 0
    finally:
        for process in (*psutil.Process(tree.pid).children(), tree, idle):
            process.kill()
        tree.communicate()
        idle.wait()
