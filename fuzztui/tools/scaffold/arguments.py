"""How an argument of a call is made: of the input, or drawn by its annotation, name or tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fuzztui.tools.scaffold.tree import PythonFile, name_of

TEXT, BYTES, EITHER, TYPED = "text", "bytes", "either", "typed"
"""What a parameter takes; EITHER: not annotated, or annotated as both."""

NAMES: Final = {
    "data": EITHER, "string": TEXT, "text": TEXT, "s": TEXT, "source": TEXT, "src": TEXT,
    "expression": TEXT, "expr": TEXT, "buf": BYTES, "buffer": BYTES, "raw": EITHER,
    "value": EITHER, "content": EITHER, "contents": EITHER, "line": TEXT, "input": EITHER,
    "doc": EITHER, "xml": TEXT, "document": EITHER, "payload": EITHER, "body": EITHER,
    "stream": EITHER, "markup": TEXT, "html": TEXT, "url": TEXT, "uri": TEXT, "query": TEXT,
    "sql": TEXT, "json": TEXT, "css": TEXT, "timestr": TEXT, "version": TEXT, "pattern": TEXT,
    "template": TEXT, "code": TEXT, "b": BYTES, "markdown": TEXT, "yaml": TEXT, "toml": TEXT,
    "bytes": BYTES, "header": EITHER, "token": EITHER, "selector": TEXT, "spec": TEXT,
    "requirement_string": TEXT, "instring": TEXT, "inp": EITHER,
}  # fmt: skip
"""Usual names of parameters without annotation, and what they stand for."""

_FILES: Final = frozenset(
    ("fp", "f", "fh", "file", "fileobj", "file_obj", "fileobject", "file_object", "file_like",
     "filelike", "infile", "instream", "input_stream", "in_file", "fd")
)  # fmt: skip
"""Usual names of open files, without annotation."""

_FILE_TYPES: Final = {
    "IO": EITHER, "TextIO": TEXT, "TextIOBase": TEXT, "TextIOWrapper": TEXT, "StringIO": TEXT,
    "BinaryIO": BYTES, "BytesIO": BYTES, "RawIOBase": BYTES, "BufferedIOBase": BYTES,
    "BufferedReader": BYTES, "IOBase": EITHER, "SupportsRead": EITHER,
}  # fmt: skip

_WORD: Final = "source.choose(TOKENS)"

_HINTS: Final = tuple(
    (re.compile(pattern), expression)
    for pattern, expression in (
        (r"encoding|charset", 'source.choose(["utf-8", "ascii", "latin-1", "utf-16"])'),
        (r"errors", 'source.choose(["strict", "ignore", "replace"])'),
        (r"(\w+_)?(sep|separator|delim|delimiter|quote|quotechar)",
         'source.choose([",", ";", ":", "\\t", " ", "|", "\'"])'),
        (r"n|i|j|(\w+_)?(size|length|width|height|count|index|idx|offset|pos|position|start|stop"
         r"|begin|end|depth|level|limit|lineno|line_no|line_number|column|col|base|indent)"
         r"|(max|min|num)_?\w+", "source.integer(-2, 300)"),
        (r"strict|recursive|verbose|debug|(is|has|allow|use|with|keep|as)_\w+", "source.boolean()"),
        (r"options|opts|env|environ|config|context|ctx|params|settings|memo|namespace", "{}"),
        (r"(\w+_)?(key|name|tag|label|field|attr|keyword|word|prefix|suffix)",
         _WORD),
    )
)  # fmt: skip
"""Patterns of names without a better hint, and how a value is drawn."""

_PATHS: Final = re.compile(r"path|file|(^|_)(dir|directory|folder)")
"""Names of parameters that name a file: nothing is drawn for them, because it might be opened."""

_MAX_LITERALS: Final = 12
_MAX_LITERAL: Final = 200

_SIMPLE: Final = {
    "bool": "source.boolean()",
    "int": "source.integer(-2, 300)",
    "float": "source.real(-1000.0, 1000.0)",
    "complex": "complex(source.real(-9.0, 9.0), source.real(-9.0, 9.0))",
    "None": "None",
    "object": _WORD,
    "Any": _WORD,
    "date": "gen_date(source)",
    "datetime": "gen_datetime(source)",
    "timedelta": "gen_timedelta(source)",
}
_SERIES: Final = {
    "list": "[{}]", "List": "[{}]", "Sequence": "[{}]", "Iterable": "[{}]", "Collection": "[{}]",
    "Iterator": "iter([{}])", "tuple": "tuple([{}])", "Tuple": "tuple([{}])", "set": "set([{}])",
    "Set": "set([{}])", "frozenset": "frozenset([{}])", "FrozenSet": "frozenset([{}])",
}  # fmt: skip
_MAPS: Final = {"dict", "Dict", "Mapping", "MutableMapping"}


Imports = frozenset[tuple[str, str, str]]
"""Modules, names in them, and lines that follow the imports ("": none)."""

Drawing = tuple[str, Imports]
"""An expression that draws a value from ``source``, and what it needs."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A required argument: the input, or a value that is drawn."""

    name: str
    takes: str = ""
    """TEXT, BYTES or EITHER: the input; "": drawn."""
    draw: str = ""
    """The expression that draws it from ``source``."""
    imports: Imports = frozenset()
    """What ``draw`` needs."""
    in_file: bool = False
    """Whether the input is passed as an open file."""
    by_name: bool = False
    """Whether the argument is keyword-only, so that the call must name it."""
    is_annotated: bool = False


