"""Python programs from choices, and what pyflakes says about them.

The programs parse, nearly always; what they are full of is what pyflakes looks for:
names that are unused, undefined, shadowed or bound twice, in every kind of scope.
"""

import ast

from pyflakes.checker import Checker

NAMES = ["a", "b", "c", "x", "f", "T", "self"]
MODULES = ["os", "os.path", "sys", "a", "typing", "collections.abc", "a.b.c"]
TYPES = ["int", "T", "'T'", "List[int]", "'List[a]'", "Optional['x']", "'a b'", "a.b", "None",
         "Literal['a b']", "Annotated[int, 'a b']", "dict[str, 'c']", "int | 'x'"]  # fmt: skip
CONSTANTS = ["0", "1", "-1", "2.5", "''", "'a'", "b'a'", "None", "True", "...", "()", "'x y'"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "@", "<<", "|", "&", "^"]
COMPARE = ["<", "==", "!=", ">=", "is", "is not", "in", "not in"]
BRACES = ["{}", "{0}", "{1}", "{a}", "{b.c}", "{0[1]}", "{:{}}", "{!r}", "{!z}", "{", "{{}}", "%"]
PERCENTS = ["%s", "%d", "%(a)s", "%(b)r", "%*d", "%.*f", "%%", "%y", "%", "%-5.2f", "%(a)", "%ld"]
PATTERNS = ["a", "1 | 2", "[a, *x]", "{'a': b, **c}", "f(a, x=b)", "T.x", "(1 as f)", "_"]
SPECIAL = [
    "__all__ = ['a', 'f', 'nothing']",
    "__all__ += ['x']",
    "__all__ = ['a'] + ['b'] + c.__all__",
    "__all__: list = ['a']",
    "__file__, __name__, __path__, __module__, __debug__, WindowsError",
    "locals()",
    "raise NotImplemented",
    "raise NotImplemented('x')",
    "assert (a, 'always true')",
    "print >> x",
    "from __future__ import annotations",
    "from __future__ import nothing",
    "T = TypeVar('T', bound='a')",
    "T = cast('a', b)",
    "T = NamedTuple('T', [('a', 'x')])",
    "T = TypedDict('T', {'a': 'b'}, total=False)",
]


def check(text: str) -> list[tuple[str, int, int, str]]:
    """What pyflakes reports, with doctests, in the order of its own command line."""
    found = Checker(ast.parse(text), "program.py", withDoctest=True).messages
    return [
        (type(m).__name__, m.lineno, m.col, m.message % m.message_args)
        for m in sorted(found, key=lambda m: m.lineno)
    ]


def program(r) -> str:
    lines = []
    if r.below(4) == 0:
        lines.append(r.choose(["from typing import *", "import typing", "from typing import cast",
                               "from typing import List, TypeVar, overload"]))  # fmt: skip
    lines += block(r, 2)
    return "\n".join(lines) + "\n"


def block(r, depth: int) -> list[str]:
    """The lines of some statements, not indented."""
    return [line for _ in r.more(1, 6, continues=0.4) for line in statement(r, depth)]


def body(r, depth: int) -> list[str]:
    return ["    " + line for line in block(r, depth)]


def statement(r, depth: int) -> list[str]:
    if depth <= 0 or r.below(5) < 3:
        return [simple(r)]
    return r.choose(COMPOUND)(r, depth - 1)


# ------------------------------------------------------------------ on one line


def simple(r) -> str:
    match r.below(16):
        case 0 | 1:
            return imports(r)
        case 2 | 3:
            return f"{target(r)} = {expression(r, 2)}"
        case 4:
            return f"{name(r)} {r.choose(['+', '-', '|', '//'])}= {expression(r, 1)}"
        case 5:
            return f"{name(r)}: {r.choose(TYPES)}" + (f" = {expression(r, 1)}" * r.below(2))
        case 6:
            return f"del {r.choose(['a', 'b', 'x, c', 'a.b', 'x[0]', '(a, b)'])}"
        case 7:
            return f"return {expression(r, 2)}"
        case 8:
            return r.choose(["pass", "break", "continue", "return", "raise", "yield", "..."])
        case 9:
            return f"{r.choose(['global', 'nonlocal'])} {name(r)}, {name(r)}"
        case 10:
            return r.choose(SPECIAL)
        case 11:
            return f"assert {expression(r, 1)}, {expression(r, 1)}"
        case 12:
            return f"raise {expression(r, 1)}" + (f" from {name(r)}" * r.below(2))
        case 13:
            return f"{name(r)} = {r.choose(['yield', 'await', 'yield from'])} {name(r)}"
        case _:
            return expression(r, 3)


