"""The severity of a program's failure by casr's rules: of a sanitizer's report, or of gdb's stop.

Names and levels are those of casr 2.13 (docs/classes.md of ISP RAS' casr), without its taint
tracking. Where casr takes a failure that it cannot judge for not exploitable, the level is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from fuzztui.kernel.wire.severity import (
    EXPLOITABLE,
    NOT_EXPLOITABLE,
    PROBABLY_EXPLOITABLE,
    UNKNOWN,
    Severity,
)
from fuzztui.run.triage.sanitizer import ABORT, Report
from fuzztui.run.triage.signature import Frame, cycle, relevant_frames

_NEAR_NULL: Final = 64 << 10
_SI_KERNEL: Final = 0x80
"""``si_code`` of a fault whose address the kernel does not report, as it is not canonical."""
_WORD: Final = 8

_BY_ACCESS: Final = {
    "heap-buffer-overflow": "outside of a block of the heap",
    "global-buffer-overflow": "outside of a global variable",
    "stack-buffer-overflow": "outside of a variable on the stack",
    "stack-buffer-underflow": "outside of a variable on the stack",
    "dynamic-stack-buffer-overflow": "outside of a variable on the stack",
    "container-overflow": "outside of a container's elements",
    "heap-use-after-free": "in freed memory",
    "stack-use-after-return": "in the stack of a function that has returned",
    "stack-use-after-scope": "in a variable that is out of scope",
}
"""Errors of AddressSanitizer whose level depends on the access, with where it is."""

_CLASSES: Final = {
    name: Severity(level, name, reason)
    for level, classes in {
        EXPLOITABLE: {
            "SegFaultOnPc": "The target jumped to an address without code.",
            "ReturnAv": "The target failed in a return: the stack is probably corrupt.",
            "BranchAv CallAv": "The target failed in a jump or call by a pointer.",
            "DestAv": "The target writes to an invalid address that is not near null.",
            "param-overlap": "A function of the C library got overlapping memory.",
        },
        PROBABLY_EXPLOITABLE: {
            "SegFaultOnPcNearNull": "The target jumped to an address near null.",
            "BranchAvNearNull CallAvNearNull":
                "The target failed in a jump or call by a pointer near null.",
            "DestAvNearNull": "The target writes to an address near null.",
            "BadInstruction": "The target ran an invalid instruction or system call.",
            "StackGuard": "The guard of a return address was overwritten.",
            "HeapError": "The C library found its heap corrupt.",
            "use-after-poison": "The target uses memory that it has marked as not to be used.",
            "negative-size-param": "A function of the C library got a negative size.",
            "calloc-overflow reallocarray-overflow pvalloc-overflow":
                "The size of an allocation overflows.",
        },
        NOT_EXPLOITABLE: {
            "SourceAv": "The target reads from an invalid address that is not near null.",
            "SourceAvNearNull": "The target reads from an address near null.",
            "AbortSignal": "The target called abort(), often after a check of its own.",
            "SafeFunctionCheck": "A check of the C library stopped an overflow before it happened.",
            "TrapSignal": "The target stopped at a trap, often after a check of its own.",
            "FPE": "The target divided by zero, or a quotient overflowed.",
            "StackOverflow": "The stack is exhausted, by recursion or large variables.",
            "double-free bad-free alloc-dealloc-mismatch new-delete-type-mismatch "
            "bad-malloc_usable_size": "The sanitizer stopped a wrong use of the allocator.",
            "initialization-order-fiasco odr-violation": "Global variables are set up wrongly.",
            "memory-leaks out-of-memory allocation-size-too-big invalid-allocation-alignment "
            "invalid-aligned-alloc-alignment invalid-posix-memalign-alignment":
                "An allocation is too large, impossible or never freed: a denial of service.",
        },
        UNKNOWN: {
            "AccessViolation": "An invalid access: whether a read or a write is not known.",
            "unknown-crash": "The sanitizer does not know what kind of memory was accessed.",
        },
    }.items()
    for names, reason in classes.items()
    for name in names.split()
}  # fmt: skip

_SUMMARY: Final = re.compile(r"^SUMMARY: \w{1,30}Sanitizer: ([\w-]{1,60})", re.MULTILINE)
_ADDRESS: Final = re.compile(r"address 0x([0-9a-f]{1,16})")
_COUNTER: Final = re.compile(r"\(pc 0x([0-9a-f]{1,16})")
_WILD_JUMP: Final = "PC is at a non-executable region"
_NOT_CANONICAL: Final = "high value address"
_SIGNALS: Final = {
    "FPE": "FPE", "ILL": "BadInstruction", "TRAP": "TrapSignal", "stack-overflow": "StackOverflow",
}  # fmt: skip
"""Kinds of reports of signals, and the class; SIGSEGV, SIGBUS and SIGABRT need more."""
_ACCESS_FOLLOWS: Final = re.compile(
    r"out of bounds|insufficient space|invalid vptr|incorrect function"
)
"""Errors of UndefinedBehaviorSanitizer after which memory would be misused."""
_HEAP: Final = re.compile(r"cfree|malloc_printerr|malloc_assert|munmap_chunk|_int_free")
_PREFIX: Final = re.compile(r"((notrack|bnd|repn?z?|lock|data16) )*")
_ONLY_READ: Final = ("cmp", "test", "bt")
"""Instructions that do not write to their first operand, as others do."""
_NOT_ONLY_READ: Final = ("xchg", "xadd", "cmpxchg", "lea")
"""Instructions that do not only read their second operand."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Where a signal stopped the target, by gdb. ``-1``: unknown; ``instruction``: as by Intel."""

    address: int = -1
    code: int = 0
    """``si_code`` of the signal."""
    counter: int = -1
    stack: int = -1
    instruction: str = ""


