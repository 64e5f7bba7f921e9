"""[oracle] of programs: what commands are asked, what of it is a bug, who looks at what once."""

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from waiting import until

from fuzztui.cli.output import DONE, FINDINGS
from fuzztui.cli.parser import parse
from fuzztui.cli.repro import repro
from fuzztui.features.minimise.program_inputs import minimise_by_oracle
from fuzztui.features.minimise.rewrite import Search
from fuzztui.features.oracle import command, judge
from fuzztui.features.oracle import queue as look
from fuzztui.features.oracle.command import MAX_OUTPUT, OracleReply, oracle_commands
from fuzztui.features.oracle.judge import OracleJudge, differing, suspicious
from fuzztui.features.oracle.process import OracleProcess
from fuzztui.features.oracle.queue import OracleQueue, SeenInputs, key_of
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.passive import ORACLE
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.wire.events import FindingDescribed, FindingSaved, Message, Record, Stats
from fuzztui.run.campaign import Campaign, CampaignError, load, write_frozen
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, prepare_run
from fuzztui.run.observe.directory import DirectoryObserver
from fuzztui.run.observe.relay import Offsets
from fuzztui.run.process import helper
from fuzztui.run.process.execute import ProcessMark
from fuzztui.run.process.identity import kill_marked, marked
from fuzztui.tui.labels.instance_columns import state_cell

PATIENCE = 60.0


class Lab:
    """A run with an oracle of two shell scripts; ``$1`` of each is the input."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.home = RunDir(directory / "run")
        prepare_run(self.home.path)
        self.script("target", "true")
        self.clock = 1000
        self.said: list[tuple[str, object]] = []

    def script(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def campaign(self, oracle: str, target: str = "", more: str = "") -> Campaign:
        file = self.directory / "c.toml"
        file.write_text(
            f'[campaign]\noutput = "{self.home.path}"\n{more}\n'
            f'[target]\ncommand = ["./target", "@@"]\n{target}\n'
            f'[engine]\nkind = "afl"\n[oracle]\n{oracle}\n'
        )
        loaded = load(file)
        write_frozen(loaded, self.home.path)
        return loaded.campaign

    def judge(self, run: str, against: str = "", more: str = "") -> OracleJudge:
        """Of scripts' texts."""
        self.script("one", run)
        table = f'run = ["./one", "@@"]\n{more}\n'
        if against:
            self.script("two", against)
            table += 'against = ["./two", "@@"]\n'
        elif "message" not in more:
            table += 'message = "never said"\n'
        return OracleJudge.of(self.campaign(table), ProcessMark(self.home.path, "oracle-asks"))

    def entry(self, name: str, data: bytes, instance: str = "main") -> Path:
        queue = self.home.out / instance / "queue"
        queue.mkdir(parents=True, exist_ok=True)
        (queue / name).write_bytes(data)
        self.clock += 1  # long ago, so that nobody waits for what may still be written
        os.utime(queue / name, (self.clock, self.clock))
        os.utime(queue, (self.clock, self.clock))
        return queue / name

    def look(self, judge: OracleJudge) -> OracleQueue:
        """All that there is, as one process would."""
        made = OracleQueue(self.home, judge, lambda word, value: self.said.append((word, value)))

        async def run() -> None:
            made.gather()
            while made.pending:
                await made.step()

        asyncio.run(run())
        return made

    def told(self) -> list[FindingDescribed]:
        file = self.home.instance(ORACLE) / "events.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        rows = [{k: v for k, v in json.loads(line).items() if k != "k"} for line in lines]
        return [FindingDescribed(**row) for row in rows]

    def files(self) -> list[str]:
        crashes = self.home.instance(ORACLE) / "crashes"
        return sorted(p.name for p in crashes.glob("id:*"))


@pytest.fixture
def lab(tmp_path):
    made = Lab(tmp_path)
    yield made
    kill_marked(made.home.path)


