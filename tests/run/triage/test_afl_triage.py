"""Running findings again, with small scripts for targets: no AFL++ and no gdb is needed."""

import asyncio
import contextlib
import errno
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import partial

import pytest
from commands import commands
from waiting import until, wait_until

from fuzztui.features.minimise.handlers import Minimiser
from fuzztui.features.minimise.program_inputs import LONGEST_S, minimise
from fuzztui.features.minimise.rewrite import Search, minimised_path
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import CancelMinimise, Minimise
from fuzztui.kernel.wire.events import FindingDescribed, FindingSaved, Record
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import KEPT, ProcessMark, children, execute
from fuzztui.run.process.identity import marked
from fuzztui.run.process.reaper import Reaper
from fuzztui.run.triage import afl as triage
from fuzztui.run.triage import examine, gdb
from fuzztui.run.triage.afl import AflTriage
from fuzztui.run.triage.examine import examine_input, printable
from fuzztui.run.triage.program import TargetProgram, find_file, repro_command_line
from fuzztui.run.triage.sandbox import open_sandbox, remove_sandboxes

TARGET = """\
#!/bin/sh
read -r line
case $line in
null) kill -SEGV $$ ;;
abort) echo "t: t.c:3: f: Assertion \\`n < 4' failed." >&2; kill -ABRT $$ ;;
asan) echo '==1==ERROR: AddressSanitizer: heap-buffer-overflow on 0x1
READ of size 4 at 0x1
    #0 0x1 in __interceptor_memcpy (/t+0x3)
    #1 0x2 in \x1b[31mevil[/x]\u202e /src/t.c:7:3' >&2; exit 1 ;;
env) echo "$A ${LD_PRELOAD-none} $ASAN_OPTIONS" >&2; exit 9 ;;
term) trap '' TERM; while :; do sleep 1; done ;;
loop) while :; do :; done ;;
child) setsid sleep 1000.25 & exit 0 ;;
print) exec head -c 30000000 /dev/zero >&2 ;;
bytes) printf '\\377\\376\\033[2J' >&2; kill -SEGV $$ ;;
esac
exit 3
"""


@pytest.fixture
def campaign(tmp_path, monkeypatch):
    """``campaign(engine=..., target=...)``: of a target that does what its input says."""
    monkeypatch.setattr(gdb, "gdb_path", lambda: None)
    monkeypatch.setattr(examine, "gdb_path", lambda: None)
    monkeypatch.setattr(TargetProgram, "tool", lambda self, name: None)
    monkeypatch.setattr(triage, "MIN_REST_S", 0.0)
    program = tmp_path / "target"
    program.write_text(TARGET)
    program.chmod(0o755)

    def make(target="", engine="", command=f'["{program}"]'):
        file = tmp_path / "c.toml"
        file.write_text(
            f'[campaign]\noutput = "run"\n[target]\ncommand = {command}\n{target}\n'
            f'[engine]\nkind = "afl"\n{engine}\n'
        )
        return load(file).campaign

    return make


@pytest.fixture
def crash(campaign):
    """``crash(line)``: what comes of that input."""

    async def run(line, sig=11, **kwargs):
        with open_sandbox(TargetProgram.of(campaign(**kwargs)), line.encode()) as place:
            return await examine_input(place, "crash", sig)

    return run


async def test_a_signal_is_told_by_name(crash):
    verdict = await crash("null")
    assert verdict.title == "SIGSEGV"
    assert verdict.signature.startswith("SIGSEGV-")
    assert "gdb is not installed" in verdict.detail
    assert (await crash("null\nother")).signature == verdict.signature
    assert not verdict.ended


async def test_an_assertion_is_quoted(crash):
    assert "Assertion `n < 4' failed." in (await crash("abort")).detail


async def test_a_sanitizers_report_is_the_truth(crash):
    verdict = await crash("asan")
    assert verdict.title == "heap-buffer-overflow in \\e[31mevil[/x]\\u202e (READ)"
    assert verdict.place == "t.c:7 in \\e[31mevil[/x]\\u202e"
    assert "\x1b" not in verdict.detail
    assert verdict.signature.startswith("heap-buffer-overflow-")


