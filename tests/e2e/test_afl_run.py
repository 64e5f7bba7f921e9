"""Real campaigns of the real AFL++: fleets that are killed, adopted, stopped, refused."""

import os
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from homes import AFL_ENV, FUZZTUI, compiled, write_seeds
from skipped import needs_afl
from supervised import Supervised
from waiting import DEADLINE_S, wait_until

from fuzztui.kernel.model.passive import is_passive
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import AddSeed, Pause, Resume, SkipCurrent
from fuzztui.run.campaign import load, write_frozen
from fuzztui.run.campaign.rundir import SupervisorError, prepare_run
from fuzztui.run.process.identity import ProcessId
from fuzztui.run.supervise.daemon import start

pytestmark = [pytest.mark.slow, needs_afl()]

TARGET = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char b[64] = {0};
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : stdin;
    size_t n = file ? fread(b, 1, 63, file) : 0;
    if (b[0] == '!') abort();
    if (b[0] == '~') pause();
    if (n > 2 && b[0] == 'a') { puts("a"); if (b[1] == 'b') { puts("b"); if (b[2] == 'c') puts("c"); } }
    if (n > 5 && b[4] > 'x') puts("x");
    if (n > 20) puts("long");
    return 0;
}
"""  # noqa: E501


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The target, instrumented and plain, and a shell script."""
    directory = tmp_path_factory.mktemp("programs")
    for compiler, name in (("afl-cc", "target"), ("cc", "plain")):
        compiled(directory, TARGET, compiler=compiler, name=name)
    (directory / "script").write_text("#!/bin/sh\ncat\n")
    (directory / "script").chmod(0o755)
    return directory


def at_work(state) -> bool:
    """All instances execute, and main has found something."""
    return (
        state.state == "running"
        and all(
            i.state == "running" and i.stats.execs > 0
            for i in state.instances.values()
            if not is_passive(i)
        )
        and any(e.instance == "main" and "orig:" not in e.file for e in state.entries.values())
    )


class Fleet(Supervised):
    """A campaign of afl-fuzz; its target is one of ``programs``."""

    busy = staticmethod(at_work)
    engine = 'seeds = ["seeds"]'

    def __init__(self, directory: Path, programs: Path) -> None:
        super().__init__(directory, "afl")
        self.programs = programs
        self.target = f'command = ["{programs}/target", "@@"]\ntimeout = "200ms"'
        write_seeds(directory, hello="hello\n")

    def pid(self, name: str) -> int:
        """Of its process; waited for while there is none (to kill 0 is to kill ourselves)."""
        return self.until(lambda s: s.instances[name].pid).instances[name].pid

    def log(self, name: str) -> str:
        return (self.run / "out" / name / "worker.log").read_text(errors="replace")

    def starts(self, name: str) -> list[str]:
        return [x for x in self.log(name).splitlines() if x.startswith("fuzztui: starts ")]


@pytest.fixture
def fleet(tmp_path, programs):
    with Fleet(tmp_path, programs) as fleet:
        yield fleet


def names(fleet, instance: str, part: str) -> set[str]:
    try:
        return {p.name for p in (fleet.run / "out" / instance / part).iterdir() if p.is_file()}
    except FileNotFoundError:  # in the middle of a resume
        return set()


def stands_still(fleet, name: str) -> int:
    """Its executions when they are the same at two looks at its resources, 3 s apart.

    Figures may come late.
    """
    execs, looks = -1, 0

    def still() -> bool:
        nonlocal execs, looks
        now = fleet.state().instances[name].stats.execs
        measured = sum(e.instance == name for e in fleet.events(ev.Resources))
        if now != execs:
            execs, looks = now, measured
        return measured >= looks + 2

    wait_until(still)
    return execs


def nothing_goes_back(fleet) -> None:
    """Since the last takeover: nothing older than what the log had, no rate without two counts."""
    before: dict[str, ev.Stats] = {}
    after: dict[str, list[ev.Stats]] = {"main": [], "s1": []}
    records = fleet.records()
    (*_, taken_over) = (r.seq for r in records if isinstance(r.event, ev.SupervisorStarted))
    for r in records:
        if isinstance(r.event, ev.Stats) and r.seq < taken_over:
            before[r.event.instance] = r.event
        elif isinstance(r.event, ev.Stats):
            after[r.event.instance].append(r.event)
    for name, last in before.items():
        told = [last, *after[name]]
        for field in ("execs", "edges", "cycles", "corpus"):
            figures = [getattr(stats, field) for stats in told]
            assert figures == sorted(figures), (name, field)
        assert {stats.execs_per_sec for stats in told[1:2]} <= {-1.0}


