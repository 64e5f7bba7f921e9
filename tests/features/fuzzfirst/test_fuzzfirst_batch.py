"""Many inputs on one program, with a script that speaks like afl-showmap: no AFL++ is needed."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from waiting import until

from fuzztui.features.fuzzfirst import batch as batches
from fuzztui.features.fuzzfirst import showmap
from fuzztui.features.fuzzfirst.batch import AflBatch
from fuzztui.features.fuzzfirst.showmap import InputResult
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.identity import marked

SHOWMAP = f"""\
#!{sys.executable} -S
# What it does with an input is in that input; what it is told stands in its log.
import getopt, os, signal, sys, time
options, command = getopt.getopt(sys.argv[1:], "i:o:H:t:m:Q")
options = dict(options)
with open(os.environ["LOG"], "a") as log:
    log.write(repr((options["-t"], options["-m"], "-Q" in options, command)) + "\\n")
if "FOO" in os.environ:
    print("\\x1b[1;91m\\n[-] PROGRAM ABORT : \\x1b[0mno \\x07 fork server\\x1b[1;91m")
    print("   Location : x")
    sys.exit(1)
for name in sorted(os.listdir(options["-i"])):
    data = open(options["-i"] + "/" + name).read()
    print("-- Program output begins --")
    if data[0] == "A":
        print("\\n[-] PROGRAM ABORT : \\x1b[0mUnable to communicate with fork server\\n")
        sys.exit(1)
    if data[0] == "K":
        os.kill(os.getpid(), signal.SIGKILL)
    if data[0] == "S":
        time.sleep(1000)
    if data[0] == "B":
        if os.fork() == 0:
            os.execvp("sleep", ["sleep", "1000"])
    slow = data[0] == "L" and int(options["-t"]) < 1000
    with open(options["-o"] + "/" + name, "w") as out:
        out.write("".join("%06u:%u\\n" % (ord(c), data.count(c)) for c in sorted(set(data))))
    print("\\x1b[0m\\x1b[0m-- Program output ends --")
    if data[0] == "C":
        print("\\x1b[1;91m\\n+++ Program killed by signal 11 +++")
    if data[0] == "H" or slow:
        print("\\x1b[1;91m\\n+++ Program timed off +++")
    if data[0] == "k":
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def lab(tmp_path):
    """``lab(inputs, ...)``: their verdicts; ``lab.passes()``: what each afl-showmap was told."""
    tool = tmp_path / "bin" / "afl-showmap"
    tool.parent.mkdir()
    tool.write_text(SHOWMAP)
    tool.chmod(0o755)
    log = tmp_path / "log"

    def make(target="", more="", engine="", command=("/bin/true",)):
        words = ", ".join(f"'{word}'" for word in command)
        file = tmp_path / "c.toml"
        file.write_text(
            f"[campaign]\noutput = 'run'\n[target]\ncommand = ['/bin/false']\ntimeout = '0.1s'\n"
            f'env = {{ LOG = "{log}", AFL_HANG_TMOUT = "1000"{target} }}\n{more}\n'
            f'[engine]\nkind = "afl"\nafl_path = "{tool.parent}"\n{engine}\n'
        )
        campaign = load(file).campaign
        return AflBatch(campaign, RunDir(campaign.output), [words.strip("'")], "m1")

    def run(inputs, progress=batches.silent, **keys):
        log.write_text("")
        files = []
        for number, data in enumerate(inputs):
            file = tmp_path / f"{number},sync:\n*"  # names are no business of a batch
            if isinstance(data, str):
                file.write_text(data)
            files.append(file)
        verdicts = asyncio.run(make(**keys).run(files, progress))
        assert [*(tmp_path / "run").glob("supervisor/bench/*")] == []
        assert marked(tmp_path / "run") == []
        return verdicts

    run.make = make
    run.passes = lambda: [eval(line) for line in log.read_text().splitlines()]
    run.path = tmp_path
    return run


def outcomes(verdicts):
    return [verdict.outcome for verdict in verdicts]


