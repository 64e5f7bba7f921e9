"""The undefined behaviour at which code of clang traps, in place of a report.

``AFL_USE_UBSAN`` builds such programs (``-fsanitize-undefined-trap-on-error``): they print nothing
and die of SIGILL, at an instruction that contains the number of the failed check. Numbers are those
of ``SanitizerHandler`` in clang's CodeGenFunction.h, which are never given to other checks.
"""

from __future__ import annotations

import re
from typing import Final

from fuzztui.run.triage.gdb import Backtrace
from fuzztui.run.triage.sanitizer import Report

_TRAP: Final = re.compile(r"ud1l? +eax,DWORD PTR \[eax(?:\+0x([0-9a-f]{1,2}))?\]")
_OVERFLOW: Final = "signed integer overflow"
_CHECKS: Final = {
    0: _OVERFLOW,
    1: "execution reached an unreachable program point",
    2: "call of an incorrect function (control flow integrity)",
    3: "division by zero, or its overflow",
    4: "invalid vptr of an object",
    5: "floating-point value outside the range of an integer type",
    6: "call by a pointer to an incorrect function type",
    7: "implicit conversion that changes the value",
    8: "invalid argument of a builtin function",
    9: "invalid cast of an object",
    10: "load of an invalid value",
    11: "end of a function that returns no value",
    12: _OVERFLOW,
    13: _OVERFLOW,
    14: "null pointer as an argument that is declared to be none",
    15: "null pointer returned by a function that is declared to return none",
    16: "null pointer as an argument that is declared to be none",
    17: "null pointer returned by a function that is declared to return none",
    18: "index out of bounds",
    19: "pointer overflow",
    20: "invalid shift",
    21: _OVERFLOW,
    22: "null or misaligned pointer, or insufficient space for an object",
    23: "pointer that is not aligned as assumed",
    24: "variable length array without elements",
}


def trapped(stack: Backtrace, text: str) -> Report | None:
    """Return the report that a program without traps would print; None: it has not trapped so.

    ``text``: what users see of the failure.
    """
    found = _TRAP.match(stack.fault.instruction) if stack.fault else None
    if found is None:
        return None
    kind = _CHECKS.get(int(found[1] or "0", 16), "undefined behavior")
    return Report("UndefinedBehaviorSanitizer", kind, "", stack.frames, text)
