"""text.c through ctypes: asked as afl-fuzz asks it, steered as the supervisor steers."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shared import shared

from fuzztui.engines.text import reference
from fuzztui.engines.text.arms import PERIOD, MixtureState
from fuzztui.engines.text.block import SIZE, MutatorCounters, StatsBlock, Writer, read_block
from fuzztui.engines.text.fragments import Fragments
from fuzztui.engines.text.poolfile import write
from fuzztui.engines.text.syntax import Spans
from fuzztui.engines.text.table import ARMS, HAVOC, NAMES
from fuzztui.kernel.wire.codec import decode_event
from fuzztui.kernel.wire.commands import SetMixture, SkipEntry, WeighMutator
from fuzztui.kernel.wire.events import CommandApplied, CommandRejected
from fuzztui.kernel.wire.mixture import class_of
from fuzztui.run.process import library
from fuzztui.run.process.library import TEXT, steering_library, text_library
from fuzztui.run.supervise.command_router import append

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")

PROGRAM = b"int f(int a, int b) {\n  if (a == 0 && b > 1) { return a + 10 * b; }\n  g(a, b);\n}\n"
FIRST_TEMPLATE = len(NAMES)
VARIABLES = {
    "control": "FUZZTUI_CONTROL", "events": "FUZZTUI_EVENTS", "settings": "FUZZTUI_TEXT",
    "block": "FUZZTUI_TEXT_BLOCK", "pool": "FUZZTUI_TEXT_POOL",
    "roll": "FUZZTUI_TEXT_ROLL", "without": "FUZZTUI_TEXT_WITHOUT", "tokens": "FUZZTUI_TEXT_TOKENS",
    "sha1": "AFL_SHA1_FILENAMES", "only": "AFL_CUSTOM_MUTATOR_ONLY",
}  # fmt: skip


@pytest.fixture(scope="session")
def lib() -> ctypes.CDLL:
    """The library, which looks at its files whenever it is called; without any warning."""

    def build(out: Path) -> None:
        argv = ["cc", *TEXT.options, "-Werror", "-DPOLL=0", "-DLOOK_NS=0", "-o", str(out)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr

    lib = ctypes.CDLL(str(shared("text.so", build)))
    lib.afl_custom_init.restype = ctypes.c_void_p
    lib.afl_custom_init.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    lib.afl_custom_deinit.argtypes = [ctypes.c_void_p]
    lib.afl_custom_queue_get.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    lib.afl_custom_queue_new_entry.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    lib.afl_custom_describe.restype = ctypes.c_char_p
    lib.afl_custom_describe.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    lib.afl_custom_fuzz.restype = ctypes.c_size_t
    lib.afl_custom_fuzz.argtypes = [
        *(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p),
        *(ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t),
    ]
    return lib


class Mutator:
    """What afl-fuzz does with the library."""

    def __init__(self, lib: ctypes.CDLL, home: Path, **env: str) -> None:
        self.lib, self.home, self.data, self.issued = lib, home, None, 0
        self.control, self.events = home / "control.jsonl", home / "events.jsonl"
        self.path = home / ".text"
        self.env = {"control": str(self.control), "events": str(self.events),
                    "block": str(self.path), **env}  # fmt: skip
        self.start()

    def start(self, seed: int = 1, **env: str) -> None:
        self.stop()
        self.env |= env
        for name, variable in VARIABLES.items():
            os.environ.pop(variable, None)
            if name in self.env:
                os.environ[variable] = self.env[name]
        self.data = self.lib.afl_custom_init(None, seed)

    def stop(self) -> None:
        if self.data is not None:
            self.lib.afl_custom_deinit(self.data)
        self.data = None

    def make(self, data: bytes = PROGRAM, other: bytes = PROGRAM, limit: int = 1 << 20) -> bytes:
        out = ctypes.c_void_p()
        n = self.lib.afl_custom_fuzz(
            self.data, data, len(data), ctypes.byref(out), other, len(other), limit
        )
        assert out.value and n
        return ctypes.string_at(out.value, n)

    def name(self, most: int = 180) -> str:
        words = self.lib.afl_custom_describe(self.data, most)
        return words.decode() if words is not None else ""

    def saved(self) -> str:
        """It found something: into the queue."""
        name = self.name()
        fresh = b"out/queue/id:000001,src:000000," + name.encode()
        self.lib.afl_custom_queue_new_entry(self.data, fresh, b"old")
        return name

    def told(self, *parts: float, adaptive: bool = False) -> str:
        self.issued += 1
        append(self.control, f"c{self.issued}", SetMixture(*parts, adaptive))
        return f"c{self.issued}"

    def answers(self) -> dict[str, CommandApplied | CommandRejected]:
        lines = self.events.read_bytes().splitlines() if self.events.exists() else []
        found = [decode_event(line) for line in lines]
        return {e.id: e for e in found if isinstance(e, CommandApplied | CommandRejected)}

    def block(self) -> StatsBlock:
        found = read_block(self.path)
        assert found
        return found

    def arm(self, name: str) -> MutatorCounters:
        return self.block().arms[ARMS.index(name)]


@pytest.fixture
def mutator(lib, tmp_path, monkeypatch):
    for variable in VARIABLES.values():
        monkeypatch.setenv(variable, "")
    made: list[Mutator] = []

    def make(**env: str) -> Mutator:
        made.append(Mutator(lib, tmp_path, **env))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def operators(name: str) -> list[str]:
    match = re.fullmatch(r"op:([a-z0-9+-]+),rep:[1-8]", name)
    assert match, name
    return match[1].split("+")


# --------------------------------------------------------------------- inputs


@pytest.mark.slow
def test_the_three_classes_by_their_probabilities(mutator):
    m = mutator(settings="0.2,0.5,0.3,0")
    steps, single = [], []
    for _ in range(4000):
        m.make()
        label = m.name()
        steps.append(int(label.rpartition("rep:")[2]))
        if steps[-1] == 1:
            single += operators(label)
    assert sum(steps) / 4000 == pytest.approx(3.75, abs=0.2)  # 1, 2, 4 or 8
    assert single.count(HAVOC) / len(single) == pytest.approx(0.2, abs=0.06)
    assert single.count("balanced") / len(single) == pytest.approx(0.3, abs=0.06)
    assert m.arm(HAVOC).applied < 4000 * 0.2 * 3.75, "once an input"


@pytest.mark.slow
def test_an_input_is_of_one_class_unless_each_step_is_drawn(mutator):
    m = mutator(settings="0.2,0.4,0.4,0")

    def classes() -> list[set[str]]:
        m.start()
        return [{class_of(n) for n in operators(m.name())} for _ in range(500) if m.make()]

    seen = classes()
    assert {"text"} in seen and {"splice"} in seen and {"havoc"} in seen
    assert not any(found >= {"text", "splice"} for found in seen)
    m.env["roll"] = "step"
    assert {"text", "splice", "havoc"} in classes()


def test_an_input_of_havoc_has_more_edits_than_steps(mutator):
    m = mutator(settings="1,0,0,0")
    data = bytes(200)

    def unlike() -> int:
        """Bytes that are no longer 0, in 300 inputs of one step each."""
        m.start()
        found: list[int] = []
        while len(found) < 300:
            made = m.make(data, data)
            if m.name() == "op:havoc,rep:1":
                found.append(len(made) - made.count(0))
        return sum(found)

    several = unlike()
    m.env["roll"] = "step"
    assert several > 2 * unlike() > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings_", "only"), [("0,1,0,0", NAMES), ("1,0,0,0", [HAVOC]), ("0,0,1,0", ["balanced"])]
)
def test_one_class_alone(mutator, settings_, only):
    m = mutator(settings=settings_)
    seen = set()
    for _ in range(300):
        m.make()
        seen |= set(operators(m.name()))
    assert seen - {HAVOC} <= set(only) and seen & set(only)
    assert m.arm(HAVOC).tried < 40 or only != NAMES


def test_without_any_variable_it_does_the_usual(mutator, lib):
    m = mutator(control="", events="", block="")
    assert len({m.make() for _ in range(200)}) > 100
    assert list(m.home.iterdir()) == []


def test_the_same_seed_makes_the_same_inputs(mutator):
    m = mutator(settings="0.4,0.4,0.2,0")
    first = [m.make() for _ in range(100)]
    m.start(seed=1)
    assert [m.make() for _ in range(100)] == first
    m.start(seed=2)
    assert [m.make() for _ in range(100)] != first


@pytest.mark.parametrize("data", [b"", b"a", b"\0", b"\0" * 50, b"((((", b"\n"])
@pytest.mark.parametrize("limit", [0, 1, 3, 60])
def test_inputs_are_never_empty_and_never_too_long(mutator, data, limit):
    m = mutator(settings="0.3,0.4,0.3,0")
    for _ in range(200):
        assert 1 <= len(m.make(data, data, limit)) <= max(1, limit)


def test_operators_that_are_left_out(mutator):
    keep = {"swap-args", "zero-to-one"}
    m = mutator(settings="0,1,0,0", without=",".join([*(set(NAMES) - keep), "nonsense", ""]))
    weights = {name: arm.weight for name, arm in zip(ARMS, m.block().arms, strict=True)}
    assert {name for name in NAMES if weights[name]} == keep
    assert weights["swap-args"] == 500_000
    for _ in range(100):
        m.make()
    assert {name for name in NAMES if m.arm(name).tried} == keep
    m.start(without=",".join(NAMES))
    assert m.make() and operators(m.name()) == [HAVOC]


def test_tokens_of_dictionaries(mutator, tmp_path):
    """Whatever afl-fuzz takes as -x."""
    dictionary = tmp_path / "a dict"
    dictionary.write_text('# x\nkw="volatile"\n"z\\x41\\"\\\\"\nno token\nn@3 = "last"')
    (tmp_path / "link").symlink_to(dictionary)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "token").write_bytes(b"\0ab\n")
    (folder / "long").write_bytes(b"x" * 129)
    m = mutator(settings="1,0,0,0", tokens="")

    def made(tokens: str) -> bytes:
        m.start(tokens=tokens)
        return b"|".join(m.make(b"____________") for _ in range(500))

    both = made(f"{dictionary}\n{tmp_path}/gone")
    assert b"volatile" in both and b'zA"\\' in both and b"last" not in both
    assert b"volatile" in made(f"{tmp_path}/link")
    assert b"last" not in made(f"{dictionary}@2") and b"last" in made(f"{dictionary}@3")
    files = made(str(folder))
    assert b"\0ab\n" in files and b"xxxx" not in files
    assert b"volatile" not in made("")


def test_havoc_changes_numbers(mutator):
    m = mutator(settings="1,0,0,0")
    made = b"\n".join(m.make(b"x = 1000;") for _ in range(2000))
    for near in (b"1001", b"999", b"1010", b"2147483648", b"65536"):
        assert near in made


def test_fragments_of_the_pool_and_templates(mutator, tmp_path):
    pool = Fragments()
    pool.add(b"f(a, 1);", Spans({"expr": ((2, 1), (5, 1))}, (), ((0, 1, b"while"),)))
    pool.add(b"g(bbbb);", Spans({"expr": ((2, 4),)}, (), ()))
    write(tmp_path / ".pool", pool.pool)
    m = mutator(settings="0,0,1,0", pool=str(tmp_path / ".pool"))
    made = {m.make(b"f(a, 1);", b"") for _ in range(200)}
    assert b"f(bbbb, 1);" in made and b"f(a, bbbb);" in made
    assert m.arm("fragment").applied
    m.stop()
    m.path.unlink()
    m.start(settings="0,1,0,0", without=",".join(NAMES))
    assert b"while(a, 1);" in {m.make(b"f(a, 1);") for _ in range(50)}
    assert m.arm("template").applied
    assert not m.arm("fragment").applied


# ------------------------------------------------------------- names and counts


def test_a_name_says_what_worked_and_fits(mutator):
    m = mutator(settings="0,1,0,0")
    assert m.name() == "", "nothing was made"
    for _ in range(200):
        m.make()
        for most in (180, 60, 25, 11, 5, 0):
            name = m.name(most)
            assert len(name) <= most
        assert set(operators(m.name())) <= {*NAMES, HAVOC}


def test_what_was_saved_is_counted_for_all_operators_of_the_stack(mutator):
    m = mutator(settings="0.3,0.7,0,0")
    found = dict.fromkeys(ARMS, 0)
    crashes = dict.fromkeys(ARMS, 0)
    for i in range(300):
        m.make()
        if i % 3 == 0:
            for name in operators(m.saved()):
                found[name] += 1
        elif i % 3 == 1:
            for name in operators(m.name()):
                crashes[name] += 1
    m.stop()
    arms = dict(zip(ARMS, m.block().arms, strict=True))
    assert {name: arm.found for name, arm in arms.items()} == found
    assert {name: arm.crashes for name, arm in arms.items()} == crashes
    assert m.block().trials == 300
    assert sum(m.block().made) >= 300
    assert 100 <= sum(m.block().kept) < 200
    assert all(arm.applied >= arm.found + arm.crashes for arm in arms.values())
    assert all(arm.tried >= arm.applied for arm in arms.values())


def test_what_is_saved_between_two_entries_is_none_of_ours(mutator):
    """Afl-fuzz asks for a name while it trims, after a visit that was broken off (SIGUSR1)."""
    m = mutator()
    m.make()
    m.lib.afl_custom_queue_get(m.data, b"out/queue/id:000002")
    assert m.saved() == ""
    m.make()
    m.lib.afl_custom_queue_new_entry(m.data, b"of another mutator", b"x")
    m.stop()
    assert not any(arm.found or arm.crashes for arm in m.block().arms)


def test_names_that_are_hashes_are_asked_for_by_nobody(mutator):
    m = mutator(sha1="1", settings="0,1,0,0", only="1")
    m.make()
    m.lib.afl_custom_queue_new_entry(m.data, b"out/queue/abcdef", b"x")
    m.stop()
    found = sum(arm.found for arm in m.block().arms)
    assert found >= 1
    m.start(only="")
    m.make()
    m.lib.afl_custom_queue_new_entry(m.data, b"out/queue/abcdef", b"x")
    m.stop()
    assert sum(arm.found for arm in m.block().arms) == found, "it may be afl-fuzz's own"


def test_what_another_one_finds_after_our_crash_is_not_ours(mutator):
    m = mutator(settings="0,1,0,0")
    m.make()
    assert m.name()  # it crashed: afl-fuzz asks, and saves it where no entries are
    m.lib.afl_custom_queue_new_entry(m.data, b"out/queue/id:000001,src:000000,op:havoc,rep:4", b"x")
    m.stop()
    arms = m.block().arms
    assert not any(arm.found for arm in arms) and any(arm.crashes for arm in arms)


# ------------------------------------------------------------------- commands


def test_a_mixture_is_obeyed_by_the_next_input(mutator):
    m = mutator(settings="1,0,0,0")
    for _ in range(50):
        m.make()
    asked = m.told(0.0, 1.0, 0.0)
    for _ in range(50):
        m.make()
    before = m.arm(HAVOC).tried
    assert m.answers()[asked].detail == "havoc 0%, text 100%, splice 0%"
    assert m.answers()[asked].trial == 50
    assert (m.block().havoc, m.block().text) == (0.0, 1.0)
    for _ in range(50):
        m.make()
    assert m.arm(HAVOC).tried - before <= 3
    m.told(1 / 3, 1 / 3, 1 / 3, adaptive=True)
    m.make()
    assert m.answers()["c2"].detail == "havoc 33.3%, text 33.3%, splice 33.3%, adaptive"
    assert m.block().adaptive


@pytest.mark.parametrize(
    ("havoc", "text", "splice", "why"),
    [
        ("0.5", "0.5", "0.5", "0.5 + 0.5 + 0.5: they must add to 1, none below 0"),
        ("-0.5", "1", "0.5", "none below 0"),
        ("NaN", "1", "0", "must be numbers"),
        ("1e999", "0", "0", "must be numbers"),
        ('"1"', "0", "0", "must be numbers"),
        ("0x1", "0", "0", "must be numbers"),
        ("true", "0", "0", "must be numbers"),
        ("[1]", "0", "0", "must be numbers"),
    ],
)
def test_what_is_no_mixture_changes_nothing(mutator, havoc, text, splice, why):
    m = mutator()
    m.control.write_text(
        f'{{"id":"a","command":{{"c":"mixture","havoc":{havoc},"text":{text},"splice":{splice}}}}}\n'
    )
    m.make()
    answer = m.answers()["a"]
    assert isinstance(answer, CommandRejected) and why in answer.reason
    assert (m.block().havoc, m.block().text, m.block().splice) == (0.25, 0.5, 0.25)


@pytest.mark.parametrize("adaptive", [False, True])
def test_weights_of_single_mutators_are_those_of_python(mutator, adaptive):
    m = mutator(settings=f"0.25,0.5,0.25,{int(adaptive)}", without="drop-not,template,fragment")
    arms = MixtureState(StatsBlock(0.25, 0.5, 0.25, adaptive), reference.weights,
                        ("drop-not", "template", "fragment"))  # fmt: skip
    weights = {"swap-args": 20.0, "eq-to-ne": 0.0003, "if-to-while": 0}
    details = []
    for number, (name, weight) in enumerate(weights.items()):
        append(m.control, f"w{number}", WeighMutator(name, weight))
        details.append(arms.weigh(name, weight))
    m.make()
    assert [m.answers()[f"w{n}"].detail for n in range(3)] == details
    assert details[0] == "swap-args has weight 20: 1.59% -> 24.4% of text mutations"
    assert details[2] == "if-to-while has weight 0: 1.23% -> 0% of text mutations"
    assert [a.weight for a in m.block().arms] == [a.weight for a in arms.block.arms]
    assert [a.wished for a in m.block().arms] == [a.wished for a in arms.block.arms]
    assert m.arm("swap-args").wished == 20_000
    m.start()  # a later process goes on with them
    m.make()
    assert [a.weight for a in m.block().arms] == [a.weight for a in arms.block.arms]
    for _ in range(200):
        m.make()
    assert m.arm("if-to-while").tried == 0 < m.arm("swap-args").tried


@pytest.mark.parametrize("adaptive", [False, True])
def test_the_least_weight_is_a_slot_and_not_never(mutator, adaptive):
    m = mutator(settings=f"0,1,0,{int(adaptive)}", without="template,fragment")
    append(m.control, "w", WeighMutator("swap-args", 0.001))
    for _ in range(4000):  # with 1 to 8 steps, each of at least one draw
        m.make()
    assert m.arm("swap-args").tried, m.answers()
    assert m.answers()["w"].detail.endswith("% of text mutations")
    assert "-> 0%" not in m.answers()["w"].detail


@pytest.mark.parametrize(
    ("mutator_", "weight", "why"),
    [
        ('"swap-arks"', "1", "no text mutator of this name"),
        ('"havoc"', "1", "no text mutator of this name"),
        ("7", "1", "no text mutator of this name"),
        ('"drop-not"', "1", "no text mutator of this name"),
        ('"swap-args"', "-1", "a mutator's weight is from 0 to 100"),
        ('"swap-args"', "100.1", "a mutator's weight is from 0 to 100"),
        ('"swap-args"', '"2"', "a mutator's weight is from 0 to 100"),
        ('"swap-args"', "0", "the last text mutator"),
    ],
)
def test_what_is_no_weight_changes_nothing(mutator, mutator_, weight, why):
    others = ",".join(name for name in ARMS if name not in ("swap-args", HAVOC))
    m = mutator(without=others)
    before = m.block().arms
    m.control.write_text(
        f'{{"id":"a","command":{{"c":"weigh-mutator","mutator":{mutator_},"weight":{weight}}}}}\n'
    )
    m.make()
    answer = m.answers()["a"]
    assert isinstance(answer, CommandRejected)
    assert why in answer.reason
    assert [a.wish for a in m.block().arms] == [a.wish for a in before]


def test_other_commands_are_left_to_others(mutator):
    m = mutator()
    append(m.control, "s", SkipEntry(1, "main"))
    m.make()
    assert not m.events.exists()


def test_commands_are_obeyed_once_also_over_restarts(mutator):
    m = mutator()
    m.told(0.0, 1.0, 0.0)
    m.make()
    m.told(1.0, 0.0, 0.0)
    m.make()
    m.start()
    m.make()
    assert (m.block().havoc, m.block().text) == (1.0, 0.0)
    assert len(m.answers()) == 2
    m.stop()
    late = m.told(0.5, 0.5, 0.0)  # transferred while afl-fuzz is away: nobody has answered
    m.start()
    m.make()
    assert m.answers()[late].detail == "havoc 50%, text 50%, splice 0%"
    first = m.control.read_bytes().splitlines(keepends=True)[0]
    m.control.write_bytes(first)  # replaced by a shorter one
    m.make()
    assert (m.block().havoc, len(m.events.read_bytes().splitlines())) == (0.5, 3)


def test_a_torn_line_of_another_writer_does_not_swallow_an_answer(mutator):
    m = mutator()
    m.events.write_bytes(b'{"k":"entry_desc')
    asked = m.told(0.0, 1.0, 0.0)
    m.make()
    lines = m.events.read_bytes().splitlines()
    assert lines[0] == b'{"k":"entry_desc'
    assert json.loads(lines[1])["id"] == asked


# ------------------------------------------------------------------- the block


def test_the_next_one_goes_on_with_the_block(mutator):
    m = mutator(settings="0.5,0.5,0,0")
    m.told(0.1, 0.9, 0.0)
    for _ in range(100):
        m.make()
    m.saved()
    m.stop()
    before = m.block()
    assert m.path.stat().st_size == SIZE
    assert m.path.stat().st_mode & 0o777 == 0o600
    m.start(settings="1,0,0,0")
    assert m.block() == before
    m.make()
    m.stop()
    assert (m.block().trials, m.block().text) == (101, 0.9)


@pytest.mark.parametrize(
    "content",
    [b"", b"short", b"\0" * SIZE, b"\xff" * SIZE, b"fuzztui text 1\n\0" + b"\xff" * (SIZE - 16)],
)
def test_a_block_that_makes_no_sense_is_made_anew(mutator, content):
    m = mutator(settings="0.5,0.5,0,0")
    m.stop()
    m.path.write_bytes(content)
    assert read_block(m.path) is None
    m.start()
    m.make()
    m.stop()
    assert (m.block().havoc, m.block().trials) == (0.5, 1)


def test_a_change_that_was_cut_off_is_not_taken_over(mutator):
    m = mutator(settings="0.5,0.5,0,0")
    m.told(0.1, 0.9, 0.0)
    m.make()
    m.stop()
    data = bytearray(m.path.read_bytes())
    data[16] |= 1
    m.path.write_bytes(data)
    assert read_block(m.path) is None
    m.start()
    assert (m.block().havoc, m.block().trials) == (0.5, 1)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda p: os.symlink("/etc/passwd", p)])
def test_something_else_in_the_blocks_place(mutator, make):
    m = mutator()
    m.path.unlink()
    make(m.path)
    m.make()
    m.start()
    m.make()
    assert read_block(m.path) is None
    m.path.rmdir() if m.path.is_dir() and not m.path.is_symlink() else m.path.unlink()
    m.stop()
    assert m.block().trials == 1


counters = st.integers(0, 1 << 53)
parts = st.integers(0, 100).flatmap(
    lambda a: st.integers(0, 100 - a).map(lambda b: (a / 100, b / 100, (100 - a - b) / 100))
)
arms = st.lists(
    st.builds(
        MutatorCounters, counters, counters, counters, counters, st.integers(1, 10**6),
        st.integers(0, 1 << 30), st.integers(0, 1 << 20),
    ),
    min_size=len(ARMS),
    max_size=len(ARMS),
)  # fmt: skip


recent = st.lists(st.integers(0, 1 << 30), min_size=3, max_size=3)
blocks = st.builds(
    lambda mixture, adaptive, trials, arms, made, kept: StatsBlock(
        *mixture, adaptive, trials, arms, made=made, kept=kept
    ),
    *(parts, st.booleans(), counters, arms, recent, recent),
)


@given(blocks)
@settings(
    max_examples=examples(30),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_c_and_python_agree_on_the_block(lib, tmp_path_factory, written):
    home = tmp_path_factory.mktemp("block")
    Writer(home / ".text", written)
    assert read_block(home / ".text") == written
    m = Mutator(lib, home)
    read = m.block()
    m.stop()
    if not written.adaptive:  # weights are none of the block's then
        for ours, theirs in zip(written.arms, read.arms, strict=True):
            ours.weight = theirs.weight
        assert sum(a.weight for a in read.arms[:FIRST_TEMPLATE]) == pytest.approx(10**6, abs=99)
    for arm in written.arms[:FIRST_TEMPLATE]:
        arm.weight = max(arm.weight, 300)  # a slot
    for arm in written.arms[FIRST_TEMPLATE : FIRST_TEMPLATE + 2]:
        arm.weight = 0  # there is no pool
    written.wish = (written.havoc, written.text, written.splice)
    assert read == written
    again = Writer(home / ".text", StatsBlock())
    assert again.block == read


# ------------------------------------------------------------------ adaptive


@given(parts, st.lists(st.integers(1000, 1 << 30), min_size=3, max_size=3), st.data())
@settings(
    max_examples=examples(30),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_c_and_python_agree_on_the_shares(lib, tmp_path_factory, mixture, made, data):
    kept = [data.draw(st.integers(0, n)) for n in made]
    home = tmp_path_factory.mktemp("block")
    before = StatsBlock(*mixture, True, PERIOD - 1, made=made, kept=kept, wish=mixture)
    Writer(home / ".text", before)
    m = Mutator(lib, home)
    m.make()
    m.stop()
    arms = MixtureState(before, reference.weights)
    arms.count_trial()
    found = m.block()
    assert (found.havoc, found.text, found.splice) == pytest.approx(arms.mixture, abs=2e-3)


@pytest.mark.slow
def test_what_pays_is_drawn_more_often(mutator):
    m = mutator(settings="0.4,0.4,0.2,1")
    payer = "swap-args"
    fixed = {name: arm.weight for name, arm in zip(ARMS, m.block().arms, strict=True)}
    for _ in range(30_001):
        m.make()
        name = m.name()
        if payer in operators(name):
            m.lib.afl_custom_queue_new_entry(m.data, name.encode(), b"y")
        else:  # not a crash either
            m.lib.afl_custom_queue_get(m.data, b"out/queue/id:000000")
    block = m.block()
    weights = {name: arm.weight for name, arm in zip(ARMS, block.arms, strict=True)}
    assert weights[payer] > 2 * fixed[payer]
    assert weights[payer] > 2 * weights["swap-words"] > 0
    assert block.text > 0.42
    assert min(block.havoc, block.splice) >= 0.05
    assert block.havoc + block.text + block.splice == pytest.approx(1)
    m.told(0.25, 0.75, 0.0)
    m.make()
    assert {name: arm.weight for name, arm in zip(ARMS, m.block().arms, strict=True)} == fixed


# ------------------------------------------------------------------ sanitizers


@pytest.mark.slow
def test_a_hostile_world_under_sanitizers(tmp_path):
    """Any inputs, limits, orders of calls, and files that anybody writes to."""
    program = tmp_path / "harness"
    flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    sources = [str(Path(__file__).with_name("afl_text_harness.c"))]
    options = [word for word in TEXT.options if word not in ("-shared", "-fPIC", "-O2")]
    built = subprocess.run(
        ["cc", *options, *flags, "-DPOLL=0", "-DLOOK_NS=0", "-DPERIOD=50", *sources,
         "-o", str(program)],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    if "cannot find" in built.stderr:
        pytest.skip("no sanitizers")
    assert built.returncode == 0, built.stderr
    pool = Fragments()
    for text in (b"int f(int a, int b) {\n", b"a b c d e f g h"):  # as the harness knows
        spans = {"x": ((0, 5), (2, 3), (4, 8)), "y": ((1, 2), (6, 4))}
        pool.add(text, Spans(spans, ((0, 3, "id"),), ((1, 4, b"while"), (0, 3, b""))))
    write(tmp_path / "pool.good", pool.pool)
    for seed in range(4):
        done = subprocess.run(
            [program, tmp_path, "6000", str(seed)],
            capture_output=True, text=True, timeout=100, check=False,
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-3000:]


# ----------------------------------------------------------------- compiling


@pytest.mark.slow
def test_it_is_compiled_once_and_for_all_uses(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    told: list[str] = []
    path, why = text_library(told.append)
    assert (path is not None, why, told) == (True, "", ["compiling the library that mutates text"])
    assert text_library(told.append) == (path, "")
    assert steering_library(told.append)[0] != path
    assert len(told) == 2
    symbols = subprocess.check_output(["nm", "-D", path], text=True)
    ours = {line.split()[-1] for line in symbols.splitlines() if " T " in line or " D " in line}
    assert {name for name in ours if not name.startswith(("ft_", "afl_custom_"))} == set()
    assert "afl_custom_fuzz_count" not in ours, "afl-fuzz would not keep its own energy"


@pytest.mark.slow
def test_every_source_and_header_is_a_part_of_the_key(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names = {file.name for file in TEXT.files}
    assert names >= {"text.c", "mutate.c", "pool.c", "mutators.h", "block.h", "havoc.h", "jsonl.h"}
    copies = tmp_path / "copy"
    copies.mkdir()
    for file in TEXT.files:
        shutil.copy(file, copies)
    sources = tuple(copies / file.name for file in TEXT.sources)
    monkeypatch.setattr(library, "TEXT", library.Library("text", "x", sources, (copies,)))
    first, _ = text_library()
    with (copies / "mutators.h").open("a") as file:
        file.write("/* another */\n")
    second, why = text_library()
    assert first and second and first != second, why


@pytest.mark.slow
def test_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made, _ = text_library()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert text_library() == (made, ""), "another compiler's is as good as none"
    made.unlink()
    assert text_library() == (None, "no C compiler: install gcc or clang")
