"""steer.c through ctypes: asked as afl-fuzz asks it, steered as the supervisor steers."""

import ctypes
import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzztui.kernel.wire.codec import decode_event
from fuzztui.kernel.wire.commands import AddSeed, Pause, PromoteEntry, ResetEntry, SkipEntry
from fuzztui.kernel.wire.events import CommandApplied, CommandRejected, EntryDescribed, Message
from fuzztui.run.observe.relay import Logged, Relay
from fuzztui.run.process.library import STEER, steering_library
from fuzztui.run.supervise.command_router import append

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")

AT_ONCE = {"POLL": 0, "CLOCK_EVERY": 1}
"""Look for commands whenever it is asked: the tests need not sleep."""

VERBS = {"skip": SkipEntry, "promote": PromoteEntry, "reset": ResetEntry}


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Compiles the source, with other constants where a test cannot wait."""
    made: dict[tuple, ctypes.CDLL] = {}

    def build(**constants: int) -> ctypes.CDLL:
        key = tuple(sorted(constants.items()))
        if key not in made:
            steer, *headers = STEER.files
            source = steer.read_text()
            for name, value in constants.items():
                source, n = re.subn(rf"(#define {name}) [^/\n]*", rf"\1 {value} ", source)
                assert n == 1, name
            directory = tmp_path_factory.mktemp("steer")
            (directory / "steer.c").write_text(source)
            for header in headers:
                shutil.copy(header, directory)
            made[key] = compiled(directory / "steer.c", directory / "steer.so")
        return made[key]

    return build


def compiled(source: Path, out: Path) -> ctypes.CDLL:
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    done = subprocess.run(
        ["cc", *flags, "-o", out, source], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    lib = ctypes.CDLL(str(out))
    lib.afl_custom_init.restype = ctypes.c_void_p
    lib.afl_custom_init.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    lib.afl_custom_deinit.argtypes = [ctypes.c_void_p]
    lib.afl_custom_queue_get.restype = ctypes.c_uint8
    lib.afl_custom_queue_get.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    lib.afl_custom_fuzz_count.restype = ctypes.c_uint32
    lib.afl_custom_fuzz_count.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    return lib


class Fuzzer:
    """What afl-fuzz does with the library, on a queue of ``entries`` files."""

    def __init__(self, lib: ctypes.CDLL, home: Path, entries: int) -> None:
        self.lib, self.home = lib, home
        self.control, self.events = home / "control.jsonl", home / "events.jsonl"
        (home / "queue").mkdir(exist_ok=True)
        for n in range(entries):
            self.save(n)
        self.issued = 0
        self.data = None
        self.start()

    def save(self, entry: int) -> None:
        Path(self.name(entry)).write_bytes(b"x")

    def name(self, entry: int) -> str:
        found = list((self.home / "queue").glob(f"id:{entry:06},*"))
        name = f"id:{entry:06},src:000000,time:{entry},execs:7,op:havoc,rep:2"
        return str(found[0] if found else self.home / "queue" / name)

    def start(self, *, anew: bool = False) -> None:
        """Start the fuzzer, or start it again; ``anew``: entries are numbered in reverse."""
        self.stop()
        if anew:
            files = sorted((self.home / "queue").iterdir(), reverse=True)
            (self.home / "queue").rename(self.home / "_resume")
            (self.home / "queue").mkdir()
            for n, file in enumerate(files):
                first = file.name.partition(",orig:")[2] or file.name
                old = self.home / "_resume" / file.name
                old.rename(f"{self.home}/queue/id:{n:06},time:0,execs:0,orig:{first}")
            (self.home / "_resume").rmdir()
        os.environ["FUZZTUI_CONTROL"] = str(self.control)
        os.environ["FUZZTUI_EVENTS"] = str(self.events)
        self.data = self.lib.afl_custom_init(None, 1)

    def stop(self) -> None:
        if self.data is not None:
            self.lib.afl_custom_deinit(self.data)
        self.data = None

    def picks(self, entry: int, *, fuzz: bool = True) -> bool:
        """It picks the entry. May it, and does it fuzz it then (not left out by chance)?"""
        if not self.lib.afl_custom_queue_get(self.data, self.name(entry).encode()):
            return False
        if fuzz:
            assert self.lib.afl_custom_fuzz_count(self.data, b"x", 1) == 0
        return True

    def told(self, verb: str, entry: int) -> str:
        """A command is transferred as the supervisor does."""
        self.issued += 1
        append(self.control, f"c{self.issued}", VERBS[verb](entry, "main"))
        return f"c{self.issued}"

    def said(self) -> list:
        lines = self.events.read_bytes().splitlines() if self.events.exists() else []
        return [decode_event(line) for line in lines]

    def answers(self) -> dict[str, str]:
        """By the command's id; what was rejected begins with NO."""
        found: dict[str, str] = {}
        for event in self.said():
            if isinstance(event, CommandApplied | CommandRejected):
                assert event.id not in found, "answered twice"
                ok = isinstance(event, CommandApplied)
                found[event.id] = event.detail if ok else f"NO {event.reason}"
        return found

    def steered(self) -> dict[int, str]:
        """The last word on each entry."""
        return {e.id: e.steer for e in self.said() if isinstance(e, EntryDescribed)}