async def test_what_does_not_crash_again(crash):
    verdict = await crash("nothing", sig=6)
    assert verdict.title == "did not crash again (AFL++ saw SIGABRT)"
    assert verdict.signature == "did-not-crash-SIGABRT"
    assert "exit status 3" in verdict.detail
    assert verdict.ended


async def test_an_exit_status_that_is_a_crash(crash):
    verdict = await crash("x", target='env = { AFL_CRASH_EXITCODE = "3" }')
    assert verdict.title.startswith("exit status 3")


async def test_words_of_a_target_are_harmless(crash):
    detail = (await crash("bytes")).detail
    assert "\\e[2J" in detail
    assert detail.isprintable() or set(detail) - {"\n"} == {c for c in detail if c.isprintable()}


async def test_output_without_measure_is_cut(crash):
    verdict = await crash("print", target='timeout = "1h"')
    assert verdict.ended
    assert len(verdict.detail) < 8192


async def test_the_environment_is_the_targets_alone(crash):
    table = 'env = { A = "b c\'$(x)", "N-M" = "", ASAN_OPTIONS = "x=1" }'
    verdict = await crash("env", target=table)
    assert "b c'$(x) none x=1:symbolize=1" in verdict.detail


async def run_hang(campaign, line, hang_ms=300):
    limits = f'timeout = "0.3s"\nenv={{AFL_HANG_TMOUT="{hang_ms}"}}'
    subject = TargetProgram.of(campaign(target=limits))
    with open_sandbox(subject, line.encode()) as place:
        return await examine_input(place, "hang"), place


@pytest.mark.slow
@pytest.mark.parametrize("line", ["loop", "term"])
async def test_no_end(campaign, line):
    verdict, place = await run_hang(campaign, line)
    assert verdict.title == "no end within 0.6 s"
    assert verdict.signature.startswith("hang-")
    assert marked(place.mark.run) == []


async def test_a_hang_that_ends_in_time(campaign):
    verdict, _ = await run_hang(campaign, "x", 20_000)
    assert re.match(r"ended after \d", verdict.title)
    assert (verdict.signature, verdict.ended) == ("ended-in-time", True)
    verdict, _ = await run_hang(campaign, "null", 20_000)
    assert verdict.title == "SIGSEGV"


async def test_nothing_is_left_behind(crash, tmp_path, monkeypatch):
    benches = tmp_path / "benches"  # of its own: other tests make and remove theirs meanwhile
    benches.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(benches))
    assert (await crash("child")).ended
    assert "sleep 1000.25" not in commands()
    assert [*benches.iterdir()] == []
    assert children() == set()


async def test_cancelling_ends_the_target(tmp_path):
    mark = ProcessMark(tmp_path, "x")
    running = asyncio.ensure_future(
        execute(["/bin/sh", "-c", "setsid sleep 99 & sleep 99"], mark, cwd=tmp_path, limit=99)
    )
    await until(lambda: len(marked(tmp_path, "x")) >= 3)
    assert len(children()) == 1
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert marked(tmp_path, "x") == []
    assert children() == set()


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs util-linux")
def test_what_is_run_dies_with_who_runs_it(tmp_path):
    code = f"""
import asyncio
from functools import partial
from pathlib import Path
from fuzztui.run.process.execute import ProcessMark, execute
place = Path({str(tmp_path)!r})
mark = ProcessMark(place, "x")
asyncio.run(execute(["nice", "sh", "-c", "exec sleep 99"], mark, cwd=place, limit=99))
"""
    supervisor = subprocess.Popen([sys.executable, "-c", code])

    try:
        wait_until(lambda: len(marked(tmp_path, "x")) == 1)
        supervisor.kill()
        wait_until(lambda: not marked(tmp_path, "x"))
    finally:
        supervisor.kill()
        supervisor.wait()
        ProcessMark(tmp_path, "x").kill_leftovers()


