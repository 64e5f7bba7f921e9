"""The functions of covered files, and the frontier: conditions with a branch never taken."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from fuzztui.engines.instrument.statements import lines_of
from fuzztui.features.source.executed import Coverage, FileCoverage, FunctionCoverage
from fuzztui.kernel.base.files import read_if_regular


@dataclass(frozen=True, slots=True)
class FrontierLine:
    """A condition that ran, of which a branch was never taken."""

    file: str
    line: int
    function: str
    """An empty string: in none."""
    never: int
    """Branches that were never taken, of all ``branches``."""
    branches: int
    behind: int
    """Lines never executed up to the next such condition, and those of functions never entered that
    are called there, and so on."""


MAX_SOURCE: Final = 16 << 20
"""Bytes of a file whose functions or calls are read."""
_Place = tuple[str, FunctionCoverage]
"""A function, with the name of its file."""
_CALL: Final = re.compile(r"([A-Za-z_]\w*)\s*\(")


def with_functions(coverage: Coverage) -> Coverage:
    """Return the coverage of a Python target with its functions and conditions, as far as known.

    The lines of a function are those of its body: its head runs when the file is imported.
    """
    files = []
    for file in coverage.files:
        source = _source(coverage, file)
        try:
            _, _, outline = lines_of(source)
            bodies = _bodies(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            files.append(file)
            continue
        order = sorted(file.statements)
        functions = [
            function_coverage(
                order, file.executed, name, bodies.get(first, first), last, head=first
            )
            for first, last, name in outline.functions
        ]
        met: dict[int, tuple[int, int]] = {}
        for at, block in outline.blocks:
            never, branches = met.get(at, (0, 0))
            met[at] = never + (block not in file.executed), branches + 1
        conditions = {at: n for at, n in met.items() if n[0] and at in file.executed}
        files.append(replace(file, functions=functions, conditions=conditions))
    return replace(coverage, files=files)


def _bodies(source: bytes) -> dict[int, int]:
    """The first line of the body by the first line of each function."""
    found = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found[first] = node.body[0].lineno
    return found


def function_coverage(
    order: Sequence[int],
    executed: Container[int],
    name: str,
    first: int,
    last: int,
    *,
    head: int = 0,
    calls: int = -1,
) -> FunctionCoverage:
    """Count the lines of a function from ``first`` on. ``head``: where it begins, if earlier.

    ``order``: the statements of its file, in order.
    """
    own = _inside(order, first, last)
    # Lines of a function never called may be those of another one, which the same macro has made.
    ran = sum(n in executed for n in own) if calls else 0
    return FunctionCoverage(name, head or first, last, len(own), ran, calls)


def _inside(order: Sequence[int], first: int, last: int) -> Sequence[int]:
    return order[bisect_left(order, first) : bisect_right(order, last)]


def frontier(coverage: Coverage) -> list[FrontierLine]:
    """Return the frontier, the condition with most lines behind it first.

    Of a file that can no longer be read calls are not followed.
    """
    unentered: dict[str, list[_Place]] = {}
    for file in coverage.files:
        for function in file.functions:
            if not function.entered:
                unentered.setdefault(_short(function.name), []).append((file.name, function))
    texts = {
        file.name: _source(coverage, file).decode(errors="replace").split("\n")
        for file in coverage.files
    }
    by_name = {file.name: file for file in coverage.files}
    orders = {file.name: sorted(file.statements) for file in coverage.files}

    def callees(file: FileCoverage, lines: Sequence[int]) -> set[_Place]:
        text = texts[file.name]
        calls = {name for n in lines if n <= len(text) for name in _CALL.findall(text[n - 1])}
        found: set[_Place] = set()
        for every in (unentered[name] for name in calls if name in unentered):
            found.update([pair for pair in every if pair[0] == file.name] or every)
        return found

    @cache
    def callees_of(place: _Place) -> set[_Place]:
        name, function = place
        return callees(by_name[name], _inside(orders[name], function.first, function.last))

    @cache
    def lines_of_all(first: frozenset[_Place]) -> int:
        seen, todo = set(first), [*first]
        while todo:
            new = callees_of(todo.pop()) - seen
            seen |= new
            todo += new
        return sum(function.statements for _, function in seen)

    def called(file: FileCoverage, lines: Sequence[int]) -> int:
        """Count the lines of functions never entered that these lines call, and so on."""
        return lines_of_all(frozenset(callees(file, lines)))

    found = []
    for file in coverage.files:
        for at, function_name, lines in _runs(file, orders[file.name]):
            never, branches = file.conditions[at]
            behind = len(lines) + called(file, lines)
            found.append(FrontierLine(file.name, at, function_name, never, branches, behind))
    return sorted(found, key=lambda row: (-row.behind, row.file, row.line))


def _runs(file: FileCoverage, order: Sequence[int]) -> Iterator[tuple[int, str, list[int]]]:
    """Yield the conditions of a file, their function, and the lines that are behind each."""
    behind: dict[int, list[int]] = {at: [] for at in file.conditions}
    inner: dict[int, FunctionCoverage] = {}
    for function in sorted(file.functions, key=lambda f: (f.first, -f.last)):
        inner.update(dict.fromkeys(_inside(order, function.first, function.last), function))
    latest: dict[FunctionCoverage | None, int] = {}
    for n in order:
        around = inner.get(n)
        if n in behind:
            latest[around] = n
        elif n not in file.executed and around in latest:
            behind[latest[around]].append(n)
    for at, lines in behind.items():
        function_at = inner.get(at)
        yield at, function_at.name if function_at else "", lines


def _source(coverage: Coverage, file: FileCoverage) -> bytes:
    """The content of a file; empty if it cannot be read, or has a name that no file can have."""
    try:
        return read_if_regular(coverage.root / file.name, MAX_SOURCE) or b""
    except ValueError:
        return b""


def _short(name: str) -> str:
    """A function's name as calls have it, without its class, namespace and arguments."""
    name = name.replace("(anonymous namespace)", "_").replace("[abi:cxx11]", "")
    while (less := re.sub(r"<[^<>]*>", "", name)) != name:  # arguments of templates
        name = less
    return re.split(r"::|[. *&]", name.partition("(")[0].strip())[-1]


def functions_by_work(coverage: Coverage) -> list[tuple[FileCoverage, FunctionCoverage]]:
    """Return all functions: those never entered first, then those with most missed lines."""
    pairs = ((file, function) for file in coverage.files for function in file.functions)
    return sorted(pairs, key=lambda p: (p[1].entered, p[1].executed - p[1].statements, p[0].name))