@pytest.fixture
def fuzzer(build, tmp_path, monkeypatch):
    monkeypatch.setenv("FUZZTUI_CONTROL", "")
    monkeypatch.setenv("FUZZTUI_EVENTS", "")
    made: list[Fuzzer] = []

    def make(entries: int = 5, **constants: int) -> Fuzzer:
        fuzzer = Fuzzer(build(**AT_ONCE, **constants), tmp_path, entries)
        made.append(fuzzer)
        return fuzzer

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def f(fuzzer) -> Fuzzer:
    """With five entries, of which none is promoted or skipped."""
    return fuzzer()


# ------------------------------------------------------------------- commands


@pytest.mark.slow
def test_a_skipped_entry_is_refused_until_it_is_reset(f):
    assert f.picks(3)
    skip = f.told("skip", 3)
    assert not f.picks(3)
    assert f.picks(2)
    assert f.answers() == {skip: "entry 3 is skipped from now on"}
    assert f.steered() == {3: "skipped"}
    reset = f.told("reset", 3)
    assert f.picks(3)
    assert f.answers()[reset] == "entry 3 takes its usual turn"
    assert f.steered() == {3: ""}


def test_a_promoted_entry_is_the_only_one_until_it_is_fuzzed(f):
    f.told("skip", 2)
    promote = f.told("promote", 2)
    assert not f.picks(1)
    assert f.steered() == {2: "promoted"}
    assert f.picks(2, fuzz=False)  # left out by chance: afl-fuzz rolls dice after asking
    assert not f.picks(1)
    assert promote not in f.answers()
    assert f.picks(2)
    assert f.answers()[promote] == "entry 2 is being fuzzed"
    assert f.steered() == {2: ""}
    assert f.picks(1) and f.picks(2)


def test_promoted_entries_come_in_the_order_of_asking(f):
    for entry in (4, 1):
        f.told("promote", entry)
    assert [e for e in (0, 1, 2, 3, 4, 0, 1, 2) if f.picks(e)] == [4, 1, 2]
    assert list(f.answers()) == ["c1", "c2"]


@pytest.mark.parametrize("verb", ["skip", "reset"])
def test_another_command_ends_a_promotion(f, verb):
    f.told("promote", 3)
    assert not f.picks(0)
    f.told(verb, 3)
    assert f.picks(0)
    past = {"skip": "skipped", "reset": "reset"}[verb]
    assert f.answers()["c1"] == f"NO entry 3 was {past} before its turn came"
    assert f.steered() == {3: "skipped" if verb == "skip" else ""}


def test_entries_that_are_not_there(f):
    for verb in VERBS:
        f.told(verb, 77)
    assert f.picks(0)
    assert set(f.answers().values()) == {"NO there is no queue entry 77"}
    assert f.steered() == {}
    f.save(77)
    f.told("skip", 77)
    assert not f.picks(77)


def test_the_last_entry_is_not_skipped(fuzzer):
    f = fuzzer(3)
    for entry in (0, 1, 2):
        f.told("skip", entry)
    assert [e for e in range(3) if f.picks(e)] == [2]
    assert f.answers()["c3"] == "NO entry 2 is the last that is not skipped"