async def test_the_supervisors_reaper_leaves_statuses_to_us(tmp_path):
    loop = asyncio.get_running_loop()
    Reaper(children).start(loop)
    command = ["/bin/sh", "-c", "sleep 0.01 & kill -SEGV $$"]
    for _ in range(10):
        outcome = await execute(command, ProcessMark(tmp_path, "x"), cwd=tmp_path, limit=9)
        assert outcome.signal == 11
    loop.remove_signal_handler(signal.SIGCHLD)


async def test_both_ends_of_a_long_output_are_kept(tmp_path):
    code = "import sys; sys.stderr.write('a' + 'x' * 5_000_000 + 'z')"
    argv = [sys.executable, "-c", code]
    outcome = await execute(argv, ProcessMark(tmp_path, "x"), cwd=tmp_path, limit=30)
    assert outcome.output.startswith(b"ax")
    assert outcome.output.endswith(b"xz")
    assert b"bytes left out" in outcome.output
    assert len(outcome.output) <= 3 * KEPT + 100


def test_what_cannot_be_run_again(campaign):
    with pytest.raises(SupervisorError, match="use @@ in"):
        TargetProgram.of(campaign(engine='extra_args = ["-f", "/tmp/fixed.png"]'))
    made = campaign(
        engine='extra_args = ["-Q", "-f", "/tmp/fixed.png"]',
        command=f'["{campaign().target["command"][0]}", "--in=@@"]',
    )
    subject = TargetProgram.of(made)
    assert subject.modes == ("-Q",)
    assert subject.input_name == "input.png"


def test_limits_follow_afl(campaign, tmp_path):
    (tmp_path / "fuzzer_stats").write_text("exec_timeout      : 40\n")
    made = campaign()
    made.target["timeout_s"] = 0.0
    assert TargetProgram.of(made, tmp_path).timeout == 0.04
    assert TargetProgram.of(made).timeout == 1.0
    assert TargetProgram.of(made, tmp_path).hang_limit == 2.0
    assert TargetProgram.of(campaign(target='timeout = "4s"')).hang_limit == 8.0
    assert TargetProgram.of(campaign(target='timeout = "4s"')).crash_limit == 20.0


def test_the_command_line_can_be_typed(campaign, tmp_path):
    made = campaign(target='memory = "1GiB"\nenv = { A = "x y" }')
    file = tmp_path / "id:0 '$(x)"
    file.write_text("env")
    line = repro_command_line(TargetProgram.of(made), file)
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 9
    assert done.stderr.startswith("x y none")
    assert "ulimit -v 1048576" in line
    made = campaign(command=f'["{made.target["command"][0]}", "-x", "@@"]')
    assert repro_command_line(TargetProgram.of(made), file).endswith(
        f" -x {shlex.quote(str(file))})"
    )


def test_files_that_afl_has_put_away(tmp_path):
    for folder in ("crashes", "crashes.2026-01-01-00:00:00", "crashes.2026-02-01-00:00:00"):
        (tmp_path / folder).mkdir()
    assert find_file(tmp_path, "crashes/a") is None
    (tmp_path / "crashes.2026-01-01-00:00:00/a").touch()
    (tmp_path / "crashes.2026-02-01-00:00:00/a").touch()
    assert find_file(tmp_path, "crashes/a").parent.name == "crashes.2026-02-01-00:00:00"
    (tmp_path / "crashes/a").touch()
    assert find_file(tmp_path, "crashes/a") == tmp_path / "crashes/a"
    assert find_file(tmp_path / "nowhere", "crashes/a") is None
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden/a").touch()
    assert find_file(tmp_path, "/a") is None


def test_inputs_are_shown_short():
    assert printable(b"ab\x1b\xff\n") == "ab\\e\\xff\\n"
    assert printable(b"x" * 5000) == "x" * 200 + "..."


