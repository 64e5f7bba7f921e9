"""The mutants that rules make, against those of the tool that the rules come from."""

import contextlib
import io
import warnings
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from universalmutator.mutator import mutants_regexp

from fuzztui.features.fuzzfirst.keys import LANGUAGES
from fuzztui.features.fuzzfirst.source_mutants.apply import changed_lines
from fuzztui.features.fuzzfirst.source_mutants.generate import language_of, read_source, rules_of

ROOT = Path(__file__).parents[3]
SOURCES = [
    *sorted((ROOT / "sample_campaigns").rglob("*.[ch]")),
    *sorted((ROOT / "sample_campaigns").glob("*.py")),
    *sorted((ROOT / "fuzztui/mutants").glob("*.py")),
    *sorted((ROOT / "fuzztui/run/afl").glob("*.[ch]")),
]
PARTS = [
    "if (a<b)", "while(x)", "return 1;", " ", '"', '"ab"', " && b", "||", "*/", "/*", "//", "+ 1",
    "- 22", "=", ";", "{", "}", "{-", "-}", "else", "\t", "(", ")", "@BEGIN_TEST_CODE",
    "@END_TEST_CODE", "store_uint(1 + 2 + 3 + 4 + 5)", "0x1F", "x++", "--y", "!z", "true", "é",
    "\\", "def f():", "  pass", "#include", "fn ", "let mut", "self.x", "[0]", "==", "->", ".c",
    "break", "continue", "assert",
]  # fmt: skip
LINE = st.lists(st.sampled_from(PARTS), max_size=9).map("".join)


def theirs(lines, files):
    with contextlib.redirect_stdout(io.StringIO()):
        found = mutants_regexp(
            [f"{line}\n" for line in lines], files, ignorePatterns=[], ignoreStringOnly=True
        )
    return [(n, after.removesuffix("\n"), rule.strip()) for n, after, (rule, _), _ in found]


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_mutants_of_a_source_are_the_tools(source):
    lines, files = read_source(source), rules_of(language_of(source))
    found = list(changed_lines(lines, files))
    assert found
    assert found == theirs(lines, files)


@pytest.mark.parametrize("language", ["none", *LANGUAGES])
@given(st.lists(LINE, max_size=8))
@settings(max_examples=examples(20), deadline=None)
def test_mutants_of_any_lines_are_the_tools(language, lines):
    files = rules_of(language)
    assert list(changed_lines(lines, files)) == theirs(lines, files)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_file_is_there_and_good(language):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(changed_lines(["x = (a + 1) < b1;"], rules_of(language)))