def answer(
    status: int | None = 0, out: bytes = b"", err: bytes = b"", digest: str = ""
) -> OracleReply:
    return OracleReply(status, out, err, digest or out.hex())


# ------------------------------------------------------------------------ answers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "how", "accepts"),
    [
        ("cat $1", "accepted", True),
        ("exit 3", "refused", False),
        ("kill -SEGV $$", "died of SIGSEGV", False),
        ("sleep 60", "no end", False),
    ],
)
async def test_how_a_command_ends(lab, script, how, accepts):
    [one] = lab.judge(script, more=f'timeout = "{"1s" if "sleep" in script else "30s"}"').commands
    got = await one.ask(b"input")
    assert (got.how, got.accepts) == (how, accepts)
    assert not marked(lab.home.path)


async def test_streams_are_kept_apart_and_the_name_of_the_input_is_not(lab):
    [one] = lab.judge("cat $1; echo; echo $1 $PWD; echo $1: no >&2; pwd >&2").commands
    first, second = await one.ask(b"a"), await one.ask(b"a")
    assert first == second
    assert first.out == b"a\nINPUT /cwd\n"
    assert first.err == b"INPUT: no\n/cwd\n"


async def test_an_input_on_stdin(lab):
    lab.script("one", "cat")
    made = lab.campaign('run = ["./one"]\nmessage = "x"')
    assert (await oracle_commands(made)[0].ask(b"on stdin")).out == b"on stdin"


@pytest.mark.slow
async def test_output_without_end_is_bounded_but_all_of_it_counts(lab):
    [one] = lab.judge("head -c 3000000 /dev/zero; cat $1; yes >&2 | head -c 3000000 >&2").commands
    first, second = await one.ask(b"a"), await one.ask(b"b")
    assert len(first.out) == len(first.err) == MAX_OUTPUT
    assert first.out == second.out
    assert first.digest != second.digest


async def test_limits_and_environment(lab, monkeypatch):
    monkeypatch.setenv("AFL_DEBUG", "1")
    script = "env | sort; ulimit -v; ulimit -c; pwd; touch left; ls -A"
    lab.script("one", script)
    made = lab.campaign(
        'run = ["./one", "@@"]\nmessage = "x"',
        'memory = "3GiB"\nenv = { AFL_EXIT_WHEN_DONE = "1", OURS = "yes", AFL_PRELOAD = "" }',
    )
    text = (await oracle_commands(made)[0].ask(b"")).out.decode()
    assert "AFL_" not in text
    assert "OURS=yes" in text
    assert text.endswith(f"\n{3 << 20}\n0\n/cwd\nleft\n"), "an empty directory of its own"
    assert os.environ["AFL_DEBUG"] == "1", "ours is as it was: afl-fuzz is started with it"


async def test_whatever_it_leaves_behind_is_killed(lab):
    [one] = lab.judge("sleep 77 & (setsid sleep 77 &) ; echo done").commands
    got = await one.ask(b"", ProcessMark(lab.home.path, "oracle-asks"))
    assert got.out == b"done\n"
    assert not marked(lab.home.path)


async def test_a_command_that_cannot_be_run_is_no_answer(lab):
    made = lab.judge("true", "true")
    (lab.directory / "one").unlink()
    with pytest.raises(SupervisorError, match="no longer exists"):
        await made.ask(b"")
    (lab.directory / "one").write_text("#!/nonexistent/interpreter\n")
    (lab.directory / "one").chmod(0o755)
    with pytest.raises(SupervisorError, match="one cannot be run"):
        await made.ask(b"")


# --------------------------------------------------------------- what is a bug, and its cause