@dataclass(frozen=True, slots=True)
class FoundClass:
    """A class of the project."""

    file: PythonFile
    node: ast.ClassDef


class ProjectFacts:
    """The project's facts about arguments: its classes, and the literals that tests pass."""

    def __init__(self, files: Sequence[PythonFile]) -> None:
        self.literals = passed_literals(files)
        """By name of the function and place or keyword."""
        self._found = {
            (file.module, node.name): FoundClass(file, node)
            for file in files
            if file.module
            for node in file.tree.body
            if isinstance(node, ast.ClassDef)
        }

    def named(self, file: PythonFile, name: str) -> FoundClass | None:
        """Return what a name means in a file, if that is a class of the project."""
        if found := self._found.get((file.module, name)):
            return found
        for node in file.tree.body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        return self._found.get((file.absolute(node), alias.name))
        return None


def argument_of(
    file: PythonFile,
    parameter: ast.arg,
    facts: ProjectFacts,
    literals: Sequence[object],
    *,
    by_name: bool = False,
) -> Argument | None:
    """Return how an argument is made for ``parameter``; None if that is not known.

    ``literals``: the literals that the project's tests pass for this parameter.
    """
    name = parameter.arg
    plain = name.lower().strip("_")
    if (annotation := unquoted(parameter.annotation)) is not None:
        names = names_in(annotation)
        if files := [_FILE_TYPES[one] for one in sorted(names) if one in _FILE_TYPES]:
            takes = files[0]
            if takes == EITHER and names & {"str", "bytes"}:
                takes = TEXT if "str" in names else BYTES
            return Argument(name, takes, in_file=True, by_name=by_name, is_annotated=True)
        if _PATHS.search(plain):
            return Argument(name, draw='"input"', by_name=by_name) if "str" in names else None
        if takes := _content(annotation):
            hint = _hinted(plain) if takes != BYTES and plain not in NAMES else ""
            if not hint:
                return Argument(name, takes, by_name=by_name, is_annotated=True)
            return Argument(name, draw=_with_literals(hint, literals), by_name=by_name)
        drawn = drawing(file, annotation, facts)
        if drawn is None:
            return None
        draw, imports = drawn
        if names & {"int", "str", "float", "Any", "object"}:
            draw = _with_literals(draw, literals)
        return Argument(name, draw=draw, imports=imports, by_name=by_name)
    if plain in NAMES and not (literals and all(isinstance(one, int) for one in literals)):
        return Argument(name, NAMES[plain], by_name=by_name)
    if plain in _FILES:
        return Argument(name, EITHER, in_file=True, by_name=by_name)
    if _PATHS.search(plain):
        return Argument(name, draw='"input"', by_name=by_name)
    draw = _hinted(plain)
    if not draw and not literals:
        return None
    return Argument(name, draw=_with_literals(draw, literals), by_name=by_name)


