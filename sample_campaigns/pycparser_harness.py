"""C programs from choices, and a round trip through pycparser.

A generator takes a Source and returns the target's argument. It should make inputs
that are mostly valid, and let choices decide everything else.
"""

from pycparser import c_generator, c_parser

NAMES = "abcfgxyz"
TYPES = ["int", "char", "unsigned long", "double", "struct s", "const char", "_Bool", "void"]
BINARY = [
    "+",
    "-",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "<",
    ">=",
    "==",
    "!=",
    "&",
    "|",
    "^",
    "&&",
    "||",
    ",",
]
UNARY = ["-", "+", "!", "~", "*", "&", "++", "--", "sizeof "]
ASSIGN = ["=", "+=", "-=", "*=", "<<=", "|="]
CONSTANTS = ["0", "1", "42u", "0x7fL", "017", "1.5f", "1e10", "'a'", "'\\n'", '"text"', 'L"wide"']


def parse_and_print(text: str) -> None:
    """Print what was parsed and parse it again: the two must agree."""
    parser, printer = c_parser.CParser(), c_generator.CGenerator()
    printed = printer.visit(parser.parse(text))
    try:
        again = printer.visit(parser.parse(printed))
    except c_parser.ParseError as e:
        raise AssertionError(f"what was printed does not parse: {e}") from e
    if printed != again:
        raise AssertionError("printing and parsing again changes the program")


def parse(text: str) -> tuple[object, str]:
    """The tree as plain tuples, with where each node began, and the program printed from it."""
    tree = c_parser.CParser().parse(text)
    return _plain(tree), c_generator.CGenerator().visit(tree)


def _plain(node) -> tuple:
    attributes = [getattr(node, name) for name in node.attr_names]
    children = [(name, _plain(child)) for name, child in node.children()]
    return type(node).__name__, str(node.coord), attributes, children


def program(r) -> str:
    return "\n".join(external(r) for _ in r.more(1, 4, continues=0.5))


def external(r) -> str:
    match r.below(6):
        case 0:
            return f"{declaration(r)};"
        case 1:
            fields = " ".join(f"{member(r)};" for _ in r.more(1, 4))
            return f"{r.choose(['struct', 'union'])} {name(r)} {{ {fields} }};"
        case 2:
            values = ", ".join(f"{name(r)} = {expression(r, 2)}" for _ in r.more(1, 4))
            return f"enum {name(r)} {{ {values} }};"
        case 3:
            return f"typedef {r.choose(TYPES)} {declarator(r, 2, 'TUV')};"
        case _:
            parameters = ", ".join(member(r) for _ in r.more(0, 3)) or "void"
            return f"{r.choose(TYPES)} {name(r)}({parameters}) {block(r, 3)}"


def name(r) -> str:
    return r.choose(NAMES)


def member(r) -> str:
    return f"{r.choose(TYPES)} {declarator(r, 2)}"


def declaration(r) -> str:
    storage = r.weighted([(6, ""), (1, "static "), (1, "extern "), (1, "register "), (1, "auto ")])
    initial = f" = {expression(r, 2)}" if r.boolean() else ""
    return f"{storage}{member(r)}{initial}"


def declarator(r, depth: int, names: str = NAMES) -> str:
    if depth == 0:
        return r.choose(names)
    inner = declarator(r, depth - 1, names)
    match r.below(6):
        case 0:
            return f"*{inner}"
        case 1:
            return f"{inner}[{expression(r, 1) if r.boolean() else ''}]"
        case 2:
            return f"(*{inner})({r.choose(TYPES)})"
        case _:
            return r.choose(names)


def block(r, depth: int) -> str:
    items = []
    for _ in r.more(0, 5, continues=0.6):
        items.append(f"{declaration(r)};" if r.below(4) == 0 else statement(r, depth - 1))
    return f"{{ {' '.join(items)} }}"


def statement(r, depth: int) -> str:
    if depth <= 0:
        return f"{expression(r, 2)};"
    match r.below(11):
        case 0:
            orelse = f" else {statement(r, depth - 1)}" if r.boolean() else ""
            return f"if ({expression(r, 2)}) {statement(r, depth - 1)}{orelse}"
        case 1:
            return f"while ({expression(r, 2)}) {statement(r, depth - 1)}"
        case 2:
            return f"do {statement(r, depth - 1)} while ({expression(r, 2)});"
        case 3:
            first = r.choose(["", expression(r, 1), f"int {name(r)} = {expression(r, 1)}"])
            return f"for ({first}; {expression(r, 1)}; {expression(r, 1)}) {block(r, depth - 1)}"
        case 4:
            cases = " ".join(
                f"case {expression(r, 1)}: {statement(r, depth - 1)}" for _ in r.more(0, 3)
            )
            return f"switch ({name(r)}) {{ {cases} default: break; }}"
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
        return r.choose([*CONSTANTS, "a", "b", "x", "y"])
    deeper = depth - 1
    match r.below(12):
        case 0 | 1:
            return f"({expression(r, deeper)} {r.choose(BINARY)} {expression(r, deeper)})"
        case 2:
            return f"{r.choose(UNARY)}{name(r)}"
        case 3:
            return f"({name(r)} {r.choose(ASSIGN)} {expression(r, deeper)})"
        case 4:
            return f"{name(r)}({', '.join(expression(r, 1) for _ in r.more(0, 3))})"
        case 5:
            return f"{name(r)}[{expression(r, deeper)}]"
        case 6:
            return f"({expression(r, deeper)} ? {expression(r, deeper)} : {expression(r, deeper)})"
        case 7:
            return f"(({r.choose(TYPES)} {r.choose(['', '*'])}){expression(r, deeper)})"
        case 8:
            return f"{name(r)}{r.choose(['.', '->'])}{name(r)}"
        case 9:
            return f"({r.choose(TYPES)}){{ {expression(r, deeper)} }}"
        case 10:
            return f"sizeof({r.choose(TYPES)})"
        case _:
            return f"({expression(r, deeper)})"