@pytest.mark.parametrize(
    ("ours", "theirs", "signature"),
    [
        (answer(0), answer(0), None),
        (answer(1, err=b"error: a"), answer(2, err=b"error: b"), None),
        (answer(1), answer(-11), None),
        (answer(None), answer(1), None),
        (answer(0), answer(1, err=b"error: 'y' is odd"), "accepted / refused: error: '' is odd"),
        (answer(0), answer(-6), "accepted / died of SIGABRT"),
        (answer(None), answer(0), "no end / accepted"),
        (answer(0, b"a 1\n"), answer(0, b"a 2\n"), "output a # / a #"),
        (answer(0, b"5\n"), answer(0, b"-3\n"), "output # / #"),
        (answer(0, b"x\nsame"), answer(0, b"x\nsame\n"), "output nothing / nothing"),
        (answer(0, b"1", digest="a"), answer(0, b"1", digest="b"), "output nothing / nothing"),
    ],
)
def test_differences(ours, theirs, signature):
    found = differing(["one", "two"], ours, theirs)
    if signature is None:
        assert found is None
    else:
        assert found is not None
        assert found.category == "differs"
        assert found.signature == f"differs @ {signature}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"INPUT: In function 'main':\nINPUT:3:5: error: 'a' undeclared",
         b"INPUT: In function 'b':\nINPUT:13:25: error: 'long_name' undeclared"),
        (b"/tmp/x/1.c:1: error: no", b"/usr/y.c:22: error: no"),
        ("error: \"this\" and ‘that’".encode(), "error: \"these\" and ‘those’".encode()),
    ],
)  # fmt: skip
def test_what_is_the_inputs_is_no_part_of_a_cause(one, other):
    def cause(err: bytes) -> str:
        found = differing(["a", "b"], answer(0), answer(1, err=err))
        assert found is not None
        return found.signature

    assert cause(one) == cause(other)
    assert cause(one) != cause(b"error: something else")


def test_messages():
    pattern = re.compile("internal (compiler )?error: [a-z ]*[0-9]*")
    found = suspicious(
        pattern, answer(0, err=b"hm\n  x.c: internal error: fold of 12 and \x1b[31m\n")
    )
    assert found is not None
    assert (found.category, found.signature) == ("crash", "message @ internal error: fold of #")
    assert found.title == r"x.c: internal error: fold of 12 and \e[31m"
    assert suspicious(pattern, answer(0, out=b"internal error: x"))
    assert suspicious(pattern, answer(1, b"error", b"error")) is None


def test_a_cause_that_older_versions_named_otherwise_is_no_new_finding(lab):
    made = lab.judge("echo error at 0x7f12 >&2; exit 1", "true", 'message = "error.*"')
    lab.entry("id:000000", b"a")
    lab.look(made)
    assert len(lab.files()) == 2, "a message, and a difference"
    events = lab.home.instance(ORACLE) / "events.jsonl"
    events.write_text(events.read_text().replace("#x#", "#x#f#"))
    lab.entry("id:000001", b"b")
    lab.look(made).finish()
    assert len(lab.files()) == 2
    assert {event.count for event in lab.told()} == {1, 2}


EVIL = b"\x1b]0;owned\x07\xff\xe2\x80\xae" + b"A" * 100_000 + b"\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "found",
    [
        differing(["a", "b"], answer(0, EVIL), answer(0, b"")),
        differing(["a", "b"], answer(0), answer(1, err=b"error " + EVIL)),
        suspicious(re.compile("(?s).*owned.*"), answer(1, err=EVIL)),
    ],
    ids=["outputs", "errors", "a message"],
)
def test_hostile_words_are_harmless_and_short(found):
    assert found is not None
    for text in (found.title, found.signature):
        assert text.isprintable()
        assert "\u202e" not in text
        assert len(text) < 500


async def test_a_difference_must_hold(lab):
    flaky = lab.judge("cat $1", "date +%N")
    assert await flaky.findings(b"a") == []
    calls = lab.directory / "calls"
    once = lab.judge("true", f"[ -e {calls} ] || {{ touch {calls}; exit 1; }}")
    assert await once.findings(b"a") == []
    [(found, _)] = await lab.judge("cat $1", "tr a b < $1").findings(b"a")
    assert found.title == "one printed a, two b"


