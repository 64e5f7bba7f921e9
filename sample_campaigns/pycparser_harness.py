"""C programs from choices, and a round trip through pycparser.

A generator takes a Source and returns the target's argument. It should make inputs
that are mostly valid, and let choices decide everything else.
"""

import inspect

from pycparser import c_generator, c_parser

# Releases before 3.12 know no dialects.
DIALECT = {"dialect": "c23"} if "dialect" in inspect.signature(c_parser.CParser).parameters else {}

NAMES = "abcfgxyz"
TYPES = ["int", "char", "unsigned long", "double", "struct s", "const char", "_Bool", "void",
         "long long", "volatile short", "float _Complex", "enum e", "union u *", "signed",
         "_Atomic(int)", "U", "int * restrict", "struct { int x; }", "_Alignas(8) int",
         "_Atomic int"]  # fmt: skip
PLAIN_TYPES = ["int", "char", "struct s", "unsigned", "double *", "const int", "int (*)(void)",
               "char[3]"]  # fmt: skip
STORAGE = ["static ", "extern ", "register ", "auto ", "static _Thread_local ", "inline "]
BINARY = ["+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^",
          "&&", "||", ","]  # fmt: skip
UNARY = ["-", "+", "!", "~", "*", "&", "++", "--", "sizeof ", "- -", "&*", "!!"]
POSTFIX = ["++", "--", "[0]", ".x", "->y", "()", "(a, b)", "[a][b]"]
ASSIGN = ["=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="]
CONSTANTS = ["0", "1", "42u", "0x7fL", "017", "0b101", "1'000", "1.5f", "1e10", "0x1.8p3", ".5",
             "1.", "'a'", "'\\n'", "'\\x41'", "L'w'", '"text"', 'L"wide"', 'u8"\\101"', '"a" "b"',
             '"\\x4" "1"', '"\\1" "2"', 'L"a" L"b"', "10ULL", "'ab'", "u'x'",
             'U"y"']  # fmt: skip
LINES = ["\n#pragma once\n", "\n#pragma omp parallel\n", "\n# 7 \"a.h\" 1\n", "\n#line 3\n",
         "\n#pragma\n", '\n#line 12 "b c.h" 2 3\n', "\n_Static_assert(1, \"a\");\n",
         "\n_Static_assert(a > 1);\n", "\n;\n", '\n_Pragma("once")\n', "\n\n",
         "\n# pragma  x\n"]  # fmt: skip
ATTRIBUTES = ["[[a]] ", "[[gnu::b(1, (x))]] ", "[[a, b]] ", "[[]] ", '[[deprecated("x")]] ']
PARAMETERS = ["int", "char *", "int []", "int [static 3]", "int (*)(int)", "const U", "int [*]",
              "double (*f)[2]", "int a[const 2]", "void (int)", "char **argv", "U", "int (a)",
              "U (U)"]  # fmt: skip
ODD = ["int", ")", "{", "a b", "int x y", "'", '"', "@", "0x", "09", "1.2.3", "struct",
       "#line x\n", "#x\n", "case", "/*", "[[a", "x: ;", "enum {}", "int a[static 2];", "'\\z'",
       "goto 1;"]  # fmt: skip


def parse_and_print(text: str) -> None:
    """Print what was parsed and parse it again: the two must agree."""
    parser, printer = c_parser.CParser(**DIALECT), c_generator.CGenerator()
    printed = printer.visit(parser.parse(text))
    try:
        again = printer.visit(parser.parse(printed))
    except c_parser.ParseError as e:
        raise AssertionError(f"what was printed does not parse: {e}") from e
    if printed != again:
        raise AssertionError("printing and parsing again changes the program")


def parse(text: str) -> tuple[object, str]:
    """The tree as plain tuples, with where each node began, and the program printed from it."""
    tree = c_parser.CParser(**DIALECT).parse(text)
    return _plain(tree), c_generator.CGenerator().visit(tree)


def _plain(node) -> tuple:
    attributes = [getattr(node, name) for name in node.attr_names]
    children = [(name, _plain(child)) for name, child in node.children()]
    return type(node).__name__, str(node.coord), attributes, children


def program(r) -> str:
    head = "typedef int U;\n" if r.below(16) else ""
    parts = [external(r) + r.choose(["\n", "\n", " "]) for _ in r.more(1, 4, continues=0.4)]
    return head + "".join(parts)


def external(r) -> str:
    match r.below(12):
        case 0 | 1:
            return f"{attribute(r)}{declaration(r)};"
        case 2:
            fields = " ".join(field(r) for _ in r.more(1, 4, continues=0.5))
            tail = r.choose(["", "", " v", " *p, q[2]"])
            return (
                f"{r.choose(['struct', 'union', 'typedef struct'])} {name(r)} {{ {fields} }}{tail};"
            )
        case 3:
            values = [
                name(r) + maybe(r, f" = {expression(r, 1)}") for _ in r.more(1, 4, continues=0.5)
            ]
            return (
                f"enum {r.choose(['e', 'e', ''])} {{ {', '.join(values)}{r.choose(['', ','])} }};"
            )
        case 4:
            return f"typedef {r.choose(TYPES)} {declarator(r, 2, 'TUV')};"
        case 5:
            return r.choose(LINES)
        case 6:
            # As Kernighan and Ritchie wrote them.
            head = r.choose(["", "int ", "int ", "U "])
            return f"{head}{name(r)}(a, b) int a; char *b; {block(r, 1)}"
        case 7 if r.below(8) == 0:
            return r.choose(ODD)
        case _:
            given = ", ".join(parameter(r) for _ in r.more(0, 3, continues=0.5)) or "void"
            head = r.choose(["", "", "static ", "inline ", "_Noreturn "]) + r.choose(TYPES)
            return f"{head} {name(r)}({given}{r.choose(['', '', ', ...'])}) {block(r, 2)}"


