"""``fuzztui corpus`` on a real run of AFL++, and afl-cmin before a campaign."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from homes import FUZZTUI, Home, compiled, write_seeds
from skipped import needs_afl
from waiting import DEADLINE_S, wait_until

pytestmark = [pytest.mark.slow, needs_afl()]

TARGET = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char b[64] = {0};
    FILE *file = fopen(argv[1], "rb");
    size_t n = file ? fread(b, 1, 63, file) : 0;
    if (b[0] == '!') abort();
    if (b[0] == '~') pause();
    if (b[0] == 'a') { puts("a"); if (b[1] == 'b') { puts("b"); if (b[2] == 'c') puts("c"); } }
    if (n > 5 && b[4] > 'x') puts("x");
    for (size_t i = 0; i < n; i++) if (b[i] == 'z') puts("z");
    return getenv("WANTED") ? 0 : abort(), 1;
}
"""
"""Without its variable in the environment it crashes on all inputs."""

SEEDS = {"a": b"a", "ab": b"ab", "abc": b"abc", "x": b"....zz", "same": b"aq", "more": b"arr"}


@pytest.fixture
def afl(home: Home):
    """A campaign file with a program whose path has a space."""
    place = home.path / "a program"
    place.mkdir()
    compiled(place, TARGET, name="target")
    write_seeds(home.path, **SEEDS)
    home.file.write_text(f"""
[campaign]
name = "e2e"
output = "run"
budget = "6s"
[target]
command = ["{place}/target", "@@"]
timeout = "200ms"
env = {{ WANTED = "1" }}
[engine]
kind = "afl"
instances = 2
seeds = ["seeds"]
""")
    return home