def imports(r) -> str:
    match r.below(6):
        case 0:
            return f"import {r.choose(MODULES)}"
        case 1:
            return f"import {r.choose(MODULES)} as {name(r)}"
        case 2:
            return f"from {r.choose(MODULES)} import {name(r)}, {name(r)}"
        case 3:
            return f"from {r.choose(['', '.', '..'])}{r.choose(MODULES)} import {name(r)} as T"
        case 4:
            return f"from . import {name(r)}"
        case _:
            return f"from {r.choose(MODULES)} import *"


def name(r) -> str:
    return r.choose(NAMES)


def target(r) -> str:
    match r.below(8):
        case 0:
            return f"{name(r)}, {name(r)}"
        case 1:
            return f"{name(r)}, *{name(r)}" + (f", *{name(r)}" * r.below(2))
        case 2:
            return f"({name(r)}, [{name(r)}, {name(r)}])"
        case 3:
            return f"{name(r)}.{name(r)}"
        case 4:
            return f"{name(r)}[{expression(r, 1)}]"
        case 5:
            return f"{name(r)} = {name(r)}"
        case _:
            return name(r)


def expression(r, depth: int) -> str:
    if depth <= 0:
        return r.choose(CONSTANTS) if r.below(3) == 0 else name(r)
    return r.choose(EXPRESSIONS)(r, depth - 1)


def several(r, depth: int, most: int = 3) -> str:
    return ", ".join(expression(r, depth) for _ in r.more(0, most))


def binary(r, depth: int) -> str:
    return f"({expression(r, depth)} {r.choose(BINARY)} {expression(r, depth)})"


def compare(r, depth: int) -> str:
    return f"({expression(r, depth)} {r.choose(COMPARE)} {expression(r, depth)})"


def boolean(r, depth: int) -> str:
    word = r.choose(["and", "or", "if a else"])
    return f"({expression(r, depth)} {word} {r.choose(['', 'not '])}{expression(r, depth)})"


def call(r, depth: int) -> str:
    given = [expression(r, depth) for _ in r.more(0, 3)]
    given += r.choose([[], [f"{name(r)}={expression(r, depth)}"], ["**x"], ["*x"], ["*a", "**b"]])
    return f"{r.choose([*NAMES, 'a.b', 'locals', 'cast'])}({', '.join(given)})"


def container(r, depth: int) -> str:
    match r.below(4):
        case 0:
            return f"[{several(r, depth)}]"
        case 1:
            return f"({expression(r, depth)}, {several(r, depth)})"
        case 2:
            return f"{{{expression(r, depth)}, {several(r, depth)}}}"
        case _:
            # The same few keys: pyflakes looks for repeated ones.
            pairs = (f"{r.choose(['a', '1', 'x'])}: {expression(r, depth)}" for _ in r.more(1, 4))
            return f"{{{', '.join(pairs)}{r.choose(['', ', **b'])}}}"


def comprehension(r, depth: int) -> str:
    clauses = f"for {r.choose(['a', 'x', 'a, b', '(x, c)'])} in {expression(r, depth)}"
    if r.boolean():
        clauses += f" if {expression(r, depth)}"
    if r.below(4) == 0:
        clauses += f" for {name(r)} in {name(r)}"
    match r.below(4):
        case 0:
            return f"[{expression(r, depth)} {clauses}]"
        case 1:
            return f"{{{expression(r, depth)} {clauses}}}"
        case 2:
            return f"{{{name(r)}: {expression(r, depth)} {clauses}}}"
        case _:
            return f"({expression(r, depth)} {clauses})"


def function(r, depth: int) -> str:
    return f"(lambda {parameters(r, annotated=False)}: {expression(r, depth)})"


def walrus(r, depth: int) -> str:
    return f"({name(r)} := {expression(r, depth)})"


def part(r, depth: int) -> str:
    return f"{name(r)}{r.choose(['.a', '.f', '[0]', '[a:b]', '[x, ...]'])}"


def f_string(r, depth: int) -> str:
    parts = [r.choose(["a", "{a}", "{b!r}", "{c:>{x}}", "{f()}"]) for _ in r.more(0, 3)]
    return f'f"{"".join(parts)}"'


def braces(r, depth: int) -> str:
    text = " ".join(r.choose(BRACES) for _ in r.more(1, 4))
    given = [expression(r, 0) for _ in r.more(0, 3)]
    given += r.choose([[], ["a=1"], ["b=x"], ["*a"], ["**b"], ["a=1", "**c"]])
    return f"'{text}'.format({', '.join(given)})"


