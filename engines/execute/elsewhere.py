"""Why no instrumented code was executed: which other code one input runs instead."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, Final

from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.execute.third_party import is_standard_library
from fuzztui.engines.instrument.extensions import BUILD, is_extension
from fuzztui.engines.instrument.importer import Application, scope_lines
from fuzztui.engines.instrument.references import split_reference
from fuzztui.kernel.base.text import listed
from fuzztui.kernel.wire.frames import is_generated

_SHOWN: Final = 3
_TOOLS: Final = ("fuzztui", "hypothesis", "_pytest", "pluggy")


def unguided_text(call: Callable[[], object], spec: TargetSpec, application: Application) -> str:
    """Return what ``call``, which runs one input, executes instead, and what is instrumented.

    The text names files, the names under which they were imported, and what to change.
    """
    harness, include = split_reference(spec.function, "")[0], list(application.include)
    found = modules_of(call)
    every = {f: f"{f}, imported as {name!r}" for f, name in found.items() if not is_extension(f)}
    called = {name for file, name in found.items() if is_extension(file)}
    compiled = sorted(called - application.table.modules.keys() or application.compiled_only)
    advice = (
        "Set target.include to the packages under test, and target.path to the directory of their"
        " Python source"
    )
    if others := [text for file, text in every.items() if file != harness or not compiled]:
        advice = (
            f"It executes {listed(others, _SHOWN)}: add that name to target.include, or import the"
            " file under a name that is there"
        )
    elif compiled:
        advice = (
            f"It executes compiled code ({listed(compiled, _SHOWN)}) without counters: compile it"
            f" with clang, in the project's directory for example ({BUILD}), and set"
            f" target.extensions = {json.dumps(compiled[:_SHOWN])}"
        )
    scope = "; ".join(scope_lines(application))
    return f"{advice}. Instrumented by target.include = {include}: {scope}"


def modules_of(call: Callable[[], object]) -> dict[str, str]:
    """The names of modules, by file, of functions that run in ``call``, also of extensions.

    Without the standard library, fuzztui, and what runs tests.
    """
    found: dict[str, str] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            found.setdefault(frame.f_code.co_filename, str(frame.f_globals.get("__name__")))
        elif event == "c_call":
            owner: Any = getattr(argument, "__self__", None)
            is_module = issubclass(type(owner), ModuleType)
            name = str(owner.__name__ if is_module else type(owner).__module__)
            if is_extension(file := str(getattr(sys.modules.get(name), "__file__", ""))):
                found.setdefault(file, name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return {file: name for file, name in found.items() if not _is_foreign(file, name)}


def _is_foreign(file: str, name: str) -> bool:
    package = name.partition(".")[0]
    return is_standard_library(file) or is_generated(file) or package in _TOOLS
