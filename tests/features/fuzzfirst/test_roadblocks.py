"""Conditions at which a corpus gets no further, what they hide, and the mutants that open them."""

import asyncio
import json
import shutil
import tracemalloc
from pathlib import Path

import pytest

from fuzztui.features.fuzzfirst.conditions import mutants_by_roadblock
from fuzztui.features.fuzzfirst.ranking_process import main as rank
from fuzztui.features.fuzzfirst.reach import (
    BuildReach,
    python_functions,
    python_lines,
    reach_by_gcov,
)
from fuzztui.features.fuzzfirst.roadblocks import Roadblocks, SourceLayout
from fuzztui.features.fuzzfirst.source_mutants.rank import RankingGroup, rank_by_group
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant, code_of
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, prepare_run

GUARDS = Path(__file__).parents[2] / "helpers/guards.c"

needs_gcov = pytest.mark.skipif(
    not (shutil.which("gcov") and shutil.which("afl-fuzz")), reason="gcov or afl++ is missing"
)


def numbered(source: str) -> tuple[list[str], dict[str, set[int]]]:
    """A source, and the lines by what stands at their ends: + executed, - not executed, ? both.

    A line with ?+ is a condition of which one branch was never taken.
    """
    lines, marks = [], {"+": set(), "-": set(), "?": set()}
    for number, line in enumerate(source.strip("\n").split("\n"), 1):
        text, _, mark = line.partition(" @")
        lines.append(text)
        for sign in mark:
            marks[sign].add(number)
    return lines, marks


def found(source: str, functions=(), *, python: bool = False, more=None):
    """The roadblocks of one file: line, hidden lines, whether the condition must be met."""
    lines, marks = numbered(source)
    reach = BuildReach(
        {"a": [*functions] or [("f", 1, len(lines))]},
        {"a": marks["+"]},
        {"a": marks["+"] | marks["-"]},
        {"a": marks["?"]},
    )
    layout = SourceLayout(lines, python=python)
    rows = Roadblocks(reach, {"a": layout}).find()
    return [(r.line, r.hides, r.met, sorted(r.leaving)) for r in rows]


def test_the_branch_below_a_condition():
    assert found("""
int f(int n) { @+
    if (n > 3 && @+?
        n < 9) { @+?
        deep(n); @-
        deeper(n); @-
    }
    if (n) @+
        n++; @+
    return n; @+
}
""") == [(2, 2, True, [])]


def test_a_brace_on_a_line_of_its_own_belongs_to_the_branch():
    assert found("""
int f(int n)
{ @+
    if (n > 3) @+?
    { @-
        deep(n); @-
    }
    return n; @+
}
""") == [(3, 2, True, [])]


def test_what_comes_after_an_early_return():
    assert found("""
int f(int n) { @+
    if (n == 5) @+
        n = 4; @+
    if (bad(n)) { @+?
        report(n); @+
        goto out; @+
    }
    n = more(n); @-
    if (n) @-
        n++; @-
out:
    return n; @+
}
""") == [(4, 3, False, [6])]


def test_an_early_return_in_the_line_of_its_condition():
    assert found("""
int f(int n) { @+
    if (bad(n)) return 1; @+?
    return 0; @-
}
""") == [(2, 1, False, [2])]


def test_the_other_branch_and_a_condition_within_the_first():
    assert found("""
void f(int n) { @+
    if (n > 3) { @+?
        if (n == 4) n++; @+?
        use(n); @+
    } else {
        /* if (n) */
        other(n); @-
    }
    use(n); @+
}
""") == [(2, 1, False, [])]


def test_the_rest_of_a_loop_and_what_comes_after_the_loop():
    """Found at the innermost condition: without it, the rest of the loop is executed."""
    assert found("""
int f(int n) { @+
    for (;;) { @+?
        if (n++ > 3) @+?
            return 1; @+
        use(n); @-
    }
    return 0; @-
}
""") == [(3, 2, False, [4])]


def test_cases_of_a_switch():
    gnu = """
void f(int n) { @+
    switch (n) @+?
      {
      case 1:
        if (n) use(n); @+?
        break; @+
      case 2:
        other(n); @-
      default:
        other(n); @-
      }
}
"""
    assert found(gnu) == [(2, 2, False, [6])]


def test_a_line_that_no_condition_hides():
    """A function that is called before it did not return."""
    assert (
        found("""
void f(int n) { @+
    if (n) @+
        use(n); @+
    dies(n); @+
    use(n); @-
}
""")
        == []
    )


def test_functions_that_were_never_entered_count_with_what_they_call():
    source = """
void g(void) { @-
    h(); @-
}
void h(void) { @-
} @-
void other(void) { @-
}
void f(int n) { @+
    if (n == 77) g(); @+?
    if (n == 99) { @+?
        x::h(); @-
    }
}
"""
    functions = [("g()", 1, 3), ("x::h(int)", 4, 5), ("other", 6, 7), ("f", 8, 13)]
    assert found(source, functions) == [(9, 4, True, []), (10, 3, True, [])]