@contextlib.asynccontextmanager
async def running(triage):
    job = asyncio.ensure_future(triage.run())
    yield job
    job.cancel()
    await asyncio.gather(job, return_exceptions=True)


class Office:
    """A run with findings in it, its log and its triage."""

    def __init__(self, campaign, run, lines):
        self.home = RunDir(run)
        self.events = []
        self.state = State()
        crashes = self.home.instance("main") / "crashes"
        crashes.mkdir(parents=True, exist_ok=True)
        self.saved = [
            FindingSaved("main", "crash", f"crashes/{n}", sig=11) for n in range(len(lines))
        ]
        for event, line in zip(self.saved, lines, strict=True):
            (self.home.instance("main") / event.file).write_text(line)
        self.triage = AflTriage(campaign, self.home, self.record, self.state)

    def record(self, event):
        self.events.append(event)
        apply(self.state, [Record(self.state.seq + 1, 1.0, event)])

    async def until(self, count):
        async with running(self.triage) as job:

            def described() -> bool:
                assert not job.done()
                return sum(isinstance(e, FindingDescribed) for e in self.events) >= count

            await until(described)

    @property
    def titles(self):
        return {e.file: e.title for e in self.events if isinstance(e, FindingDescribed)}


async def test_findings_are_described_as_they_come(campaign, tmp_path):
    office = Office(campaign(), tmp_path / "run", ["null", "x", "asan", "null\n2"])

    for event in office.saved:
        office.record(event)
        office.triage.saw(event)
        office.triage.saw(event)
    await office.until(4)
    assert len([e for e in office.events if isinstance(e, FindingDescribed)]) == 4
    assert office.titles["crashes/0"] == "SIGSEGV"
    assert office.titles["crashes/1"] == "did not crash again (AFL++ saw SIGSEGV)"
    assert sorted(map(len, office.state.groups.values())) == [1, 1, 2]
    assert office.state.findings["main/crashes/0"].input == "null"
    # Described is described: the next supervisor has nothing to do.
    again = AflTriage(campaign(), office.home, office.record, office.state)
    async with running(again):
        await until(lambda: again._more._waiters)  # it has seen what there is, and waits for more
        assert again.waiting == 0


async def test_the_next_supervisor_takes_up_what_is_left(campaign, tmp_path):
    office = Office(campaign(), tmp_path / "run", ["null", "x"])
    for event in office.saved:
        office.record(event)
    await office.until(2)
    assert len(office.titles) == 2


async def test_errors_are_descriptions_too(campaign, tmp_path, monkeypatch):
    made = campaign()
    office = Office(made, tmp_path / "run", ["null", "null", "null"])
    (office.home.instance("main") / "crashes/0").unlink()

    office.triage.saw(office.saved[0])
    await office.until(1)
    monkeypatch.setattr(triage, "examine_file", broken)
    office.triage.saw(office.saved[1])
    await office.until(2)
    monkeypatch.undo()
    (tmp_path / "target").unlink()
    office.triage.saw(office.saved[2])
    await office.until(3)
    details = [e.detail for e in office.events]
    assert "no longer exists" in details[0]
    assert "internal error" in details[1]
    assert "the program no longer exists" in details[2]
    assert {e.signature for e in office.events} == {""}  # it is tried again by the next supervisor


async def test_what_the_machine_lacks_now_is_tried_again(campaign, tmp_path, monkeypatch):
    office = Office(campaign(), tmp_path / "run", ["null"])
    real, tries, delays = triage.examine_file, [], []

    async def full(*args, **kwargs):
        tries.append(1)
        if len(tries) <= 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return await real(*args, **kwargs)

    loop = asyncio.get_running_loop()
    later = loop.call_later

    def soon(delay, call, *args, **kwargs):
        ours = getattr(call, "__name__", "") == "_put"
        if ours:
            delays.append(delay)
        return later(0 if ours else delay, call, *args, **kwargs)

    monkeypatch.setattr(loop, "call_later", soon)
    monkeypatch.setattr(triage, "examine_file", full)
    office.triage.saw(office.saved[0])
    await office.until(2)
    first, second = office.events
    assert "No space left" in first.detail
    assert (first.signature, second.title) == ("", "SIGSEGV")
    assert delays == [5, 10, 20]


