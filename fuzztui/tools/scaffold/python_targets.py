"""Find what a Python project has to fuzz: functions, calls for a harness, Hypothesis tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from fuzztui.tools.scaffold.arguments import (
    BYTES,
    EITHER,
    NAMES,
    TEXT,
    TYPED,
    ProjectFacts,
    names_in,
)
from fuzztui.tools.scaffold.calls import HarnessCall, call_of
from fuzztui.tools.scaffold.tree import PythonFile, decorators_of, imports_of, written


@dataclass(frozen=True, slots=True)
class PythonTarget:
    """A function or test that could be fuzzed."""

    reference: str
    """The value of ``target.function``."""
    where: str
    """File and line."""
    signature: str
    takes: str
    score: int
    kind_of_input: str = ""
    """For TYPED: the reference of the argument's type."""
    is_test: bool = False
    module: str = ""
    name: str = ""
    call: HarnessCall | None = None
    """How a harness makes the call; None: the function is called with the input."""
    compiled_in: str = ""
    """The compiled module that has the function; "": it is a Python function."""

    @property
    def package(self) -> str:
        """The top-level package that is tested or called; "": unknown."""
        return self.module.partition(".")[0]


_VERBS: Final = (
    (re.compile(r"(parse|loads?|decode|from_?(string|bytes|str|json|text)|unmarshal)$"), 50),
    (re.compile(r"(parse|load|decode|from|unpack|deserial|compile|tokeni[sz]e|lex)(_|s?$)"), 40),
    (re.compile(r"(parse|decode|unpack|deseriali[sz]e|tokeni[sz]e|unquote|unescape)"), 30),
    (re.compile(r"(read|scan|validate|convert|normali[sz]e|split|match|is_valid|to_)"), 15),
)
_READS: Final = 30
"""Points of a verb of parsers; a method without input of its own needs such a name."""

_MAX_ARGUMENTS: Final = 6
"""Required arguments of a call that a harness makes."""

_HARMFUL: Final = re.compile(
    r"(^|_)(remove|rm|delete|del|unlink|write|save|dump|send|upload|download|post|put|exec|eval"
    r"|system|run|spawn|kill|shell|install|connect|open|main|exit|rmtree|fetch|import|print)s?(_|$)|_(error|warning)s?$"
)
"""Names of functions that are not offered: running them on random inputs may do harm."""

_CONTAINERS: Final = frozenset((
    "Callable", "Iterable", "Iterator", "Sequence", "Mapping", "MutableMapping", "MutableSequence",
    "Collection", "FrozenSet", "frozenset", "list", "List", "dict", "Dict", "tuple", "Tuple", "set",
    "Set", "Type", "IO", "TextIO", "BinaryIO", "Path", "PathLike",
))  # fmt: skip
"""Annotations of which a text is only a part."""

_DECORATED: Final = {"staticmethod", "classmethod", "cache", "lru_cache", "deprecated", "wraps"}
_PLAIN: Final = {"int", "float", "bool", "complex", "object", "None", "Any", "type"}


def python_targets(files: Iterable[PythonFile]) -> list[PythonTarget]:
    """Return functions and tests of the files, the best first."""
    files = list(files)
    packages = {file.module.partition(".")[0] for file in files if file.module}
    public = _exports(files)
    facts = ProjectFacts(files)
    found: dict[str, PythonTarget] = {}
    modules = {file.module for file in files}
    for file in files:
        targets = [*_functions(file, facts), *_compiled(file, packages, modules)]
        for target in _tests(file, packages) if file.is_test else targets:
            better = _by_public_name(target, public)
            earlier = found.get(better.reference)
            if earlier is None or earlier.score < better.score:
                found[better.reference] = better
    return sorted(found.values(), key=lambda t: (-t.score, len(t.reference), t.reference))


COMPILED: Final = "(...), compiled"
"""The signature of a function in a compiled module."""
_UNSEEN: Final = 25
"""Points that a compiled function has less: its coverage guides nothing."""


