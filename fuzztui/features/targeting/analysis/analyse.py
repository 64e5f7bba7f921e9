"""The whole static analysis, from an application's sources to its document."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import decode_source
from typing import Final

from fuzztui.engines import generators
from fuzztui.engines.spoton.distances import unify as distances_of
from fuzztui.features.targeting.analysis.application import AnalysedApplication
from fuzztui.features.targeting.analysis.constants import constants
from fuzztui.features.targeting.analysis.decisions import Decision, decisions
from fuzztui.features.targeting.analysis.definitions import Condition, parameters, reached
from fuzztui.features.targeting.analysis.document import (
    AnalysedConstant,
    AnalysedGoal,
    AnalysedModule,
    Influence,
    TargetingAnalysis,
)
from fuzztui.features.targeting.analysis.first_pass import first_pass
from fuzztui.features.targeting.analysis.flow import Flow
from fuzztui.features.targeting.analysis.mypyapi import stub_distribution_name
from fuzztui.features.targeting.analysis.overlay import Overlay, annotate, annotated, returned_type
from fuzztui.features.targeting.analysis.strategies import given_types, made_type
from fuzztui.features.targeting.analysis.types import Module, Types, find_types, is_telling
from fuzztui.kernel.base.text import several

MAX_TYPES = 32
"""Maximum number of types kept for a goal: the nearest."""

FURTHEST = 32
"""Maximum distance of a type to a goal: beyond it the probability is below 1 / 33."""

_EVERY = 500

_STUBS: Final = {"boto3": "boto3-stubs", "botocore": "botocore-stubs"}
"""Stub packages that mypy does not suggest."""
_MOST_NAMED: Final = 5
"""Libraries without types that the message names."""

Progress = Callable[[str], None]


def analyse(
    application: AnalysedApplication, python: str, *, cache: str, progress: Progress
) -> TargetingAnalysis:
    """Find all goals, types and constants; set ``application.read``.

    ``cache``: a directory for mypy's cache, or ``/dev/null``.
    """
    known = _known(application)
    trees = application.trees
    overlays = {
        name: annotate(
            name, decode_source(application.source(name).data), tree, known.get(name, {}), trees
        )
        for name, tree in trees.items()
    }
    modules = [
        Module(n, application.source(n).file, o.text, _doubtful(trees[n]))
        for n, o in overlays.items()
    ]
    progress(f"checking the types in {several(len(modules), 'module')} with mypy")
    types = find_types(
        modules,
        path=application.interpreter.more,
        python=python,
        version=application.interpreter.version,
        cache=cache,
        guessed=bool(application.observed),
        progress=progress,
    )
    application.read = types.files
    _put_back(types, trees, overlays)

    def unread(name: str) -> bool:
        return name.rpartition(".")[0] not in types.read  # else mypy knows the types of its uses

    progress("following values through the application")
    given = {
        (f"{module}.{function}", parameter): tuple(n for n in _telling(words) if unread(n))
        for module, functions in known.items()
        for function, words_of in functions.items()
        for parameter, words in words_of.items()
    }
    given |= _unread(trees, types)
    entry = application.entry.full
    flow = first_pass(trees, types, given=given, entry=entry)
    _hold(flow)
    reachable = reached(flow.of_node.values(), trees, entry)
    notes = [*application.notes, *types.notes, *flow.notes, *_unannotated(application, known)]
    notes += _untyped(application, types)
    targets = _Targets(application, flow, reachable, progress)
    return TargetingAnalysis(
        application=application.packages,
        python=".".join(map(str, application.interpreter.version)),
        modules=tuple(
            AnalysedModule(s.name, str(s.file), s.sha) for s in application.sources.values()
        ),
        targets=targets.all,
        types=unify(t.types for t in targets.all),
        constants=_constants(application, reachable),
        observed=application.observed,
        notes=(*notes, *targets.notes),
        unsure=application.unsure,
    )


# ------------------------------------------------------------------ annotations


def _known(application: AnalysedApplication) -> dict[str, dict[str, dict[str, str]]]:
    """Return known types of parameters, as annotations, by module, function and parameter."""
    known: dict[str, dict[str, dict[str, str]]] = {}
    for full, types_of in sorted(application.observed.items()):
        module = _module_of(full, application)
        for parameter, names in sorted(types_of.items()):
            words = " | ".join(sorted(set(names)))
            function = full[len(module) + 1 :]
            known.setdefault(module, {}).setdefault(function, {})[parameter] = words
    first, trees = _first_parameter(application), application.trees
    entry, generator = application.entry, application.generator
    made: dict[str, str] = {}
    if first and generator.module in trees:
        of = trees[generator.module], generator.module, generator.function
        words = returned_type(*of) or made_type(*of)
        made = {first.arg: words} if words else {}
    elif entry.module in trees:
        made = given_types(trees[entry.module], entry.module, entry.function)
    if made:
        functions = known.setdefault(entry.module, {})
        functions[entry.function] = made | functions.get(entry.function, {})
    return known


def _doubtful(tree: ast.Module) -> frozenset[str]:
    """Return the parameters without annotation, and variables that inner functions change."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation is None:
            names.add(node.arg)
        elif isinstance(node, ast.Nonlocal):
            names.update(node.names)
    return frozenset(names)