# ------------------------------------------------------------------------ a whole life


def test_a_fleet_is_killed_in_parts_adopted_paused_and_stopped(fleet):
    fleet.start(instances=2)
    state = fleet.until(at_work)
    hello = {e.instance: e for e in fleet.events(ev.InstanceHello)}
    assert hello["main"].engine == "afl-fuzz"
    assert hello["main"].version[0].isdigit()
    assert {"pause", "resume", "stop", "skip-current"} <= set(hello["s1"].capabilities)
    assert " -M main " in fleet.starts("main")[0]
    assert " -S s1 " in fleet.starts("s1")[0]

    # One is killed: it continues with what it had, from its queue and not from the seeds.
    before = names(fleet, "main", "queue")
    execs, killed = state.instances["main"].stats.execs, fleet.pid("main")
    os.kill(killed, signal.SIGKILL)
    state = fleet.until(lambda s: s.instances["main"].pid not in (0, killed) and at_work(s))
    assert state.instances["main"].restarts == 1
    segments = [x.split()[4] for x in Path("/proc/sysvipc/shm").read_text().splitlines()]
    assert str(killed) not in segments
    assert [" -i - " in line for line in fleet.starts("main")] == [False, True]
    assert fleet.until(lambda s: s.instances["main"].stats.execs > execs)
    assert {n.partition(",")[0] for n in before} <= {
        n.partition(",")[0] for n in names(fleet, "main", "queue")
    }

    # The supervisor is killed: the next one takes the living fleet over.
    pids = {name: fleet.pid(name) for name in ("main", "s1")}
    fleet.kill_supervisor()
    for pid in pids.values():
        os.kill(pid, 0)
    start(fleet.run)
    assert fleet.events(ev.SupervisorStarted)[-1].adopted == ["main", "s1"]
    fleet.until(at_work)
    assert {name: fleet.pid(name) for name in pids} == pids
    nothing_goes_back(fleet)

    # Paused, nothing is executed; resumed it continues.
    assert fleet.send(Pause()).ok
    paused = stands_still(fleet, "main")
    assert fleet.send(Resume()).ok
    fleet.until(lambda s: s.instances["main"].stats.execs > paused)
    nothing_goes_back(fleet)
    assert fleet.send(SkipCurrent("main")).ok
    (fleet.directory / "more").write_text("abcdefgh" * 9)
    assert fleet.send(AddSeed(str(fleet.directory / "more"))).ok

    # Stopped: no process is left, and every file is in the log.
    state = fleet.stop()
    assert state.state == "stopped"
    assert fleet.marked() == []
    assert not any(map(ProcessId.of, pids.values()))
    logged = {e.file for e in fleet.events(ev.EntrySaved) if e.instance == "s1"}
    assert {f"queue/{n}" for n in names(fleet, "s1", "queue")} <= logged
    found = {Path(e.file).name for e in fleet.events(ev.FindingSaved)}
    assert names(fleet, "s1", "crashes") - {"README.txt"} <= found


def test_an_instance_that_the_campaign_has_no_more_ends_cleanly(fleet):
    fleet.at_work(instances=2)
    before = fleet.until(lambda s: s.instances["s1"].stats.execs > 2000).instances["s1"]
    written = (fleet.run / "out/s1/fuzzer_stats").stat().st_mtime_ns
    fleet.restart(instances=1)
    state = fleet.until(lambda s: s.instances["s1"].state == "stopped")
    assert state.instances["s1"].reason == "no longer part of the campaign"
    assert (fleet.run / "out/s1/fuzzer_stats").stat().st_mtime_ns > written
    counts = [e.execs for e in fleet.events(ev.Stats) if e.instance == "s1"]
    assert counts == sorted(counts)
    assert state.instances["s1"].stats.execs > before.stats.execs
    fleet.stop()