def percents(r, depth: int) -> str:
    text = " ".join(r.choose(PERCENTS) for _ in r.more(1, 3))
    match r.below(4):
        case 0:
            given = f"({expression(r, 0)}, {several(r, 0)})"
        case 1:
            given = f"{{{', '.join(r.choose(KEYS) + ': 1' for _ in r.more(0, 3))}}}"
        case 2:
            given = r.choose(["(*a, b)", "{**a}", "(a for a in b)", "[a]", "{a: b for a in x}"])
        case _:
            given = expression(r, depth)
    return f"'{text}' % {given}"


KEYS = ["'a'", "'b'", "a", "1"]
EXPRESSIONS = [binary, compare, boolean, call, call, container, comprehension, function, walrus,
               part, f_string, braces, percents]  # fmt: skip

# ------------------------------------------------------------------- with a body


def parameters(r, *, annotated: bool) -> str:
    """At most one of each kind, in the only order that there is."""
    kinds = r.below(64)
    given = []
    for bit, text in enumerate(("a", "/", "x=c", "*b", "c=1", "**f")):
        if kinds >> bit & 1 and (text != "/" or given) and (bit != 4 or "*b" in given):
            if annotated and text.isalpha() and r.boolean():
                text += f": {r.choose(TYPES)}"  # noqa: PLW2901
            given.append(text)
    if r.below(32) == 0:
        given.insert(0, "a")  # twice, perhaps
    return ", ".join(given)


def definition(r, depth: int) -> list[str]:
    decorators = r.choose([[], [], [], ["@overload"], ["@typing.overload"], ["@a.b(c)"]])
    head = f"{r.choose(['', '', 'async '])}def {name(r)}({parameters(r, annotated=True)})"
    head += r.choose(["", "", f" -> {r.choose(TYPES)}"])
    return [*decorators, f"{head}:", *docstring(r), *body(r, depth)]


def docstring(r) -> list[str]:
    if r.below(6):
        return []
    tests = [f"    >>> {simple(r)}" for _ in r.more(0, 3)]
    return ['    """', *tests, *r.choose([[], ["    ... x"], ["    >>> a ="]]), '    """']


def klass(r, depth: int) -> list[str]:
    bases = r.choose(["", "(a)", "(a, b.c)", "(T, metaclass=f)", "(Generic['T'])", "(*x)"])
    return [*r.choose([[], ["@a"]]), f"class {name(r)}{bases}:", *docstring(r), *body(r, depth)]


def condition(r, depth: int) -> list[str]:
    test = r.choose([expression(r, 2), "TYPE_CHECKING", "(a, b)", "False", "a is 'x'"])
    lines = [f"if {test}:", *body(r, depth)]
    if r.boolean():
        lines += [f"elif {expression(r, 1)}:", *body(r, depth)]
    return lines + otherwise(r, depth)


def otherwise(r, depth: int) -> list[str]:
    return ["else:", *body(r, depth)] if r.boolean() else []


def loop(r, depth: int) -> list[str]:
    head = f"for {target(r).partition(' = ')[0]} in {expression(r, 2)}:"
    if r.boolean():
        head = f"while {expression(r, 2)}:"
    return [head, *body(r, depth), *otherwise(r, depth)]


def attempt(r, depth: int) -> list[str]:
    lines = ["try:", *body(r, depth)]
    star = r.choose(["", "", "*"])
    for _ in r.more(1, 3):
        what = r.choose(["a", "(a, b)", "NameError", "ImportError", "Exception"])
        lines += [f"except{star} {what}{r.choose(['', ' as x', ' as a'])}:", *body(r, depth)]
    if not star and r.boolean():
        lines += ["except:", *body(r, depth)]
    return lines + otherwise(r, depth) + r.choose([[], ["finally:", *body(r, depth)]])


def context(r, depth: int) -> list[str]:
    items = r.choose(["a", "a as b", "a as (b, c)", "f() as x, x as a", "a as x[0]"])
    return [f"{r.choose(['', 'async '])}with {items}:", *body(r, depth)]


def match(r, depth: int) -> list[str]:
    lines = [f"match {expression(r, 1)}:"]
    for _ in r.more(1, 3):
        pattern = r.choose(PATTERNS)
        inner = [f"case {pattern}{r.choose(['', ' if a'])}:", *body(r, depth)]
        lines += ["    " + line for line in inner]
    return lines


COMPOUND = [definition, definition, klass, condition, loop, attempt, context, match]