async def test_benches_are_in_the_run_and_swept(campaign, tmp_path):
    office = Office(campaign(), tmp_path / "run", ["loop"])
    benches = office.home.supervisor / "bench"
    (benches / "fuzztui-0-left/cwd").mkdir(parents=True)
    benches.chmod(0o700)
    outside = tmp_path / "outside"
    outside.mkdir()
    (benches / "fuzztui-0-link").symlink_to(outside)

    office.triage.saw(office.saved[0])
    async with running(office.triage):
        await until(children)
        (one,) = [path for path in benches.iterdir() if not path.is_symlink()]
        assert (one / "input").read_text() == "loop"
        assert one.stat().st_mode & 0o077 == 0
    assert not [path for path in benches.iterdir() if not path.is_symlink()]
    assert outside.is_dir()


async def broken(*args, **kwargs):
    raise RuntimeError("gdb is broken")


async def test_the_end_finishes_what_is_left(campaign, tmp_path):
    office = Office(campaign(), tmp_path / "run", ["null"] * 5)

    async with running(office.triage):
        for event in office.saved:
            office.triage.saw(event)
        await until(children)  # one is in progress
        await office.triage.finish()
    assert set(office.titles.values()) == {"SIGSEGV"}
    assert len(office.titles) == 5


def test_everybody_has_a_turn(campaign, tmp_path):
    office = Office(campaign(), tmp_path / "run", ["x"] * 6)
    for event in office.saved:
        office.triage.saw(event)
    for n in range(3):
        office.triage.saw(FindingSaved("main", "hang", f"hangs/{n}"))
    order = [office.triage._next().file for _ in range(9)]
    assert [file.partition("/")[0] for file in order].index("hangs") == 3
    assert [file for file in order if file[0] == "c"] == [
        f"crashes/{n}" for n in (5, 0, 4, 3, 1, 2)
    ]
    assert sorted(order) == [f"crashes/{n}" for n in range(6)] + [f"hangs/{n}" for n in range(3)]


async def test_a_cancelled_finding_is_not_lost(campaign, tmp_path):
    made = campaign(target='timeout = "1h"')  # nobody could wait for it
    office = Office(made, tmp_path / "run", ["loop"])

    office.triage.saw(office.saved[0])
    async with running(office.triage):
        await until(children)
    assert office.events == []
    assert office.triage.waiting == 1


TMIN = """\
#!/bin/sh
[ "$1" = -i ] || HOLD=  # afl-showmap
while [ "$1" != -o ]; do shift; done
echo "$$" >> "$TOLD"
echo '[*] --- Pass #1 ---'
echo '    Block length = 2, remaining size = 5'
echo '    Block length = 1, remaining size = 4'
echo '[*] --- Pass #2 ---'
echo '[*] Stage #3: Character minimization...'
trap 'printf nul > "$0.best"; cp "$0.best" '"$2"'; exit 1' INT
while [ -n "$HOLD" ]; do sleep 0.05; done
printf nu > "$2"
"""


@pytest.fixture
def tmin(tmp_path, monkeypatch, campaign):
    """A finding, and an afl-tmin that continues until it is interrupted where HOLD is set."""
    tool = tmp_path / "afl-tmin"
    tool.write_text(TMIN)
    tool.chmod(0o755)
    made = campaign()
    monkeypatch.setattr(TargetProgram, "tool", lambda self, name: str(tool))
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    home = RunDir(tmp_path / "run")
    for name in ("a", "b"):
        file = home.instance("main") / "crashes" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("null\n")
    return Minimiser(home, partial(minimise, made, home), LONGEST_S).minimise


def quiet(words, part):
    pass