@pytest.mark.slow
async def test_what_had_no_end_gets_more_time(lab, monkeypatch):
    monkeypatch.setattr(judge, "PATIENCE", 30)
    slow = lab.judge("sleep 2", "true", 'timeout = "1s"')
    assert await slow.findings(b"") == []
    other = lab.judge("sleep 2; exit 1", "true", 'timeout = "1s"')
    [(found, _)] = await other.findings(b"")
    assert found.signature == "differs @ refused:  / accepted"
    monkeypatch.setattr(judge, "PATIENCE", 2)
    [(found, _)] = await lab.judge("sleep 99", "true", 'timeout = "1s"').findings(b"")
    assert found.signature == "differs @ no end / accepted"


# --------------------------------------------------------------------- who is looked at when


def test_each_content_is_looked_at_once_and_each_cause_kept_once(lab):
    asked = lab.directory / "asked"
    made = lab.judge(f"cat $1 >> {asked}; ! grep -q bug $1", "true")
    for n, data in enumerate((b"good.", b"bug1.", b"bug2.", b"good.")):
        lab.entry(f"id:{n:06},time:{n},execs:7,op:havoc", data)
    lab.entry("id:000009,sync:main,src:000001", b"bug1.", "s1")
    lab.entry("id:000000,sync:m7,src:000003", b"bug3.", "handed")
    done = lab.look(made)
    assert asked.read_text().count("good.") == 1
    assert asked.read_text().count("bug") == 6, "what differs is asked twice"
    [name] = lab.files()
    first = (lab.home.instance(ORACLE) / "crashes" / name).read_bytes()
    assert re.fullmatch(rb"bug[123]\.", first)
    assert re.fullmatch(
        r"id:000000,sig:00,sync:(main|handed),src:00000\d,time:\d,execs:0,op:oracle", name
    )
    told = lab.told()[0]
    assert told.title == "one rejected it (exit status 1), two accepted it"
    assert f"{lab.directory}/one {lab.home.instance(ORACLE)}/crashes/id:000000" in told.detail
    done.finish()
    assert lab.told()[-1].count == 3
    assert not (lab.home.instance(ORACLE) / "queue").exists(), "nobody imports from it"


@pytest.mark.parametrize(
    ("pending", "text"), [(12, "≠ 12 entries to look at"), (0, "≠ up to date")]
)
def test_how_far_it_is_is_shown(pending, text):
    shown = state_cell(Instance(ORACLE, stats=Stats(ORACLE, pending=pending)))
    assert shown == (text, "differs")


def test_mutants_may_be_fuzzed_first(lab):
    (lab.directory / "x.c").write_text("int x;\n")
    table = 'message = "x"\nagainst = ["./other"]\n[mutants]\nsources = ["x.c"]'
    campaign = lab.campaign(table, 'build = "make"', 'budget = "1h"')
    assert campaign.table("mutants") and campaign.table("oracle")["against"]


def test_it_goes_on_where_it_was(lab):
    asked = lab.directory / "asked"
    made = lab.judge(f"echo >> {asked}; exit 1", "true")
    lab.entry("id:000000", b"a")
    lab.look(made)
    before = asked.stat().st_size
    lab.entry("id:000001", b"b")
    again = lab.look(made)
    assert asked.stat().st_size == before + 2
    assert len(lab.files()) == 1
    again.finish()
    assert lab.told()[-1].count == 2
    # Another question is asked of all.
    lab.look(lab.judge(f"echo >> {asked}", "true", 'message = "x"'))
    assert asked.stat().st_size == before + 4


def test_a_trimmed_entry_is_looked_at_again(lab):
    made = lab.judge("true", "! grep -q bug $1")
    path = lab.entry("id:000000", b"bug and more")
    look = OracleQueue(lab.home, made, lambda word, value: None)
    look.gather()
    path.write_bytes(b"trimmed")
    asyncio.run(look.step())
    assert look.pending == 0
    assert not lab.files()
    path.write_bytes(b"bug")
    look.gather()
    asyncio.run(look.step())
    assert len(lab.files()) == 1


