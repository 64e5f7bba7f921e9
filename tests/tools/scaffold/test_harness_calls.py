"""Calls that need a harness are found in sources, and the harness makes them."""

import ast
import os
import random
import subprocess
import sys

import pytest

from fuzztui.engines.inputs.source import Source
from fuzztui.tools.scaffold.arguments import BYTES, EITHER, TEXT, literal_text
from fuzztui.tools.scaffold.calls import HarnessCall
from fuzztui.tools.scaffold.harness import edits_text, generator_text, harness_text
from fuzztui.tools.scaffold.python_targets import python_targets
from fuzztui.tools.scaffold.tree import python_files

CODE = """
import enum
from dataclasses import dataclass
from typing import IO, BinaryIO, Literal, Protocol

class Mode(enum.Enum):
    A = 1
    B = 2

def parse_pair(text: str, mode: Mode, base: int, *, how: Literal["x", "y"], strict=False):
    return text, mode, base, how

def load(fp): return fp.read()
def load_binary(fp: BinaryIO): return fp.read()
def decode_rows(data: bytes, names: list[str], sizes: dict[str, int] | None):
    return data, names, sizes
def parse_with(text: str, unknown): ...
def load_file(path: str): ...
def parse_named(text: str, filename: str): return text, filename
def parse_error(text: str, line: int): ...

class Base:
    def __init__(self, limit=3): self.limit = limit

class Parser(Base):
    def parse(self, text: str): return [self.limit, text]

class Lexer:
    def __init__(self, source): self.source = source
    def tokenize(self): return list(self.source)

@dataclass
class Frame:
    kind: int
    flags: int = 0
    def decode(self, data: bytes): return self.kind, data

def parse_frame(text: str, frame: Frame): return text, frame

class Packet:
    @classmethod
    def from_bytes(cls, data: bytes, offset: int): return data, offset

class Abstract(Protocol):
    def parse(self, text: str): ...

class HttpClient:
    def parse(self, text: str): ...

class Foreign(enum.EnumMeta):
    def parse(self, text: str): ...
"""
TESTS = """
import pytest
from mod import decode_rows, parse_pair, parse_with
def test_it():
    parse_pair("(1)", Mode.A, 16, how="x")
    parse_pair("(1)", Mode.A, 1e999, how="x")
    decode_rows(b"abc", ["n"], None)
"""


@pytest.fixture(scope="module")
def calls(tmp_path_factory) -> dict[str, HarnessCall]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "tests").mkdir()
    (folder / "mod.py").write_text(CODE)
    (folder / "tests" / "test_mod.py").write_text(TESTS)
    sys.path.insert(0, str(folder))
    yield {target.name: target.call for target in python_targets(python_files(folder))}
    sys.path.remove(str(folder))
    sys.modules.pop("mod", None)


def test_only_calls_whose_arguments_can_be_made_are_found(calls):
    assert {name for name, call in calls.items() if call is not None} == {
        "parse_pair", "load", "load_binary", "decode_rows", "parse_named", "parse_frame",
        "Parser.parse", "Lexer.tokenize", "Frame.decode", "Packet.from_bytes",
    }  # fmt: skip
    one = {name for name, call in calls.items() if call is not None and call.is_one_input}
    assert one == {"load", "load_binary", "Parser.parse", "Lexer.tokenize"}


def test_files_may_be_text_or_binary_unless_annotated(calls):
    assert calls["load"].kinds == [TEXT, BYTES]
    assert calls["load_binary"].kinds == [BYTES]
    assert calls["load"].arguments[0].takes == EITHER


def test_each_call_has_a_file_of_its_own(calls):
    names = {call.harness for call in calls.values() if call is not None}
    assert len(names) == sum(call is not None for call in calls.values())
    assert calls["Parser.parse"].harness == "fuzz_parser_parse.py"


def made(text: str) -> dict:
    names: dict = {}
    exec(text, names)
    return names


def drawn(names: dict, n: int) -> object:
    return names["generate"](Source(random.Random(n).randbytes(300), 300, bytes))


@pytest.mark.parametrize(
    ("name", "data", "result"),
    [
        ("Parser.parse", "a:b", [3, "a:b"]),
        ("Lexer.tokenize", "ab", ["a", "b"]),
        ("load", "x=1", "x=1"),
        ("load", b"x=1", b"x=1"),
        ("load_binary", b"\xff", b"\xff"),
    ],
)
def test_a_harness_of_one_input_makes_the_call(name, data, result, calls):
    kind = TEXT if isinstance(data, str) else BYTES
    assert made(harness_text(calls[name], kind))["target"](data) == result


