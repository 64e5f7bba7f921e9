"""Extension modules whose compiled code joins the coverage map (``target.extensions``)."""

from __future__ import annotations

import hashlib
import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.instrument.counters import CounterLibrary, Counters, SharedObject
from fuzztui.engines.instrument.edges import Edge, ModuleEdges
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.instrument.references import import_module

BUILD: Final = (
    'rm -rf build; CC=clang CFLAGS="-fsanitize-coverage=inline-8bit-counters,pc-table -g"'
    " python -m pip install --force-reinstall --no-deps ."
)
"""The command with which a project's extensions get counters. ``build`` may contain objects of
another compiler, which setuptools would use again."""


def is_extension(file: str) -> bool:
    """Whether this is the file of an extension module."""
    return file.endswith(tuple(EXTENSION_SUFFIXES))


def counter_library(spec: TargetSpec) -> CounterLibrary | None:
    """Load what the extensions call when they are imported; None if the target names none.

    Raises :class:`CannotStart`.
    """
    if not spec.extensions:
        return None
    library, why = (spec.counters.get(key, "") for key in ("library", "why"))
    try:
        if library:
            return CounterLibrary(library)
    except OSError as e:
        why = str(e)
    raise CannotStart(f"{_where(spec)}: the library that their code calls: {why or 'is missing'}")


def add_extensions(spec: TargetSpec, application: Application, library: CounterLibrary) -> None:
    """Import the extensions, and put their counters into the coverage map.

    Raises :class:`CannotStart` if an extension has no counters.
    """
    files = {name: _file_of(name, spec) for name in spec.extensions}
    objects = {os.path.realpath(os.fsdecode(one.file)): one for one in library.objects()}
    for name, file in files.items():
        if file not in objects:
            raise CannotStart(
                f"{_where(spec)}: {file} has no counters; compile {name} with clang's"
                f" -fsanitize-coverage, in the project's directory for example: {BUILD}"
            )
        if name not in application.table.modules:  # else the target was loaded before
            _add(name, file, objects[file], application, library)
    application.compiled_only = [n for n in application.compiled_only if n not in files]


def _where(spec: TargetSpec) -> str:
    return f"target.extensions = {list(spec.extensions)}"


def _file_of(name: str, spec: TargetSpec) -> str:
    """The file of an extension, without symlinks. Raises :class:`CannotStart`."""
    if not all(map(str.isidentifier, name.split("."))):
        raise CannotStart(f'{_where(spec)}: write {name!r} as a module, such as "package._parser"')
    file = str(getattr(import_module(_where(spec), name, spec), "__file__", None))
    if not is_extension(file):
        raise CannotStart(
            f"{_where(spec)}: {name} is no extension module, but {file}; if there is an extension"
            " of this name, too, add the name to target.exclude"
        )
    return os.path.realpath(file)


def _add(
    name: str, file: str, of: SharedObject, application: Application, library: CounterLibrary
) -> None:
    table, coverage = application.table, application.coverage
    sha = hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
    base = table.base(name, sha)
    edges = tuple(Edge(place, 0, kind) for place, kind in of.places())
    table.add(ModuleEdges(name, file, sha, base, edges))
    coverage.grow(table.size)
    coverage.compiled.append(Counters(library.read, of, base, counting=coverage.counting))