def trace(text):
    return frozenset(ord(c) * 8 + text.count(c) - 1 for c in text)


def test_one_fork_server_tells_outcome_signal_and_trace_in_order(lab):
    told = []
    verdicts = lab(["ab", "Cc", "aab", "b"], told.append)
    assert verdicts == [
        InputResult("ok", trace("ab")),
        InputResult("crash", trace("Cc"), 11),
        InputResult("ok", trace("aab")),
        InputResult("ok", trace("b")),
    ]
    assert told == sorted(told) and told[-1] == 1.0 and len(told) >= 4
    assert lab.passes() == [("100", "none", False, ["/bin/true"])]


def test_nothing_to_run_needs_no_program(lab):
    assert lab([]) == []
    assert lab.passes() == []


def test_what_cannot_be_an_input_is_unfit_and_never_waited_for(lab):
    os.mkfifo(lab.path / "1,sync:\n*")
    (lab.path / "2,sync:\n*").symlink_to("/etc/passwd")
    (lab.path / "5,sync:\n*").mkdir()
    verdicts = lab(["a", None, None, "", "x" * (1 << 20), None, None, "y" * ((1 << 20) + 1), "b"])
    assert outcomes(verdicts) == [
        *("ok", "unfit", "unfit", "unfit", "ok", "unfit", "unfit", "unfit", "ok")
    ]


def test_without_one_fit_input_nothing_is_run(lab):
    assert outcomes(lab(["", ""])) == ["unfit", "unfit"]
    assert lab.passes() == []


def test_a_hang_is_confirmed_with_a_longer_limit(lab):
    assert outcomes(lab(["H", "L", "a"])) == ["hang", "ok", "ok"]
    # Twice AFL++'s own limit for hangs.
    assert [told[0] for told in lab.passes()] == ["100", "2000"]


def test_many_hangs_in_a_row_are_believed(lab, monkeypatch):
    monkeypatch.setattr(batches, "ALIKE", 2)
    assert outcomes(lab(["H", "H", "H", "L"])) == ["hang"] * 4
    assert [told[0] for told in lab.passes()] == ["100", "2000"]
    assert outcomes(lab(["H", "L", "H", "L"])) == ["hang", "ok", "hang", "ok"]
    assert [told[0] for told in lab.passes()] == ["100", "2000", "2000"]


@pytest.mark.parametrize("deed", "AK")
def test_who_ends_afl_showmap_costs_its_own_verdict_only(lab, deed):
    inputs = ["a", "", "b", f"{deed}1", "c", f"{deed}2", f"{deed}3", "C", "d"]
    verdicts = lab(inputs)
    assert outcomes(verdicts) == [
        *("ok", "unfit", "ok", "crash", "ok", "crash", "crash", "crash", "ok")
    ]
    assert verdicts[3] == InputResult("crash")
    assert verdicts[4].trace == trace("c") and verdicts[8].trace == trace("d")


@pytest.mark.parametrize(
    ("inputs", "ends"),
    [
        # It may have died before it said how that input ended: it is run again, alone.
        ("akb", ["ok", "crash", "ok"]),
        ("Ba", ["ok", "ok"]),  # and lab() looks for what was left behind
        ("AKA", ["crash"] * 3),
    ],
    ids=["a death just after an input", "a process that is left", "all end afl-showmap"],
)
def test_how_inputs_end(lab, inputs, ends):
    assert outcomes(lab([*inputs])) == ends


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(showmap, "STALL_S", 0.2)
    monkeypatch.setattr(showmap, "START_S", 2.0)


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_who_stops_the_fork_server_has_no_end(lab, monkeypatch):
    assert outcomes(lab(["a", "S", "b"])) == ["ok", "hang", "ok"]
    assert {told[0] for told in lab.passes()} == {"100"}  # it was alone already
    monkeypatch.setattr(batches, "MAX_STALLS", 1)
    with pytest.raises(SupervisorError, match=r"/bin/true: .*nothing happened for"):
        lab(["a", "S", "S", "b"])


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_more_processes_than_anybody_needs(lab, monkeypatch):
    counts = iter([100, 100 + showmap.MAX_TASKS + 1])
    monkeypatch.setattr(showmap, "_tasks", lambda: next(counts, 100))
    assert outcomes(lab(["a", "S", "b"])) == ["ok", "hang", "ok"]


