"""``fuzztui watch`` in a real terminal, over real fuzzers that someone else started."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from homes import AFL_ENV, FUZZTUI, compiled
from waiting import DEADLINE_S, wait_until
from watch_lab import Fuzzer

pytestmark = pytest.mark.slow

TARGET = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  char b[64] = {0};
  if (fread(b, 1, 63, stdin) < 3) return 0;
  if (b[0] == 'c') { if (b[1] == 'r') { if (b[2] == '!') abort(); } }
  return b[0] > 'm' ? 1 : 0;
}
"""


def watchers(tmp: Path) -> list[int]:
    """Watcher processes that live, with their log in ``tmp``."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "fuzztui.features.watch" in words and any(str(tmp) in word for word in words):
            found.append(process.pid)
    return found


def left_behind(tmp: Path) -> list[Path]:
    return list(tmp.glob("fuzztui-watch-*"))


@pytest.fixture
def tmp(home, monkeypatch):
    """Where the private directories of a watch would be left behind."""
    tmp = home.path / "tmp"
    tmp.mkdir()
    return tmp


@pytest.fixture
def watched(home, terminal, tmp):
    """``watched(*args)`` runs fuzztui watch in a real terminal."""

    def run(*args: str, **how):
        return terminal(command=["env", f"TMPDIR={tmp}", FUZZTUI, "watch", *args], **how)

    return run


def test_a_dead_campaign_is_shown_and_nothing_stays(home, watched, tmp):
    main = Fuzzer(home.path / "out/main")
    main.put("queue/id:000000,time:0,execs:0,orig:seed")
    main.put("crashes/id:000000,sig:06,src:000000,time:120000,execs:120000,op:havoc,rep:4")
    screen = watched(str(home.path / "out"))
    screen.wait(lambda text: "STOPPED" in text and "3.60M" in text)
    screen.keys("3", then="crash")
    text = screen.keys("q", then="exit=0")
    assert "attach" not in text
    wait_until(lambda: not left_behind(tmp))


@pytest.fixture
def stopped(home, watched):
    """The screen of a campaign of one fuzzer that has ended."""
    Fuzzer(home.path / "out/main")
    screen = watched(str(home.path / "out"))
    screen.wait("STOPPED")
    return screen


@pytest.mark.parametrize("how", ["terminal lost", "screen killed", "session ended"])
def test_a_screen_that_ends_leaves_nothing_behind(stopped, tmp, how):
    assert left_behind(tmp)
    (ours,) = map(psutil.Process, watchers(tmp))
    if how == "terminal lost":
        stopped.close()
    elif how == "screen killed":
        ours.parent().kill()
    else:
        for process in (ours, ours.parent()):
            process.terminate()
    wait_until(lambda: not left_behind(tmp) and not watchers(tmp))


def test_a_watcher_that_dies_is_told(stopped, tmp):
    (ours,) = watchers(tmp)
    psutil.Process(ours).kill()  # as the kernel does when there is no memory left
    stopped.wait("The watcher has ended, nothing is updated any more: killed by signal 9")
    stopped.keys("q", then="exit=0")
    wait_until(lambda: not left_behind(tmp))


def test_what_was_kept_can_be_replayed(home, watched, terminal, tmp):
    Fuzzer(home.path / "out/main")
    kept = home.path / "kept"
    screen = watched(str(home.path / "out"), "--keep", str(kept))
    screen.wait("STOPPED")
    screen.keys("q", then="exit=0")
    assert '"state": "stopped"' in home("replay", str(kept), "--json")
    again = terminal("replay", str(kept), "--speed", "1000")
    again.wait("REPLAY")


@pytest.fixture
def target(tmp_path) -> Path:
    if shutil.which("afl-fuzz") is None or shutil.which("afl-cc") is None:
        pytest.skip("AFL++ is not installed")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/seed").write_bytes(b"cr hello")
    return compiled(tmp_path, TARGET, name="target")


@pytest.fixture
def afl(target):
    """``afl(name)`` starts a real afl-fuzz on ``out``; all end at the end."""
    started: list[subprocess.Popen] = []

    def start(*options: str, seeds: str = "in") -> subprocess.Popen:
        command = ["afl-fuzz", "-i", seeds, "-o", "out", *options, "--", str(target)]
        process = subprocess.Popen(
            command, cwd=target.parent, env={**os.environ, **AFL_ENV},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(DEADLINE_S)


def test_real_fuzzers_from_the_first_to_the_resumed(home, watched, afl, target):
    out = target.parent / "out"
    out.mkdir()
    screen = watched(str(out))
    screen.wait("STARTING")
    main = afl("-M", "main")
    screen.wait(lambda text: "RUNNING" in text and "main" in text)
    s1 = afl("-S", "s1")
    screen.wait(lambda text: text.count("running") >= 2)
    wait_until(lambda: list((out / "main/crashes").glob("id*")))
    screen.keys("3", then="sig")
    screen.keys("1")
    # Until it has written its figures nobody knows which process it is.
    wait_until((out / "s1/fuzzer_stats").exists)
    s1.send_signal(signal.SIGSTOP)
    screen.wait("paused")
    s1.send_signal(signal.SIGCONT)
    screen.wait(lambda text: text.count("running") > text.count("paused"))
    main.terminate()
    s1.terminate()
    main.wait(DEADLINE_S)
    s1.wait(DEADLINE_S)
    screen.wait("STOPPED")
    held = {p: p.stat().st_mtime_ns for p in out.rglob("*")}
    found = home.path / "found"
    found.write_text(home("status", str(out)))
    assert {p: p.stat().st_mtime_ns for p in out.rglob("*")} == held  # we touch nothing
    afl("-M", "main", seeds="-")
    screen.wait("RUNNING")
    wait_until(lambda: list((out / "main").glob("crashes.*")))
    screen.keys("q", then="exit=0")


STORES = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void store(char *to, int at) { to[at] = 1; }
__attribute__((noinline)) void on_comment(char *to) { store(to, 8); to[0]++; }
__attribute__((noinline)) void on_plain(char *to) { store(to, 9); to[1]++; }
int main(void) {
  char b[64] = {0}, *to = malloc(8);
  if (fread(b, 1, 63, stdin) < 2) return 0;
  if (b[0] == '#') on_comment(to);
  if (b[0] == '+') on_plain(to);
  return to[0];
}
"""