def tuples(home: Home, files: list[Path], name: str) -> set[str]:
    """Edges with counts that files cover, by afl-showmap itself."""
    place = home.path / name
    (place / "in").mkdir(parents=True)
    for n, file in enumerate(files):
        shutil.copyfile(file, place / "in" / f"{n:05}")
    subprocess.run(
        ["afl-showmap", "-q", "-t", "1000", "-m", "none", "-i", str(place / "in"),
         "-o", str(place / "out"), "-H", str(place / ".cur"), "--",
         str(home.path / "a program/target"), "@@"],
        check=True, timeout=DEADLINE_S, env={**os.environ, "WANTED": "1"},
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return {line for file in (place / "out").iterdir() for line in file.read_text().split()}


def test_a_run_is_minimised_merged_and_explained(afl):
    afl(str(afl.file), "--headless", code=None)
    queues = [file for file in afl.run.glob("out/*/queue/id*") if file.is_file()]
    everything = tuples(afl, queues, "all")
    bad = afl.run / "out/main/queue"
    (bad / "id:000900").write_bytes(b"!")
    (bad / "id:000901").write_bytes(b"~")
    (bad / "id:000902\n$(touch pwned)").write_bytes(b"a")
    os.mkfifo(bad / "id:000903")
    before = sorted(afl.run.rglob("*"))
    out = afl("corpus", "minimise", str(afl.run), "-o", "small", "--jobs", "2")
    assert sorted(afl.run.rglob("*")) == before
    kept, of, edges = map(int, re.findall(r"\d+", out))
    small = [*(afl.path / "small").iterdir()]
    assert kept == len(small) < of == len(queues) + 3
    assert tuples(afl, small, "kept") == everything
    assert edges == len({line.partition(":")[0] for line in everything})
    for without in small:
        rest = [file for file in small if file != without]
        assert tuples(afl, rest, f"without-{without.name}") != everything
    assert "main/id:000900: fails now (crash)" in afl.stderr
    assert "main/id:000901: fails now (hang)" in afl.stderr
    assert "root:" not in out

    afl("corpus", "minimise", str(afl.run), "-o", "none", "--by", "kills", code=2)
    (afl.path / "there").mkdir()
    (afl.path / "there" / "mine").write_bytes(b"abc")
    afl("corpus", "merge", "there", str(afl.run), "small")
    assert tuples(afl, [*(afl.path / "there").iterdir()], "merged") == everything
    merged = sorted((afl.path / "there").iterdir())
    assert afl("corpus", "merge", "there", str(afl.run), "small").count("nothing new") == 2
    assert sorted((afl.path / "there").iterdir()) == merged
    out = afl("corpus", "why", str(afl.run), "main/0")
    assert re.search(r"covers +\d+ edges", out) and "lineage" in out
    assert not [*afl.path.glob("**/pwned")]

    (afl.path / "a program/target").unlink()
    afl("corpus", "minimise", str(afl.run), "-o", "none", code=2)
    assert not (afl.path / "none").exists()


def logged(home: Home) -> list[tuple[str, str]]:
    """Level and text of messages about seeds in the log."""
    lines = map(json.loads, home("events", str(home.run), "--json").splitlines())
    return [(e["level"], e["text"]) for e in lines if e["k"] == "message" and "seeds:" in e["text"]]


def test_afl_cmin_before_the_campaign(afl):
    (afl.path / "seeds" / "crash").write_bytes(b"!")
    (afl.path / "seeds" / "hang").write_bytes(b"~")
    (afl.path / "seeds" / "$(touch pwned)'\"").write_bytes(b"aa")
    afl("check", str(afl.file), "--set", "engine.minimise_seeds=true")
    afl("check", str(afl.file), "--set", "engine.minimise_seeds=3", code=2)
    minimised = ("--set", "engine.minimise_seeds=true", "--set", "campaign.budget=2s")
    afl(str(afl.file), "--headless", *minimised, code=None)
    used = {file.read_bytes() for file in (afl.run / "seeds").iterdir()}
    assert {b"!", b"~", b"abc", b"....zz"} <= used
    assert len(used & {b"aq", b"aa", b"a", b"arr"}) == 1
    ((level, text),) = logged(afl)
    assert level == "info" and f"{len(used)} of 9" in text
    started = (afl.run / "out/main/cmdline").read_text()
    assert "target" in started
    assert not [*afl.path.glob("**/pwned")]


def test_findings_of_a_campaign_whose_seeds_all_fail_are_in_its_log(afl):
    shutil.rmtree(afl.path / "seeds")
    write_seeds(afl.path, first=b"!", second=b"!!")
    afl(str(afl.file), "--headless", code=1)
    found = json.loads(afl("status", str(afl.run), "--json"))
    assert found["state"] == "failed"
    assert "every seed crashes" in found["reason"]
    [group] = found["findings"]
    assert "SIGABRT" in group["title"]
    assert [file for file in afl.run.glob("out/seeds/crashes/id*") if b"!" in file.read_bytes()]


def test_a_failing_afl_cmin_leaves_all_seeds(afl):
    tools = afl.path / "tools"
    tools.mkdir()
    for tool in ("afl-fuzz", "afl-showmap", "afl-cc"):
        (tools / tool).symlink_to(shutil.which(tool))
    (tools / "afl-cmin").write_text("#!/bin/sh\necho '[-] Error: no room' >&2\nexit 3\n")
    (tools / "afl-cmin").chmod(0o755)
    afl(str(afl.file), "--headless", "--set", "campaign.budget=2s", "--set",
        "engine.minimise_seeds=true", "--set", f"engine.afl_path={tools}", code=None)  # fmt: skip
    assert {file.name for file in (afl.run / "seeds").iterdir()} == SEEDS.keys()
    ((level, text),) = logged(afl)
    assert level == "warning" and "all 6" in text and "no room" in text


def test_a_start_that_is_cancelled_leaves_no_process(afl):
    for n in range(30):
        (afl.path / "seeds" / f"hang{n}").write_bytes(f"~{n}".encode())
    program = str(afl.path / "a program/target")

    def running() -> list[psutil.Process]:
        return [p for p in psutil.process_iter(["exe"]) if p.info["exe"] == program]

    argv = [FUZZTUI, str(afl.file), "--headless", "--set", "engine.minimise_seeds=true"]
    with subprocess.Popen(argv, cwd=afl.path, env=afl.env, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as start:  # fmt: skip
        wait_until(running)
        start.send_signal(signal.SIGINT)
        assert start.wait(DEADLINE_S) != 0
    wait_until(lambda: not running())


def test_a_signal_while_seeds_are_minimised_ends_the_start(home: Home):
    (home.path / "slow.py").write_text("import signal\ndef f(data): signal.pause()\n")
    write_seeds(home.path, **{f"s{n}": b"x" * n for n in range(1, 60)})
    home.file.write_text("""
[campaign]
name = "e2e"
output = "run"
budget = "5m"
[target]
function = "slow.py:f"
include = ["slow"]
[engine]
kind = "zest"
seeds = ["seeds"]
minimise_seeds = true
""")
    with subprocess.Popen([FUZZTUI, str(home.file), "--headless"], cwd=home.path, env=home.env,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as start:  # fmt: skip
        assert start.stderr is not None
        lines = iter(start.stderr)
        assert any("to leave out" in line for line in lines)

        def starters() -> list[psutil.Process]:
            marks = ("fuzztui.run.supervise", str(home.run))
            return [p for p in psutil.process_iter(["cmdline"])
                    if all(mark in (p.info["cmdline"] or []) for mark in marks)]  # fmt: skip

        for process in wait_until(starters):
            process.terminate()
        assert any("SIGTERM ended the supervisor during the start" in line for line in lines)
        assert start.wait(DEADLINE_S) == 1
    wait_until(lambda: not starters())
