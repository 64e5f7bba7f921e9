"""Get from mypy the types of an application's expressions, and what its names refer to.

mypy is used as a library. The application's modules are passed as texts, so that mypy always checks
them (only checked modules have types), while imported modules come from mypy's cache. mypy's nodes
are compiled and accept no visitor of another package, so their attributes are walked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MemberDescriptorType
from typing import Any, Final

import fuzztui
from fuzztui.features.targeting.analysis.definitions import Span
from fuzztui.features.targeting.analysis.mypyapi import (
    EXHAUSTIVE_MATCH,
    BuildSource,
    CompileError,
    Options,
    build,
    mypy_types,
    nodes,
)
from fuzztui.features.targeting.analysis.never import Never, never_taken
from fuzztui.kernel.base.text import several

# Too common to distinguish parts of an input: the paper leaves out primitive types, strings and
# java.lang. Of containers, the types of their elements count.
_COMMON = frozenset({
    "builtins", "typing", "typing_extensions", "types", "abc", "enum", "functools", "contextlib",
    "collections", "collections.abc", "_collections_abc", "_typeshed",
})  # fmt: skip
# Attributes of mypy's nodes that lead out of the module's tree, or to a copy of it.
_ELSEWHERE = frozenset(
    {"node", "info", "type", "analyzed", "names", "unanalyzed_items", "fullname"}
)
_LEAST = (3, 10)
"""The oldest version of Python that mypy supports."""
_MAX_LEFT_OUT = 20


def is_telling(name: str) -> bool:
    """Whether a type of this name is rare enough to distinguish parts of inputs."""
    module, _, last = name.rpartition(".")
    package = module.partition(".")[0]
    if package == "hypothesis":
        return False  # how inputs are made, not what they are made of
    if package == "fuzztui" and (last == "Source" or ".generators" not in module):
        return False  # of fuzztui, only types that its generators make
    return bool(module) and module not in _COMMON and "@" not in last


@dataclass(frozen=True, slots=True)
class Module:
    """A module to analyse; ``text`` may have annotations that ``file`` lacks."""

    name: str
    file: Path
    text: str
    doubtful: frozenset[str] = frozenset()
    """Variables whose types are not annotated in the program, or that inner functions change."""


@dataclass(slots=True)
class Types:
    """mypy's results, by module and position."""

    names: dict[str, dict[Span, tuple[str, ...]]] = field(default_factory=dict)
    """Names of the telling types that an expression may have."""
    referents: dict[str, dict[Span, tuple[str, ...]]] = field(default_factory=dict)
    """Full names of the functions, classes, variables and attributes that a name may mean."""
    instances: dict[str, dict[Span, tuple[str, ...]]] = field(default_factory=dict)
    """Names of the classes whose special methods an expression's value may have."""
    classes: set[str] = field(default_factory=set)
    """Full names of the ``referents`` that are classes."""
    ancestors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Full names of the base classes of each class of these modules, the class itself first."""
    never: dict[str, frozenset[Never]] = field(default_factory=dict)
    """Branches that are never taken, as mypy infers."""
    read: frozenset[str] = frozenset()
    """Names of all modules that mypy has read."""
    files: frozenset[Path] = frozenset()
    """Files of all modules that mypy has read."""
    notes: list[str] = field(default_factory=list)
    """Messages about modules that mypy cannot read."""


def find_types(
    modules: Sequence[Module],
    *,
    path: Sequence[str],
    python: str,
    version: tuple[int, int],
    cache: str,
    guessed: bool = False,
    progress: Callable[[str], None] = lambda words: None,
) -> Types:
    """Check the modules with mypy, for ``python`` (an interpreter) and its ``version``.

    A module that mypy cannot read is left out, with a note. ``path``: directories that are searched
    before the interpreter's packages, without these (mypy rejects them). ``guessed``: whether the
    texts contain annotations that were only observed.
    """
    found = Types()
    left = list(modules)
    options = _options(path, python, version, cache)
    ours = _ours() if any("fuzztui" in m.text for m in modules) else []
    messages: list[str] = []
    for _ in range(_MAX_LEFT_OUT):
        sources = [BuildSource(str(m.file), m.name, m.text + _CONTROL) for m in left]
        sources += ours
        messages.clear()
        try:
            result = build(sources, options, flush_errors=lambda _, new, __: messages.extend(new))
            break
        except CompileError as e:
            words = e.messages[-1] if e.messages else "unknown reason"
            culprit = e.module_with_blocker or _culprit(words, left)
            if culprit in {source.module for source in ours}:  # the target's Python is too old
                ours = []
                continue
            found.notes.append(f"mypy cannot read {culprit or 'the application'}: {words}")
            remaining = [m for m in left if m.name != culprit]
            if len(remaining) == len(left):
                return found
            left = remaining
        except (RecursionError, SystemExit) as e:  # mypy exits after an internal error
            found.notes.append(f"mypy failed ({type(e).__name__}): no types are known")
            return found
    else:
        return found
    progress(f"mypy has checked {several(len(result.files), 'module')}")
    found.read = frozenset(result.files)
    found.files = frozenset(Path(tree.path) for tree in result.files.values() if tree.path)
    names = frozenset(m.name for m in left)
    inexhaustive = _inexhaustive(messages)
    for module in left:
        tree = result.files.get(module.name)
        if tree is None:
            continue
        every = list(_walk(tree))
        _read(tree, every, result.types, names, found)
        lines = inexhaustive.get(str(module.file), set())
        if module.text.count("\n") + _CONTROL_AT in lines:
            branches = never_taken(
                every,
                result.types,
                inexhaustive=lines | tree.ignored_lines.keys(),
                doubtful=module.doubtful,
                guessed=guessed,
            )
            found.never[module.name] = frozenset(branches)
    return found


_CONTROL: Final = """
def _fuzztui_control(_: object) -> None:
    match _:
        case 1:
            pass
