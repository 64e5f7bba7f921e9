"""Find the files of modules, and digest the code of a file, without importing the target."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from importlib.machinery import FrozenImporter, ModuleSpec
from pathlib import Path
from types import CodeType
from typing import Any

from fuzztui.engines.base.spec import Spec
from fuzztui.engines.instrument.target import search_path


class _Unfit(Exception):
    """The module or file cannot be mutated; the message says why."""


def locate(spec: Spec, names: Sequence[str]) -> int:
    """Find each module, or file, among those that the target could import.

    Prints a JSON line for each name: ``{"module", "file", "root"}``, where ``root`` is the
    directory of the top-level package; or ``{"error"}``. Returns the exit status.
    """
    sys.path[:0] = [p for p in search_path(spec.target) if p not in sys.path]
    for name in names:
        try:
            by = _by_file if name.endswith(".py") or "/" in name else _by_name
            print(json.dumps(by(name)))
        except _Unfit as e:
            print(json.dumps({"error": str(e)}))
    return 0


def code_of(file: Path) -> int:
    """Print ``{"code"}``, a digest of the file's code objects without line numbers and file name.

    Prints ``{"error"}`` instead, the compiler's message, if the file does not compile. Returns the
    exit status.
    """
    try:
        code = compile(file.read_bytes(), "module.py", "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as e:
        message = str(e) or type(e).__name__
        print(json.dumps({"error": f"{type(e).__name__}: {message}"}))
    else:
        print(json.dumps({"code": hashlib.sha256(repr(_essence(code)).encode()).hexdigest()}))
    return 0


def _by_name(name: str) -> dict[str, str]:
    parts = name.split(".")
    path: Sequence[str] | None = None
    spec: ModuleSpec | None = None
    for n in range(1, len(parts) + 1):
        spec = _spec(".".join(parts[:n]), path)
        if spec is None:
            raise _Unfit(f"there is no module {'.'.join(parts[:n])} for {sys.executable}")
        if n < len(parts) and not spec.submodule_search_locations:
            raise _Unfit(f"{'.'.join(parts[:n])} is no package: it has no module {parts[n]}")
        path = list(spec.submodule_search_locations or ())
    assert spec is not None
    file = spec.origin or ""
    if not spec.has_location:
        if path:
            raise _Unfit(f"{name} is a namespace package without code: name a module in it")
        raise _Unfit(f"{name} is part of the interpreter: it has no file to mutate")
    if not file.endswith(".py"):
        raise _Unfit(f"{name} is compiled ({file}): only modules in Python are mutated")
    # One level up for each part of the name, and one more for a package.
    levels = len(parts) + (spec.submodule_search_locations is not None)
    root = str(Path(file).parents[levels - 1])
    return {"module": name, "file": file, "root": root}


def _by_file(text: str) -> dict[str, str]:
    file = Path(text)
    if not file.is_file():
        raise _Unfit(f"there is no file {text}")
    for root in sorted(map(Path, sys.path), key=lambda p: -len(p.parts)):
        if not file.is_relative_to(root):
            continue
        parts = list(file.relative_to(root).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        if not parts or not all(map(str.isidentifier, parts)):
            continue
        try:
            found = _by_name(".".join(parts))
        except _Unfit:
            continue
        if Path(found["file"]).samefile(file):
            return found
    raise _Unfit(
        f"{text} is not the file that importing its module finds; add the directory of its package"
        " to target.path"
    )


def _spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """The spec that the import system finds, or None; for a frozen module, that of its file."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if find is None or finder is FrozenImporter:
            continue
        try:
            spec: ModuleSpec | None = find(name, path)
        except (ImportError, ValueError):
            continue
        if spec is not None:
            return spec
    return None


def _essence(value: Any) -> Any:
    """A code object, or a constant of one, without lines, columns and file names."""
    if isinstance(value, CodeType):
        return (
            *(value.co_code, value.co_exceptiontable, value.co_flags, value.co_stacksize),
            *(value.co_name, value.co_qualname, value.co_names, value.co_varnames),
            *(value.co_freevars, value.co_cellvars, value.co_argcount),
            *(value.co_posonlyargcount, value.co_kwonlyargcount),
            *map(_essence, value.co_consts),
        )
    if isinstance(value, tuple):
        return ("tuple", *map(_essence, value))
    if isinstance(value, frozenset):
        return ("frozenset", *sorted(repr(_essence(v)) for v in value))
    return (type(value).__name__, repr(value))
