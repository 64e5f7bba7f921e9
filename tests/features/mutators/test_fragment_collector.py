"""Harvesting fragments from the queues: what is parsed when, and who survives what."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pool_reader
import psutil
import pytest
from waiting import until

from fuzztui.engines.text import fragments, poolfile
from fuzztui.engines.text.fragments import Pool, key_of
from fuzztui.engines.text.syntax import Spans, Syntax
from fuzztui.features.mutators import fragments as harvest
from fuzztui.features.mutators.fragments import FragmentCollector
from fuzztui.features.mutators.process import CollectorProcess, services
from fuzztui.kernel.model.state import State
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir, prepare_run
from fuzztui.run.process import helper
from fuzztui.run.process.helper import DeathJournal
from fuzztui.run.process.service import ServiceContext

pytest.importorskip("ast_grep_py")

ONE = b"int main(void) { return first(10); }\n"
OTHER = b"int other(void) { return second(20); }\n"
PATIENCE = 30.0


class Words:
    """What a harvest says."""

    def __init__(self) -> None:
        self.said: list[tuple[str, object]] = []

    def __call__(self, word: str, value: object) -> None:
        self.said.append((word, value))

    @property
    def problems(self) -> list[object]:
        return [value for word, value in self.said if word == "problem"]


@pytest.fixture
def home(tmp_path):
    prepare_run(tmp_path / "run")
    return RunDir(tmp_path / "run")


class Counting(Syntax):
    """Notes what it parses."""

    def __init__(self, *words: object) -> None:
        super().__init__(*words)
        self.parsed: list[bytes] = []

    def spans(self, data: bytes) -> Spans:
        self.parsed.append(data)
        return super().spans(data)


def entry(home: RunDir, name: str, data: bytes, instance: str = "main") -> Path:
    queue = home.out / instance / "queue"
    queue.mkdir(parents=True, exist_ok=True)
    (queue / name).write_bytes(data)
    os.utime(queue / name, (1000, 1000))
    os.utime(queue, (1000, 1000))
    return queue / name


def known(home: RunDir) -> Pool:
    return pool_reader.parse(home.pool.read_bytes())


def keys(*entries: bytes) -> set[int]:
    return {key_of(entry) for entry in entries}


@contextlib.asynccontextmanager
async def running(process: CollectorProcess) -> AsyncIterator[None]:
    task = asyncio.ensure_future(process.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_entries_of_all_queues_are_in_the_pool(home):
    entry(home, "id:000000", ONE)
    entry(home, "id:000001", OTHER, "s1")
    entry(home, "id:000000,sync", ONE, "s1")
    words = Words()
    assert not FragmentCollector(home, Syntax("c"), words).look()
    pool = known(home)
    assert set(pool.entries) == keys(ONE, OTHER)
    assert {f.text for f in pool.fragments["call_expression"]} == {b"first(10)", b"second(20)"}
    [(word, figures)] = words.said
    assert word == "figures"
    assert figures["entries"] == 2
    assert figures["bytes"] == home.pool.stat().st_size


def test_an_entry_is_parsed_once_and_again_when_it_was_trimmed(home):
    path = entry(home, "id:000000", ONE)
    now = [0.0]
    syntax = Counting("c")
    made = FragmentCollector(home, syntax, Words(), lambda: now[0])
    for _ in range(3):
        made.look()
    assert syntax.parsed == [ONE]
    path.write_bytes(OTHER)  # as afl-fuzz does it: the name stays
    made.look()
    assert syntax.parsed == [ONE, OTHER]
    assert set(known(home).entries) == keys(ONE), "not written more than every two seconds"
    now[0] += harvest.WRITE_S
    made.look()
    assert set(known(home).entries) == keys(ONE, OTHER)


def test_turns_share_the_pool_and_what_one_of_them_had_parsed(home):
    """Several at a time, each in progress for as long as it has a directory to run in."""
    both, mine = ONE + OTHER, OTHER + ONE
    entry(home, "id:000000", ONE)
    turns = {name: home.in_slot(name) for name in ("m1", "m2", "m3")}
    entry(turns["m1"], "id:000000,orig:a", ONE, "m1")
    entry(turns["m1"], "id:000001", OTHER, "m1")
    entry(turns["m2"], "id:000000", both, "m2")
    entry(turns["m3"], "id:000000", OTHER, "m3")
    entry(turns["m3"], "id:000001", mine, "m3-s1")
    entry(turns["m3"], "id:000002", b"\0", "m3")
    for name in ("m1", "m2"):
        turns[name].cwd.mkdir()
    now = [0.0]
    syntax = Counting("c")
    made = FragmentCollector(home, syntax, Words(), lambda: now[0])
    assert not made.look()
    assert sorted(syntax.parsed) == sorted([ONE, OTHER, both])
    assert set(known(home).entries) == keys(ONE, OTHER, both)
    assert turns["m1"].pool == home.pool

    # Others begin: of what they start from only what is new is parsed.
    for name in ("m1", "m2"):
        turns[name].cwd.rmdir()
    entry(turns["m1"], "id:000009", both + both, "m1")
    turns["m3"].cwd.mkdir()
    now[0] += harvest.WRITE_S
    made.look()
    assert sorted(syntax.parsed[3:]) == [b"\0", mine]
    assert set(known(home).entries) == keys(ONE, OTHER, both, mine)
    # A harvest of the next supervisor's knows what those in progress have.
    again = FragmentCollector(home, Counting("c"), Words())
    again.look()
    assert set(known(home).entries) == keys(ONE, OTHER, mine)


def test_turns_take_no_room_from_the_target_and_what_was_forgotten_is_parsed_again(
    home, monkeypatch
):
    monkeypatch.setattr(fragments, "MAX_PASSING", 1)
    turn = home.in_slot("m1")
    turn.cwd.mkdir(parents=True)
    entry(home, "id:000000", ONE)
    syntax = Counting("c")
    made = FragmentCollector(home, syntax, Words())
    made.look()
    for n, data in enumerate((OTHER, ONE, ONE + OTHER)):
        entry(turn, f"id:{n:06}", data, "m1")
    made.look()
    assert set(made.fragments.pool.entries) == keys(ONE, ONE + OTHER)
    entry(home, "id:000001", OTHER, "handed")  # what was a turn's becomes the target's
    made.look()
    assert syntax.parsed == [ONE, OTHER, ONE + OTHER, OTHER]
    entry(home, "id:000000", ONE + OTHER, "added")
    entry(turn, "id:000000", OTHER + ONE, "m1-s1")
    made.look()
    assert len(made.fragments.pool.entries) == 4


def test_what_is_no_file_is_passed_over(home):
    queue = entry(home, "id:000000", ONE).parent
    os.mkfifo(queue / "id:000001")
    (queue / "id:000002").symlink_to("/etc/passwd")
    (queue / "id:000003").mkdir()
    (queue / "id:000004").write_bytes(b"x" * (300 << 10))
    (home.out / "file").write_bytes(b"")
    (home.out / ".hidden").mkdir()
    os.utime(queue, (1000, 1000))
    FragmentCollector(home, Syntax("c"), Words()).look()
    assert set(known(home).entries) == keys(ONE)


def test_the_pool_of_before_stays_until_what_is_there_has_been_parsed(home, monkeypatch):
    monkeypatch.setattr(harvest, "AT_ONCE", 1)
    poolfile.write(home.pool, Pool())
    before = home.pool.read_bytes()
    for n in range(3):
        entry(home, f"id:{n:06}", ONE.replace(b"10", b"1%d" % n))
    made = FragmentCollector(home, Syntax("c"), Words())
    queues = []
    while made.look():
        queues.append(home.pool.read_bytes())
        for queue in made._queues[""].look():
            queue._listing._due = 0.0
    assert queues == [before, before]
    assert len(known(home).entries) == 3


def test_a_full_disk_is_told_and_survived(home, monkeypatch):
    entry(home, "id:000000", ONE)
    words, write = Words(), poolfile.write

    def full(path: Path, pool: Pool) -> int:
        raise OSError(28, "No space left on device")

    now = [0.0]
    monkeypatch.setattr(poolfile, "write", full)
    made = FragmentCollector(home, Syntax("c"), words, lambda: now[0])
    made.look()
    assert "No space left" in str(words.problems)
    monkeypatch.setattr(poolfile, "write", write)
    now[0] += harvest.CATCH_UP_S
    made.look()
    assert len(known(home).entries) == 1


def test_a_pool_that_was_deleted_is_written_again(home):
    entry(home, "id:000000", ONE)
    now = [0.0]
    made = FragmentCollector(home, Syntax("c"), Words(), lambda: now[0])
    made.look()
    home.pool.unlink()
    now[0] += harvest.WRITE_S
    made.look()
    assert set(known(home).entries) == keys(ONE)


def test_templates_are_told_of_that_are_none_or_never_match(home, monkeypatch):
    monkeypatch.setattr(harvest, "MATCHLESS", 2)
    for n in range(3):
        entry(home, f"id:{n:06}", ONE.replace(b"10", b"1%d" % n))
    words = Words()
    FragmentCollector(home, Syntax("c", ["return $A; ==> ;", "goto $A; ==> ;", "f("]), words).look()
    assert len(words.problems) == 2
    assert "'f(' is left out: a template is PATTERN ==> REWRITE" in str(words.problems[0])
    assert "'goto $A; ==> ;' matches nothing in 2 entries" in str(words.problems[1])


def test_a_slow_template_is_told_of_and_its_entry_is_in_the_pool(home, monkeypatch):
    monkeypatch.setattr("fuzztui.engines.text.rules.RULE_SECONDS", 0.2)
    entry(home, "id:000000", slow := ONE + b"f(" + b"a" * 45 + b"!")
    words = Words()
    FragmentCollector(home, Syntax("c", [r"f(:[a~(\w+\s?)+]) ==> :[a]"]), words).look()
    assert set(known(home).entries) == keys(slow)
    (problem,) = words.problems
    assert "'f(:[a~(\\\\w+\\\\s?)+]) ==> :[a]' is left out: 0.2 s of CPU" in str(problem)


@pytest.mark.slow
def test_an_entry_that_kills_the_parser_twice_is_left_out(home):
    code = (
        "import os, sys; from pathlib import Path;"
        "from fuzztui.run.process.helper import DeathJournal;"
        "journal = DeathJournal(Path(sys.argv[1]), 'harvest', 10);"
        "doing = journal.at(int(sys.argv[2])); doing.__enter__(); os.abort()"
    )
    for data in (ONE, OTHER, ONE):
        argv = [sys.executable, "-c", code, str(home.supervisor), str(key_of(data))]
        subprocess.run(argv, check=False, capture_output=True, timeout=60)
    entry(home, "id:000000", ONE)
    entry(home, "id:000001", OTHER)
    entry(home, "id:000002", ONE + OTHER)
    words = Words()
    FragmentCollector(home, Syntax("c"), words).look()
    assert set(known(home).entries) == keys(OTHER, ONE + OTHER), "once is chance"
    assert "crashed the parser are skipped: 1" in str(words.problems)


@pytest.mark.slow
def test_a_parser_that_does_not_come_to_an_end_is_killed(home):
    code = (
        "import sys, time; from pathlib import Path;"
        "from fuzztui.run.process.helper import DeathJournal;"
        "journal = DeathJournal(Path(sys.argv[1]), 'harvest', 0.1);"
        "doing = journal.at(7); doing.__enter__()\nwhile True: pass"
    )
    argv = [sys.executable, "-c", code, str(home.supervisor)]
    done = subprocess.run(argv, check=False, capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGPROF
    subprocess.run(argv, check=False, capture_output=True, timeout=60)
    assert DeathJournal(home.supervisor, "harvest", 10).rejected == {7}


@pytest.mark.parametrize("text", [b"\xff\0", b"g" * 16, b"12\n", b"0" * 16 + b" 9\n"])
def test_a_journal_that_somebody_wrote_to(home, text):
    (home.supervisor / "harvest.died").write_bytes(text)
    (home.supervisor / "harvest.at").write_bytes(text * 9)
    DeathJournal(home.supervisor, "harvest", 10)


# --------------------------------------------------------------------- the supervisor's side


def campaign(language: str, *templates: str) -> Campaign:
    made = Campaign.__new__(Campaign)
    text = {"language": language, "splice": 0.25, "adaptive": False, "templates": [*templates],
            "rules": False}  # fmt: skip
    for name in Campaign.__slots__:
        object.__setattr__(made, name, None)
    object.__setattr__(made, "kind", "afl")
    object.__setattr__(made, "tables", {"text": text})
    return made


def test_it_is_for_afl_with_a_grammar(tmp_path):
    def wanted(campaign: Campaign, *, is_hub: bool = False) -> bool:
        of = (RunDir(tmp_path), State(), print, float)
        return bool(services(ServiceContext(campaign, *of, is_hub=is_hub)))

    assert wanted(campaign("c"))
    assert not wanted(campaign("c"), is_hub=True), "hosts collect"
    assert not wanted(campaign(""))
    ruled = campaign("")
    ruled.table("text")["rules"] = True
    assert wanted(ruled)
    assert not wanted(replace(campaign("c"), tables={"text": None}))
    assert not wanted(replace(campaign("c"), kind="text")), "it parses in process"


def processes(home: RunDir) -> list[psutil.Process]:
    words = ["fuzztui.features.mutators.fragments", str(home.path)]
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if set(words) <= set(process.cmdline()):
                found.append(process)
    return found


@pytest.mark.slow
async def test_it_runs_beside_the_supervisor_is_started_again_and_goes_with_it(home, monkeypatch):
    monkeypatch.setattr(helper, "FIRST_DELAY_S", 0.05)
    entry(home, "id:000000", ONE)
    events = []
    made = CollectorProcess(campaign("c", "return $A; ==> ;", "f("), home, events.append)
    async with running(made):
        await until(lambda: made.stats.get("entries") == 1)
        [process] = processes(home)
        assert process.nice() == min(19, os.nice(0) + harvest.NICE)
        process.kill()
        entry(home, "id:000001", OTHER)
        await until(lambda: made.stats.get("entries") == 2)
    assert [(e.level, "is left out" in e.text) for e in events] == [("warning", True)], "once"
    assert not processes(home)


async def test_it_says_why_it_cannot_and_is_not_tried_again(home):
    events = []
    made = CollectorProcess(campaign("klingon"), home, events.append)
    await asyncio.wait_for(made.run(), PATIENCE)
    assert "no grammar for 'klingon'" in events[0].text


@pytest.mark.slow
async def test_what_always_fails_is_told(home, monkeypatch):
    monkeypatch.setattr(helper, "FIRST_DELAY_S", 0.01)
    (home.supervisor / "harvest.at").mkdir()
    events = []
    async with running(CollectorProcess(campaign("c"), home, events.append)):
        await until(lambda: events)
    assert "fragments are not collected: exit status 1" in events[0].text
    assert "harvest.at" in events[0].text