"""
"""Appended to a module's text: if mypy reports no error here, a comment has disabled such errors,
and missing errors prove nothing.
"""
_CONTROL_AT: Final = 3
_INEXHAUSTIVE: Final = re.compile(r"(.*):(\d+): error: .*\[exhaustive-match\]")


def _inexhaustive(messages: Sequence[str]) -> dict[str, set[int]]:
    """Return the lines of each ``match`` that may end without a case, by file."""
    found: dict[str, set[int]] = {}
    for message in messages:
        if parts := _INEXHAUSTIVE.fullmatch(message):
            found.setdefault(parts[1], set()).add(int(parts[2]))
    return found


def _ours() -> list[BuildSource]:
    """Return fuzztui's modules for harnesses: mypy does not find those of an editable install."""
    package = Path(fuzztui.__file__).parent
    made = package / "engines" / "generators"
    files = [package / "generators.py", package / "aws.py", *sorted(made.glob("*.py"))]
    return [
        BuildSource(
            str(file), ".".join(["fuzztui", *file.relative_to(package).with_suffix("").parts])
            .removesuffix(".__init__")
        )
        for file in [*files, package / "engines" / "fixtures" / "aws.py"]
    ]  # fmt: skip


def _culprit(words: str, modules: Sequence[Module]) -> str:
    return next((m.name for m in modules if words.startswith(f"{m.file}:")), "")


def _options(path: Sequence[str], python: str, version: tuple[int, int], cache: str) -> Options:
    options = Options()
    options.export_types = True
    options.preserve_asts = True
    options.check_untyped_defs = True
    options.allow_redefinition = True
    options.local_partial_types = True
    options.ignore_missing_imports = True
    options.follow_untyped_imports = False
    options.namespace_packages = True
    options.explicit_package_bases = True
    options.mypy_path = [*path]
    options.python_version = max(version, _LEAST)
    options.python_executable = python
    options.platform = sys.platform
    options.cache_dir = cache
    options.show_traceback = False
    # Reports each `match` that is not exhaustive.
    options.enabled_error_codes = {EXHAUSTIVE_MATCH}
    options.show_absolute_path = True
    options.many_errors_threshold = -1
    # mypy 2's native parser reads the file and ignores the given text.
    options.native_parser = False
    return options