def test_signals_from_outside_pause_it_and_end_nothing(fleet):
    fleet.at_work(instances=2)
    pid = fleet.pid("s1")
    os.kill(pid, signal.SIGSTOP)
    state = fleet.until(lambda s: s.instances["s1"].state == "paused")
    assert state.instances["s1"].execs_per_sec == 0.0
    os.kill(pid, signal.SIGCONT)
    fleet.until(lambda s: s.instances["s1"].state == "running" and at_work(s))
    assert fleet.pid("s1") == pid
    os.kill(pid, signal.SIGTERM)
    state = fleet.until(lambda s: s.instances["s1"].pid not in (0, pid) and at_work(s))
    assert state.instances["s1"].restarts == 1
    (why,) = [e.reason for e in fleet.events(ev.InstanceState) if e.state == "restarting"]
    assert why.startswith("exited without being asked to (exit status 0)")
    assert fleet.stop().state == "stopped"


def test_limits_of_its_own_are_ends(fleet):
    state = fleet.ran("engine.options={main=['-V', '3'], s1=['-E', '900']}", instances=2)
    assert (state.state, {i.state for i in state.instances.values()}) == ("finished", {"finished"})
    assert [i.restarts for i in state.instances.values()] == [0, 0]


def test_every_entry_has_its_file_however_often_it_was_resumed(fleet):
    """Every resume reverses the queue: the first and the third give the same names."""
    fleet.at_work(instances=1)
    for _ in range(3):
        killed = fleet.pid("main")
        os.kill(killed, signal.SIGKILL)
        fleet.until(lambda s, old=killed: s.instances["main"].pid not in (0, old))

        def there(state):
            files = [e.file.partition("/")[2] for e in state.entries.values()]
            return (
                set(files) == names(fleet, "main", "queue") and state.instances["main"].stats.execs
            )

        state = fleet.until(there)
        for entry in state.entries.values():
            assert entry.file.startswith(f"queue/id:{entry.id:06d},")
            assert "id:" not in entry.op
    assert any(e.first >= 0 for e in state.entries.values())
    fleet.stop()


def test_no_figure_goes_back_when_afl_is_killed_and_resumed(fleet):
    fleet.at_work(instances=1)
    for again in range(3):
        state = fleet.until(lambda s: s.instances["main"].stats.edges > 0)
        killed, execs = fleet.pid("main"), state.instances["main"].stats.execs
        if again == 1:  # both at once
            fleet.kill_supervisor()
        os.kill(killed, signal.SIGKILL)
        if again == 1:
            fleet.start(instances=1)
        fleet.until(lambda s, old=killed: s.instances["main"].pid not in (0, old))
        fleet.until(lambda s, n=execs: s.instances["main"].stats.execs > n)
    fleet.stop()
    told = [r.event for r in fleet.records() if isinstance(r.event, ev.Stats)]
    assert len(told) >= 4  # one of each start
    for field in ("execs", "edges", "cycles", "max_depth"):
        figures = [getattr(stats, field) for stats in told]
        known = [figure for figure in figures if figure >= 0]
        assert known == sorted(known), field
        assert figures[-len(known) :] == known, field  # nor unknown again


def test_a_campaign_that_ended_is_resumed_with_all_its_work(fleet):
    state = fleet.ran("campaign.budget=8s", instances=1)
    assert (state.state, "8 s" in state.reason) == ("finished", True)
    execs = state.instances["main"].stats.execs
    entries = len(names(fleet, "main", "queue"))
    assert (execs > 0, entries > 1) == (True, True)
    state = fleet.ran("campaign.budget=16s", instances=2)
    assert state.instances["main"].stats.execs > execs
    assert len(names(fleet, "main", "queue")) >= entries
    assert " -i - " in fleet.starts("main")[1]
    assert f" -i {fleet.run}/seeds " in fleet.starts("s1")[0]


