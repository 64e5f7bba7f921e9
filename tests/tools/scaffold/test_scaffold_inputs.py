"""Inputs for a trial, drafts, and the harness that init writes."""

import ast
import random

import pytest
import tomli

from fuzztui.engines.inputs.source import Source
from fuzztui.tools.scaffold.better import text_mutated
from fuzztui.tools.scaffold.files import CampaignDraft, generator_of_tokens, relative, toml_value
from fuzztui.tools.scaffold.inputs import (
    MAX_SEED_BYTES,
    data_files,
    mutated,
    plain_tests,
    seeds_in,
    spread,
    tokens,
)
from fuzztui.tools.scaffold.tree import PythonFile


def file(module: str, text: str) -> PythonFile:
    return PythonFile(None, "", module, ast.parse(text))  # type: ignore[arg-type]


def test_seeds_are_literals_of_tests_those_of_the_function_first():
    tests = file("", "mod.compile('a.b')\nparse(b'xyz')\nother('zzz')\ncompile(name)\nf('\\x00')\n")
    own = file("mod", "compile('not a test')\n")
    assert seeds_in([own, tests], ["compile"]) == [b"a.b", b"xyz", b"zzz"]


PLAIN = """
CASES = [("from a table", 1)]

@pytest.mark.parametrize(("text", "count"), [("first", 1), pytest.param("second", 2)])
def test_parametrized(text, count):
    assert len(parse(text)) == count

class TestMore:
    def test_variable(self):
        source = "of a variable"
        assert parse(source) == "no input"

@pytest.mark.parametrize("x", ["of another function"])
def test_other(x):
    render(x)

@given(st.text())
def test_drawn(text):
    parse(text)
"""


def test_texts_of_plain_tests_that_call_the_function_are_seeds():
    tests = file("", PLAIN)
    found = seeds_in([tests], ["parse"])
    assert {b"first", b"second", b"of a variable", b"from a table"} <= set(found)
    assert not {b"no input", b"of another function", b"text", b"count", b"x"} & set(found)
    assert plain_tests([tests, file("mod", PLAIN)]) == 3


def test_seeds_are_of_all_sizes():
    many = [b"x" * n for n in range(1, 1001)]
    assert spread(many, 2000) == many
    some = spread(many, 10)
    assert len(some) == 10
    assert len(some[0]) < 100
    assert len(some[-1]) > 800
    assert spread(many, 0) == []
    tests = file("", "\n".join(f"parse('{'y' * n}')" for n in range(1, 1001)))
    found = seeds_in([tests], ["parse"])
    assert len(found) < 200
    assert max(map(len, found)) > 800


def test_small_files_of_the_tests_are_inputs_as_many_of_each_kind(tmp_path):
    folder = tmp_path / "tests" / "data"
    folder.mkdir(parents=True)
    for n in range(100):
        (folder / f"{n:03}.toml").write_text(f"a = {n}")
    (folder / "one.json").write_text("[]")
    (folder / "big.json").write_text("x" * (MAX_SEED_BYTES + 1))
    (folder / "empty.json").write_text("")
    (folder / "helper.py").write_text("x = 1")
    (tmp_path / "setup.toml").write_text("not a test's")
    (tmp_path / "tests" / "env").mkdir()
    (tmp_path / "tests" / "env" / "pyvenv.cfg").touch()
    (tmp_path / "tests" / "env" / "other.toml").write_text("not of the project")
    found = data_files(tmp_path)
    assert b"[]" in found
    assert {data[:4] for data in found} == {b"[]", b"a = "}
    assert len(found) < 40


def test_text_mutators_change_texts_repeatably():
    texts = [b"if (a) { b = 1; }\nc(d, e);\n", b"while (x < 10) { x = x + 1; }\n"]
    made = text_mutated(texts, 40)
    assert made == text_mutated(texts, 40)
    assert len(made) == 40
    assert not set(made) & set(texts)
    assert text_mutated([], 40) == []


def test_mutated_inputs_are_repeatable_and_different():
    made = mutated([b"[1, 2]", b'{"a": 3}'], 50, random.Random(1))
    assert made == mutated([b"[1, 2]", b'{"a": 3}'], 50, random.Random(1))
    assert len(set(made)) > 30
    mutated([b""], 50, random.Random(1))  # an empty seed has no parts


def test_tokens_come_from_seeds_and_from_strings_of_the_package():
    code = file("pkg.a", '"""Text that is no token."""\nKEYS = {"let": 1, "x" * 3: 2}\n')
    other = file("other", "x = 'foreign'\n")
    found = tokens([code, other], "pkg", [b"a.b[0]"])
    assert {"a", ".", "b", "[", "0", "]", "let", "x"} <= set(found)
    assert "foreign" not in found
    assert not any("no token" in token for token in found)


@pytest.mark.parametrize("as_bytes", [True, False])
def test_the_generator_joins_tokens(as_bytes):
    names: dict = {}
    exec(generator_of_tokens(["a", "'\"\\", "é\n", "}"], as_bytes=as_bytes), names)
    made = {names["generate"](Source(random.Random(n).randbytes(200), 200, bytes))
            for n in range(20)}  # fmt: skip
    assert len(made) > 10
    assert {type(one) for one in made} == {bytes if as_bytes else str}


def test_a_draft_is_toml_whatever_the_names_are():
    evil = 'a"b\\c\n\x7fé#'
    draft = CampaignDraft(
        "n",
        "zest",
        {"function": "m:f", "include": [evil], "build": "one\ntwo"},
        remarks=["one\ntwo"],
        seed_paths=["seeds"],
    )
    data = tomli.loads(draft.text())
    assert data["target"]["include"] == [evil]
    assert data["target"]["build"] == "one\ntwo\n"
    assert data["engine"] == {"kind": "zest", "instances": 2, "seeds": ["seeds"]}
    assert tomli.loads(f"x = {toml_value([1, True, 'é'])}")["x"] == [1, True, "é"]


def test_a_key_can_be_removed_from_a_draft():
    draft = CampaignDraft("n", "zest", {"function": "m:f", "input": "text"})
    assert draft.with_target(input=None, generator="g:h").target == {
        "function": "m:f", "generator": "g:h",
    }  # fmt: skip


def test_links_of_an_interpreter_are_not_followed(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to("/usr/bin/python3")
    assert relative(tmp_path / "bin" / "python", tmp_path) == "bin/python"
    assert relative(tmp_path, tmp_path / "bin") == str(tmp_path)