def hand(f: Fuzzer, *lines: bytes) -> None:
    with f.control.open("ab") as file:
        file.write(b"".join(lines))


@pytest.mark.parametrize(
    "entry", ["-1", "1.5", "true", '"3"', "1e3", "99999999999999999999", "null", "[3]", "{}"]
)
def test_absurd_numbers(f, entry):
    hand(f, b'{"id":"x","command":{"c":"skip","entry":%s}}\n' % entry.encode())
    assert all(f.picks(e) for e in range(5))
    assert f.answers() == {"x": "NO there is no queue entry of that number"}


def test_what_is_not_for_it(f):
    append(f.control, "p", Pause("main"))
    append(f.control, "a", AddSeed('{"c":"skip","entry":3}'))
    hand(
        f,
        b"\n\0\xff\n[]\nnull\n{}\n3\n" + b"{" * 5000 + b"\n" + b"]" * 9 + b'\n"\\\n',
        b'{"command":{"c":"skip","entry":3}}\n{"id":7,"command":{"c":"skip","entry":3}}\n',
        b'{"id":"","command":{"c":"skip","entry":3}}\n',
        b'{"id":"%s","command":{"c":"skip","entry":3}}\n' % (b"i" * 5000),
        b'{"id":"long","command":{"c":"skip","x":"%s","entry":3}}\n' % (b"x" * 300_000),
        b'{"id":"t","command":{"c":"skip","entry":3}\n',  # torn, then somebody's newline
        b'{"id":"u","command":{"c":"skip","entry":3\n',
        b'{"id":"v","command":"skip","entry":3}\n',
    )
    assert all(f.picks(e) for e in range(5))
    assert not f.events.exists()
    hand(
        f,
        b' { "x" : [{"id": "no"}], "id" : "e\\"\\u00e9" ,"command": {"entry":3, "c": "skip" }}\r\n',
    )
    assert not f.picks(3)
    assert f.answers() == {'e"é': "entry 3 is skipped from now on"}


def test_a_line_counts_when_it_has_its_end(f):
    hand(f, b'{"id":"a","command":{"c":"skip","entry":1')
    assert f.picks(1)
    hand(f, b'}}\n{"id":"b","comm')
    assert not f.picks(1)
    hand(f, b'and":{"c":"skip","entry":2}}\n')
    assert not f.picks(2)
    assert list(f.answers()) == ["a", "b"]


def test_names_without_a_number_are_never_refused(f):
    f.told("skip", 1)
    assert not f.picks(1)
    for name in ("aabbccddeeff", "id:", "id:x", "id:9999999999,", "queue/", ""):
        assert f.lib.afl_custom_queue_get(f.data, f"{f.home}/queue/{name}".encode())
    assert not f.lib.afl_custom_queue_get(f.data, f"{f.home}/queue/id:000001,x.c".encode())
    assert not f.lib.afl_custom_queue_get(f.data, f"{f.home}/queue/id_000001".encode())
    assert f.lib.afl_custom_queue_get(f.data, f"{f.home}/queue/id:0000011,".encode())


# -------------------------------------------------------------------- guards


def until_accepted(f: Fuzzer, *entries: int) -> int:
    for _ in range(20_000_000):
        for entry in entries:
            if f.picks(entry):
                return entry
    raise AssertionError("refused for ever")


@pytest.mark.slow
def test_it_does_not_refuse_the_same_entry_for_ever(fuzzer):
    """Newer afl-fuzz picks its first favoured entry again and again."""
    f = fuzzer(MAX_REFUSING="(1LL << 60)")
    f.told("skip", 3)
    assert until_accepted(f, 3) == 3
    assert not f.picks(3)
    assert until_accepted(f, 3) == 3
    said = [e for e in f.said() if isinstance(e, Message)]
    assert [e.text for e in said] == [
        "afl-fuzz picks nothing but skipped entries: entry 3 is fuzzed anyway"
    ]
    assert f.picks(0)


def test_it_does_not_refuse_everything_for_ever(f):
    f.told("skip", 1)
    f.told("skip", 2)
    assert until_accepted(f, 1, 2)  # 0 3 4 are there, but afl-fuzz never picks them
    assert f.picks(0)
    assert not f.picks(1)
    assert sum(isinstance(e, Message) for e in f.said()) == 1