def test_a_generator_draws_each_argument_as_it_is_annotated(calls):
    names = made(generator_text(calls["parse_pair"], TEXT, [b"(1)", b"(2, 3)"], ["(", ")", "7"]))
    import mod

    results = [names["target"](drawn(names, n)) for n in range(60)]
    texts, modes, bases, hows = (set(column) for column in zip(*results, strict=True))
    assert len(texts) > 20
    assert modes == set(mod.Mode)
    assert 16 in bases  # what the test passes
    assert len(bases) > 10
    assert hows == {"x", "y"}


def test_containers_and_unions_are_drawn(calls):
    names = made(generator_text(calls["decode_rows"], BYTES, [b"ab c"], ["d", "e"]))
    results = [names["target"](drawn(names, n)) for n in range(60)]
    assert {type(data) for data, _, _ in results} == {bytes}
    assert {type(one) for _, columns, _ in results for one in columns} == {str}
    kinds = {type(sizes) for _, _, sizes in results}
    assert kinds == {dict, type(None)}


def test_objects_of_the_project_are_made_by_hypothesis(calls):
    names = made(generator_text(calls["parse_frame"], TEXT, [b"a"], ["b"]))
    import mod

    frames = [names["target"](drawn(names, n))[1] for n in range(20)]
    assert {type(frame) for frame in frames} == {mod.Frame}
    assert len({frame.kind for frame in frames}) > 3


def test_a_path_is_never_drawn(calls):
    names = made(generator_text(calls["parse_named"], TEXT, [b"a"], ["b"]))
    assert {drawn(names, n)["filename"] for n in range(20)} == {"input"}


def test_a_constructor_gets_its_own_arguments(calls):
    names = made(generator_text(calls["Frame.decode"], BYTES, [b"a b"], ["c"]))
    kind, data = names["target"]({"kind": 5, "data": b"x"})
    assert (kind, data) == (5, b"x")


def test_the_first_choice_of_a_probe_is_an_example_as_it_is(calls):
    examples = [b"one two", b"three"]
    names = made(generator_text(calls["parse_pair"], TEXT, examples, ["x"], probe=True))
    for number, example in enumerate(examples):
        source = Source(bytes((number,)) + bytes(50), 300, bytes)
        assert names["generate"](source)["text"] == example.decode()


@pytest.mark.parametrize("kind", [TEXT, BYTES])
def test_parts_of_examples_are_exchanged(kind):
    examples = [b"let x = 1", b"let y = '\\'", "é \n".encode()]
    names = made(edits_text(kind, examples, ["let", "'\"", "\\"]))
    results = {drawn(names, n) for n in range(40)}
    assert {type(one) for one in results} == {str if kind == TEXT else bytes}
    assert len(results) > 20


def test_names_of_the_target_do_not_collide_with_those_of_the_harness(tmp_path, monkeypatch):
    (tmp_path / "clash.py").write_text("def generate(x, y): return x, y\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from fuzztui.tools.scaffold.arguments import Argument

    arguments = (Argument("x", TEXT), Argument("y", draw="source.boolean()"))
    names = made(
        generator_text(HarnessCall("clash", "generate", arguments=arguments), TEXT, [b"a"], [])
    )
    assert names["target"]({"x": "a", "y": True}) == ("a", True)


@pytest.mark.parametrize(
    "literal",
    [{"b", "a", 3}, set(), [{2.5, None}], ({1, 2},), {"x": {"b", "a"}, "y": ((),)}, b"x", "é", -1],
)
def test_a_literal_as_source_is_the_same_value(literal):
    assert ast.literal_eval(literal_text(literal)) == literal


WRITES = """
import sys
from pathlib import Path
from fuzztui.tools.scaffold.arguments import TEXT
from fuzztui.tools.scaffold.harness import generator_text
from fuzztui.tools.scaffold.python_targets import python_targets
from fuzztui.tools.scaffold.tree import python_files
for target in python_targets(python_files(Path(sys.argv[1]))):
    if target.call is not None:
        print(generator_text(target.call, TEXT, [b"a"], ["b"]))
"""


def test_two_processes_write_the_same_harness(tmp_path):
    (tmp_path / "mod.py").write_text(CODE + "def parse_all(text: str, words, modes: Mode): ...\n")
    (tmp_path / "test_mod.py").write_text(
        "from mod import parse_all\ndef test_it():\n"
        "    parse_all('x', {'one', 'two', 'three'}, Mode.A)\n"
        "    parse_all('x', [{'four', 'five', 'six'}], Mode.A)\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", WRITES, str(tmp_path)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in range(1, 5)
    }  # fmt: skip
    (text,) = texts
    assert "'three'" in text