# ----------------------------------------------------------------- mypy's tree


def _read(
    tree: nodes.MypyFile,
    every: Sequence[nodes.Node],
    types: Mapping[nodes.Expression, Any],
    modules: frozenset[str],
    into: Types,
) -> None:
    """Record types and referents of ``every`` node of a module.

    ``modules``: names of all analysed modules.
    """
    names: dict[Span, dict[str, None]] = {}
    referents: dict[Span, dict[str, None]] = {}
    instances: dict[Span, dict[str, None]] = {}
    for node in every:
        if isinstance(node, nodes.ClassDef):
            info = node.info
            if not isinstance(info, nodes.FakeInfo):  # the class is for another version of Python
                into.ancestors[info.fullname] = tuple(c.fullname for c in info.mro)
        if not isinstance(node, nodes.Expression) or node.end_line is None:
            continue
        place = (node.line, node.column, node.end_line, node.end_column or 0)
        kind = types.get(node)
        if kind is not None:
            there = names.setdefault(place, {})
            there.update(dict.fromkeys(_type_names(kind)))
            if isinstance(node, nodes.MemberExpr):
                there.update(dict.fromkeys(_field_names(node, kind, types.get(node.expr))))
            own = (info.fullname for info in _instances(kind) if info.module_name in modules)
            instances.setdefault(place, {}).update(dict.fromkeys(own))
        if isinstance(node, nodes.RefExpr | nodes.SuperExpr):
            referents.setdefault(place, {}).update(dict.fromkeys(_meant(node, types)))
            if isinstance(node, nodes.RefExpr) and isinstance(node.node, nodes.TypeInfo):
                into.classes.add(node.node.fullname)
    into.names[tree.fullname] = {p: tuple(sorted(n)) for p, n in names.items() if n}
    into.instances[tree.fullname] = {p: tuple(sorted(n)) for p, n in instances.items() if n}
    into.referents[tree.fullname] = {p: tuple(sorted(n)) for p, n in referents.items() if n}


def _walk(tree: nodes.Node) -> Iterator[nodes.Node]:
    """Yield every node of a module's tree once."""
    seen: set[int] = set()
    stack: list[Any] = [tree]
    while stack:
        item = stack.pop()
        if isinstance(item, list | tuple):
            stack.extend(item)
        elif isinstance(item, nodes.Node) and id(item) not in seen:
            seen.add(id(item))
            yield item
            kind: Any = type(item)
            stack.extend(getattr(item, name, None) for name in _fields(kind))


@lru_cache
def _fields(kind: type) -> tuple[str, ...]:
    """Return a node class's attributes without properties, for compiled and interpreted mypy."""
    names: set[str] = set()
    for base in kind.__mro__:
        slots = (name for name, at in vars(base).items() if isinstance(at, MemberDescriptorType))
        names |= {*vars(base).get("__mypyc_attrs__", ()), *slots}
    return tuple(sorted(name for name in names - _ELSEWHERE if not name.startswith("__")))


# ----------------------------------------------------------------------- types


def _type_names(kind: mypy_types.Type, depth: int = 0) -> Iterator[str]:
    """Yield names of the telling types that a value of this type, or its elements, may have."""
    if depth > 8:  # a recursive type
        return
    kind = mypy_types.get_proper_type(kind)
    parts: Sequence[mypy_types.Type] = ()
    if isinstance(kind, mypy_types.Instance) and _is_made_up(kind.type):
        parts = kind.type.bases
    elif isinstance(kind, mypy_types.Instance):
        yield from filter(is_telling, [kind.type.fullname])
        parts = kind.args
    elif isinstance(kind, mypy_types.UnionType):
        parts = kind.items
    elif isinstance(kind, mypy_types.TupleType):  # also a named one
        parts = [*kind.items, _plain(kind.partial_fallback)]
    elif isinstance(kind, mypy_types.TypedDictType | mypy_types.LiteralType):
        parts = [kind.fallback]
    elif isinstance(kind, mypy_types.TypeVarType):
        parts = kind.values or [kind.upper_bound]
    for part in parts:
        yield from _type_names(part, depth + 1)