def _compiled(file: PythonFile, packages: set[str], modules: set[str]) -> Iterator[PythonTarget]:
    """Yield functions, with names of parsers, that a module takes from a compiled one."""
    for node in file.tree.body:
        if not isinstance(node, ast.ImportFrom) or (origin := file.absolute(node)) in modules:
            continue
        if origin.partition(".")[0] not in packages:
            continue
        names = [alias.asname or alias.name for alias in node.names]
        for name in _all(file.tree) if names == ["*"] else names:
            score = next((points for verb, points in _VERBS if verb.match(name)), 0)
            if score < _READS or name.startswith("_") or _HARMFUL.search(name):
                continue
            score -= _UNSEEN + _private(file.module) + 3 * file.module.count(".")
            where = f"{file.relative}:{node.lineno}"
            reference = f"{file.module}:{name}"
            yield PythonTarget(
                reference,
                where,
                COMPILED,
                EITHER,
                score,
                module=file.module,
                name=name,
                compiled_in=origin,
            )


def _all(tree: ast.Module) -> Iterator[str]:
    """Yield the names in a literal ``__all__``."""
    for node in tree.body:
        names = {t.id for t in getattr(node, "targets", ()) if isinstance(t, ast.Name)}
        if "__all__" in names and isinstance(node, ast.Assign):
            for element in getattr(node.value, "elts", ()):
                if isinstance(element, ast.Constant) and isinstance(element.value, str):
                    yield element.value


def _exports(files: Iterable[PythonFile]) -> dict[tuple[str, str], str]:
    """Return, by module and name, the package that also has the name because it imports it."""
    found: dict[tuple[str, str], str] = {}
    for file in files:
        if not file.is_package or not file.module:
            continue
        for node in file.tree.body:
            if isinstance(node, ast.ImportFrom):
                origin = file.absolute(node)
                for alias in node.names:
                    name = alias.asname or alias.name
                    if name == alias.name:
                        found.setdefault((origin, name), file.module)
    return found


def _by_public_name(target: PythonTarget, public: dict[tuple[str, str], str]) -> PythonTarget:
    top, _, rest = target.name.partition(".")
    package = public.get((target.module, top))
    if target.is_test or package is None or package.count(".") >= target.module.count("."):
        return target
    reference = f"{package}:{top}{'.' * bool(rest)}{rest}"
    call = target.call and replace(target.call, module=package)
    score = target.score + 15 + _private(target.module)
    return replace(target, reference=reference, score=score, call=call)


def _private(module: str) -> int:
    return 25 if any(part.startswith("_") for part in module.split(".")) else 0


# ------------------------------------------------------------------------- functions


def _functions(file: PythonFile, facts: ProjectFacts) -> Iterator[PythonTarget]:
    for node in file.tree.body:
        if isinstance(node, ast.FunctionDef):
            yield from _function(file, node, None, facts)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    yield from _function(file, method, node, facts)


def _function(
    file: PythonFile,
    node: ast.FunctionDef,
    owner: ast.ClassDef | None,
    facts: ProjectFacts,
) -> Iterator[PythonTarget]:
    decorators = decorators_of(node)
    if node.name.startswith("_") or _HARMFUL.search(node.name) or decorators - _DECORATED:
        return
    score = next((points for verb, points in _VERBS if verb.match(node.name.lower())), 0)
    found = _direct(file, node, owner, score) or _by_call(file, node, owner, facts, score)
    if found is None:
        return
    name = f"{owner.name}.{node.name}" if owner else node.name
    score = found.score - _private(file.module) - 3 * file.module.count(".") - 5 * bool(owner)
    if file.is_package and "." not in file.module:
        score += 15
    yield replace(
        found,
        reference=f"{file.module}:{name}",
        where=f"{file.relative}:{node.lineno}",
        score=score,
        module=file.module,
        name=name,
    )


