"""``fuzztui mutants rank``."""

import json
import shutil
from pathlib import Path

import pytest

from fuzztui.cli import main
from fuzztui.cli.mutants_rank import parse_lines, shown_change, table
from fuzztui.cli.output import DONE, FAILED, USAGE, CliError
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant

CRATE = str(Path(__file__).parents[2] / "sample_campaigns/crate.c")


def test_as_json(cli):
    rows = cli("mutants", "rank", CRATE, "--limit", "30", "--json").json["mutants"]
    assert [row["rank"] for row in rows] == list(range(1, 31))
    assert rows[0]["distance"] is None
    distances = [row["distance"] for row in rows[1:]]
    assert distances == sorted(distances, reverse=True)
    assert {*rows[0]} == {
        "rank", "id", "file", "line", "operator", "before", "after", "distance", "compiles",
    }  # fmt: skip
    assert len({row["id"] for row in rows}) == 30


@pytest.mark.slow
def test_orders(capsys):
    def ids(*words):
        assert main(["mutants", "rank", CRATE, "--json", *words]) == DONE
        return [row["id"] for row in json.loads(capsys.readouterr().out)["mutants"]]

    ways = [
        ids(),
        ids("--seed", "1"),
        ids("--order", "universalmutator"),
        ids("--order", "random"),
        ids("--order", "random", "--seed", "1"),
    ]
    assert len({tuple(way) for way in ways}) == 5
    assert len({frozenset(way) for way in ways}) == 1
    assert ids("--order", "random") == ways[3]


def test_as_a_table(cli):
    said = cli("mutants", "rank", CRATE, "--limit", "3", "--lines", "20-30")
    assert len(said.out.splitlines()) == 3
    assert all("crate.c:2" in row or "crate.c:30" in row for row in said.out.splitlines())
    assert "3 of" in said.err


def test_what_is_wrong_is_said(cli, tmp_path):
    for words, code, why in [
        ([str(tmp_path / "none.c")], USAGE, "none.c: there is no such file"),
        ([str(tmp_path)], USAGE, "is a directory"),
        ([CRATE, "--language", "klingon"], USAGE, "--language 'klingon' is unknown; choose"),
        ([CRATE, "--lines", "9-3"], USAGE, "--lines 9-3: '9-3' is not a line or a range"),
        ([CRATE, "--lines", "1"], FAILED, "there are no mutants in lines 1"),
    ]:
        assert why in cli("mutants", "rank", *words, code=code).err


NEEDS_CC = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def test_only_what_compiles(cli, capsys, tmp_path):
    (tmp_path / "a.py").write_text("def f(x, y):\n    return (x + y) * 2\n")
    said = cli("mutants", "rank", tmp_path / "a.py", "--check", "--json")
    rows = json.loads(said.out)["mutants"]
    assert len(rows) > 5
    assert {row["compiles"] for row in rows} == {True}
    for row in rows:
        lines = ["def f(x, y):", "    return (x + y) * 2"]
        lines[row["line"] - 1] = row["after"]
        compile("\n".join(lines), "a.py", "exec")
    (tmp_path / "bad.py").write_text("def f(:\n")
    assert main(["mutants", "rank", str(tmp_path / "bad.py"), "--check"]) == USAGE
    assert "the original does not compile: invalid syntax" in capsys.readouterr().err
    (tmp_path / "a.go").write_text("package a\n\nvar x = 1 + 2\n")
    assert main(["mutants", "rank", str(tmp_path / "a.go"), "--check"]) == USAGE
    assert "no compiler for .go was found" in capsys.readouterr().err


@pytest.mark.slow
@NEEDS_CC
@pytest.mark.parametrize("order", ["fpf", "random", "universalmutator"])
def test_only_what_a_c_compiler_takes(cli, capsys, tmp_path, order):
    (tmp_path / "two.h").write_text("#define TWO 2\n")
    body = "int f(int x) {\n    if (x > TWO)\n        return 1;\n    return x + 2;\n}\n"
    (tmp_path / "a.c").write_text(f'#include "two.h"\n{body}')
    words = ["mutants", "rank", str(tmp_path / "a.c"), "--json", "--order", order]
    some = cli(*words, "--check", "--limit", "15").json["mutants"]
    whole = cli(*words, "--check-with", "cc -fsyntax-only -w -x c -").json["mutants"]
    assert [row["id"] for row in some] == [row["id"] for row in whole][:15]
    assert "false ended with status 1" in cli(*words, "--check-with", "false", code=USAGE).err
    assert main([*words, "--check-with", "no-such-compiler -x"]) == USAGE
    assert "no-such-compiler -x: No such file" in capsys.readouterr().err


def test_lines():
    assert parse_lines("") == set()
    assert parse_lines("3, 5-7,6") == {3, 5, 6, 7}
    for bad in ("x", "0", "1-99999999999", "-3"):
        with pytest.raises(CliError):
            parse_lines(bad)


def test_a_change_is_shown_where_it_is_and_harmless():
    before, after = (
        "int value = compute(first, second) + 1;",
        "int value = compute(first, second) - 1;",
    )
    text = shown_change("  " + before, "  " + after)
    assert text == "…st, second) + 1;  ->  …st, second) - 1;"
    (row,) = table([(SourceMutant("", "\x1b[2Ja.c", 1, "", "\x1b[31m[/x]", "b\n"), -1.0)], 60)
    assert "\x1b" not in row and "\n" not in row
    assert len(row) <= 60
