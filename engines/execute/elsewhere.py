"""Why no instrumented code was executed: which Python code one input runs instead."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from fuzztui.base.text import listed
from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.instrument.importer import Application, scope_lines
from fuzztui.engines.instrument.references import is_file, split_reference

_SHOWN: Final = 3
_MAX: Final = 1000
"""Modules after which no further one is noted."""
_LIBRARY: Final = tuple(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib"))
_PACKAGES: Final = ("/site-packages/", "/dist-packages/")


def unguided_text(call: Callable[[], object], spec: TargetSpec, application: Application) -> str:
    """Return what is instrumented, and what ``call``, which runs one input, executes instead.

    The text names files, the names under which they were imported, and what to change.
    """
    return f"Instrumented: {'; '.join(scope_lines(application))}. " + _instead(
        modules_of(call), spec, application
    )


def _instead(every: dict[str, str], spec: TargetSpec, application: Application) -> str:
    harness = split_reference(spec.function, "")[0]
    others = [f"{file}, imported as {name!r}" for file, name in every.items() if file != harness]
    include = f"target.include = {list(application.include)}"
    if others:
        return f"It executes {listed(others, _SHOWN)}: {include} must have the name of the import"
    if compiled := sorted(application.compiled_only):
        return (
            f"Compiled modules are not observed in this process ({listed(compiled, _SHOWN)}): their"
            " coverage needs a program that AFL++ has instrumented (docs/afl.md)"
        )
    if harness in every and is_file(harness):
        return (
            f"It executes only {harness}, imported as {every[harness]!r}: name the function by the"
            f" module that {include} has, or add {every[harness]!r} there"
        )
    return (
        "Set target.include to the packages under test, and target.path to the directory of their"
        " Python source"
    )


def modules_of(call: Callable[[], object]) -> dict[str, str]:
    """The names under which modules were imported, by file, of Python functions that run.

    Without the standard library and fuzztui.
    """
    found: dict[str, str] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file not in found and len(found) < _MAX:
            found[file] = str(frame.f_globals.get("__name__"))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return {file: name for file, name in found.items() if not _is_foreign(file, name)}


def _is_foreign(file: str, name: str) -> bool:
    inner = file.startswith(_LIBRARY) and not any(part in file for part in _PACKAGES)
    return inner or file.startswith("<") or name.partition(".")[0] == "fuzztui"
