"""Every operator on every construct it knows, and what is left alone."""

from __future__ import annotations

import ast

import pytest
from mutant_lab import Subject

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.mutants.operators import DEFAULT_OPERATORS, OPERATORS
from fuzztui.engines.mutants.program import chosen
from fuzztui.engines.mutants.sites import find_scopes
from fuzztui.engines.mutants.text import ModuleText


def changes(body: str, operator: str, head: str = "def f(a, b, c, self):") -> list[tuple[str, str]]:
    """Before and after of one operator's mutants in a function of this body."""
    lines = "\n".join("    " + line for line in body.splitlines())
    subject = Subject(f"{head}\n{lines}\n", [operator])
    return [(m.before, m.after) for m in subject.program.mutants]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "body", "expected"),
    [
        ("boundary", "a < b", [("a < b", "a <= b")]),
        ("boundary", "a <= b, a > b, a >= b",
         [("a <= b", "a < b"), ("a > b", "a >= b"), ("a >= b", "a > b")]),
        ("boundary", "0 < a <= b == c", [("0 < a <= b == c", "0 <= a <= b == c"),
                                         ("0 < a <= b == c", "0 < a < b == c")]),
        ("boundary", "a == b", []),
        ("increments", "a += 1", [("a += 1", "a -= 1")]),
        ("increments", "a.x[b] -= c", [("a.x[b] -= c", "a.x[b] += c")]),
        ("increments", "a += 'x'\nb += f'{c}'\nc += [1]\na += 'x' + b", []),
        ("increments", "a *= 2", []),
        ("negatives", "-a", [("-a", "a")]),
        ("negatives", "a[-1], -(a + b), - a", [("-1", "1"), ("-(a + b)", "(a + b)"), ("- a", "a")]),
        ("negatives", "-0, +a, ~a, not a", []),
        ("math", "a + b, a - b, a * b, a / b, a // b, a % b",
         [("a + b", "a - b"), ("a - b", "a + b"), ("a * b", "a // b"), ("a / b", "a * b"),
          ("a // b", "a * b"), ("a % b", "a * b")]),
        ("math", "a & b, a | b, a ^ b, a << b, a >> b, a ** b",
         [("a & b", "a | b"), ("a | b", "a & b"), ("a ^ b", "a & b"), ("a << b", "a >> b"),
          ("a >> b", "a << b"), ("a ** b", "a * b")]),
        ("math", "a ** b ** c", [("b ** c", "(b * c)"), ("a ** b ** c", "a * (b ** c)")]),
        ("math", "a *= b\na **= b", [("a *= b", "a //= b"), ("a **= b", "a *= b")]),
        ("math", "a @ b", []),
        ("math", "'x' + a, a + 'x', a + b + 'x', 'x' % a, f'{a}' * 2, [1] + a, [0] * a, b'' + a",
         [("a + b", "a - b")]),
        ("math", "2 * 1, 0 + 0, 2 * 3", [("2 * 3", "2 // 3")]),
        ("math", "(a  # + or -\n  + \\\n b)", [("a # + or - + \\ b", "a # + or - - \\ b")]),
        ("negate", "a == b, a != b, a < b, a >= b, a is b, a is not b, a in b, a not in b",
         [("a == b", "a != b"), ("a != b", "a == b"), ("a < b", "a >= b"), ("a >= b", "a < b"),
          ("a is b", "a is not b"), ("a is not b", "a is b"), ("a in b", "a not in b"),
          ("a not in b", "a in b")]),
        ("negate", "a is  \\\n not b", [("a is \\ not b", "a is b")]),
        ("negate", "a < b < c", [("a < b < c", "a >= b < c"), ("a < b < c", "a < b >= c")]),
        ("negate", "if a and (b or not c): pass", [("a", "not a"), ("b", "not b"), ("c", "not c")]),
        ("negate", "while f(a): break", [("f(a)", "not f(a)")]),
        ("negate", "1 if a else 2", [("a", "not a")]),
        ("negate", "[x for x in a if x.b]", [("x.b", "not x.b")]),
        ("negate", "match a:\n    case -1 if b: pass", [("b", "not b")]),
        ("negate", "if (a := b): pass", [("a := b", "not (a := b)")]),
        ("negate", "if (a if b else c): pass",
         [("b", "not b"), ("a if b else c", "not (a if b else c)")]),
        ("negate", "while True: break", []),
        ("negate", "a and b, not a", [("a", "not a")]),
        ("returns", "return a", [("return a", "return None"), ("return a", "return empty(a)")]),
        ("returns", "return", []),
        ("returns", "return None", []),
        ("returns", "return self", [("return self", "return None")]),
        ("returns", "return 0", [("return 0", "return None")]),
        ("returns", "return 1.5", [("return 1.5", "return None"), ("return 1.5", "return 0.0")]),
        ("returns", "return [a]", [("return [a]", "return None"), ("return [a]", "return []")]),
        ("returns", "return {}", [("return {}", "return None")]),
        ("returns", "return a, b", [("return a, b", "return None"), ("return a, b", "return ()")]),
        ("returns", "return f'{a}'", [("return f'{a}'", "return None"),
                                      ("return f'{a}'", "return ''")]),
        ("returns", "return True", [("return True", "return False")]),
        ("returns", "return a < b", [("return a < b", "return True"),
                                     ("return a < b", "return False")]),
        ("returns", "return not a and isinstance(a, b)",
         [("return not a and isinstance(a, b)", "return True"),
          ("return not a and isinstance(a, b)", "return False")]),
        ("returns", "return (\n    a\n)", [("return ( a )", "return ( None )"),
                                           ("return ( a )", "return ( empty(a) )")]),
        ("void-call", "f(a, *b, x=c)\na.b()", [("f(a, *b, x=c)", "pass"), ("a.b()", "pass")]),
        ("void-call", "a = f(b)\nawait_ = 3", []),
    ],
)  # fmt: skip
def test_changes(operator: str, body: str, expected: list[tuple[str, str]]) -> None:
    assert changes(body, operator) == expected