def test_crashes_of_a_hand_started_fleet_are_run_with_consent(home, watched, target):
    """Two bugs of one function that AFL's names cannot tell apart, with their severity."""
    fleet = target.parent / "fleet"
    fleet.mkdir()
    asan = compiled(fleet, STORES, "-g", "-O1", AFL_USE_ASAN="1", name="stores")
    (fleet / "in").mkdir()
    (fleet / "in/seed").write_bytes(b"*hello")
    command = ["afl-fuzz", "-i", "in", "-o", "out", "-M", "main", "-s", "1", "--", f"./{asan.name}"]
    fuzzing = subprocess.Popen(
        command, cwd=fleet, env={**os.environ, **AFL_ENV},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    crashes = fleet / "out/main/crashes"

    def firsts() -> set[bytes]:
        return {file.read_bytes()[:1] for file in crashes.glob("id*")}

    try:
        wait_until(lambda: firsts() == {b"#", b"+"})
    finally:
        fuzzing.terminate()
        fuzzing.wait(DEADLINE_S)
    files = {path: path.stat().st_mtime_ns for path in fleet.rglob("*")}
    assert "SIGABRT, from the file names" in home("status", str(fleet / "out"))
    screen = watched(str(fleet / "out"), "--run-crashes")
    screen.wait(lambda text: "Run it? [y/N]" in text.replace("\n", ""))
    assert str(asan) in screen.text().replace("\n", "")
    screen.keys("y", "Enter", then="STOPPED")
    text = screen.keys("3", then="exploitable, heap-buffer-overflow(write): A write")
    for line in ("(WRITE) via on_comment", "(WRITE) via on_plain"):
        assert line in text
    screen.keys("q", then="exit=0")
    assert {path: path.stat().st_mtime_ns for path in fleet.rglob("*")} == files
    for path in (str(fleet / "out"), str(fleet / "out/main")):
        assert "(WRITE) via on_plain" in home("status", path)
