"""``fuzztui adopt``: real afl-fuzz that others have started become instances of a run."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from homes import AFL_ENV, FUZZTUI, Home, compiled, logged
from skipped import needs_afl
from waiting import DEADLINE_S, wait_until

from fuzztui.features.watch.instance import held
from fuzztui.kernel.wire.events import InstanceState

pytestmark = [pytest.mark.slow, needs_afl("afl-fuzz", "afl-cc")]

TARGET = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
  char b[64] = {0};
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : stdin;
  if (!file || fread(b, 1, 63, file) < 3) return 0;
  if (b[0] == 'c') { puts("c"); if (b[1] == 'r') { puts("r"); if (b[2] == '!') abort(); } }
  if (!memcmp(b, "magic", 5)) puts("magic");
  return b[0] > 'm' ? 1 : 0;
}
"""

OPTIONS = {
    "master": ["-M", "master", "-c", "./cmp", "-l", "2", "--", "./target", "@@"],
    "s1": ["-S", "s1", "-p", "rare", "-t", "500", "-m", "none", "--", "./target", "@@"],
    "words": ["-S", "words", "-x", "words.dict", "--", "./target"],
}
"""What follows ``-i in -o out`` on the command lines."""


class ByHand:
    """Fuzzers as a user starts them, in one directory."""

    def __init__(self, path: Path) -> None:
        self.path, self.out = path, path / "out"
        self.started: dict[str, subprocess.Popen[bytes]] = {}
        compiled(path, TARGET, name="target")
        compiled(path, TARGET, name="cmp", AFL_LLVM_CMPLOG="1")
        (path / "in").mkdir()
        (path / "in/seed").write_bytes(b"cr hello")
        (path / "words.dict").write_text('"magic"\n')

    def start(self, name: str, *words: str, out: str = "out", **env: str) -> None:
        command = ["afl-fuzz", "-i", "in", "-o", out, *(words or OPTIONS[name])]
        self.started[name] = subprocess.Popen(
            command,
            cwd=self.path,
            # Without trimming, which changes entries in place, what is there stays.
            env={**os.environ, **AFL_ENV, "AFL_DISABLE_TRIM": "1", **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def start_all(self) -> None:
        """Start three, and wait until each has found a crash."""
        for name in OPTIONS:
            self.start(
                name, **({"ASAN_OPTIONS": "abort_on_error=1:symbolize=0"} if name == "s1" else {})
            )
        wait_until(lambda: all([*self.out.glob(f"{name}/crashes/id*")] for name in OPTIONS))
        wait_until(lambda: all(self.stat(name, "fuzzer_pid") for name in OPTIONS))

    def end_all(self, number: int = signal.SIGTERM) -> None:
        for process in self.started.values():
            process.send_signal(number)
            process.wait(DEADLINE_S)

    def stat(self, name: str, key: str) -> int:
        file = self.out / name / "fuzzer_stats"
        text = file.read_text() if file.exists() else ""
        found = re.search(rf"^{key} *: (\d+)", text, re.MULTILINE)
        return int(found[1]) if found else 0

    def contents(self) -> set[str]:
        """The hashes of all queue entries and crashes, by content."""
        files = [*self.out.glob("*/queue/id*"), *self.out.glob("*/crashes*/id*")]
        return {hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture
def by_hand(home):
    made = ByHand(home.path)
    yield made
    for process in made.started.values():
        process.kill()
        process.wait(DEADLINE_S)


def instances(home: Home) -> dict[str, dict]:
    found = home.status()["instances"]
    return {row["id"]: row for row in found}


def running_all(home: Home) -> dict[str, dict] | None:
    rows = instances(home)
    whole = set(rows) >= set(OPTIONS) and all(rows[n]["state"] == "running" for n in OPTIONS)
    return rows if whole else None


def commands(home: Home) -> dict[str, psutil.Process]:
    """The afl-fuzz processes of the run, by instance."""
    tops = {}
    for process in home.processes():
        with suppress(psutil.NoSuchProcess):  # a fork that was about to run the target
            above = process.parent()
            if process.name() == "afl-fuzz" and (above is None or above.name() != "afl-fuzz"):
                tops[process.environ()["FUZZTUI_INSTANCE"]] = process
    return tops


def test_a_living_fleet_goes_on_under_its_names_with_all_its_work(home, by_hand):
    by_hand.start_all()
    before = by_hand.contents()
    text = home("adopt", "out", "-o", "run", "--yes", "--detach")
    for words in OPTIONS.values():
        assert f"-o out {' '.join(words)}" in text
    assert by_hand.out.is_dir()
    assert not by_hand.out.is_symlink()
    assert all(p.wait(DEADLINE_S) == 0 for p in by_hand.started.values())  # SIGTERM, no kill
    ended_with = {name: by_hand.stat(name, "execs_done") for name in OPTIONS}
    assert before <= by_hand.contents()
    rows = wait_until(lambda: running_all(home), home.status)
    assert set(rows) - {"seeds"} == set(OPTIONS)
    wait_until(
        lambda: all(instances(home)[n]["execs"] > ended_with[n] > 100 for n in OPTIONS),
        lambda: (ended_with, home.status()),
    )
    lines = {name: process.cmdline() for name, process in commands(home).items()}
    role = {name: "-M" if name == "master" else "-S" for name in OPTIONS}
    for name, line in lines.items():
        assert line[line.index(role[name]) + 1] == name
        options = OPTIONS[name][2 : OPTIONS[name].index("--")]
        assert " ".join(options) in " ".join(line)
        target = OPTIONS[name][OPTIONS[name].index("--") + 1 :]
        assert line[line.index("--") + 1 :] == [str(home.path / "target"), *target[1:]]
        assert line.count("-t") == line.count("-m") == 1
    envs = {name: process.environ() for name, process in commands(home).items()}
    assert {name for name, env in envs.items() if env.get("ASAN_OPTIONS")} == {"s1"}
    assert {env["AFL_DISABLE_TRIM"] for env in envs.values()} == {"1"}
    assert before <= by_hand.contents()
    assert home.status()["findings"]
    # Commands reach the fleet, and a stopped run is resumed by its campaign file.
    (home.path / "more").write_bytes(b"zz more")
    home("ctl", "run", "add-seed", "more")
    home.stop()
    # What the fleet had executed before is in the sum, and in no average.
    after = home.status()
    own = after["execs"] - sum(ended_with.values())
    assert 0 < after["execs_per_sec"] * after["running_s"] <= own * 1.01
    home("run/campaign.toml", "--detach")
    wait_until(lambda: running_all(home), home.status)
    assert before <= by_hand.contents()
    # The same command only resumes the run now, and shows it.
    home("adopt", "out", "--detach")
    assert "rejoining" in home.stderr
    home.stop()
    by_hand.start("words", *OPTIONS["words"], AFL_AUTORESUME="1")
    wait_until(lambda: held(str(by_hand.out / "words")))
    home("adopt", "out", "--yes", "--detach", code=2)
    assert f"words (process {by_hand.started['words'].pid}): was started by hand" in home.stderr


@pytest.mark.parametrize("moment", ["the run is made", "one has ended"])
def test_a_kill_in_the_middle_loses_nothing_and_adopting_again_ends_it(home, by_hand, moment):
    by_hand.start_all()
    before = by_hand.contents()
    adopting = home.popen("adopt", "out", "-o", "run", "--yes", "--detach")
    try:
        if moment == "one has ended":
            wait_until(lambda: any(p.poll() is not None for p in by_hand.started.values()))
        else:
            wait_until((home.run / "campaign.toml").exists)
    finally:
        adopting.kill()
        adopting.communicate()
    assert before <= by_hand.contents()
    home("adopt", "out", "--yes", "--detach")
    wait_until(lambda: running_all(home), home.status)
    assert before <= by_hand.contents()
    # What was known of a process that had ended already is known still.
    assert commands(home)["s1"].environ()["ASAN_OPTIONS"] == "abort_on_error=1:symbolize=0"


def test_a_dead_fleet_is_resumed_and_a_pid_of_another_program_is_left_alone(home, by_hand):
    by_hand.start_all()
    by_hand.end_all()
    before, execs = by_hand.contents(), by_hand.stat("words", "execs_done")
    other = subprocess.Popen(["sleep", "3600"])
    elsewhere = by_hand.path / "elsewhere"
    elsewhere.mkdir()
    try:
        stats = by_hand.out / "words/fuzzer_stats"
        stats.write_text(re.sub(r"(fuzzer_pid +: )\d+", rf"\g<1>{other.pid}", stats.read_text()))
        # An afl-fuzz of another directory, in which the names are the same.
        by_hand.start("foreign", "-M", "master", "--", "./target", out="elsewhere")
        wait_until((elsewhere / "master/fuzzer_stats").exists)
        text = home("adopt", "out", "-o", "run", "--yes", "--detach")
        assert len(re.findall(r"^\w+ +dead  ", text, re.MULTILINE)) == len(OPTIONS)
        rows = wait_until(lambda: running_all(home), home.status)
        assert rows["words"]["execs"] >= execs
        assert other.poll() is None
        assert by_hand.started["foreign"].poll() is None
    finally:
        other.kill()
        other.wait()
    assert before <= by_hand.contents()
    states = [e.state for e in logged(home.run, InstanceState) if e.instance == "words"]
    assert "failed" not in states


def test_answers_typed_ahead_agree_to_nothing_and_no_leaves_all_as_it_is(home, by_hand, terminal):
    by_hand.start("words")
    wait_until((by_hand.out / "words/fuzzer_stats").exists)
    line = f"cd {home.path}; sleep 1; exec {FUZZTUI} adopt out -o run"
    screen = terminal(command=["sh", "-c", line])
    screen.keys("y", "Enter")
    screen.wait(lambda text: "[y/N]" in text.replace("\n", ""))
    screen.keys("n", "Enter", then="exit=1")
    assert by_hand.started["words"].poll() is None
    assert not home.run.exists()
    assert sorted(p.name for p in by_hand.out.iterdir()) == ["words"]
    home("adopt", "out", "-o", "run", code=1)
    assert "--yes" in home.stderr


def test_a_script_that_starts_them_again_ends_the_adoption(home, by_hand):
    loop = f"cd {home.path}; while :; do afl-fuzz -i in -o out -M main -- ./target; done"
    env = {**os.environ, **AFL_ENV, "AFL_AUTORESUME": "1"}
    with (home.path / "log").open("w") as log:
        script = subprocess.Popen(["sh", "-c", loop], env=env, stdout=log, start_new_session=True)
    try:
        wait_until((by_hand.out / "main/fuzzer_stats").exists)
        home("adopt", "out", "-o", "run", "--yes", "--detach", code=1)
        assert "main (process " in home.stderr
        assert f"-i - -o {by_hand.out} -M main -- {home.path}/target" in home.stderr
    finally:
        os.killpg(script.pid, signal.SIGKILL)
        script.wait()
    wait_until(lambda: held(str(by_hand.out / "main")) is False)
    home("adopt", "out", "--yes", "--detach")
    wait_until(lambda: instances(home)["main"]["state"] == "running", home.status)


def test_a_process_in_a_container_is_named_and_left_alone(home, by_hand):
    unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("unshare (util-linux) may not make namespaces here")
    command = [*unshare, "afl-fuzz", "-i", "in", "-o", "out", "-S", "boxed", "--", "./target"]
    boxed = subprocess.Popen(
        command, cwd=home.path, env={**os.environ, **AFL_ENV}, stdout=subprocess.DEVNULL
    )
    by_hand.started["boxed"] = boxed
    wait_until((by_hand.out / "boxed/fuzzer_stats").exists)
    home("adopt", "out", "-o", "run", "--yes", code=1)
    assert "boxed: its process " in home.stderr
    assert "container" in home.stderr
    assert boxed.poll() is None
    assert not home.run.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start processes of another user")
def test_a_process_of_another_user_is_named_and_left_alone(home, by_hand):
    for path in (home.path, *home.path.parents):
        if path.owner() == "root" and str(path) not in ("/", "/tmp"):
            path.chmod(path.stat().st_mode | 0o55)
    by_hand.out.mkdir()
    by_hand.out.chmod(0o777)
    by_hand.started["theirs"] = subprocess.Popen(
        ["afl-fuzz", "-i", "in", "-o", str(by_hand.out), "-S", "theirs", "--", "./target"],
        cwd=home.path, env={**os.environ, **AFL_ENV}, stdout=subprocess.DEVNULL, user=65534,
        group=65534, extra_groups=[],
    )  # fmt: skip
    wait_until((by_hand.out / "theirs/fuzzer_stats").exists)
    home("adopt", "out", "-o", "run", "--yes", code=1)
    assert "theirs: its process " in home.stderr
    assert by_hand.started["theirs"].poll() is None


def test_an_instance_that_was_left_out_runs_on_by_hand(home, by_hand):
    by_hand.start_all()
    text = home("adopt", "out", "-o", "run", "--yes", "--without", "s1", "--detach")
    assert "left as it is: s1" in text
    wait_until(lambda: set(commands(home)) == {"master", "words"})
    assert by_hand.started["s1"].poll() is None
    home.stop()
    home("adopt", "out", "--detach")  # s1 is none of the run
    wait_until(lambda: set(commands(home)) == {"master", "words"})
    assert by_hand.started["s1"].poll() is None