def test_a_function_that_says_it_returns_bool() -> None:
    found = changes("return f(a)", "returns", "def f(a) -> bool:")
    assert [after for _, after in found] == ["return True", "return False"]


@pytest.mark.parametrize(
    "source",
    [
        "def f(a: 1 + 2 = None, *, b: -3 = None) -> 3 + 4:\n    x: 5 + 6 = a",
        'def f():\n    "docs + docs"\n    assert a < b + 1, -c',
        "if TYPE_CHECKING:\n    x = 1 + 2\n    def f(): return 3",
        "if typing.TYPE_CHECKING: x = 1 + 2",
        "if __name__ == '__main__':\n    main(1 + 2)",
        "__all__ = ['a'] * n",
        "def f(a):\n    match a:\n        case -1 | {'k': -2}: pass\n        case 1 + 2j: pass",
        "if __debug__: pass",
        "Value = int | str",
        "Value = list[A] | B | C",
        "Value = A | B | None",
        "Value: typing.TypeAlias = A | B",
    ],
)
def test_left_alone(source: str) -> None:
    scopes = find_scopes(ast.parse(source), OPERATORS)
    assert [p.changes for s in scopes for p in s.points] == []


@pytest.mark.slow
def test_texts_stay_true_to_the_source() -> None:
    """The cut text parses to what the mutant's tree says, also where operators bind otherwise."""
    source = (
        "def f(a, b, c):\n"
        "    return -a ** b, a ** -b, a - b ** c ** a, a * (b ^ c) & b | c, a - (b) - (c), -(-a)\n"
        "    x = 'ä' if (a)<(b) else [a for b in c if b if not a - -b]\n"
        "    x = a|b&c; y = (a&b); z = (a if b else c), not (a ^ b ^ c), a @ b % c\n"
        "    while a and (yield) and (lambda: b) and not (a if b else c): x = a << b >> c\n"
        "    if (\n        # < in a comment\n        a # >\n        < b): x -= a+-b\n"
    )
    text = ModuleText(source.encode())
    tree = ast.parse(source)
    count = 0
    for scope in find_scopes(tree, OPERATORS):
        for point in scope.points:
            for operator, change in point.changes:
                if operator.name in ("returns", "void-call"):
                    continue  # the operand is evaluated anyway: not in the text
                cut = text.data
                for start, end, new in sorted(change.cuts(text), reverse=True):
                    cut = cut[:start] + new.encode() + cut[end:]
                expected = ast.parse(source)
                _replace_at(expected, point.node, change.make())
                assert ast.dump(ast.parse(cut)) == ast.dump(expected), cut.decode()
                count += 1
    assert count > 40


def _replace_at(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Replace the node that stands where ``old`` does."""

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if ast.dump(node, include_attributes=True) == ast.dump(old, include_attributes=True):
                return new
            return self.generic_visit(node)

    Replace().visit(tree)


def test_inside_f_strings() -> None:
    subject = Subject('def f(a, b):\n    return "é" f"x{a + b!r:>{b - 1}}"\n', ["math"])
    assert [(m.before, m.after) for m in subject.program.mutants] == [
        ("a + b", "a - b"),
        ("b - 1", "b + 1"),
    ]
    diff = subject.program.diff(subject.program.mutants[0])
    assert "a - b" in diff.splitlines()[-1]
    with subject.mutated(subject.program.mutants[0]):
        assert subject.f(3, 2) == "éx1"


def test_operators_are_chosen_by_name() -> None:
    assert [o.name for o in chosen(["math", "boundary"])] == ["boundary", "math"]
    assert "void-call" not in DEFAULT_OPERATORS
    with pytest.raises(CannotStart, match=r'engine.operators: "maths" is not an operator; choose'):
        chosen(["maths"])


def test_diff_is_for_people() -> None:
    source = "\n".join(f"x{i} = {i}" for i in range(5)) + "\ndef f(a):\n    return (a <\n  3)\n"
    subject = Subject(source, ["boundary"])
    (mutant,) = subject.program.mutants
    assert mutant.line == 7
    assert subject.program.diff(mutant) == (
        "--- a/subject.py\n+++ b/subject.py\n@@ -4,5 +4,5 @@\n x3 = 3\n x4 = 4\n def f(a):\n"
        "-    return (a <\n+    return (a <=\n   3)\n"
    )