def unquoted(annotation: ast.expr | None) -> ast.expr | None:
    """Return an annotation; one that is written as a string is parsed."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return annotation


def names_in(annotation: ast.expr) -> set[str]:
    """Return the names in an annotation, also those in quotes."""
    names = {n.id for n in ast.walk(annotation) if isinstance(n, ast.Name)}
    names |= {n.attr for n in ast.walk(annotation) if isinstance(n, ast.Attribute)}
    for node in ast.walk(annotation):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= set(re.findall(r"\w+", node.value))
    return names


def _content(annotation: ast.expr) -> str:
    """Return what an annotation of text or bytes (or both, or None) takes; "": another one."""
    found = set()
    for node in _members(annotation):
        name = _name(node)
        if name in ("str", "AnyStr"):
            found.add(TEXT)
        if name in ("bytes", "bytearray", "memoryview", "Buffer", "ReadableBuffer", "AnyStr"):
            found.add(BYTES)
    return EITHER if len(found) == 2 else found.pop() if found else ""


def _members(annotation: ast.expr) -> list[ast.expr]:
    """Return the members of a union; an annotation that is no union is its only member."""
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return _members(annotation.left) + _members(annotation.right)
    if isinstance(annotation, ast.Subscript):
        inner = annotation.slice
        if _name(annotation.value) == "Optional":
            return [*_members(inner), ast.Constant(None)]
        if _name(annotation.value) == "Union":
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return [member for part in parts for member in _members(part)]
    plain = unquoted(annotation)
    return [annotation if plain is None else plain]


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and node.value is None:
        return "None"
    return name_of(node)


def drawing(
    file: PythonFile, annotation: ast.expr, facts: ProjectFacts, depth: int = 0
) -> Drawing | None:
    """Return an expression that draws a value of a type, and its imports; None: not known."""
    nothing: Imports = frozenset()
    if depth > 4:
        return None
    members = _members(annotation)
    if len(members) > 1:
        drawn = [one for m in members if (one := drawing(file, m, facts, depth + 1))]
        if not drawn:
            return None
        lazy = ", ".join(f"lambda: {draw}" for draw, _ in drawn)
        needed = nothing.union(*(imports for _, imports in drawn))
        return drawn[0] if len(drawn) == 1 else (f"source.choose([{lazy}])()", needed)
    (annotation,) = members
    name = _name(annotation)
    if name in ("str", "AnyStr"):
        return _WORD, nothing
    if name in ("bytes", "bytearray", "memoryview"):
        return f"{'' if name == 'bytes' else name}(source.bytes(source.below(9)))", nothing
    if name in _SIMPLE:
        call = _SIMPLE[name]
        made = re.match(r"gen_\w+", call)
        return call, frozenset({("fuzztui.generators", made[0], "")} if made else ())
    if name in _SERIES or name in _MAPS:
        if name in _MAPS:
            return f"{{{_WORD}: {_WORD} for _ in source.more(0, 3)}}", nothing
        return _SERIES[name].format(f"{_WORD} for _ in source.more(0, 5)"), nothing
    if isinstance(annotation, ast.Subscript):
        return _of_subscript(file, annotation, facts, depth)
    found = facts.named(file, name) if name else None
    return None if found is None else _of_class(found)


def _of_subscript(
    file: PythonFile, annotation: ast.Subscript, facts: ProjectFacts, depth: int
) -> Drawing | None:
    of = _name(annotation.value)
    inner = annotation.slice
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if of == "Literal":
        try:
            return f"source.choose({[ast.literal_eval(part) for part in parts]!r})", frozenset()
        except ValueError:
            return None
    if of in ("Annotated", "Final", "Required"):
        return drawing(file, parts[0], facts, depth + 1)
    if of not in _SERIES and of not in _MAPS:
        return None
    fixed = of in ("tuple", "Tuple")
    if fixed and len(parts) == 2 and getattr(parts[1], "value", None) is Ellipsis:
        parts, fixed = parts[:1], False
    drawn = [drawing(file, part, facts, depth + 1) for part in parts]
    found = [one for one in drawn if one is not None]
    if len(found) < len(drawn):
        return None
    needed = Imports().union(*(imports for _, imports in found))
    draws = [draw for draw, _ in found]
    if fixed:
        return f"({', '.join(draws)},)", needed
    if of in _MAPS:
        key, value = draws if len(draws) == 2 else (_WORD, draws[0])
        return f"{{{key}: {value} for _ in source.more(0, 3)}}", needed
    return _SERIES[of].format(f"{draws[0]} for _ in source.more(0, 5)"), needed


def _of_class(found: FoundClass) -> Drawing | None:
    """Return how an object of the project is drawn: a member of an enum, or by Hypothesis."""
    name, module = found.node.name, found.file.module
    bases = {_name(base) for base in found.node.bases}
    if bases & {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}:
        return f"source.choose(list({name}))", frozenset(((module, name, ""),))
    # Made once: without Hypothesis the harness cannot be imported, and the message says so.
    makes = f"gen_{name.lower()}"
    of_hypothesis = ("fuzztui.generators", "from_type", "")
    line = f"{makes} = from_type({name})"
    return f"{makes}(source)", frozenset((of_hypothesis, (module, name, line)))


def _hinted(name: str) -> str:
    return next((expression for hint, expression in _HINTS if hint.fullmatch(name)), "")


def _with_literals(draw: str, literals: Sequence[object]) -> str:
    """Return an expression that draws what tests pass, and half of the time another value."""
    if not literals:
        return draw
    chosen = f"source.choose([{', '.join(map(literal_text, literals))}])"
    if not draw or draw == "{}":
        return chosen
    return f"{chosen} if source.boolean() else {draw}"


# -------------------------------------------------------------------- what tests pass


def literal_text(literal: object) -> str:
    """Return a literal as source, always the same: the order of a set depends on the process."""
    match literal:
        case set():
            return f"{{{', '.join(sorted(map(literal_text, literal)))}}}" if literal else "set()"
        case list():
            return f"[{', '.join(map(literal_text, literal))}]"
        case tuple():
            comma = "," if len(literal) == 1 else ""
            return f"({', '.join(map(literal_text, literal))}{comma})"
        case dict():
            items = (f"{literal_text(k)}: {literal_text(v)}" for k, v in literal.items())
            return f"{{{', '.join(items)}}}"
    return repr(literal)


def passed_literals(files: Iterable[PythonFile]) -> Mapping[tuple[str, int | str], list[object]]:
    """Return the literals that tests pass, by name of the function and place or keyword."""
    found: dict[tuple[str, int | str], dict[str, object]] = {}
    for file in files:
        for node in ast.walk(file.tree) if file.is_test else ():
            if not isinstance(node, ast.Call):
                continue
            called = name_of(node.func)
            places: list[tuple[int | str, ast.expr]] = list(enumerate(node.args))
            places += [(word.arg, word.value) for word in node.keywords if word.arg]
            for place, value in places:
                try:
                    literal = ast.literal_eval(value)
                    shown = literal_text(literal)
                    ast.literal_eval(shown)  # raises for inf (1e999 in a test)
                except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                    continue
                values = found.setdefault((called, place), {})
                if len(shown) <= _MAX_LITERAL and len(values) < _MAX_LITERALS:
                    values[shown] = literal
    return {key: list(values.values()) for key, values in found.items()}
