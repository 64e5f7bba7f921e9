"""Why no instrumented code was executed: which Python code one input runs instead."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from fuzztui.engines.base.spec import TargetSpec
from fuzztui.engines.execute.third_party import is_standard_library
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
    every = {file: f"{file}, imported as {name!r}" for file, name in modules_of(call).items()}
    compiled = sorted(application.compiled_only)
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
            f"Compiled modules are not observed in this process ({listed(compiled, _SHOWN)}): their"
            " coverage needs a program that AFL++ has instrumented (docs/afl.md)"
        )
    scope = "; ".join(scope_lines(application))
    return f"{advice}. Instrumented by target.include = {include}: {scope}"


def modules_of(call: Callable[[], object]) -> dict[str, str]:
    """The names of modules, by file, of Python functions that run in ``call``.

    Without the standard library, fuzztui, and what runs tests.
    """
    found: dict[str, str] = {}

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            found.setdefault(frame.f_code.co_filename, str(frame.f_globals.get("__name__")))

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