def test_having_given_in_it_waits_until_something_was_fuzzed(f):
    f.told("skip", 1)
    f.told("skip", 2)
    while not f.picks(1, fuzz=False):
        f.picks(2, fuzz=False)
    assert f.picks(2, fuzz=False) and f.picks(1, fuzz=False) and f.picks(1)
    assert not f.picks(1)


@pytest.mark.slow
def test_a_promotion_that_never_comes_is_given_up(fuzzer):
    f = fuzzer(TURN="(100 * MS)")
    f.told("skip", 2)
    f.told("promote", 2)
    f.told("promote", 3)
    assert until_accepted(f, 0, 1, 3) == 3
    assert f.answers()["c2"].startswith("NO afl-fuzz does not pick entry 2: ")
    assert f.answers()["c3"] == "entry 3 is being fuzzed"
    assert not f.picks(2), "a rejected command leaves the skip as it was"
    assert f.steered() == {2: "skipped", 3: ""}


@pytest.mark.slow
def test_a_promotion_does_not_wait_for_ever_behind_favoured_entries(fuzzer):
    f = fuzzer(TURN="(1LL << 60)", MAX_WAIT="(200 * MS)", MAX_REPEATS=100)
    f.told("promote", 2)
    passed = 0
    while not f.answers():
        passed += f.picks(0) + f.picks(0, fuzz=False)
    assert passed, "meanwhile nothing was fuzzed"
    assert f.answers()["c1"].startswith("NO afl-fuzz insists on its favoured entries")
    assert f.picks(1)


@pytest.mark.slow
def test_an_entry_that_is_left_early_was_fuzzed(fuzzer):
    """The cmplog stage comes before the proof, and a user may leave the entry there."""
    f = fuzzer(MIN_VISIT=0)
    f.told("promote", 2)
    assert f.picks(2, fuzz=False)
    assert f.picks(1)
    assert f.answers() == {"c1": "afl-fuzz came to entry 2 and left it early"}


# ------------------------------------------------------------------- restarts


def test_after_a_restart_what_was_skipped_is_found_by_its_new_number(f):
    f.told("skip", 1)
    f.told("skip", 2)
    f.told("promote", 2)
    assert not f.picks(0)
    assert f.picks(2)
    assert [e for e in range(5) if f.picks(e)] == [0, 2, 3, 4]
    before = f.answers()
    f.start(anew=True)
    assert [e for e in range(5) if f.picks(e)] == [0, 1, 2, 4]
    assert f.steered() == {1: "", 2: "", 3: "skipped"}
    f.told("reset", 3)
    assert f.picks(3)
    f.start(anew=True)
    assert all(f.picks(e) for e in range(5))
    assert f.answers() == {**before, "c4": "entry 3 takes its usual turn"}


def test_without_the_names_of_then_nothing_is_skipped(f):
    """An entry file that a user removed, or another queue altogether."""
    f.told("skip", 1)
    assert not f.picks(1)
    Path(f.name(1)).unlink()
    f.start(anew=True)
    assert all(f.picks(e) for e in range(4))
    assert f.steered() == {1: ""}


def test_what_was_asked_before_the_start_is_answered_but_not_done(f):
    f.told("promote", 1)
    assert not f.picks(0)
    f.told("skip", 3)
    f.start(anew=True)
    assert list(f.answers()) == ["c1", "c2"]
    assert all("numbers its entries again" in a for a in f.answers().values())
    assert all(f.picks(e) for e in range(5))
    assert f.steered() == {1: ""}
    f.start()
    assert f.picks(3)
    assert len(f.answers()) == 2


def test_its_predecessor_died_in_the_middle_of_an_answer(f):
    f.stop()
    f.events.write_bytes(b'{"k":"command_applied","id":"c0"}\n{"k":"command_app')
    f.start()
    f.told("skip", 1)
    f.told("skip", 2)
    assert not f.picks(1) and not f.picks(2)
    lines = f.events.read_bytes().splitlines()
    assert lines[1] == b'{"k":"command_app'
    assert [json.loads(x)["id"] for x in lines[2:]] == [1, "c1", 2, "c2"]


