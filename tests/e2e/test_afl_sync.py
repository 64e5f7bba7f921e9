"""``fuzztui sync`` with real fuzzers: an afl-fuzz by hand, two runs of AFL++, two of zest."""

import contextlib
import json
import os
import shutil
import signal
import subprocess

import psutil
import pytest
from homes import AFL_ENV, FUZZTUI, compiled
from waiting import DEADLINE_S, wait_until

needs_afl = pytest.mark.skipif(shutil.which("afl-fuzz") is None, reason="afl++ is not installed")
pytestmark = pytest.mark.slow

TARGET = r"""
#include <stdio.h>
int main(int argc, char **argv) {
    unsigned char b[64] = {0};
    FILE *file = fopen(argv[1], "rb");
    if (!file || !fread(b, 1, 63, file)) return 0;
    if (b[0] == 'a' && b[1] == 'b' && b[2] == 'c' && b[3] == 'd' && b[4] == 'e') puts("left");
    if (b[0] == '1' && b[1] == '2' && b[2] == '3' && b[3] == '4' && b[4] == '5') puts("right");
    return 0;
}
"""
LEFT, RIGHT, KILLS = b"abcde", b"12345", b"KILL"


PROGRAM = """
import os, signal
from pathlib import Path

ARMED = Path(__file__).with_name("armed")

def check(data: bytes):
    if data[:4] == b"KILL":
        if ARMED.exists():
            os.kill(os.getpid(), signal.SIGSEGV)
        return 9
    if data[:5] == b"abcde":
        return 1
    if data[:5] == b"12345":
        return 2
    return 0
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "app.py").write_text(PROGRAM)
    (tmp_path / "shared").mkdir()
    return tmp_path


@pytest.fixture
def target(place):
    compiled(place, TARGET, name="target")


def campaign(place, name, seed, *, kind="afl"):
    (place / f"seeds-{name}").mkdir()
    (place / f"seeds-{name}/s").write_bytes(seed)
    target = (
        f'command = ["{place}/target", "@@"]'
        if kind == "afl"
        else 'function = "app:check"\npath = ["."]\ninclude = ["app"]'
    )
    (place / f"{name}.toml").write_text(
        f"""
