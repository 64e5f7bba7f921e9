"""Calls that need a harness: several arguments, methods, open files."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fuzztui.tools.scaffold.arguments import (
    BYTES,
    EITHER,
    TEXT,
    Argument,
    ProjectFacts,
    argument_of,
    names_in,
)
from fuzztui.tools.scaffold.tree import PythonFile, decorators_of, name_of, written

_ACTING: Final = re.compile(
    r"(client|connection|session|server|socket|process|thread|writer|downloader|uploader|installer"
    r"|runner|worker|daemon|transport|engine|command|handler|test|mixin|error|exception)s?$",
    re.IGNORECASE,
)
"""Names of classes whose objects act on the world, or are no parsers."""

_BARE: Final = frozenset(("object", "ABC", "Generic"))
"""Bases outside of the project without arguments."""

_NO_OBJECTS: Final = frozenset(
    ("Protocol", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "NamedTuple", "TypedDict",
     "Exception", "BaseException", "ValueError", "type")
)  # fmt: skip
_MAX_DEPTH: Final = 8
_MAX_OPTIONS: Final = 8


@dataclass(frozen=True, slots=True)
class HarnessCall:
    """How a harness calls a function or method."""

    module: str
    name: str
    """The function, or the class of the method."""
    method: str = ""
    """The method; "": a function is called."""
    on_class: bool = False
    """Whether the method is a class method or a static one."""
    constructor: tuple[Argument, ...] = ()
    arguments: tuple[Argument, ...] = ()
    options: tuple[str, ...] = ()
    """Arguments with a default, ``strict=True``: a remark for users."""
    consumes: bool = False
    """Whether the result is an iterator, which the harness reads to its end."""

    @property
    def all_arguments(self) -> tuple[Argument, ...]:
        """All arguments: those of the constructor, then those of the call."""
        return self.constructor + self.arguments

    @property
    def is_one_input(self) -> bool:
        """Whether the input is the only argument, so that no generator is needed."""
        return len(self.all_arguments) == 1

    @property
    def kinds(self) -> list[str]:
        """TEXT, BYTES, or both: what the input may be."""
        takes = [argument.takes for argument in self.all_arguments if argument.takes]
        return [TEXT, BYTES] if EITHER in takes else takes[:1]

    @property
    def place(self) -> str:
        """``package.module:Class.method``."""
        return f"{self.module}:{'.'.join(filter(None, (self.name, self.method)))}"

    @property
    def harness(self) -> str:
        """The name of the harness file."""
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.name)
        return f"fuzz_{'_'.join(filter(None, (words, self.method))).lower().strip('_')}.py"


def call_of(
    file: PythonFile,
    node: ast.FunctionDef,
    owner: ast.ClassDef | None,
    facts: ProjectFacts,
) -> HarnessCall | None:
    """Return how a function or method is called; None if an argument cannot be made."""
    kinds = {getattr(decorator, "id", "") for decorator in node.decorator_list}
    on_class = bool(kinds & {"staticmethod", "classmethod"})
    bound = owner is not None and "staticmethod" not in kinds
    arguments = _required(file, node, facts, node.name, bound=bound)
    if arguments is None:
        return None
    constructor: tuple[Argument, ...] = ()
    if owner is not None and not on_class:
        if _ACTING.search(owner.name):
            return None
        made = _constructor(file, owner, facts)
        if made is None:
            return None
        constructor = made
        taken = {argument.name for argument in constructor}
        if taken & {argument.name for argument in arguments}:
            return None
    call = HarnessCall(
        file.module,
        node.name if owner is None else owner.name,
        "" if owner is None else node.name,
        on_class,
        constructor,
        arguments,
        tuple(_options(node.args)),
    )
    return call if any(argument.takes for argument in call.all_arguments) else None


def _required(
    file: PythonFile,
    node: ast.FunctionDef,
    facts: ProjectFacts,
    called: str,
    *,
    bound: bool,
) -> tuple[Argument, ...] | None:
    """Return the required arguments; None if one of them cannot be made."""
    given = [*node.args.posonlyargs, *node.args.args]
    given = given[: len(given) - len(node.args.defaults)][bound:]
    keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    needed = [(parameter, False) for parameter in given]
    needed += [(parameter, True) for parameter, default in keywords if default is None]
    made = []
    for place, (parameter, by_name) in enumerate(needed):
        passed = [
            *(() if by_name else facts.literals.get((called, place), ())),
            *facts.literals.get((called, parameter.arg), ()),
        ]
        argument = argument_of(file, parameter, facts, passed, by_name=by_name)
        if argument is None:
            return None
        made.append(argument)
    return tuple(made)


def _options(arguments: ast.arguments) -> list[str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = list(
        zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    pairs += [
        (parameter, default)
        for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    ]
    shown = [f"{parameter.arg}={written(default)}" for parameter, default in pairs]
    return shown[:_MAX_OPTIONS]


def _constructor(
    file: PythonFile, node: ast.ClassDef, facts: ProjectFacts, depth: int = 0
) -> tuple[Argument, ...] | None:
    """Return the required arguments of a class; None if it cannot be made of such."""
    if depth > _MAX_DEPTH or (node.name.startswith("_") and not depth):
        return None
    bases = [names_in(base) for base in node.bases]
    if any(names & _NO_OBJECTS for names in bases) or _is_abstract(node):
        return None
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    for name in ("__init__", "__new__"):
        if name in methods:
            return _required(file, methods[name], facts, node.name, bound=True)
    decorators = decorators_of(node)
    if decorators & {"dataclass", "define", "frozen", "attrs"}:
        return _fields(file, node, facts)
    if decorators:
        return None
    for base in node.bases:
        of = base.value if isinstance(base, ast.Subscript) else base
        name = name_of(of)
        found = facts.named(file, name)
        if found is not None:
            return _constructor(found.file, found.node, facts, depth + 1)
        if name not in _BARE:
            return None
    return ()


def _is_abstract(node: ast.ClassDef) -> bool:
    return any(
        "abstract" in written(decorator)
        for method in node.body
        if isinstance(method, ast.FunctionDef)
        for decorator in method.decorator_list
    )


def _fields(
    file: PythonFile, node: ast.ClassDef, facts: ProjectFacts
) -> tuple[Argument, ...] | None:
    made = []
    if any(getattr(base, "id", "") != "object" for base in node.bases):
        return None  # the fields of the base come first, and are unknown
    for place, line in enumerate(one for one in node.body if isinstance(one, ast.AnnAssign)):
        if line.value is None and isinstance(line.target, ast.Name):
            parameter = ast.arg(line.target.id, line.annotation)
            passed: Sequence[object] = facts.literals.get((node.name, place), ())
            argument = argument_of(file, parameter, facts, passed)
            if argument is None:
                return None
            made.append(argument)
    return tuple(made)