def test_figures_that_a_kill_tore_do_not_stand_in_the_way(fleet):
    """4.04c leaves an empty file when it is killed in its first moments, and refuses it then."""
    fleet.ran("campaign.budget=2s", instances=1)
    figures = fleet.run / "out/main/fuzzer_stats"
    figures.write_bytes(b"")
    fleet.start(instances=1)
    wait_until(lambda: figures.exists() and b"start_time" in figures.read_bytes())
    assert fleet.stop().state == "stopped"
    assert figures.with_name("fuzzer_stats.torn").read_bytes() == b""
    assert b"start_time" in figures.read_bytes()


def test_the_spread_is_one_that_afl_takes(fleet):
    """MOpt excludes our steering library: an instance does without, and says so."""
    fleet.start('engine.options={s3=["-L", "0"]}', instances=4)
    state = fleet.until(lambda s: len(s.instances) == 4 and at_work(s))
    assert all(i.restarts == 0 for i in state.instances.values())
    hello = {e.instance: e for e in fleet.events(ev.InstanceHello)}
    assert " -L 0 " in fleet.starts("s3")[0]
    assert "MOpt" in hello["s3"].unable["promote"]
    assert "promote" in hello["s2"].capabilities
    fleet.stop()


def test_a_program_without_instrumentation_is_fuzzed_blindly(fleet):
    state = fleet.ran(
        command(fleet, "plain"), "engine.extra_args=['-n']", "campaign.budget=500 execs",
        instances=1,
    )  # fmt: skip
    assert state.state == "finished"
    assert state.instances["default"].stats.execs >= 500
    assert "-n" in shlex.split(fleet.starts("default")[0])


def test_a_budget_of_executions_is_kept(fleet):
    state = fleet.ran("campaign.budget=4000 execs", instances=2)
    assert state.state == "finished"
    assert "4,000 trials" in state.reason
    assert 4000 <= sum(i.stats.execs for i in state.instances.values()) < 5000


def test_the_first_crash_ends_it(fleet):
    (fleet.directory / "seeds" / "near").write_text('"near\n')
    state = fleet.ran("stop.crashes=1", instances=1)
    assert state.state == "finished"
    assert "stop.crashes" in state.reason
    assert names(fleet, "main", "crashes")


# ---------------------------------------------------------------------------- refusals


def refused(fleet, *overrides: str) -> str:
    """Why the only instance, and with it the campaign, failed; nothing was tried twice."""
    state = fleet.ran(*overrides, instances=1)
    assert state.state == "failed"
    assert fleet.events(ev.CampaignEnded)[-1].state == "failed"
    assert state.instances["main"].restarts == 0
    assert len(fleet.starts("main")) == 1
    reason = fleet.events(ev.InstanceState)[-1].reason
    assert reason.startswith("afl-fuzz: ")
    assert reason.isprintable()
    return reason


def command(fleet, name: str) -> str:
    return f"target.command=['{fleet.programs}/{name}','@@']"


def seeds(fleet, **files: str) -> str:
    directory = fleet.directory / "bad"
    directory.mkdir()
    for name, text in files.items():
        (directory / name).write_text(text)
    return f"engine.seeds={directory}"


@pytest.mark.parametrize(
    ("name", "why"),
    [("plain", "No instrumentation detected: build"), ("script", "is a shell script")],
)
def test_a_target_that_afl_refuses(fleet, name, why):
    assert why in refused(fleet, command(fleet, name))


def test_a_target_that_crashes_on_every_seed_and_then_gets_a_good_one(fleet):
    bad = seeds(fleet, one="!1", two="!2")
    assert "does not crash" in refused(fleet, bad)
    (fleet.directory / "bad" / "good").write_text("hello\n")
    fleet.at_work(bad, instances=1)
    fleet.stop()


def test_a_target_that_hangs_on_every_seed(fleet):
    assert "time out or crash" in refused(fleet, seeds(fleet, one="~1"))


def test_a_wrong_option(fleet):
    assert "Unknown -p power schedule" in refused(fleet, "engine.extra_args=['-p', 'nope']")
    shutil.rmtree(fleet.run)
    assert "invalid option -- 'k'" in refused(fleet, "engine.extra_args=['-k']")