def _field_names(
    node: nodes.MemberExpr, kind: mypy_types.Type, of: mypy_types.Type | None
) -> Iterator[str]:
    """Yield names of the fields that an attribute may be: none if ``kind``, its type, is telling.

    ``of``: the object's type. An Enum is not: most generators choose its members without a type.
    """
    if of is None or set(_type_names(kind)) - {i.fullname for i in _instances(kind) if i.is_enum}:
        return
    for info in _instances(of):
        found, full = info.get(node.name), f"{info.fullname}.{node.name}"
        is_drawn = is_telling(info.fullname) and not full.startswith("fuzztui.")
        is_variable = found is not None and isinstance(found.node, nodes.Var)
        if is_drawn and is_variable and node.name in _parameters(info):
            yield full


def _parameters(info: nodes.TypeInfo) -> Iterator[str]:
    """Yield the parameters with which objects of a class are made: only these can be drawn."""
    for method in map(info.get_method, ("__init__", "__new__")):
        made = method.func if isinstance(method, nodes.Decorator) else method
        if isinstance(made, nodes.FuncDef):  # also one that a dataclass's decorator adds
            kinds = zip(made.arg_names, made.arg_kinds, strict=True)
            yield from (name for name, kind in kinds if name and not kind.is_star())


def _is_made_up(info: nodes.TypeInfo) -> bool:
    """Whether mypy made up this class for its bases (after two ``isinstance``)."""
    return info.name.startswith("<")


def _plain(kind: mypy_types.Instance) -> mypy_types.Instance:
    """Remove the arguments: a tuple's are the join of its items, so less exact than the items."""
    return kind.copy_modified(args=[])


def _classes(kind: mypy_types.Type | None) -> Iterator[nodes.TypeInfo]:
    """Yield the classes in which an attribute of a value of this type is looked up."""
    if kind is None:
        return
    kind = mypy_types.get_proper_type(kind)
    if isinstance(kind, mypy_types.Instance):
        yield kind.type
    elif isinstance(kind, mypy_types.UnionType):
        for item in kind.items:
            yield from _classes(item)
    elif isinstance(kind, mypy_types.TypeVarType):
        yield from _classes(kind.upper_bound)
    elif isinstance(kind, mypy_types.TupleType):
        yield kind.partial_fallback.type
    elif isinstance(kind, mypy_types.TypedDictType | mypy_types.LiteralType):
        yield from _classes(kind.fallback)
    elif isinstance(kind, mypy_types.TypeType):
        yield from _classes(kind.item)
    elif isinstance(kind, mypy_types.FunctionLike) and kind.is_type_obj():
        yield kind.type_object()


def _instances(kind: mypy_types.Type) -> Iterator[nodes.TypeInfo]:
    """Yield the classes of which a value of this type is an instance; none for classes."""
    kind = mypy_types.get_proper_type(kind)
    if isinstance(kind, mypy_types.UnionType):
        for item in kind.items:
            yield from _instances(item)
    elif isinstance(kind, mypy_types.Instance) and _is_made_up(kind.type):
        for base in kind.type.bases:
            yield from _instances(base)
    elif not isinstance(kind, mypy_types.TypeType | mypy_types.FunctionLike):
        yield from _classes(kind)


def _meant(
    node: nodes.RefExpr | nodes.SuperExpr, types: Mapping[nodes.Expression, Any]
) -> Iterator[str]:
    """Yield full names of what a name or attribute may refer to."""
    if isinstance(node, nodes.RefExpr):
        target = node.node
        if target is not None and "." in target.fullname:  # else the name is local
            yield target.fullname
            return
    if isinstance(node, nodes.MemberExpr):
        for info in _classes(types.get(node.expr)):
            yield from _member(info.mro, node.name)
    elif isinstance(node, nodes.SuperExpr) and node.info is not None:
        yield from _member(node.info.mro[1:], node.name)


def _member(mro: Sequence[nodes.TypeInfo], name: str) -> Iterator[str]:
    for info in mro:
        if name in info.names:
            yield f"{info.fullname}.{name}"
            return