def test_the_files_in_which_it_remembers(lab, tmp_path):
    file = tmp_path / "looked"
    keys = SeenInputs(file, "q")
    keys.add(7)
    keys.add(1 << 63)
    with file.open("ab") as torn:
        torn.write(b"123")
    again = SeenInputs(file, "q")
    assert 7 in again and (1 << 63) in again and len(again) == 2
    again.add(9)
    assert len(SeenInputs(file, "q")) == 3
    assert len(SeenInputs(file, "another")) == 0
    file.write_bytes(b"\xff" * 3)
    assert len(SeenInputs(file, "q")) == 0
    file.unlink()
    file.symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="symbolic"):
        SeenInputs(file, "q")


def test_a_full_disk_is_waited_for_in_the_file_of_keys(tmp_path, monkeypatch):
    keys = SeenInputs(tmp_path / "looked", "q")
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: (_ for _ in ()).throw(OSError(28, "full")))
    keys.add(1)
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:5]))
    keys.add(2)
    monkeypatch.setattr(os, "write", write)
    keys.add(3)
    again = SeenInputs(tmp_path / "looked", "q")
    assert {1, 2, 3} == {key for key in range(9) if key in again}


@pytest.mark.slow
def test_an_entry_that_kills_it_twice_is_left_out(lab):
    code = (
        "import os, sys; from pathlib import Path;"
        "from fuzztui.run.process.helper import DeathJournal;"
        "doing = DeathJournal(Path(sys.argv[1]), 'oracle', 10).at(int(sys.argv[2]));"
        "doing.__enter__(); os.abort()"
    )
    argv = [sys.executable, "-c", code, str(lab.home.supervisor), str(key_of(b"killer"))]
    for _ in range(2):
        subprocess.run(argv, check=False, capture_output=True, timeout=60)
    lab.entry("id:000000", b"killer")
    lab.entry("id:000001", b"other")
    lab.look(lab.judge("true", "false"))
    [name] = lab.files()
    assert "src:000001" in name
    assert "crashed the oracle process are skipped: 1" in str(lab.said)


def test_causes_are_not_without_end(lab, monkeypatch):
    monkeypatch.setattr(look, "MAX_CAUSES", 2)
    made = lab.judge("tr 0-9 a-j < $1", "true")
    for n in range(5):
        lab.entry(f"id:{n:06}", b"x%d" % n)
    lab.look(made)
    assert len(lab.files()) == 2
    assert "more than 2 signatures" in str(lab.said)


def test_strange_names_in_a_queue(lab):
    made = lab.judge("true", "false")
    lab.entry("-rf \x1b[2J", b"a")
    os.mkfifo(lab.home.out / "main" / "queue" / "id:000007")
    lab.look(made)
    assert lab.files() == ["id:000000,sig:00,time:0,execs:0,op:oracle"]


def test_what_it_finds_is_a_finding_of_the_campaign(lab):
    lab.entry("id:000003", b"x")
    lab.look(lab.judge("true", "false"))
    state = State()
    observer = DirectoryObserver(lab.home.out, state, Offsets(0, {}), {})
    try:
        observer.add(ORACLE)
        events = observer.observe_final(ORACLE).events
    finally:
        observer.close()
    assert {type(e) for e in events} == {FindingSaved, FindingDescribed}
    apply(state, [Record(n + 1, 1.0, e) for n, e in enumerate(events)])
    [finding] = state.findings.values()
    assert (finding.category, finding.sync, finding.src) == ("differs", "main", [3])
    assert finding.title == "one accepted it, two rejected it (exit status 1)"


# ------------------------------------------------------------------------- beside the supervisor


def processes(lab: Lab) -> list[int]:
    return [process.pid for process in marked(lab.home.path, ORACLE)]