def _module_of(full: str, application: AnalysedApplication) -> str:
    module = full
    while module and module not in application.trees:
        module = module.rpartition(".")[0]
    return module


def _first_parameter(application: AnalysedApplication) -> ast.arg | None:
    """Return the entry point's first parameter, if it has no annotation."""
    entry = application.entry
    tree = application.trees.get(entry.module)
    for node in tree.body if tree else []:
        if isinstance(node, ast.FunctionDef) and node.name == entry.function:
            first = next(parameters(node.args), None)
            return first if first is not None and first.annotation is None else None
    return None


def _unannotated(
    application: AnalysedApplication, known: Mapping[str, Mapping[str, object]]
) -> list[str]:
    """Return a note if the type of the input is unknown."""
    entry = application.entry
    first = _first_parameter(application)
    if first is None or entry.function in known.get(entry.module, {}):
        return []
    return [
        f"the type of the input is unknown; annotate {first.arg} of {entry.full}, or the"
        " generator's return type"
    ]


def _telling(words: str) -> Iterator[str]:
    """Yield the telling types (:func:`is_telling`) of an annotation with full names."""
    inside: set[ast.AST] = set()
    for node in ast.walk(ast.parse(words)):
        if isinstance(node, ast.Attribute) and node not in inside:
            inside |= set(ast.walk(node))
            name = _defined(ast.unparse(node))
            if is_telling(name):
                yield name


_PUBLIC: Final = ("fuzztui.generators", "fuzztui.engines.generators", "fuzztui.aws")
"""Modules from which harnesses import the types that fuzztui's generators make."""


def _defined(name: str) -> str:
    """Return the name under which fuzztui defines a type that it also exports elsewhere."""
    package, _, last = name.rpartition(".")
    found = getattr(generators, last, None)
    if package not in _PUBLIC or found is None:
        return name
    return f"{found.__module__}.{last}"


