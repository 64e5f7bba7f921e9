"""Find the modules of an application as its interpreter would, without importing them."""

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
# Editable installs may be found by an import hook instead of the path, hence the roots.
_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The module path and version of the target's interpreter."""

    own: tuple[str, ...]
    """The interpreter's own path."""
    more: tuple[str, ...]
    """Directories that are searched before ``own``."""
    version: tuple[int, int]
    unknown: frozenset[str] = frozenset()
    """Requested top-level packages that the interpreter does not find."""

    @property
    def path(self) -> tuple[str, ...]:
        """The whole path."""
        return (*self.more, *self.own)


@dataclass(frozen=True)
class ModuleSource:
    """A module's source. ``shown``: the file's name in locations (``package/module.py``)."""

    name: str
    file: Path
    shown: str
    data: bytes

    @property
    def sha(self) -> str:
        """Hash of the source, as in the engine's importer."""
        return hashlib.sha256(self.data).hexdigest()[:16]

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree, for callers that do not modify it. Raises as :func:`ast.parse`."""
        return self.parse()

    def parse(self) -> ast.Module:
        """Parse the source into a new tree."""
        return ast.parse(self.data, str(self.file))


def ask_interpreter(
    python: str, environment: Mapping[str, str], path: Sequence[str], names: Iterable[str]
) -> Interpreter:
    """Run the interpreter to get its path, with ``path`` before its own.

    ``names``: top-level packages that the interpreter should find. Raises :class:`OSError` or
    :class:`ValueError` if it fails.
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
        raise ValueError(last or f"exit status {done.returncode}") from None
    more = dict.fromkeys(p for p in more if p and p not in own)
    return Interpreter(tuple(p for p in own if p), tuple(more), (major, minor), frozenset(unknown))


def find_module(name: str, path: Sequence[str]) -> tuple[Path | None, Path | None]:
    """Return a module's file, and its directory if it is a package; None if there is none.

    Both are None if the module has no source.
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
    """Yield names and files of a module and all modules below it, in a fixed order."""
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
    """Return the directory on the path in which a package was found."""
    return str(directory.parents[name.count(".")])


def read(found: Iterable[tuple[str, Path]]) -> Iterator[ModuleSource]:
    """Read the files. Raises :class:`OSError`."""
    for name, file in found:
        parts = name.split(".")
        if file.name == "__init__.py":
            parts.append("__init__")
        yield ModuleSource(name, file, "/".join(parts) + ".py", file.read_bytes())
