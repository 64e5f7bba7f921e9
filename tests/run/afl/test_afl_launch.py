"""What an afl-fuzz is started with: fresh, resumed, one of many, as the user wants it."""

import ctypes
import dataclasses
import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import campaigns
import pytest
from waiting import DEADLINE_S

from fuzztui.kernel.model.state import Instance
from fuzztui.kernel.wire.commands import TypeCommand, names_of
from fuzztui.run.afl import launcher, shared_memory
from fuzztui.run.afl.launcher import AflFuzz, has_work
from fuzztui.run.afl.shared_memory import remove_segments
from fuzztui.run.campaign.fleet import parse_options, spread
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, prepare_run
from fuzztui.run.process.identity import ProcessId, boot_time
from fuzztui.run.supervise.launchers import launcher_for

LIBRARY = Path("/cache/steer.so")


@pytest.fixture
def home(tmp_path):
    prepare_run(tmp_path / "run")
    return RunDir(tmp_path / "run")


@pytest.fixture
def afl(monkeypatch):
    """A launcher to which the machine's own settings and compilers do not matter."""
    for name in [*launcher.DEFAULTS, "AFL_CUSTOM_MUTATOR_LIBRARY", "AFL_PYTHON_MODULE"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(launcher, "steering_library", lambda *progress: (LIBRARY, ""))
    return AflFuzz()


def campaign(home: RunDir, instances: int = 1, trials: int = 0, seed: int = 7, **tables):
    target = {
        "command": ["/bin/target", "@@"], "build": "", "source": "/src", "cmplog": "",
        "timeout_s": 1.0, "memory_bytes": 0, "env": {}, "cwd": "/src",
    }  # fmt: skip
    engine = {
        "seeds": [],
        "dictionary": [],
        "extra_args": [],
        "options": {},
        "afl_path": None,
        "pin": False,
        "max_speed": 0,
    }
    for name, value in tables.items():
        table = target if name in target else engine
        assert name in table
        table[name] = value
    about = {"output": home.path, "seed": seed, "budget_trials": trials, "instances": instances}
    return campaigns.campaign(kind="afl", target=target, engine=engine, **about)


def started(afl, home, index: int = 0, **changes):
    c = campaign(home, **changes)
    name = "main" if index == 0 else f"s{index}"
    home.instance(name).mkdir(exist_ok=True)
    return afl.prepare(c, home, index)


def test_it_is_an_engine_that_is_found_by_its_kind():
    assert isinstance(launcher_for("afl"), AflFuzz)
    assert AflFuzz.signals["skip-current"] == signal.SIGUSR1


def test_a_fresh_start(afl, home):
    start = started(afl, home)
    run = home.path
    assert start.argv == [
        *("afl-fuzz", "-i", f"{run}/seeds", "-o", f"{run}/out", "-M", "main"),
        *("-t", "1000+", "-m", "none", "-s", "7", "--", "/bin/target", "@@"),
    ]
    assert start.cwd == Path("/src")
    assert start.env["AFL_AUTORESUME"] == start.env["AFL_NO_UI"] == "1"
    assert start.env["AFL_CUSTOM_MUTATOR_LIBRARY"] == str(LIBRARY)
    assert start.env["FUZZTUI_CONTROL"] == f"{run}/out/main/control.jsonl"
    assert start.env["FUZZTUI_EVENTS"] == f"{run}/out/main/events.jsonl"
    assert "AFL_STATSD" not in start.env
    assert " ".join(start.argv) in (run / "out/main/worker.log").read_text()


def test_the_gauges_have_a_port(afl, home):
    figures = afl.stats_source(home, "main", Instance("main"))
    try:
        env = started(afl, home).env
    finally:
        figures.close()
    assert (env["AFL_STATSD"], env["AFL_STATSD_HOST"]) == ("1", "127.0.0.1")
    assert int(env["AFL_STATSD_PORT"]) > 0


@pytest.mark.parametrize(
    "work",
    [
        "fuzzer_stats",
        "_resume/id:000000,time:0,execs:0,orig:a",
        "crashes/id:000000,sig:06",
        "crashes/README.txt",
        "hangs/id:000000",
        "queue/id:000001,src:000000,time:1,execs:2,op:havoc,rep:2,+cov",
        "queue/id:000001,sync:s1,src:000000",
        "queue/id:000001,time:0,execs:0,orig:id:000007,src:000001,op:havoc",
        "queue/0123456789abcdef",
    ],
)
def test_it_never_starts_from_the_seeds_over_work(afl, home, work):
    path = home.instance("main") / work
    path.parent.mkdir(parents=True)
    path.write_text("")
    assert has_work(home.instance("main"))
    argv = started(afl, home).argv
    assert argv[argv.index("-i") + 1] == "-"
    assert "-s" not in argv


def test_copies_of_seeds_that_were_all_refused_give_way_to_better_ones(afl, home):
    queue = home.instance("main") / "queue"
    (queue / ".state").mkdir(parents=True)
    (queue / "id:000000,time:0,execs:0,orig:bad").write_text("")
    (home.instance("main") / "crashes").mkdir()
    (home.instance("main") / "plot_data").write_text("# relative_time\n")
    assert not has_work(home.instance("main"))
    assert f"{home.path}/seeds" in started(afl, home).argv


def test_what_cannot_be_read_may_be_work(afl, home):
    home.instance("main").mkdir()
    (home.instance("main") / "queue").write_text("")
    with pytest.raises(OSError, match="queue"):
        started(afl, home)


def test_shared_memory_of_a_dead_process_is_removed(afl, home, monkeypatch):
    """Two segments are made by a process that ends, one of them is in use until the end."""
    script = (
        "import ctypes, sys; c = ctypes.CDLL(None)\n"
        "made = [c.shmget(0, 4096, 0o600) for _ in range(2)]\n"
        "print(*made)"
    )
    maker = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    free, used = map(int, maker.communicate(timeout=DEADLINE_S)[0].split())
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(used, None, 0)
    try:
        ours = ProcessId.of(os.getpid())
        assert ours is not None
        assert remove_segments(ours) == 0
        home.instance("main").mkdir()
        maker_id = dataclasses.replace(ours, pid=maker.pid)
        # Its pid was that of others: in another boot, and before it; also by a clock that was set.
        another_boot = dataclasses.replace(maker_id, boot="x")
        later = dataclasses.replace(maker_id, start=ours.start + 10**9)
        later_by_clock = dataclasses.replace(maker_id, boot_time=boot_time() + 3600)
        # The clock was set forward by an hour since it began.
        began = dataclasses.replace(maker_id, boot_time=boot_time())
        monkeypatch.setattr(shared_memory, "boot_time", lambda: boot_time() + 3600)
        for other, is_left in (
            (another_boot, True), (later, True), (later_by_clock, True), (began, False)
        ):  # fmt: skip
            (home.instance("main") / "process.json").write_text(json.dumps(other.to_json()))
            started(afl, home)
            rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
            left = {int(row.split()[1]) for row in rows}
            assert (free in left) == is_left
            assert used in left
    finally:
        libc.shmdt(ctypes.c_void_p(address))
    rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    assert used not in {int(row.split()[1]) for row in rows}


def test_budget_limits_and_dictionaries(afl, home):
    limits = {"trials": 101, "timeout_s": 0.0201, "memory_bytes": 200 << 20}
    dictionaries = ["/a.dict", "/b.dict"]
    start = started(afl, home, index=1, instances=2, dictionary=dictionaries, **limits)
    words = " ".join(start.argv)
    assert "-S s1 -t 20+ -m 200 -x /a.dict -x /b.dict -E 50 -s 8 -p explore -- /bin" in words


def test_the_seeds_of_chance_differ_and_stay_in_range(afl, home):
    found = [started(afl, home, index=i, instances=3, seed=(1 << 31) - 1).argv for i in range(3)]
    assert [argv[argv.index("-s") + 1] for argv in found] == ["2147483647", "0", "1"]


def test_options_for_all_replace_ours(afl, home):
    extra = ["-t", "50", "-p", "rare", "-s1", "-Q"]
    argv = started(afl, home, index=1, instances=2, extra_args=extra).argv
    assert " ".join(argv).endswith("-S s1 -m none -t 50 -p rare -s 1 -Q -- /bin/target @@")


def test_options_for_one_replace_its_part_of_the_spread(afl, home):
    options = {"s1": ["AFL_A=b c", "AFL_DISABLE_TRIM=1", "-p", "quad"], "s2": []}
    change = {"instances": 4, "options": options, "env": {"AFL_A": "x", "AFL_B": "y"}}
    s1 = started(afl, home, index=1, **change)
    assert s1.argv[-6:] == ["8", "-p", "quad", "--", "/bin/target", "@@"]
    assert (s1.env["AFL_A"], s1.env["AFL_B"], s1.env["AFL_DISABLE_TRIM"]) == ("b c", "y", "1")
    s2 = started(afl, home, index=2, **change)
    assert "-p" not in s2.argv
    assert "AFL_DISABLE_TRIM" not in s2.env
    assert s2.env["AFL_A"] == "x"


@pytest.mark.parametrize(
    ("extra", "left"),
    [(["-Dm", "50", "-prare"], ["-D"]), (["-D", "-m", "50", "-p", "rare", "-%"], ["-D", "-%"])],
)
def test_options_for_one_come_before_those_for_all(afl, home, extra, left):
    """afl-fuzz refuses some that are given twice, and takes the last of others."""
    options = {"main": ["-m", "99", "-p", "quad"]}
    argv = started(afl, home, extra_args=extra, options=options).argv
    assert argv[argv.index("-s") + 2 : argv.index("--")] == [*left, *options["main"]]


def test_what_the_user_exports_or_writes_comes_before_our_defaults(afl, home, monkeypatch):
    monkeypatch.setenv("AFL_SYNC_TIME", "30")
    env = started(afl, home, env={"AFL_IMPORT_FIRST": "0", "AFL_AUTORESUME": "0"}).env
    assert "AFL_SYNC_TIME" not in env
    assert env["AFL_IMPORT_FIRST"] == "0"
    assert env["AFL_AUTORESUME"] == "1"


def test_a_processor_of_the_users_choice(afl, home):
    assert "AFL_NO_AFFINITY" in started(afl, home).env
    assert "AFL_NO_AFFINITY" not in started(afl, home, extra_args=["-b", "1"]).env
    assert "AFL_NO_AFFINITY" not in started(afl, home, options={"main": ["-b0"]}).env
    assert "AFL_NO_AFFINITY" not in started(afl, home, env={"AFL_TRY_AFFINITY": "1"}).env
    pinned = started(afl, home, pin=True).env
    assert "AFL_NO_AFFINITY" not in pinned
    assert pinned["AFL_TRY_AFFINITY"] == "1"
    assert "AFL_TRY_AFFINITY" not in started(afl, home, pin=True, extra_args=["-b", "1"]).env


def test_a_limit_of_the_speed_is_a_custom_mutator(afl, home):
    assert "FUZZTUI_MAX_SPEED" not in started(afl, home).env
    env = started(afl, home, max_speed=50).env
    assert env["FUZZTUI_MAX_SPEED"] == "50"
    assert "/pace-" in env["AFL_CUSTOM_MUTATOR_LIBRARY"].split(";")[-1]


def test_the_variables_of_afl_are_documented():
    page = (Path(__file__).parents[3] / "docs/afl.md").read_text()
    for name, value in {**launcher.DEFAULTS, **launcher.ALWAYS}.items():
        assert f"`{name}={value}`" in page


def test_a_core_pattern_that_hides_crashes_is_a_warning(afl, home, tmp_path, monkeypatch):
    pattern = tmp_path / "core_pattern"
    monkeypatch.setattr(launcher, "CORE_PATTERN", pattern)
    fuzzer = tmp_path / "afl-fuzz"
    fuzzer.write_text("#!/bin/sh\n")
    fuzzer.chmod(0o755)
    of = campaign(home, command=["/bin/sh"], afl_path=str(tmp_path))
    for text, warned in (("core\n", False), ("|/usr/share/apport/apport %p\n", True)):
        pattern.write_text(text)
        messages = afl.setup(of, home, lambda _: None)
        assert any("echo core | sudo tee" in m.text for m in messages) is warned


# -------------------------------------------------------------------------- steering


STEERED = {"skip", "promote", "reset"}


def test_what_afl_cannot_do_is_said_with_the_reason(afl, home):
    hello = afl.hello(campaign(home), home, 0)
    assert set(hello.capabilities) >= STEERED
    assert hello.unable["demote"] == "afl-fuzz can skip or promote an entry, nothing between"
    assert hello.unable["pin-target"] == "afl-fuzz knows no types: spoton does"
    assert not set(hello.unable) & set(hello.capabilities)


def test_a_mutator_of_the_users_stays_beside_ours(afl, home):
    mine = {"AFL_CUSTOM_MUTATOR_LIBRARY": "/mine.so"}
    start = started(afl, home, index=3, instances=4, env=mine)
    assert start.env["AFL_CUSTOM_MUTATOR_LIBRARY"] == f"{LIBRARY};/mine.so"
    hello = afl.hello(campaign(home, instances=4, env=mine), home, 3)
    assert "promote" in hello.capabilities


@pytest.mark.parametrize(
    ("index", "changes"),
    [(0, {"extra_args": ["-L0"]}), (1, {"options": {"s1": ["-L", "0"]}})],
)
def test_mopt_takes_no_steering_and_says_so(afl, home, index, changes):
    start = started(afl, home, index=index, instances=4, **changes)
    assert "AFL_CUSTOM_MUTATOR_LIBRARY" not in start.env
    assert "FUZZTUI_CONTROL" not in start.env
    hello = afl.hello(campaign(home, instances=4, **changes), home, index)
    assert set(hello.unable) == {*STEERED, "demote", *names_of(TypeCommand)}
    assert {name for name, why in hello.unable.items() if "-L" in why} == STEERED
    assert not STEERED & set(hello.capabilities)


def test_without_a_library_the_reason_is_given(afl, home, monkeypatch):
    monkeypatch.setattr(launcher, "steering_library", lambda *progress: (None, "no C compiler"))
    assert "AFL_CUSTOM_MUTATOR_LIBRARY" not in started(afl, home).env
    hello = afl.hello(campaign(home), home, 0)
    assert hello.unable["promote"] == "no C compiler"
    assert {"pause", "resume", "stop", "skip-current"} <= set(hello.capabilities)
    assert (hello.instance, hello.engine) == ("main", "afl-fuzz")


def test_a_library_that_is_gone_is_made_again(afl, home, monkeypatch, tmp_path):
    """Caches are emptied while campaigns run."""
    cached = tmp_path / "steer.so"
    made = []

    def compiled(*progress):
        made.append(cached.write_text(""))
        return cached, ""

    monkeypatch.setattr(launcher, "steering_library", compiled)
    for _ in range(2):
        for _ in range(2):
            env = started(afl, home).env
            assert Path(env["AFL_CUSTOM_MUTATOR_LIBRARY"]).exists()
        cached.unlink()
    assert len(made) == 2


# ----------------------------------------------------------------------------- spread


def test_the_spread_is_that_of_afls_documentation():
    fleet = [spread(i, 25, "/cmplog") for i in range(25)]
    assert not fleet[0].arguments
    secondaries = fleet[1:]
    schedules = [options.arguments[1] for options in secondaries]
    assert schedules[:8] == ["explore", "exploit", "coe", "rare", "lin", "quad", "seek", "fast"]
    cmplog = [options for options in secondaries if "-c" in options.flags]
    assert len(cmplog) == 8
    levels = {options.arguments[options.arguments.index("-l") + 1] for options in cmplog}
    assert levels == {"2", "2AT"}
    assert sum("-Z" in options.flags for options in secondaries) == 5
    assert sum("AFL_DISABLE_TRIM" in options.env for options in secondaries) == 8


def test_a_fleet_that_grows_keeps_the_instances_that_it_has():
    for index in range(1, 5):
        assert spread(index, 5, "/c") == spread(index, 50, "/c")


def test_a_lone_main_uses_cmplog_itself():
    assert spread(0, 1, "/c").arguments == ["-c", "/c", "-l", "2"]
    assert spread(0, 2, "/c").arguments == []


def test_options_are_read_as_env_reads_them():
    options = parse_options(["A=1", "_b=x=y", "-T", "C=3"])
    assert options.env == {"A": "1", "_b": "x=y"}
    assert options.arguments == ["-T", "C=3"]
    assert parse_options([]).arguments == []


# ------------------------------------------------------------------------------ setup


def refusal(afl, home, **changes) -> str:
    with pytest.raises(SupervisorError) as caught:
        afl.setup(campaign(home, **changes), home, lambda words: None)
    return str(caught.value)


def test_afl_that_is_not_there_is_said_in_words(afl, home, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert "apt install afl++" in refusal(afl, home)
    assert "there is no afl-fuzz in /else" in refusal(afl, home, afl_path="/else")


def test_a_target_that_is_not_there_is_said_in_words(afl, home, tmp_path):
    fuzzer = tmp_path / "afl-fuzz"
    fuzzer.write_text("#!/bin/sh\n")
    fuzzer.chmod(0o755)
    there = {"afl_path": str(tmp_path)}
    assert "/bin/target: there is no such file" in refusal(afl, home, **there)
    assert "is not an executable" in refusal(afl, home, command=["/etc/passwd"], **there)
    assert "target.cmplog" in refusal(afl, home, command=["/bin/sh"], cmplog="/nope", **there)
    built = {"build": "true", "command": [str(home.path / "build/target")], **there}
    assert "target.source: there is no directory /src" in refusal(afl, home, **built)
    built["source"] = str(tmp_path)
    assert "the build did not make it" in refusal(afl, home, **built)
    told: list[str] = []
    good = dataclasses.replace(campaign(home, command=["/bin/sh"], cmplog="0", **there))
    afl.setup(good, home, told.append)
    assert any("engine.seeds is missing" in words for words in told)


def test_few_open_files_are_refused_or_raised(afl, home, monkeypatch):
    limits = [(64, 128)]
    monkeypatch.setattr(launcher.shutil, "which", lambda tool: f"/bin/{tool}")
    monkeypatch.setattr(launcher.resource, "getrlimit", lambda number: limits[-1])
    monkeypatch.setattr(launcher.resource, "setrlimit", lambda number, new: limits.append(new))
    with pytest.raises(SupervisorError, match=r"ulimit -n: 128 open files"):
        afl.setup(campaign(home), home, lambda words: None)
    limits.append((64, resource.RLIM_INFINITY))
    with pytest.raises(SupervisorError, match=r"target\.command"):  # it went on
        afl.setup(campaign(home), home, lambda words: None)
    assert limits[-1] == (launcher.MIN_FILES, resource.RLIM_INFINITY)