def _direct(
    file: PythonFile, node: ast.FunctionDef, owner: ast.ClassDef | None, score: int
) -> PythonTarget | None:
    """Return a function of one required argument, which is the input; else None."""
    decorators = decorators_of(node)
    if owner is not None and not decorators & {"staticmethod", "classmethod"}:
        return None
    arguments = [*node.args.posonlyargs, *node.args.args]
    if "classmethod" in decorators:
        arguments = arguments[1:]
    needed = len(arguments) - len(node.args.defaults)
    keywords = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    if needed != 1 or any(default is None for _, default in keywords):
        return None
    parameter = arguments[0]
    takes, kind = _takes(file, parameter)
    if not takes:
        return None
    if takes != TYPED and parameter.annotation is None:
        if not score and parameter.arg not in ("data", "text", "string", "source"):
            return None
        score += 10
    elif takes == TYPED:
        score -= 5
    else:
        score += 20
    annotation = f": {written(parameter.annotation)}" if parameter.annotation else ""
    return PythonTarget("", "", f"({parameter.arg}{annotation})", takes, score, kind)


def _by_call(
    file: PythonFile,
    node: ast.FunctionDef,
    owner: ast.ClassDef | None,
    facts: ProjectFacts,
    score: int,
) -> PythonTarget | None:
    """Return a function that a harness can call with arguments that it makes; else None."""
    if not score:
        return None
    call = call_of(file, node, owner, facts)
    if call is None:
        return None
    drawn = sum(not argument.takes for argument in call.all_arguments)
    own = any(argument.takes for argument in call.arguments)
    if len(call.all_arguments) > _MAX_ARGUMENTS or (not own and score < _READS):
        return None
    certain = any(argument.is_annotated for argument in call.all_arguments)
    score += (12 if certain else 2) - 8 * drawn - 5 * bool(call.constructor)
    names = ", ".join(argument.name for argument in call.arguments)
    takes = call.kinds[0] if len(call.kinds) == 1 else EITHER
    return PythonTarget("", "", f"({names})", takes, score, call=call)


def _takes(file: PythonFile, parameter: ast.arg) -> tuple[str, str]:
    """Return what a parameter takes ("": no input), and for TYPED the reference of its type."""
    if parameter.annotation is None:
        return NAMES.get(parameter.arg.lower().strip("_"), ""), ""
    names = names_in(parameter.annotation)
    if names & _CONTAINERS:
        return "", ""
    if "path" in parameter.arg.lower() or "file" in parameter.arg.lower():
        return "", ""
    texts, blocks = (
        "str" in names or "AnyStr" in names,
        bool(names & {"bytes", "bytearray", "AnyStr", "ReadableBuffer", "Buffer", "memoryview"}),
    )
    if texts or blocks:
        return (EITHER if texts and blocks else TEXT if texts else BYTES), ""
    if len(names) != 1 or names & _PLAIN:
        return "", ""
    (name,) = names
    if any(isinstance(node, ast.ClassDef) and node.name == name for node in file.tree.body):
        return TYPED, f"{file.module}:{name}"
    for node in file.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "typing":
            for alias in node.names:
                origin = file.absolute(node)
                same = origin.partition(".")[0] == file.module.partition(".")[0]
                if (alias.asname or alias.name) == name and same and name[:1].isupper():
                    return TYPED, f"{origin}:{alias.name}"
    return "", ""


# ------------------------------------------------------------------------------ tests


def _tests(file: PythonFile, packages: set[str]) -> Iterator[PythonTarget]:
    """Yield the tests with ``@given``."""
    package = _tested(file, packages)
    for node in file.tree.body:
        owner, functions = "", [node]
        if isinstance(node, ast.ClassDef):
            owner, functions = f"{node.name}.", list(node.body)
        for function in functions:
            if isinstance(function, ast.FunctionDef) and "given" in decorators_of(function):
                yield PythonTarget(
                    f"{file.importable or file.relative}:{owner}{function.name}",
                    f"{file.relative}:{function.lineno}",
                    "(@given)",
                    TYPED,
                    45,
                    is_test=True,
                    module=package,
                    name=f"{owner}{function.name}",
                )


def _tested(file: PythonFile, packages: set[str]) -> str:
    """Return the package that a test imports; if none, the project's only package, or ""."""
    tested = imports_of(file.tree) & packages
    if tested:
        return min(tested)
    return min(packages) if len(packages) == 1 else ""
