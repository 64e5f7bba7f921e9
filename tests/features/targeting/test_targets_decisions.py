"""Code targets and their cells."""

import ast
import textwrap

from fuzztui.features.targeting.analysis.decisions import decisions


def arms(text):
    """Location, cells and cells of the block around, of each arm; lists for JSON-like looks."""
    found = decisions(ast.parse(textwrap.dedent(text).lstrip("\n")))
    return {(a.line, a.column, a.kind): (a.cells, a.within) for d in found for a in d.branches}


def test_both_arms_of_an_if():
    assert arms("""
        def f(x):
            y = x()
            if y():
                return 1
    """) == {(3, 7, "then"): ([1], [0]), (3, 7, "else"): ([2], [0])}


def test_a_block_that_begins_with_an_if_has_the_cells_of_its_arms():
    found = arms("""
        def f(x, y):
            if x:
                if y:
                    return 1
            return 2
    """)
    # No entry probe, none of the outer "then": the inner arms tell.
    assert found[2, 7, "then"] == ([0, 1], [0, 1, 2])
    assert found[2, 7, "else"] == ([2], [0, 1, 2])
    assert found[3, 11, "then"] == ([0], [0, 1])
    assert found[3, 11, "else"] == ([1], [0, 1])


def test_behind_an_arm_that_leaves_is_the_other_arm():
    found = arms("""
        def f(x, y):
            x()
            if x == 1:
                return 1
            elif x == 2:
                raise KeyError
            if y:
                x()
            else:
                return 3
            return [z for z in y if z]
    """)
    first, second = found[3, 7, "else"][0], found[5, 9, "else"][0]
    assert first == found[5, 9, "then"][0] + second
    assert found[5, 9, "then"][1] == first
    assert found[7, 7, "then"][1] == found[7, 7, "else"][1] == second
    assert found[11, 28, "kept"][1] == found[7, 7, "then"][0]


def test_what_leaves_may_be_caught():
    found = arms("""
        def f(x, y):
            try:
                x()
                if x:
                    raise KeyError
                if y:
                    x()
            except KeyError:
                pass
            with x:
                if y:
                    raise KeyError
            for z in y:
                if z:
                    continue
                if x:
                    return 2
            if y:
                x()
    """)
    entry = found[4, 11, "then"][1]
    assert found[6, 11, "then"][1] == found[4, 11, "else"][0]
    assert found[11, 11, "then"][1] == found[18, 7, "then"][1] == entry
    assert found[16, 11, "then"][1] == found[14, 11, "else"][0]


def test_elif_is_the_else():
    found = arms("""
        def f(x, y):
            if x:
                return 1
            elif y:
                return 2
            return 3
    """)
    assert found[2, 7, "else"][0] == [1, 2]
    assert found[4, 9, "then"] == ([1], [1, 2])


def test_every_construct():
    found = arms("""
        async def f(xs, y):
            async for x in xs:
                if x and y() or not x:
                    break
            else:
                y = 1
            while y():
                return 1
            try:
                y()
            except ValueError:
                y = 2
            except OSError:
                y = 3
            else:
                y = 4
    """)
    assert sorted(found) == [
        (2, 14, "exit"), (2, 14, "loop"), (3, 11, "else"), (3, 11, "then"), (3, 17, "and"),
        (3, 24, "or"), (7, 10, "exit"), (7, 10, "loop"), (11, 4, "except"), (13, 4, "except"),
        (16, 8, "no-except"),
    ]  # fmt: skip


def test_match_comprehension_lambda_and_choice():
    found = arms("""
        def f(x):
            match x():
                case 1:
                    return 2
                case int() if x:
                    return 3
            g = lambda y: y() if y else 0
            return [z for z in x if z() if z]
    """)
    assert [(line, kind) for line, _, kind in found] == [
        (3, "case"), (5, "case"), (2, "no-case"), (7, "then"), (7, "else"), (8, "kept"),
    ]  # fmt: skip


def test_what_runs_at_import_is_no_target():
    assert (
        arms("""
        import sys
        if sys.argv:
            x = 1 if sys.path else 2
        class C:
            y = [z for z in x if z]
    """)
        == {}
    )


def test_arms_of_one_branch_are_together():
    (branch, nested) = decisions(ast.parse("def f(x):\n  x()\n  if x and x():\n    pass\n"))
    assert [[a.kind for a in d.branches] for d in (branch, nested)] == [["then", "else"], ["and"]]
    assert branch.function == nested.function == "f"