def test_a_control_file_that_was_replaced_is_not_obeyed_twice(f):
    f.told("skip", 1)
    f.told("reset", 1)
    assert f.picks(1)
    first = f.control.read_bytes().splitlines(keepends=True)[0]
    f.control.write_bytes(first)
    assert f.picks(1)
    hand(f, b'{"id":"new","command":{"c":"skip","entry":2}}\n')
    assert not f.picks(2)
    assert list(f.answers()) == ["c1", "c2", "new"]


# ------------------------------------------------------------- a hostile world


def test_without_being_told_where_it_does_nothing(build, monkeypatch, tmp_path):
    lib = build(**AT_ONCE)
    for name in ("FUZZTUI_CONTROL", "FUZZTUI_EVENTS"):
        monkeypatch.setenv("FUZZTUI_CONTROL", str(tmp_path / "c"))
        monkeypatch.setenv("FUZZTUI_EVENTS", str(tmp_path / "e"))
        monkeypatch.delenv(name)
        data = lib.afl_custom_init(None, 1)
        assert lib.afl_custom_queue_get(data, b"out/queue/id:000000")
        assert lib.afl_custom_fuzz_count(data, b"", 0) == 0
        lib.afl_custom_deinit(data)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", ["control", "events"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda p: os.symlink("/etc/passwd", p)])
def test_something_else_in_a_files_place(f, which, make):
    f.stop()
    make(getattr(f, which))
    f.start()
    assert f.picks(1)
    if which == "events":  # obeyed; the answer waits for a file
        f.told("skip", 1)
        assert not f.picks(1)
        path = f.events
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        assert f.picks(2)
        assert list(f.answers()) == ["c1"]


def test_the_run_directory_vanishes(f):
    f.told("skip", 1)
    assert not f.picks(1)
    shutil.rmtree(f.home)
    for _ in range(100):
        assert f.picks(2) and not f.picks(1)


def test_answers_wait_while_the_disk_is_full(f):
    f.told("skip", 1)
    assert not f.picks(1)
    size = f.events.stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    f.told("skip", 2)
    try:  # full in the middle of a line; Python ignores SIGXFSZ, as afl-fuzz need not here
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, hard))
        assert not f.picks(2)
        assert f.picks(0)
        assert f.events.stat().st_size == size + 20
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert f.picks(0)
    events = Relay(f.events, "main", 0, Logged()).read()
    answers = [e.id for e in events if isinstance(e, CommandApplied)]
    assert answers == ["c1", "c2"]
    assert {e.instance for e in events} == {"main"}


# ------------------------------------------------------------------ a model

ENTRIES = 4
STEPS = st.one_of(
    st.tuples(st.sampled_from(sorted(VERBS)), st.integers(0, ENTRIES)),
    st.tuples(st.sampled_from(["pick", "pass"]), st.integers(0, ENTRIES - 1)),
    st.just(("restart", 0)),
)


class Model:
    """What the library is to do, in a few lines."""

    def __init__(self) -> None:
        self.skipped: set[int] = set()
        self.handed: list[tuple[str, int, str]] = []
        self.turns: list[tuple[int, str]] = []
        self.answers: dict[str, bool] = {}

    def restart(self) -> None:
        lost = [name for _, name in self.turns] + [name for _, _, name in self.handed]
        self.answers.update(dict.fromkeys(lost, False))
        self.turns, self.handed = [], []
        self.skipped = {ENTRIES - 1 - e for e in self.skipped}

    def look(self) -> None:
        """Afl-fuzz asks about an entry: only then are commands read."""
        for verb, entry, name in self.handed:
            self.tell(verb, entry, name)
        self.handed = []

    def tell(self, verb: str, entry: int, name: str) -> None:
        last = verb == "skip" and self.skipped | {entry} >= set(range(ENTRIES))
        if entry >= ENTRIES or last:
            self.answers[name] = False
        elif verb == "promote":
            self.turns.append((entry, name))
        else:
            self.answers.update({n: False for e, n in self.turns if e == entry})
            self.turns = [t for t in self.turns if t[0] != entry]
            (self.skipped.add if verb == "skip" else self.skipped.discard)(entry)
            self.answers[name] = True

    def accepts(self, entry: int) -> bool:
        return self.turns[0][0] == entry if self.turns else entry not in self.skipped

    def fuzzed(self, entry: int) -> None:
        if self.turns:
            self.answers[self.turns.pop(0)[1]] = True
            self.skipped.discard(entry)

    def steer(self, entry: int) -> str:
        if entry in [e for e, _ in self.turns]:
            return "promoted"
        return "skipped" if entry in self.skipped else ""