def _unread(
    trees: Mapping[str, ast.Module], types: Types
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the types in annotations that mypy cannot resolve, from untyped libraries."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    packages = {name.rpartition(".")[0] for name in trees}
    for module, tree in trees.items():
        is_package = module in packages
        for function, parameter, words in annotated(tree, module, is_package=is_package):
            names = [n for n in _telling(words) if n.partition(".")[0] not in types.read]
            if names:
                found[f"{module}.{function}", parameter] = tuple(names)
    return found


def _put_back(
    types: Types, trees: Mapping[str, ast.Module], overlays: Mapping[str, Overlay]
) -> None:
    """Convert positions that inserted annotations have moved to those of the sources."""
    for name, overlay in overlays.items():
        if overlay.moved:
            for table in (types.names, types.referents, types.instances):
                table[name] = overlay.back(table.get(name, {}))


_WORLD: Final = f"{generators.World.__module__}.World"
_HELD: Final = tuple(f"{_WORLD.removesuffix('World')}{name}" for name in ("Item", "S3Object"))


def _hold(flow: Flow) -> None:
    """Link values of the generators' type ``World`` to the types of its content, at distance 1.

    A function reads the content from a store, so that no value of the program leads to it.
    """
    held = flow.graph.add(_HELD)
    for node, names in enumerate(flow.graph.types):
        if _WORLD in names:
            flow.graph.link(node, held)


# ---------------------------------------------------------------------- targets


class _Targets:
    """The goals of an application, sorted by file and line."""

    def __init__(
        self,
        application: AnalysedApplication,
        flow: Flow,
        reachable: frozenset[ast.AST],
        progress: Progress,
    ) -> None:
        self.notes: list[str] = []
        self._flow = flow
        self._progress = progress
        self._done = 0
        self._reachable = reachable
        found: list[AnalysedGoal] = []
        self._reasons: Counter[str] = Counter()
        self._never = 0
        number = 0
        for source in sorted(application.sources.values(), key=lambda s: s.shown):
            if source.name not in application.trees:
                continue
            try:
                branches = decisions(source.parse())
            except RecursionError:
                self.notes.append(f"{source.shown}: nested too deeply to be instrumented: no goals")
                continue
            found += self._of_module(source.name, source.shown, branches, number)
            number += len(branches)
        self.all = tuple(found)
        if self._never:
            count, of = self._never, several(len(found), "goal")
            words = "is never taken" if count == 1 else "are never taken"
            why = "as mypy infers from annotations: no mutation is targeted there"
            self.notes.append(f"{count:,} of {of} {words}, {why}")
        if self._reasons:
            reasons = ", ".join(f"{n:,} {words}" for words, n in self._reasons.most_common())
            without, of = self._reasons.total(), several(len(found), "goal")
            have = "has" if without == 1 else "have"
            self.notes.append(f"{without:,} of {of} {have} no influencing type: {reasons}")

    def _of_module(
        self, name: str, shown: str, in_order: list[Decision], number: int
    ) -> Iterator[AnalysedGoal]:
        places = Counter((branch.line, branch.kind) for d in in_order for branch in d.branches)
        rows = []
        for n, decision in enumerate(in_order, number):
            condition = self._flow.conditions.get(name, {}).get(decision.key, Condition([], None))
            types = self._types(condition)
            if not types:
                self._reasons[_reason(condition)] += len(decision.branches)
            function = condition.function
            kind, (row, at, *_) = decision.key
            for branch in decision.branches:
                # The last of several cases has a position of its own; others use the decision's.
                place = (branch.line, branch.column) if branch.kind == "case" else (row, at)
                never = (kind, *place, branch.kind) in self._flow.types.never.get(name, ())
                self._never += never
                column = f":{branch.column}" if places[branch.line, branch.kind] > 1 else ""
                rows.append(
                    AnalysedGoal(
                        location=f"{shown}:{branch.line}{column}:{branch.kind}",
                        module=name,
                        function=decision.function,
                        line=branch.line,
                        column=branch.column,
                        branch=branch.kind,
                        decision=n,
                        cells=tuple(branch.cells),
                        within=tuple(branch.within),
                        reachable=not never
                        and (function is None or function.node in self._reachable),
                        types=types,
                        never=never,
                    )
                )
        yield from sorted(rows, key=lambda t: (t.line, t.column))

    def _types(self, condition: Condition) -> tuple[Influence, ...]:
        found = self._flow.graph.nearest(condition.operands, MAX_TYPES, FURTHEST)
        self._done += 1
        if self._done % _EVERY == 0:
            self._progress(f"found the types that influence {self._done:,} decisions")
        return tuple(Influence(*item) for item in found)


def _reason(condition: Condition) -> str:
    """Return the presumed reason why no type influences a decision."""
    if not any(condition.operands):
        return "decide by constants only"
    if condition.function is not None:
        first, *others = [*parameters(condition.function.node.args), None]
        plain = others if condition.function.bound else [first, *others]
        if any(p is not None and p.annotation is None for p in plain):
            return "are in functions with parameters that have no annotation"
    return "depend on values of builtin types only"


# -------------------------------------------------------------------- constants


def _constants(
    application: AnalysedApplication, reachable: frozenset[ast.AST]
) -> tuple[AnalysedConstant, ...]:
    """Return each value once for each kind of use, with its first location."""
    found: dict[tuple[type, object, str], AnalysedConstant] = {}
    for source in sorted(application.sources.values(), key=lambda s: s.shown):
        tree = application.trees.get(source.name)
        for constant in constants(tree, source.shown, reachable) if tree else ():
            found.setdefault((type(constant.value), constant.value, constant.context), constant)
    return tuple(found.values())


def unify(targets: Iterable[Sequence[Influence]]) -> tuple[Influence, ...]:
    """Return the paper's D, nearest first: a type's distance is that of the goal with most types.

    Of goals with equally many types, the smallest distance counts (III-B, "Type Unification Pass").
    """
    distances = distances_of({t.name: t.distance for t in types} for types in targets)
    found = [Influence(name, distance) for name, distance in distances.items()]
    return tuple(sorted(found, key=lambda t: (t.distance, t.name)))


def _untyped(application: AnalysedApplication, types: Types) -> Iterator[str]:
    """Yield a message if the application imports libraries without types."""
    if not types.read:
        return  # mypy has failed, which another message reports
    found = sorted({name for m in application.sources for name in _packages_of(application, m)})
    # The application's own packages without source are not libraries.
    names = [n for n in found if n not in types.read and n not in sys.stdlib_module_names]
    names = [n for n in names if n not in {p.partition(".")[0] for p in application.packages}]
    if not names:
        return
    stubs = [_STUBS.get(name) or stub_distribution_name(name) for name in names]
    known = " ".join(sorted({stub for stub in stubs if stub}))
    install = f"; `pip install {known}` for target.python gives them types" if known else ""
    shown = ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
    yield (
        f"without types: {shown}. The results of such a library have no type, so the types of its"
        f" arguments are used instead{install}. If a type of a library's stubs or of the"
        " application corresponds to a type that a generator makes, set engine.aliases:"
        ' {"app.Stored" = "fuzztui.generators.S3Object"}'
    )


def _packages_of(application: AnalysedApplication, module: str) -> Iterator[str]:
    """Yield the top-level packages that a module of the application imports."""
    tree = application.trees.get(module)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