@contextlib.asynccontextmanager
async def running(keeper: OracleProcess) -> AsyncIterator[None]:
    task = asyncio.ensure_future(keeper.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.slow
async def test_its_process_is_started_again_and_comes_to_its_end_when_told(lab, monkeypatch):
    monkeypatch.setattr(helper, "FIRST_DELAY_S", 0.05)
    lab.judge("true", "! grep -q bug $1")
    lab.entry("id:000000", b"bug")
    events: list[object] = []
    keeper = OracleProcess(lab.home, events.append)
    async with running(keeper):
        await until(lab.files)
        await until(lambda: keeper.stats and not keeper.left)
        os.kill(processes(lab)[0], signal.SIGKILL)
        lab.judge("true", "! grep -q bug $1")
        for n in range(5):
            lab.entry(f"id:00001{n}", b"good %d" % n)
        await until(lambda: processes(lab))
        await until(lambda: keeper.left or len(seen(lab)) > 1)
        lab.entry("id:000020", b"the last bug")
        await asyncio.wait_for(keeper.finish(), PATIENCE)
    assert len(seen(lab)) == 7
    assert not processes(lab)
    assert [e for e in events if isinstance(e, Message)] == []
    assert all(e.instance == ORACLE for e in events if isinstance(e, Stats))


def seen(lab: Lab) -> SeenInputs:
    question = ["", *([str(lab.directory / name), "@@"] for name in ("one", "two"))]
    return SeenInputs(lab.home.supervisor / "oracle.looked", json.dumps(question))


@pytest.mark.slow
async def test_a_command_that_goes_missing_is_told_once_and_waited_for(lab, monkeypatch):
    monkeypatch.setattr(helper, "FIRST_DELAY_S", 0.05)
    lab.judge("true", "true")
    (lab.directory / "two").rename(lab.directory / "away")
    lab.entry("id:000000", b"x")
    # What is checked at the start is checked before: this is what comes later.
    frozen = lab.home.campaign.read_text()
    lab.home.campaign.write_text(frozen.replace("/two", "/away"))
    events: list[object] = []
    keeper = OracleProcess(lab.home, events.append)
    async with running(keeper):
        await until(lambda: keeper.stats and not keeper.left)
        (lab.directory / "away").rename(lab.directory / "two")
        lab.entry("id:000001", b"y")
        await until(lambda: any(isinstance(e, Message) for e in events))
    [told] = [e for e in events if isinstance(e, Message)]
    assert "away: the program no longer exists; entries wait" in told.text


@pytest.mark.slow
async def test_it_cannot_be_without_its_campaign(lab):
    events: list[object] = []
    lab.home.campaign.write_text("nonsense")
    await asyncio.wait_for(OracleProcess(lab.home, events.append).run(), PATIENCE)
    [told] = events
    assert "not valid TOML" in told.text


# --------------------------------------------------------------------------------- smaller


@pytest.mark.slow
async def test_a_smaller_input_of_the_same_cause(lab):
    made = lab.judge("true", "! grep -q bug $1")
    words: list[str] = []
    found, note = await minimise_by_oracle(
        made, b"a long b, bug, and more", Search(lambda w, p: words.append(w), 60)
    )
    assert (found, note) == (b"bug", "")
    assert words[-1] == "3 of 23 bytes left"
    with pytest.raises(SupervisorError, match="cannot minimise"):
        await minimise_by_oracle(made, b"good", Search(lambda w, p: None, 60))
    _, note = await minimise_by_oracle(made, b"a bug", Search(lambda w, p: None, 0))
    assert "more may be possible" in note


@pytest.mark.parametrize("data", [b"''\0", b"a''\0''", b"x\0''"])
async def test_a_pair_of_bytes_is_removed_wherever_it_begins(lab, data):
    """The quotes can only go together, as those of a shell can."""
    odd = 'n=$(tr -cd "\'" <$1 | wc -c); [ $((n % 2)) = 1 ] && exit 3'
    made = lab.judge(
        "exit 0", f"{odd}; grep -qaP '\\x00' $1 && {{ echo error >&2; exit 1; }}; exit 0"
    )
    search = Search(lambda w, p: None, 600)
    assert await minimise_by_oracle(made, data, search) == (b"\0", "")


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"bug", FINDINGS, ("one accepted it", "two rejected it (exit status 1)")),
        (b"good", DONE, ("one accepted it", "two accepted it")),
    ],
)
def test_a_minimised_difference_is_run_again_by_both_commands(lab, capsys, data, code, words):
    lab.judge("true", "! grep -q bug $1")
    for file in (lab.directory / "small", lab.home.path / "minimised/oracle/id:000000"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        assert repro(parse(["repro", str(lab.home.path), str(file)])) == code
        printed = capsys.readouterr()
        assert [word for word in words if word not in printed.out] == []
        assert str(lab.directory / "target") in printed.out, "the target's own result comes first"
        assert ("differs: " in printed.err) == (code == FINDINGS)


# ------------------------------------------------------------------------- the campaign file


def test_the_table(lab):
    lab.script("one", "")
    campaign = lab.campaign('run = "./one -c @@"\nagainst = ["cat", "-n"]\ntimeout = "1m"')
    run, against = str(lab.directory / "one"), "/usr/bin/cat"
    assert campaign.table("oracle")["run"] == [run, "-c", "@@"]
    assert Path(campaign.table("oracle")["against"][0]).resolve() == Path(against).resolve()
    assert campaign.table("oracle")["timeout_s"] == 60
    assert load(lab.home.campaign).campaign.table("oracle") == campaign.table("oracle"), "as frozen"
    short = lab.campaign('message = "x"', 'timeout = "3s"').table("oracle")
    assert (short["run"], short["against"], short["timeout_s"]) == ([], [], 15)
    assert lab.campaign('message = "x"', 'timeout = "1ms"').table("oracle")["timeout_s"] == 2


def test_what_is_built_and_what_is_in_the_source(lab):
    built = 'build = "make"'
    table = 'run = ["./cc", "$BUILD/lib", "$SOURCE/x.h", "a$BUILD/"]\nagainst = ["cat", "@@"]'
    oracle = lab.campaign(table, built).table("oracle")
    build = lab.home.path / "build"
    assert oracle["run"] == [f"{build}/cc", f"{build}/lib", f"{lab.directory}/x.h", "a$BUILD/"]
    assert oracle["against"][0].endswith("/cat")
    frozen = lab.home.campaign.read_text()
    assert "./cc" in frozen, "a run may be moved, and its build with it"
    assert load(lab.home.campaign).campaign.table("oracle") == oracle


@pytest.mark.parametrize(
    ("table", "key", "words"),
    [
        ("", "oracle", "has no effect"),
        ('run = ["./target"]', "oracle", "has no effect"),
        ('message = "x"\nalways = true', "oracle.always", "engine.kind = zest or spoton or text"),
        ('against = "x:y"', "oracle.against", "for a program next to the file write ./x:y"),
        ('against = ["./none"]', "oracle.against", "does not exist"),
        ('against = ["$BUILD/x"]', "oracle.against", "needs target.build"),
        ('run = []\nmessage = "x"', "oracle.run", "is not a list of strings"),
        ('against = ["./target", "@@"]', "oracle.against", "is the same command"),
        ('message = "x"\ntimeout = 0', "oracle.timeout", "set a time"),
    ],
)
def test_what_is_wrong_is_said(lab, table, key, words):
    with pytest.raises(CampaignError) as caught:
        lab.campaign(table)
    [problem] = caught.value.problems
    assert problem.key == key
    assert words in problem.text


def test_keys_of_programs_are_not_for_functions(tmp_path):
    file = tmp_path / "c.toml"
    file.write_text(
        '[target]\nfunction = "json:loads"\n[engine]\nkind = "zest"\n'
        '[oracle]\nmessage = "x"\nrun = ["a"]\ntimeout = 1\n'
    )
    with pytest.raises(CampaignError) as caught:
        load(file)
    assert [p.text.partition(";")[0] for p in caught.value.problems] == [
        "unknown key, which is for engine.kind = afl"
    ] * 2
    assert command.PATIENCE > 1