def reported(report: Report) -> Severity:
    """Return the severity of a sanitizer's report."""
    summary = _SUMMARY.search(report.text)
    kind = report.kind if summary is None else summary[1]
    access = report.access.partition(" ")[0]
    if report.kind in ("SEGV", "BUS"):
        return _segmentation(report, access)
    if report.kind == ABORT:
        return aborted(report.frames)
    if report.kind in _SIGNALS:
        return _CLASSES[_SIGNALS[report.kind]]
    if report.kind == "memory leak":
        return _CLASSES["memory-leaks"]
    if (where := _BY_ACCESS.get(kind)) is not None:
        return _accessed(kind, access, where)
    if kind.endswith("-param-overlap"):
        return _CLASSES["param-overlap"]
    if report.tool == "UndefinedBehaviorSanitizer":
        kind = summary[1] if summary else "undefined-behavior"
        if _ACCESS_FOLLOWS.search(report.kind):
            reason = "Memory would be misused next; the report does not say by what access."
            return Severity(UNKNOWN, kind, reason)
        return Severity(NOT_EXPLOITABLE, kind, f"Undefined behaviour: {report.kind}.")
    unknown = Severity(UNKNOWN, kind, f"casr has no class for what {report.tool} reports.")
    return _CLASSES.get(kind, unknown)


def _accessed(kind: str, access: str, where: str) -> Severity:
    """The severity of an access to memory that is not the target's."""
    if access == "WRITE":
        reason = f"A write {where}: an input may change other data."
        return Severity(EXPLOITABLE, f"{kind}(write)", reason)
    if access == "READ":
        reason = f"A read {where}: nothing is overwritten."
        return Severity(NOT_EXPLOITABLE, f"{kind}(read)", reason)
    reason = f"An access {where}; the report does not say whether it writes."
    return Severity(PROBABLY_EXPLOITABLE, kind, reason)


def _segmentation(report: Report, access: str) -> Severity:
    head = report.text.partition("\n")[0]
    address, counter = _ADDRESS.search(head), _COUNTER.search(head)
    at = int(address[1], 16) if address else -1
    if _WILD_JUMP in report.text or (counter and at == int(counter[1], 16)):
        return _near("SegFaultOnPc", at)
    # Of an address that is not canonical the processor does not report the kind of access.
    if not access or _NOT_CANONICAL in report.text or address is None:
        return _CLASSES["AccessViolation"]
    return _near("DestAv" if access == "WRITE" else "SourceAv", at)


def _near(name: str, address: int) -> Severity:
    return _CLASSES[f"{name}NearNull" if 0 <= address < _NEAR_NULL else name]


def aborted(frames: Iterable[Frame]) -> Severity:
    """Return the severity of an abort(), by the functions of the C library that called it."""
    names = [frame.name for frame in frames if frame.runtime]
    if any("stack_chk_fail" in name for name in names):
        return _CLASSES["StackGuard"]
    if any("chk_fail" in name for name in names):
        return _CLASSES["SafeFunctionCheck"]
    if any(_HEAP.search(name) for name in names):
        return _CLASSES["HeapError"]
    return _CLASSES["AbortSignal"]


def signalled(name: str, frames: Sequence[Frame], fault: Fault | None) -> Severity:
    """Return the severity of a signal. ``frames``: the whole stack; empty if there is none."""
    if name == "SIGSEGV" and cycle(relevant_frames(frames)):
        return _CLASSES["StackOverflow"]
    if name == "SIGABRT" and frames:
        return aborted(frames)
    if name in ("SIGILL", "SIGSYS"):
        return _CLASSES["BadInstruction"]
    if name in ("SIGFPE", "SIGTRAP"):
        return _CLASSES["FPE" if name == "SIGFPE" else "TrapSignal"]
    if name not in ("SIGSEGV", "SIGBUS"):
        return Severity(UNKNOWN, name, f"{name} does not say what has failed.")
    return _CLASSES["AccessViolation"] if fault is None else _by_instruction(name, fault)


def _by_instruction(name: str, fault: Fault) -> Severity:
    """The severity of a SIGSEGV or SIGBUS, by the instruction of an x86 processor."""
    at = -1 if fault.code == _SI_KERNEL or name == "SIGBUS" else fault.address
    if fault.code <= 0:  # sent by a process
        return Severity(UNKNOWN, name, f"The target got {name} from a process, not for an access.")
    if name == "SIGSEGV" and fault.counter == fault.address >= 0:
        return _near("SegFaultOnPc", at)
    words = _PREFIX.sub("", fault.instruction.partition("#")[0].strip())
    mnemonic, _, operands = words.partition(" ")
    first, _, second = operands.partition(",")
    if mnemonic.startswith("ret"):
        return _CLASSES["ReturnAv"]
    if mnemonic == "call" and 0 <= fault.address == fault.stack - _WORD:
        return _CLASSES["StackOverflow"]
    if mnemonic in ("call", "jmp") and ("PTR" in first or "0x" not in first):  # by a pointer
        return _near("CallAv" if mnemonic == "call" else "BranchAv", at)
    to, of = "PTR" in first, "PTR" in second
    if to != of and (of or mnemonic in _ONLY_READ) and mnemonic not in _NOT_ONLY_READ:
        return _near("SourceAv", at)
    if to != of and ("mov" in mnemonic or mnemonic == "stos"):
        return _near("DestAv", at)
    return _CLASSES["AccessViolation"]