async def test_minimising_tells_how_far_it_is_and_takes_turns(tmin, tmp_path):
    heard: dict[str, list[tuple[str, float]]] = {"a": [], "b": []}

    def one(name):
        return tmin(Minimise(f"crashes/{name}"), lambda *told: heard[name].append(told))

    words = await asyncio.gather(one("a"), one("b"))
    assert all(said.startswith("5 -> 2 bytes: ") for said in words)
    assert heard["b"][0] == ("waiting for another finding to be minimised", -1.0)
    assert not any("waits" in said for said, _ in heard["a"])
    assert [part for _, part in heard["a"] if part >= 0] == pytest.approx([0, 1 / 9, 2 / 3])
    assert "pass 1, : 4 of 5 bytes left" in heard["a"][2][0]
    assert heard["b"][1:] == heard["a"]


@pytest.mark.slow
async def test_minimising_ends_in_time_with_the_best_so_far(tmin, tmp_path, monkeypatch):
    monkeypatch.setenv("HOLD", "1")
    monkeypatch.setattr(tmin.__self__, "_longest_s", 2.0)  # in which it has to set its trap
    words = await tmin(Minimise("crashes/a"), quiet)
    assert words.startswith("5 -> 3 bytes: ")
    assert "; stopped after 2 s: more may be possible" in words
    (tmp_path / "afl-tmin").write_text(TMIN.replace("trap", "false"))
    with pytest.raises(SupervisorError, match="stopped after 2 s before it wrote a result"):
        await tmin(Minimise("crashes/a"), quiet)


async def test_what_waits_or_is_minimised_can_be_cancelled(tmp_path):
    home = RunDir(tmp_path / "run")
    (home.instance("s1") / "crashes").mkdir(parents=True)
    for name in "ab":
        (home.instance("s1") / "crashes" / name).write_text("null")
    begun = asyncio.Event()

    async def one(file, output, search):
        begun.set()
        await until(search.stop)
        return f"{file.name} smaller"

    minimiser = Minimiser(home, one, LONGEST_S)
    first, second = Minimise("crashes/a", "s1"), Minimise("crashes/b", "s1")
    jobs = [asyncio.ensure_future(minimiser.minimise(c, quiet)) for c in (first, second)]
    await begun.wait()
    with pytest.raises(SupervisorError, match="already"):
        await minimiser.minimise(first, quiet)
    for command in (second, first):
        await minimiser.cancel(CancelMinimise(command.file, "s1"), quiet)
    assert await jobs[0] == "a smaller"
    with pytest.raises(SupervisorError, match="cancelled before minimising started"):
        await jobs[1]
    with pytest.raises(SupervisorError, match="not being minimised"):
        await minimiser.cancel(CancelMinimise("crashes/a", "s1"), quiet)


async def test_minimise_without_the_tool(campaign, tmp_path):
    home = RunDir(tmp_path / "run")
    (home.instance("s1") / "crashes").mkdir(parents=True)
    file = home.instance("s1") / "crashes/id:0"
    file.write_text("null")

    with pytest.raises(SupervisorError, match="afl-tmin was not found"):
        await minimise(campaign(), home, file, tmp_path / "out", Search(quiet, 1.0))
    minimises = Minimiser(home, partial(minimise, campaign(), home), LONGEST_S).minimise
    with pytest.raises(SupervisorError, match="afl-tmin was not found"):
        await minimises(Minimise("crashes/id:0"), quiet)
    with pytest.raises(SupervisorError, match="no such finding"):
        await minimises(Minimise("crashes/id:1", "s1"), quiet)
    assert minimised_path(home, file) == home.path / "minimised/s1/id:0"
    assert minimised_path(home, tmp_path / "x") == home.path / "minimised/x"


@pytest.mark.parametrize("maker", ["²", "9" * 30])
def test_a_sandbox_of_no_process_is_removed(tmp_path, maker):
    left = tmp_path / "supervisor" / "bench" / f"fuzztui-{maker}-x"
    left.mkdir(parents=True)
    remove_sandboxes(tmp_path)
    assert not left.exists()
