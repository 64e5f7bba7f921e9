"""Real campaigns of AFL++ whose target stops a process: itself, its fork server, afl-fuzz."""

from pathlib import Path

import pytest
from homes import compiled, write_seeds
from skipped import needs_afl, nightly
from supervised import Supervised

from fuzztui.kernel.wire.events import EntrySaved, FindingSaved, InstanceState, Message

pytestmark = [pytest.mark.slow, needs_afl()]

TARGET = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int parent_of(int pid) {
    char path[64], line[512];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file && fgets(line, sizeof line, file)) sscanf(line, "%*d (%*[^)]) %*c %d", &parent);
    return parent;
}

int main(int argc, char **argv) {
    char b[64] = {0};
    FILE *file = fopen(argv[1], "rb");
    size_t n = file ? fread(b, 1, 63, file) : 0;
    const char *mark = getenv("MARK"), *whom = getenv("WHOM");
    struct stat found;
    /* No calibration of the seed, which begins with 'h'. */
    if (n > 1 && b[0] != 'h' && mark && whom && stat(mark, &found)) {
        if (whom[0] == 's') kill(getpid(), SIGSTOP);
        fclose(fopen(mark, "w"));
        if (whom[0] == 'f') kill(getppid(), SIGSTOP);
        if (whom[0] == 'g') kill(0, SIGSTOP);
        if (whom[0] == 'a') kill(parent_of(getppid()), SIGSTOP);
    }
    if (n > 2 && b[0] == 'a') { puts("a"); if (b[1] == 'b') { puts("b"); if (b[2] == 'c') puts("c"); } }
    if (n > 5 && b[4] > 'x') puts("x");
    return 0;
}
"""  # noqa: E501

SOONER = """
import sys

if "fuzztui.run.supervise" in sys.orig_argv:
    from fuzztui.run.instances import standstill
    from fuzztui.run.afl.launcher import AflFuzz

    AflFuzz.stall_s, standstill.STILL_S = 4.0, 4.0
    standstill.HALT_LOOKS, standstill.BAD_HALT_LOOKS = 6, 3
"""
"""A sitecustomize that has the supervisor's limits be seconds in place of minutes."""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    return compiled(tmp_path_factory.mktemp("program"), TARGET)


class Stopping(Supervised):
    """A campaign of one afl-fuzz; its target stops ``whom``."""

    engine = 'seeds = ["seeds"]'

    def __init__(self, directory: Path, program: Path, whom: str) -> None:
        super().__init__(directory, "afl")
        mark = f'{{ MARK = "{directory}/mark", WHOM = "{whom}" }}'
        self.target = f'command = ["{program}", "@@"]\ntimeout = "200ms"\nenv = {mark}'
        write_seeds(directory, hello="hello\n")


@pytest.fixture
def campaign(tmp_path, program, monkeypatch):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SOONER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    made: list[Stopping] = []

    def begin(whom: str) -> Stopping:
        made.append(Stopping(tmp_path, program, whom))
        made[0].start()
        return made[0]

    yield begin
    for each in made:
        each.clean_up()
        assert not each.marked()


def goes_on(s: Stopping) -> None:
    """It executes more than it had, and can be stopped."""
    before = s.state().instances["main"].stats.execs
    s.until(lambda st: st.instances["main"].stats.execs > before + 100)
    s.stop()
    assert not s.marked()
    logged = [e.file for e in s.events(EntrySaved)]
    assert set(logged) >= {f"queue/{p.name}" for p in s.run.glob("out/main/queue/id:*")}
    hangs = [e.file for e in s.events(FindingSaved)]
    assert len(hangs) == len(set(hangs)) == len([*s.run.glob("out/main/hangs*/id:*")])


@pytest.mark.parametrize("whom", ["fork server", *nightly("group of the fork server")])
def test_a_stopped_fork_server_is_a_standstill(campaign, whom):
    s = campaign(whom)
    s.until(lambda st: st.instances["main"].restarts)
    (reason,) = [e.reason for e in s.events(InstanceState) if e.state == "restarting"]
    assert "no CPU time" in reason
    assert "stopped by a signal" in reason
    goes_on(s)


def test_afl_fuzz_itself_is_continued(campaign):
    s = campaign("afl-fuzz")
    s.until(lambda st: "paused" in [e.state for e in s.events(InstanceState)])
    s.until(lambda st: st.instances["main"].state == "running")
    assert [e.instance for e in s.events(Message) if "not by fuzztui" in e.text] == ["main"]
    goes_on(s)
    assert s.state().instances["main"].restarts == 0


def test_a_target_that_stops_itself_is_a_hang(campaign):
    s = campaign("self")
    state = s.until(lambda st: any("SIGSTOP" in f.title for f in st.findings.values()))
    assert {f.category for f in state.findings.values()} == {"hang"}
    assert state.instances["main"].restarts == 0
    goes_on(s)
