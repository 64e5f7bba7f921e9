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