@pytest.mark.slow
@given(st.lists(STEPS, max_size=40))
@settings(
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_order_of_commands_visits_and_restarts(build, tmp_path_factory, steps):
    home = tmp_path_factory.mktemp("run")
    # However slow the machine: no guard and no end of patience in between.
    never = dict.fromkeys(("MAX_REFUSING", "TURN", "MAX_WAIT", "MIN_VISIT"), "(1LL << 60)")
    f, model = Fuzzer(build(**AT_ONCE, **never), home, ENTRIES), Model()
    try:
        for verb, entry in steps:
            if verb == "restart":
                f.start(anew=True)
                model.restart()
            elif verb in VERBS:
                model.handed.append((verb, entry, f.told(verb, entry)))
            else:
                model.look()
                accepted = f.picks(entry, fuzz=verb == "pick")
                assert accepted == model.accepts(entry)
                if accepted and verb == "pick":
                    model.fuzzed(entry)
        f.picks(0, fuzz=False)
        model.look()
        assert {n: not a.startswith("NO") for n, a in f.answers().items()} == model.answers
        steered = f.steered()
        assert [steered.get(e, "") for e in range(ENTRIES)] == [
            model.steer(e) for e in range(ENTRIES)
        ]
    finally:
        f.stop()
        shutil.rmtree(home)


# ----------------------------------------------------------------- compiling


@pytest.mark.slow
def test_it_is_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    told: list[str] = []
    path, why = steering_library(told.append)
    assert (path is not None, why, len(told)) == (True, "", 1)
    assert path.parent == tmp_path / "cache/fuzztui"
    assert path.parent.stat().st_mode & 0o777 == 0o700
    stamp = path.stat()
    assert steering_library(told.append) == (path, "")
    assert (path.stat().st_ino, len(told)) == (stamp.st_ino, 1)
    assert list(path.parent.iterdir()) == [path]
    ctypes.CDLL(str(path))
    symbols = subprocess.check_output(["nm", "-D", "--undefined-only", path], text=True)
    assert "Py" not in symbols  # not every afl-fuzz has libpython


@pytest.mark.slow
@pytest.mark.parametrize("spoil", ["file", "writable", "separator", "link"])
def test_a_cache_that_cannot_be_trusted_or_used(tmp_path, monkeypatch, spoil):
    cache = tmp_path / ("ca:che" if spoil == "separator" else "cache")
    cache.mkdir()
    if spoil == "file":
        (cache / "fuzztui").write_text("")
    elif spoil == "link":
        (tmp_path / "other").mkdir()
        (cache / "fuzztui").symlink_to(tmp_path / "other")
    else:
        (cache / "fuzztui").mkdir()
        (cache / "fuzztui").chmod(0o777 if spoil == "writable" else 0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    path, why = steering_library()
    assert path is not None, why
    assert path.parent == tmp_path / f"tmp/fuzztui-{os.geteuid()}"


def test_a_compiler_that_does_not_end(tmp_path, monkeypatch):
    compiler = tmp_path / "bin/cc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\nexec sleep 1000\n")
    compiler.chmod(0o700)
    monkeypatch.setenv("PATH", str(compiler.parent), prepend=":")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("fuzztui.run.process.library._TIMEOUT_S", 0.1)
    path, why = steering_library()
    assert (path, "start again when the machine is less busy" in why) == (None, True)


def test_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert steering_library() == (None, "no C compiler: install gcc or clang")


def test_a_compiler_that_fails(tmp_path, monkeypatch):
    (tmp_path / "cc").write_text("#!/bin/sh\necho 'steer.c:1: error: no libc' >&2; exit 1\n")
    (tmp_path / "cc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    path, why = steering_library()
    assert path is None
    assert why == f"cannot be compiled: {tmp_path}/cc reports: steer.c:1: error: no libc"
