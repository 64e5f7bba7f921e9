"""Mutants of source files, as universalmutator's rules make them."""

import os
import re
from pathlib import Path

import pytest

from fuzztui.features.fuzzfirst.source_mutants.generate import (
    Generated,
    MutantError,
    generate,
    language_of,
    rules_of,
)
from fuzztui.features.fuzzfirst.source_mutants.pragmas import excluded_lines

C = """\
#include <stdio.h>
int sign(int n) {
    if (n < 0)
        return -1;
    return n > 0;
}
"""


@pytest.fixture
def source(tmp_path):
    def write(text, name="a.c"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_each_changes_its_line_and_nothing_else(source):
    lines = C.splitlines()
    found = generate(source(C), name="sub/a.c")
    assert len(found.mutants) > 20
    for m in found.mutants:
        assert m.before == lines[m.line - 1] != m.after
        assert re.fullmatch(r"sub/a\.c#[0-9a-f]{10}", m.id)
        assert m.file == "sub/a.c"
        assert "==>" in m.operator
    assert len({m.id for m in found.mutants}) == len(found.mutants)
    assert any(m.after == "    if (!(n < 0))" for m in found.mutants)
    assert not any(m.line == 1 for m in found.mutants), "rules spare includes"


def test_ids_last_while_other_lines_change(source):
    before = {m.id: m.after for m in generate(source(C)).mutants}
    longer = C.replace("int sign", "static int more(void) { return 7; }\nint sign")
    after = {m.id: (m.line, m.after) for m in generate(source(longer)).mutants}
    assert before.items() <= {id: text for id, (_, text) in after.items()}.items()


def test_equal_lines_have_mutants_of_their_own(source):
    found = generate(source("int a(int x) {\n    return x + 1;\n    return x + 1;\n}\n"))
    ids = [m.id for m in found.mutants if m.line in (2, 3)]
    assert len(ids) == len(set(ids)) > 10


def test_what_differs_in_blanks_only_is_counted_and_dropped():
    found = generate(Path(__file__).parents[3] / "sample_campaigns/crate.c")
    looks = [(m.line, " ".join(m.after.split())) for m in found.mutants]
    assert len(looks) == len(set(looks))
    assert found.blank > 0


def test_lines_restrict_and_do_not_rename(source):
    whole = generate(source(C)).mutants
    some = generate(source(C), lines={3, 4}).mutants
    assert some == [m for m in whole if m.line in (3, 4)]


def test_several_files_are_one_list(source):
    out = Generated()
    generate(source(C, "a.c"), name="a.c", into=out)
    generate(source("def f(x):\n    return x + 1\n", "b.py"), name="b.py", into=out)
    assert {m.file for m in out.mutants} == {"a.c", "b.py"}


@pytest.mark.parametrize(
    "data", [C.replace("\n", "\r\n").encode(), C.encode()[:-1], C.encode() + b"// \xff\xfe\n", b""]
)
def test_odd_files(source, data):
    for m in generate(source(data)).mutants:
        assert "\r" not in m.before + m.after
        assert not m.after.endswith("\n")


def test_a_file_that_cannot_be_mutated_says_why(source, tmp_path):
    with pytest.raises(MutantError, match="there is no such file"):
        generate(tmp_path / "none.c")
    with pytest.raises(MutantError, match="is a directory"):
        generate(tmp_path)
    os_fifo = tmp_path / "fifo.c"
    os.mkfifo(os_fifo)
    with pytest.raises(MutantError, match="not a regular file"):
        generate(os_fifo)


def test_languages(tmp_path):
    assert language_of(tmp_path / "x.CC") == "cpp"
    assert language_of(tmp_path / "x.unknown") == "none"
    assert rules_of("c") == ["universal.rules", "c.rules", "c_like.rules"]
    assert rules_of("python") == ["universal.rules", "python.rules"]
    assert rules_of("none") == ["universal.rules", "none.rules"]


def test_nothing_is_printed(source, capsys):
    generate(source(C))
    assert capsys.readouterr().out == ""


PRAGMAS = """\
int sign(int n) {
    if (n < 0)  // pragma: no mutate: a guard
        return -1;
    if (n > 9) { /* pragma: no mutate: large numbers */
        n = n - 1;
        if (n) { n = 1; }
    }
    const char *text = "// pragma: no mutate";
    return n > 0;
}
"""


def test_pragmas_exclude_a_line_or_the_block_that_a_brace_opens(source):
    found = generate(source(PRAGMAS), name="a.c")
    reasons = {(m.line, m.excluded) for m in found.excluded}
    assert {(2, "a guard"), (5, "large numbers"), (6, "large numbers")} <= reasons
    assert {line for line, _ in reasons} <= {2, 4, 5, 6, 7}
    assert {m.line for m in found.mutants} >= {1, 3, 9}
    assert not {m.line for m in found.mutants} & {2, 4, 5, 6, 7}


@pytest.mark.parametrize(
    ("words", "lines"),
    [("/* pragma: no mutate: a */ {", {2}), ("{ // PRAGMA: NO MUTATE: a", {2, 3, 4})],
)
def test_only_a_pragma_after_the_brace_is_of_the_block(words, lines):
    text = ["int f(int n) {", f"    if (n > 1) {words}", "        n = n + 1;", "    }", "}"]
    assert set(excluded_lines(text, python=False)) == lines


def test_pragmas_of_python_are_read_by_pythons_rules(source):
    text = "def f(a):  # pragma: no mutate: why\n    return a + 1\nx = 1 + 1\n"
    found = generate(source(text, "a.py"))
    assert {m.line for m in found.excluded} == {1, 2}
    assert {m.line for m in found.mutants} == {3}


def test_a_pragma_without_a_reason_is_refused(source):
    with pytest.raises(MutantError, match=r"a\.c:2: .*write pragma: no mutate: REASON"):
        generate(source("int a;\nint b = 1; // pragma: no mutate\n"))
