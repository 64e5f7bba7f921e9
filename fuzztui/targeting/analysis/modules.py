"""Finding the modules of an application as its interpreter would, without importing any."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["Interpreter", "ModuleSource", "ask_interpreter", "find_module", "find_package", "read"]

_QUESTION = """
import importlib.util, json, os, sys
path, names = json.loads(sys.argv[1])
own = list(sys.path)
sys.path[:0] = path
roots, unknown = [], []
for name in names:
    spec = importlib.util.find_spec(name)
    if spec is None:
        unknown.append(name)
    else:
        places = list(spec.submodule_search_locations or ()) or [spec.origin or ""]
        roots += [os.path.dirname(place) for place in places]
print(json.dumps([path + roots, own, sys.version_info[:2], unknown]))
"""
# What is installed for editing may not be on the path, but found by a hook: so the roots.
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The target's: where it looks for modules, and its version."""

    own: tuple[str, ...]
    """What it has on its path by itself."""
    more: tuple[str, ...]
    """What is to be looked through before that."""
    version: tuple[int, int]
    unknown: frozenset[str] = frozenset()
    """Outermost packages that were asked for and that it does not find."""

    @property
    def path(self) -> tuple[str, ...]:
        """All of it."""
        return (*self.more, *self.own)


@dataclass(frozen=True)
class ModuleSource:
    """A module's source. ``shown``: its file as locations name it (``package/module.py``)."""

    name: str
    file: Path
    shown: str
    data: bytes

    @property
    def sha(self) -> str:
        """As the engine's importer has it."""
        return hashlib.sha256(self.data).hexdigest()[:16]

    @cached_property
    def tree(self) -> ast.Module:
        """Parsed; shared by those who only read. Raises what :func:`ast.parse` raises."""
        return self.parse()

    def parse(self) -> ast.Module:
        """Parsed again."""
        return ast.parse(self.data, str(self.file))


def ask_interpreter(
    python: str, environment: Mapping[str, str], path: Sequence[str], names: Iterable[str]
) -> Interpreter:
    """Ask it, ``path`` put before its own; ``names``: outermost packages that will be looked for.

    Raises :class:`OSError` or :class:`ValueError` where it gives no answer.
    """
    done = subprocess.run(
        [python, "-P", "-c", _QUESTION, json.dumps([list(path), sorted(set(names))])],
        capture_output=True,
        check=False,
        timeout=_PATIENCE_S,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
    )
    try:
        more, own, (major, minor), unknown = json.loads(done.stdout)
    except (ValueError, TypeError):
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ValueError(last or f"it ended with exit status {done.returncode}") from None
    more = dict.fromkeys(p for p in more if p and p not in own)
    return Interpreter(tuple(p for p in own if p), tuple(more), (major, minor), frozenset(unknown))


def find_module(name: str, path: Sequence[str]) -> tuple[Path | None, Path | None]:
    """The module's file, and the directory that is its package: None for what it has not.

    Both are None where there is no source of it.
    """
    parts = Path(*name.split("."))
    space = None
    for directory in map(Path, path):
        init = directory / parts / "__init__.py"
        if init.is_file():
            return init, init.parent
        file = directory / parts.with_suffix(".py")
        if file.is_file():
            return file, None
        if space is None and (directory / parts).is_dir():
            space = directory / parts
    return None, space


def find_package(name: str, path: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Names and files of a module and all modules below it, in a fixed order."""
    file, directory = find_module(name, path)
    if file is not None:
        yield name, file
    if directory is None:
        return
    for entry in sorted(directory.iterdir()):
        if entry.suffix == ".py" and entry.stem.isidentifier() and entry.name != "__init__.py":
            yield f"{name}.{entry.stem}", entry
        elif entry.is_dir() and entry.name.isidentifier() and entry.name != "__pycache__":
            yield from find_package(f"{name}.{entry.name}", [_root(directory, name)])


def _root(directory: Path, name: str) -> str:
    """The directory on the path that a package was found in."""
    return str(directory.parents[name.count(".")])


def read(found: Iterable[tuple[str, Path]]) -> Iterator[ModuleSource]:
    """Read the files. Raises :class:`OSError`."""
    for name, file in found:
        parts = name.split(".")
        if file.name == "__init__.py":
            parts.append("__init__")
        yield ModuleSource(name, file, "/".join(parts) + ".py", file.read_bytes())