def test_a_directory_in_use_is_waited_for(fleet):
    """Another afl-fuzz, a stranger's, holds main's directory for a while."""
    fleet.freeze(instances=1)
    stranger = subprocess.Popen(
        ["afl-fuzz", "-i", fleet.directory / "seeds", "-o", fleet.run / "out", "-M", "main",
         "--", fleet.programs / "target", "@@"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, **AFL_ENV},
    )  # fmt: skip
    try:
        wait_until((fleet.run / "out/main/fuzzer_stats").exists)
        start(fleet.run)
        fleet.until(lambda s: s.instances["main"].restarts >= 1)
    finally:
        stranger.terminate()
        stranger.wait(DEADLINE_S)
    fleet.until(lambda s: s.instances["main"].state == "running" and at_work(s))
    assert " -i - " in fleet.starts("main")[-1]
    fleet.stop()


# ------------------------------------------------------------- before anything is started


def fuzztui(fleet, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_RUNTIME_DIR": str(fleet.directory)}
    return subprocess.run(
        [FUZZTUI, str(fleet.file), "--headless", *arguments],
        cwd=fleet.directory, env=env, capture_output=True, text=True, check=False,
        timeout=DEADLINE_S, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_the_command_line_tells_why_and_its_exit_status_is_not_0(fleet):
    fleet.freeze(instances=1)
    missing = fuzztui(fleet, "--set", "target.command=['./nowhere']")
    assert (missing.returncode, "does not exist" in missing.stderr) == (2, True)
    plain = fuzztui(fleet, "--set", command(fleet, "plain"))
    assert plain.returncode == 1
    assert "No instrumentation detected" in plain.stdout
    assert "Traceback" not in missing.stderr + plain.stderr


def test_a_build_that_fails_says_the_compilers_error(fleet):
    fleet.freeze(instances=1)
    (fleet.directory / "bad.c").write_text("int main(void) { return x; }\n")
    build = "target.build='$CC -o bad $SOURCE/bad.c'"
    done = fuzztui(fleet, "--set", "target.command=['bad']", "--set", build)
    assert done.returncode == 1
    assert "bad.c:1:25: error: use of undeclared identifier 'x'" in done.stderr
    assert "Traceback" not in done.stderr
    wait_until(lambda: running(fleet.run) is None)


def test_a_target_that_is_built_runs(fleet):
    overrides = (
        "target.command=['bin/built', '@@']",
        f"target.build='mkdir -p bin; $CC -o bin/built {fleet.programs}/target.c; "
        f"AFL_LLVM_CMPLOG=1 $CC -o cmplog {fleet.programs}/target.c'",
        "target.cmplog=cmplog",
    )
    fleet.at_work(*overrides, instances=1)
    assert f"-c {fleet.run}/build/cmplog -l 2 " in fleet.starts("main")[0]
    assert fleet.events(ev.Stats)[-1].instance == "main"
    fleet.stop()


def test_empty_seeds_are_refused(fleet):
    with pytest.raises(SupervisorError, match=r"engine.seeds: .*empty"):
        fleet.start(seeds(fleet, empty=""), instances=1)
    wait_until(lambda: running(fleet.run) is None)


# -------------------------------------------------------------------------- the samples


def sample(fleet, name: str, *overrides: str) -> None:
    """Start a sample campaign in the place of ours."""
    prepare_run(fleet.run)
    path = Path(__file__).parents[2] / "sample_campaigns" / name
    write_frozen(load(path, [f"campaign.output={fleet.run}", *overrides]), fleet.run)
    start(fleet.run)


def test_the_crashy_sample_crashes(fleet):
    sample(fleet, "crashy-afl.toml", "stop.crashes=1")
    fleet.until(lambda s: s.state == "finished")
    state = fleet.over()
    assert (state.state, state.target) == ("finished", "crate @@")
    assert "stop.crashes" in state.reason
    assert any(f.category == "crash" for f in state.findings.values())


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/usr/include/stb").is_dir(), reason="libstb-dev is not installed")
@pytest.mark.timeout(600)  # a busy machine compiles it for minutes
def test_the_sample_of_a_real_library_runs(fleet):
    sample(fleet, "stb-image-afl.toml")
    fleet.until(
        lambda s: (
            s.instances["main"].stats.edges > 300
            and all(i.stats.execs > 1000 and i.restarts == 0 for i in s.instances.values())
        ),
    )
    assert fleet.stop().state == "stopped"