def test_a_function_inside_another_counts_once():
    source = """
def f(n):  # 1
    if n == 7:
        outer(n)

def outer(n):  # 5
    def inner():
        g()
        return n
    return inner()
"""
    lines = source.strip("\n").split("\n")
    reach = BuildReach(
        {"a": [("f", 1, 3), ("outer", 5, 9), ("outer.inner", 6, 8)]},
        {"a": {1, 2}},
        {"a": {2, 3, 6, 7, 8, 9}},
        {"a": {2}},
    )
    layouts = {"a": SourceLayout([*lines, "inner()"], python=True)}
    (one,) = Roadblocks(reach, layouts).find()
    assert (one.line, one.hides) == (2, 5)


def test_many_conditions_in_front_of_much_code_need_little_memory():
    """If each kept its lines, these were 200,000: more than 15 MB."""
    many, body = 200, 10
    lines = ["int f(int n) {", *(f"    if (n == {i}) f{i}();" for i in range(many)), "}"]
    functions = [("f", 1, len(lines))]
    for i in range(many):
        first = len(lines) + 1
        lines += [f"void f{i}(void) {{", f"    f{i + 1}();", *["    use();"] * (body - 2)]
        functions.append((f"f{i}", first, len(lines)))
    every = set(range(1, len(lines) + 1))
    decisions = set(range(2, many + 2))
    reach = BuildReach({"a": functions}, {"a": {1, *decisions}}, {"a": every}, {"a": decisions})
    layouts = {"a": SourceLayout(lines, python=False)}
    tracemalloc.start()
    found = Roadblocks(reach, layouts).find()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(r.line, r.hides) for r in found] == [(i + 2, body * (many - i)) for i in range(many)]
    assert peak < 3 << 20


def test_python():
    source = '''
class A:
    def f(self, n):
        """if n: return"""
        if (n and
                n > 3):
            return 1
        for x in n:
            x.g()
            if x:
                continue
            assert x == 3
            x.h()
        return 0

    def h(self):
        return 5
'''.strip("\n")
    statements, decisions = python_lines(source.encode())
    assert statements == {4, 6, 7, 8, 9, 10, 11, 12, 13, 16} and decisions == {4, 7, 9, 11}
    reach = BuildReach(
        {"a": python_functions(source.encode())},
        {"a": {2, 4, 5, 7, 8, 9, 10, 13, 15}},
        {"a": statements},
        {"a": decisions},
    )
    layouts = {"a": SourceLayout(source.split("\n"), python=True)}
    assert [(r.line, r.hides, r.met, [*r.leaving]) for r in Roadblocks(reach, layouts).find()] == [
        (9, 3, False, [10]),  # x.h() with the line of h
        (4, 1, True, []),
    ]


def test_comments_literals_and_labels_are_no_code():
    c = ["if (a) // if (", """x = "(" + '(';""", "out:", "default:"]
    c += ["#define F(x) ( \\", "  ((", "y /* (", "( */ z"]
    assert [line.rstrip() for line in code_of(c, python=False)] == [
        "if (a)", "x =     +    ;", "", "default:", "", "", "y", "     z",
    ]  # fmt: skip
    python = ['x = """(', '(""" + y  # (', "else:", "'#' + z"]
    assert [line.rstrip() for line in code_of(python, python=True)] == [
        "x =", "     + y", "else:", "    + z",
    ]  # fmt: skip


def kinds(before: str, *afters: str, met: bool, python: bool = False) -> str:
    """For each mutant of a condition: o if it opens the roadblock, c if it changes it, else -.

    Unless the condition must be met, an early return follows: its changes are those of line 2.
    """
    lines = [before, "    z();"] if met else [before, "    return 1;", "z();"]
    changes = [(1, before, after) for after in afters]
    if not met:
        delete = "    pass" if python else "    /*return 1;*/"
        changes += [(2, lines[1], delete), (2, lines[1], "    return 0;")]
    mutants = [
        SourceMutant(str(n), "a", line, "", old, new) for n, (line, old, new) in enumerate(changes)
    ]
    layouts = {"a": SourceLayout(lines, python=python)}
    executed = set(range(1, len(lines)))
    reach = BuildReach(
        {"a": [("f", 1, 3)]}, {"a": executed}, {"a": {*executed, len(lines)}}, {"a": {1}}
    )
    (roadblock,) = Roadblocks(reach, layouts).find()
    assert (roadblock.met, roadblock.hides) == (met, 1)
    (group,) = mutants_by_roadblock(mutants, [roadblock], layouts)
    sets = {"o": group.better, "c": group.others}
    return "".join(
        next((kind for kind, those in sets.items() if n in those), "-") for n in range(len(mutants))
    )


