"""Inputs for a trial, and seeds: the literals that a project's tests pass to a function."""

from __future__ import annotations

import ast
import os
import random
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import read_if_regular
from fuzztui.tools.scaffold.tree import TEST_FOLDERS, PythonFile, is_source_folder, name_of, written

_MAX_SEEDS: Final = 150
"""Literals that are tried; some are names and messages."""
MAX_SEED_BYTES: Final = 4096
_MAX_DATA: Final = 40
"""Files that are tried."""
_MAX_LOOKED: Final = 2000
_NO_DATA: Final = frozenset((".py", ".pyc", ".pyi", ".so", ".cfg", ".ini"))
_MAX_TOKENS: Final = 200
_MAX_TOKEN: Final = 24

GENERIC: Final = (
    b"", b"a", b"1", b"0.5", b"-1", b"a b", b"a,b;c", b"[]", b"{}", b'{"a": [1, 2.5, null]}', b"()",
    b"a=1&b=2", b"key = value\n", b"key: value\n", b"# title\n\n* text\n", b"<a b='c'>d</a>",
    b"a.b[0]", b"2024-02-29T12:30:00Z", b"http://a.example/b?c=d#e", b"1.2.3", b"'a'", b"\x00\xff",
    b"\n",
)  # fmt: skip
"""Short inputs of common formats."""

_READS: Final = re.compile(r"parse|loads?$|decode|compile|tokeni[sz]e|search")
_PIECE: Final = re.compile(r"\w+|\s+|[^\w\s]+")


def seeds_in(files: Iterable[PythonFile], names: Collection[str]) -> list[bytes]:
    """Return literals from tests, the most likely inputs first. Not all are valid inputs.

    First come arguments of functions with one of ``names``, then parameters and variables in tests
    that call such a function, then arguments of functions called parse, load, ..., then others.
    """
    tiers: tuple[dict[bytes, None], ...] = ({}, {}, {}, {})
    for file in files:
        if not file.is_test:
            continue
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Call):
                called = name_of(node.func)
                if called == "parametrize":
                    continue  # its first argument names parameters
                tier = 0 if called in names else 2 if _READS.search(called.lower()) else 3
                passed = [*node.args[:1], *(word.value for word in node.keywords)]
                tiers[tier].update(_literals(passed[: 1 if tier else None]))
        if _calls(file.tree, names):
            tiers[1].update(_literals(_tables(file.tree)))
            for test in ast.walk(file.tree):
                if isinstance(test, ast.FunctionDef) and _calls(test, names):
                    tiers[1].update(_literals(_tables(test)))
    found: dict[bytes, None] = {}
    for inputs in tiers:
        fresh = [data for data in inputs if data not in found]
        found.update(dict.fromkeys(spread(fresh, _MAX_SEEDS - len(found))))
    return list(found)


def spread(inputs: Iterable[bytes], most: int) -> list[bytes]:
    """Return at most ``most`` inputs, evenly chosen from all sizes, the smallest first."""
    ordered = sorted(inputs, key=lambda data: (len(data), data))
    if len(ordered) <= most:
        return ordered
    return [ordered[n * len(ordered) // most] for n in range(max(0, most))]


def data_files(project: Path) -> list[bytes]:
    """Return contents of small files in the folders of tests: perhaps inputs of the target.

    Each kind of file (by suffix) gets the same number.
    """
    by_kind: dict[str, dict[bytes, None]] = {}
    looked = 0
    for folder, folders, names in os.walk(project):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if is_source_folder(here, name))
        if not TEST_FOLDERS & set(here.relative_to(project).parts):
            continue
        for name in sorted(names):
            path = here / name
            if path.suffix in _NO_DATA or name.startswith(".") or looked >= _MAX_LOOKED:
                continue
            looked += 1
            data = read_if_regular(path, MAX_SEED_BYTES + 1)
            if data and len(data) <= MAX_SEED_BYTES:
                by_kind.setdefault(path.suffix, {})[data] = None
    each = max(1, _MAX_DATA // max(1, len(by_kind)))
    found = [data for contents in by_kind.values() for data in spread(contents, each)]
    return found[:_MAX_DATA]


def _calls(of: ast.Module | ast.FunctionDef, names: Collection[str]) -> bool:
    return any(isinstance(node, ast.Call) and name_of(node.func) in names for node in ast.walk(of))


def _tables(of: ast.Module | ast.FunctionDef) -> Iterator[ast.expr]:
    """Yield the values of variables, and of ``parametrize``: each constant in them."""
    values = [node.value for node in of.body if isinstance(node, ast.Assign)]
    if isinstance(of, ast.FunctionDef):
        for decorator in of.decorator_list:
            if isinstance(decorator, ast.Call) and name_of(decorator.func) == "parametrize":
                values += decorator.args[1:]  # the first one names the parameters
                values += [word.value for word in decorator.keywords if word.arg == "argvalues"]
    for value in values:
        for node in ast.walk(value):
            if isinstance(node, ast.Constant):
                yield node


def _literals(nodes: Iterable[ast.expr]) -> dict[bytes, None]:
    found: dict[bytes, None] = {}
    for node in nodes:
        data = _bytes(node.value) if isinstance(node, ast.Constant) else None
        if data is not None and 0 < len(data) <= MAX_SEED_BYTES:
            found[data] = None
    return found


def plain_tests(files: Iterable[PythonFile]) -> int:
    """Count the tests without ``@given``."""
    return sum(
        isinstance(node, ast.FunctionDef)
        and node.name.startswith("test")
        and "given" not in " ".join(map(written, node.decorator_list))
        for file in files
        if file.is_test
        for node in ast.walk(file.tree)
    )


def _bytes(value: object) -> bytes | None:
    if isinstance(value, str):
        return (
            value.encode("utf-8", "surrogatepass") if value.isprintable() or "\n" in value else None
        )
    return value if isinstance(value, bytes) else None


def mutated(seeds: Sequence[bytes], count: int, rng: random.Random) -> list[bytes]:
    """Return inputs as a fuzzer makes them: parts removed, repeated, overwritten, joined."""
    found = []
    for _ in range(count):
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.choice((1, 1, 2, 3))):
            at = rng.randrange(len(data) + 1)
            end = min(len(data), at + rng.randrange(1, 5))
            kind = rng.randrange(4)
            if kind == 0:
                del data[at:end]
            elif kind == 1:
                data[at:at] = data[at:end] * rng.randrange(1, 3)
            elif kind == 2:
                data[at:end] = bytes(rng.randrange(32, 127) for _ in range(end - at or 1))
            else:
                other = rng.choice(seeds)
                data[at:] = other[rng.randrange(len(other) + 1) :]
        found.append(bytes(data))
    return found


def tokens(files: Iterable[PythonFile], package: str, seeds: Sequence[bytes]) -> list[str]:
    """Return fragments of which valid inputs may consist, from seeds and the package's strings."""
    found: dict[str, int] = {}
    for data in seeds:
        for piece in _PIECE.findall(data.decode("utf-8", "replace")):
            found[piece] = found.get(piece, 0) + 3
    for file in files:
        if file.is_test or file.module.partition(".")[0] != package:
            continue
        documents = {id(node.value) for node in ast.walk(file.tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(file.tree):
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, bytes):
                value = value.decode("latin-1")
            if isinstance(value, str) and value.isprintable() and id(node) not in documents:
                found[value] = found.get(value, 0) + 1
    usable = [token for token in found if 0 < len(token) <= _MAX_TOKEN]
    return sorted(usable, key=lambda token: (-found[token], len(token), token))[:_MAX_TOKENS]