[campaign]
name = "{name}"
output = "{place}/{name}"
[target]
{target}
[engine]
kind = "{kind}"
seeds = ["seeds-{name}"]
"""
        + ("" if kind == "afl" else "comparisons = false\nconstants = false\n")
    )
    return start(place, name)


def start(place, name):
    command = [FUZZTUI, f"{name}.toml", "--headless"]
    return subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL)


def sync(place, name, *options):
    command = [FUZZTUI, "sync", name, "shared", "--name", name, "--json", *options]
    done = subprocess.run(
        command, cwd=place, check=False, capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def status(place, name):
    command = [FUZZTUI, "status", name, "--json"]
    done = subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=DEADLINE_S)
    return {row["id"]: row for row in json.loads(done.stdout)["instances"]}


def has(directory, data):
    """The names of the entries with this content."""
    try:
        return [p.name for p in directory.iterdir() if p.is_file() and p.read_bytes() == data]
    except FileNotFoundError:
        return []


def end(*processes):
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for process in processes:
        process.wait(DEADLINE_S)


@needs_afl
def test_an_afl_fuzz_that_was_started_by_hand_joins_both_ways(place, target):
    ours = campaign(place, "ours", LEFT)
    (place / "seeds-hand").mkdir()
    (place / "seeds-hand/s").write_bytes(RIGHT)
    # Short intervals between its imports, which are 20 minutes otherwise.
    env = {**os.environ, **AFL_ENV, "AFL_SYNC_TIME": "1"}
    hand = subprocess.Popen(
        ["afl-fuzz", "-i", "seeds-hand", "-o", "shared", "-S", "hand", "--", "./target", "@@"],
        cwd=place, env=env, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until(lambda: has(place / "ours/out/main/queue", LEFT))
        wait_until(lambda: has(place / "shared/hand/queue", RIGHT))
        wait_until(lambda: sync(place, "ours")["pulled"].get("hand"))
        assert has(place / "shared/ours_main/queue", LEFT)
        wait_until(lambda: has(place / "shared/hand/queue", LEFT))
        wait_until(lambda: has(place / "ours/out/main/queue", RIGHT))
    finally:
        end(hand, ours)
    assert all("sync:ours_main" in name for name in has(place / "shared/hand/queue", LEFT))
    assert all("sync:hand" in name for name in has(place / "ours/out/main/queue", RIGHT))
    # What came from there is not sent back.
    sync(place, "ours")
    assert not has(place / "shared/ours_main/queue", RIGHT)


def test_two_runs_of_zest_share_and_a_restarted_supervisor_knows_its_passive_instance(place):
    a = campaign(place, "a", LEFT, kind="zest")
    b = campaign(place, "b", RIGHT, kind="zest")
    wait_until(lambda: has(place / "a/out/main/queue", LEFT))
    wait_until(lambda: has(place / "b/out/main/queue", RIGHT))
    loops = [
        subprocess.Popen(
            [FUZZTUI, "sync", name, "shared", "--name", name, "--every", "500ms"],
            cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name in "ab"
    ]  # fmt: skip
    try:
        wait_until(lambda: has(place / "a/out/main/queue", RIGHT))
        wait_until(lambda: has(place / "b/out/main/queue", LEFT))
        wait_until(lambda: status(place, "a").get("b_main"))
        end(a)
        a = start(place, "a")
        wait_until(lambda: status(place, "a")["main"]["state"] == "running")
        row = status(place, "a")["b_main"]
        assert (row["state"], row["passive"], row["execs"], row["corpus"]) == (
            "passive", str(place / "shared/b_main"), 0, 0,
        )  # fmt: skip
        assert row["received"] >= 1
        command = [FUZZTUI, "sync", "a", "shared"]
        busy = subprocess.run(
            command, cwd=place, capture_output=True, timeout=DEADLINE_S, check=False
        )
        assert busy.returncode == 2
        for loop in loops:
            loop.send_signal(signal.SIGTERM)
            out, err = loop.communicate(timeout=DEADLINE_S)
            assert loop.returncode == 0, err
            assert len(out.splitlines()) >= 2, "of a pass that has exchanged, and of the last"
    finally:
        for loop in loops:
            loop.kill()
            loop.communicate()
        end(a, b)
    assert not has(place / "shared/a_main/queue", RIGHT)
    # The supervisors have ended: a sync goes on.
    assert sync(place, "a", "--prune")["dropped"] is not None


def workers(run):
    """The workers of the engines of a run: the children of their monitors."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("FUZZTUI_RUN") == str(run) and process.children() == []:
                found.append(process)
    return found


def test_an_entry_that_kills_workers_travels_as_such(place):
    a = campaign(place, "a", KILLS, kind="zest")
    try:
        wait_until(lambda: has(place / "a/out/main/queue", KILLS))
        (place / "armed").touch()

        for process in workers(place / "a"):
            with contextlib.suppress(psutil.NoSuchProcess):  # it has met the entry already
                process.kill()  # its queue is run again by the next one, which the entry kills
        wait_until((place / "a/out/main/.unsafe").exists)
    finally:
        end(a)
    assert sync(place, "a")["unsafe"] == 1
    (name,) = has(place / "shared/a_main/queue", KILLS)
    number = str(int(name[3:9]))
    assert (place / "shared/a_main/.unsafe").read_text().split() == [number]
    # A run that would import it, had it not been told.
    b = campaign(place, "b", RIGHT, kind="zest")
    try:
        wait_until(lambda: has(place / "b/out/main/queue", RIGHT))
        found = sync(place, "b")
        assert found["skipped"] == {"a_main": {"killed a worker there": 1}}
        assert not has(place / "b/out/a_main/queue", KILLS)
        # One that got it before anybody knew is told, too.
        queue = place / "b/out/late_main/queue"
        queue.mkdir(parents=True)
        (queue.parent / ".unsafe").write_text("0\n")
        (queue / "id:000000,op:x").write_bytes(KILLS)
        (queue / "id:000001,op:x").write_bytes(LEFT)
        wait_until(lambda: has(place / "b/out/main/queue", LEFT))
        (main,) = (row for row in status(place, "b").values() if row["id"] == "main")
        assert (main["restarts"], main["state"]) == (0, "running")
        assert not list((place / "b/out/main/crashes").glob("id*"))
    finally:
        end(b)
