"""Where modules come from, and what is in a file: asked without importing the target."""

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

__all__ = ["code_of", "locate"]


class _Unfit(Exception):
    """What a name stands for cannot be mutated; says why."""


def locate(spec: Spec, names: Sequence[str]) -> int:
    """Print a JSON line for each module, or file, that the target could import.

    ``{"module", "file", "root"}``, ``root`` being the directory that the top-level package
    lies in; or ``{"error"}``. Returns the exit status.
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
    """Print ``{"code"}``: a digest of what a file does, whatever its lines and its name are.

    Or ``{"error"}``, what the compiler says of it. Returns the exit status.
    """
    try:
        code = compile(file.read_bytes(), "module.py", "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as e:
        words = str(e) or type(e).__name__
        print(json.dumps({"error": f"{type(e).__name__}: {words}"}))
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
        raise _Unfit(f"{name} is a part of the interpreter: it has no file that could be mutated")
    if not file.endswith(".py"):
        raise _Unfit(f"{name} is compiled ({file}): only modules in Python are mutated")
    # The directory of the file goes up as many levels as the name has, packages one more.
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
        f"{text} is not what importing a module of that name gives: let target.path name the "
        "directory that its package lies in"
    )


def _spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """As the import system finds it; a frozen module's file, not its frozen code."""
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
    """A code object, or a constant in one, without lines, columns and file names."""
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