def test_mutants_of_a_condition_that_leaves():
    some = "if (!(a != b))", "if (a == b)", "if (0==1)", "if (1==1)", "if (a < b)", "if (a != 0)"
    others = "/*if (a != b)*/", "if (a != b)\nbreak;"
    assert kinds("if (a != b)", *some, *others, met=False) == "oooccc" + "c-" + "o-"


def test_mutants_of_a_condition_that_must_be_met():
    before = "} else if (a == 1 && x[2] > 3) {"
    some = "} else if (!(a == 1 && x[2] > 3)) {", "} else if (1==1) {", "} else if (0==1) {"
    others = "} else if (a != 1 && x[2] > 3) {", "}  if (a == 1 && x[2] > 3) {"
    assert kinds(before, *some, *others, met=True) == "ooc" + "c-"
    assert kinds("if (a)", "/*if (a)*/", met=True) == "o"
    assert kinds("if (a) b();", "/*if (a) b();*/", met=True) == "c"


def test_mutants_of_loops_and_of_what_has_no_keyword():
    assert kinds("while (!a)", "while (a)", "while (!(!a))", "if (!a)", met=True) == "oo-"
    assert kinds("while(!a)", "if(!a)", met=True) == "-"
    loop = "for (i = 0; i < n; i++)"
    assert kinds(loop, "for (i = 0; i >= n; i++)", "for (i = 1; i < n; i++)", met=True) == "oc"
    assert kinds("CHECK(a, 1);", "CHECK(a, 2);", met=False) == "co-"


def test_mutants_of_python_conditions():
    some = "if not (a == 1 or b):", "if a != 1 or b:", "if a == 1 and b:", "if a == 1 or b:\nbreak"
    assert kinds("if a == 1 or b:", *some, met=False, python=True) == "occ-" + "o-"
    assert kinds("if not a:", "if a:", "if not not a:", met=True, python=True) == "oc"
    assert kinds("elif x[1:2] < n:", "elif x[1:2] >= n:", met=True, python=True) == "o"


def test_a_group_after_the_other_then_by_weight():
    mutants = [SourceMutant(str(n), "a", n + 1, "", f"{n:b}", f"{n:b}.") for n in range(12)]
    groups = [RankingGroup(9, [4], [0, 1, 2, 3]), RankingGroup(3, [], [5, 6]), RankingGroup(2, [7])]
    order = [p.index for p in rank_by_group(mutants, groups)]
    assert sorted(order) == [*range(12)]
    assert order[:3] == [4, 5, 7] or order[:3] == [4, 6, 7]
    assert {*order[3:5]} < {0, 1, 2, 3}  # 9/2 and 9/3, before 9/4 and 3/2
    assert {*order[:8]} == {*range(8)}
    refused = [p.index for p in rank_by_group(mutants, groups, accept=lambda n: n not in (4, 7))]
    assert sorted(refused) == [0, 1, 2, 3, 5, 6, 8, 9, 10, 11]
    assert refused[0] in (0, 1, 2, 3) and refused[1] in (5, 6)


@pytest.fixture
def reached(tmp_path):
    """What an ordinary input reaches in guards.c, which a campaign in c.toml has as its target."""
    (tmp_path / "src").mkdir()
    shutil.copy(GUARDS, tmp_path / "src")
    (tmp_path / "c.toml").write_text(
        f"""
[campaign]
budget = "1h"
output = "{tmp_path}/run"
[target]
command = ["./guards"]
source = "src"
build = "$CC $SOURCE/guards.c -o guards"
[engine]
kind = "afl"
[mutants]
sources = ["guards.c"]
order = "roadblocks"
listed = 12
"""
    )
    campaign = load(tmp_path / "c.toml").campaign
    prepare_run(campaign.output)
    run_dir = RunDir(campaign.output)
    run_dir.mutants.mkdir()
    (seed := tmp_path / "seed").write_bytes(b"some ordinary input")
    return asyncio.run(reach_by_gcov(campaign, run_dir, tmp_path / "src", [seed]))


@needs_gcov
def test_the_mutant_that_opens_each_guard_is_among_the_first_dozen(reached, tmp_path, capsys):
    """A magic number, a checksum, a table of lengths, a state: each with other hidden lines."""
    lines = GUARDS.read_text().split("\n")
    words = "sum == b", "state != 3", "b[row] < end", "memcmp"
    guards = [next(n for n, line in enumerate(lines, 1) if word in line) for word in words]
    assert {*guards} < reached.decisions["guards.c"]
    file = tmp_path / "reach.json"
    file.write_text(json.dumps(reached.to_json()))
    sources = json.dumps([("guards.c", "")])
    assert rank([str(tmp_path / "c.toml"), str(tmp_path / "src"), sources, str(file), ""]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    first = [row["mutant"] for row in said if "mutant" in row]
    assert len(first) == 12
    assert [m["roadblock"] for m in first[:4]] == guards
    assert [m["hides"] for m in first[:4]] == [9, 7, 4, 3]