def test_a_program_that_cannot_be_run_is_said_in_afl_showmaps_words(lab):
    program = lab.path / "program"
    program.write_bytes(b"__AFL_SHM_ID")
    program.chmod(0o755)
    with pytest.raises(SupervisorError) as error:
        lab(["a", "b"], target=", FOO = '1'", command=(str(program),))
    assert str(error.value) == f"{program}: afl-showmap cannot run it: no \\x07 fork server"
    with pytest.raises(SupervisorError, match=r"^/bin/true: not instrumented; .* no \\x07 fork"):
        lab(["a", "b"], target=", FOO = '1'")
    with pytest.raises(SupervisorError, match="no longer exists"):
        lab(["a"], command=("/no/such",))


@pytest.mark.parametrize("option", ["-n", "-X", "-Y"])
def test_what_tells_no_coverage_is_refused(lab, option):
    with pytest.raises(SupervisorError, match=f"engine.extra_args: with {option} coverage"):
        lab.make(engine=f'extra_args = ["{option}"]')


def test_no_afl_showmap(lab, monkeypatch):
    monkeypatch.setenv("PATH", "")
    (lab.path / "bin" / "afl-showmap").unlink()
    with pytest.raises(SupervisorError, match="afl-showmap: not found"):
        lab.make()


def test_limits_modes_and_environment_are_the_campaigns(lab):
    lab(["a"], more="memory = '64MB'", engine='extra_args = ["-Q", "-e", "xml"]')
    memory = str(lab.make(more="memory = '64MB'")._subject.memory >> 20)
    assert lab.passes() == [("100", memory, True, ["/bin/true"])] and memory in ("61", "64")


def test_an_exit_status_that_is_a_crash(lab):
    script = lab.path / "script"
    script.write_text("#!/bin/sh\nread -r line\n[ $line = x ] && exit 42\nexit 3\n")
    script.chmod(0o755)
    verdicts = lab(["x\n", "y\n"], target=", AFL_CRASH_EXITCODE = '42'", command=(str(script),))
    assert verdicts == [InputResult("crash", trace("x\n")), InputResult("ok", trace("y\n"))]


def test_chunks_are_passes_of_their_own_and_tell_how_far(lab, monkeypatch):
    monkeypatch.setattr(batches, "CHUNK", 2)
    told = []
    assert outcomes(lab(["a", "C", "A", "b", "c"], told.append)) == [
        *("ok", "crash", "crash", "ok", "ok")
    ]
    assert told == sorted(told) and told[-1] == 1.0


async def test_cancelling_leaves_nothing(lab):
    (lab.path / "s").write_text("S")
    run = asyncio.create_task(lab.make().run([lab.path / "s"]))
    await until((lab.path / "log").exists)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert marked(lab.path / "run") == []
    assert [*(lab.path / "run" / "supervisor" / "bench").iterdir()] == []


def test_what_a_killed_supervisor_left_is_removed(lab):
    left = lab.path / "run" / "supervisor" / "bench" / f"fuzztui-{2**30}-xyz"
    left.mkdir(parents=True)
    (left / "000000").write_text("")
    assert outcomes(lab(["a"])) == ["ok"]
    assert not left.exists()


def test_traces_that_the_target_tampered_with_are_none(tmp_path):
    make = showmap.Showmap.__new__(showmap.Showmap)
    make._known = {}
    for text in ("1:x\n", "nonsense\n", "\0\n"):
        (tmp_path / "t").write_text(text)
        assert make._trace(Path(tmp_path / "t")) == frozenset()
    os.mkfifo(tmp_path / "f")
    assert make._trace(tmp_path / "f") == frozenset()