def maybe(r, text: str) -> str:
    return text if r.boolean() else ""


def name(r) -> str:
    return r.choose(NAMES)


def attribute(r) -> str:
    return r.choose(ATTRIBUTES) if r.below(8) == 0 else ""


def member(r) -> str:
    return f"{r.choose(TYPES)} {declarator(r, 2)}"


def field(r) -> str:
    match r.below(5):
        case 0:
            return (
                f"{r.choose(['int', 'unsigned'])} {r.choose(['x', 'y', ''])} : {expression(r, 1)};"
            )
        case 1:
            return r.choose(
                ["struct { int a; };", "int x, *y;", "union { int a; char b; } c;", ";"]
            )
        case _:
            return f"{member(r)};"


def parameter(r) -> str:
    return r.choose(PARAMETERS) if r.below(3) == 0 else attribute(r) + member(r)


def declaration(r) -> str:
    storage = r.choose(STORAGE) if r.below(3) == 0 else ""
    parts = [
        declarator(r, 2) + maybe(r, f" = {initial(r, 1)}") for _ in r.more(1, 3, continues=0.3)
    ]
    return f"{storage}{r.choose(TYPES)} {', '.join(parts)}"


def initial(r, depth: int) -> str:
    if depth <= 0 or r.below(3):
        return expression(r, 2)
    designator = ["", "", ".x = ", "[1] = ", ".x.y = ", "[0].y = "]
    items = [r.choose(designator) + initial(r, depth - 1) for _ in r.more(1, 3)]
    return f"{{ {', '.join(items)}{r.choose(['', ','])} }}"


def declarator(r, depth: int, names: str = NAMES) -> str:
    if depth == 0:
        return r.choose(names)
    inner = declarator(r, depth - 1, names)
    match r.below(8):
        case 0:
            return f"{r.choose(['*', '*', '* const ', '**'])}{inner}"
        case 1:
            return f"{inner}[{maybe(r, expression(r, 1))}]"
        case 2:
            return f"(*{inner})({r.choose(PLAIN_TYPES)})"
        case 3:
            return f"({inner})"
        case _:
            return r.choose(names)


def block(r, depth: int) -> str:
    items = []
    for _ in r.more(0, 5, continues=0.5):
        match r.below(12):
            case 0 | 1:
                items.append(f"{attribute(r)}{declaration(r)};")
            case 2:
                items.append(r.choose(LINES))
            case _:
                items.append(attribute(r) + statement(r, depth - 1))
    return f"{{ {' '.join(items)} }}"


def statement(r, depth: int) -> str:
    if depth <= 0:
        return f"{expression(r, 2)};"
    match r.below(11):
        case 0:
            orelse = maybe(r, f" else {statement(r, depth - 1)}")
            return f"if ({expression(r, 2)}) {statement(r, depth - 1)}{orelse}"
        case 1:
            return f"while ({expression(r, 2)}) {statement(r, depth - 1)}"
        case 2:
            return f"do {statement(r, depth - 1)} while ({expression(r, 2)});"
        case 3:
            first = r.choose(["", expression(r, 1), f"int {name(r)} = {expression(r, 1)}, z"])
            test, step = maybe(r, expression(r, 1)), maybe(r, expression(r, 1))
            return f"for ({first}; {test}; {step}) {statement(r, depth - 1)}"
        case 4:
            cases = " ".join(
                f"case {expression(r, 1)}: {maybe(r, statement(r, depth - 1))}"
                for _ in r.more(0, 3, continues=0.5)
            )
            return f"switch ({name(r)}) {{ {cases} {r.choose(['', 'default: break;', 'a = 1;'])} }}"
        case 5:
            return f"return {expression(r, 2)};"
        case 6:
            return r.choose(["break;", "continue;", ";", f"goto {name(r)};", "return;"])
        case 7:
            return f"{name(r)}: {statement(r, depth - 1)}"
        case 8:
            return block(r, depth)
        case _:
            return f"{expression(r, 3)};"


def expression(r, depth: int) -> str:
    if depth <= 0:
        return r.choose(CONSTANTS) if r.boolean() else name(r)
    deeper = depth - 1
    match r.below(16):
        case 0 | 1:
            return f"({expression(r, deeper)} {r.choose(BINARY)} {expression(r, deeper)})"
        case 2:
            return f"{name(r)} {r.choose(BINARY)} {name(r)} {r.choose(BINARY)} {expression(r, 0)}"
        case 3:
            return f"{r.choose(UNARY)}{name(r)}"
        case 4:
            return f"({name(r)} {r.choose(ASSIGN)} {expression(r, deeper)})"
        case 5:
            given = ", ".join(expression(r, 1) for _ in r.more(0, 3, continues=0.5))
            return f"{name(r)}({given})"
        case 6:
            return f"{name(r)}{r.choose(POSTFIX)}"
        case 7:
            return f"({expression(r, deeper)} ? {expression(r, deeper)} : {expression(r, deeper)})"
        case 8:
            return f"(({r.choose(PLAIN_TYPES)}){expression(r, deeper)})"
        case 9:
            return f"({expression(r, 1)}){r.choose(POSTFIX)}"
        case 10:
            return f"({r.choose(['struct s', 'int[]', 'int'])}){{ {expression(r, deeper)} }}"
        case 11:
            return f"{r.choose(['sizeof', '_Alignof'])}({r.choose(PLAIN_TYPES)})"
        case 12:
            return r.choose(
                ["offsetof(struct s, x)", "offsetof(union u, a.b)", "sizeof(a)", "*&a", "(a, b)"]
            )
        case _:
            return f"({expression(r, deeper)})"
