"""The severity of real failures: by the sanitizers of gcc and clang, and by gdb."""

from __future__ import annotations

import asyncio
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from fuzztui.kernel.wire.severity import (
    ERROR,
    EXPLOITABLE,
    NOT_EXPLOITABLE,
    PROBABLY_EXPLOITABLE,
    TIMEOUT,
    UNKNOWN,
    rank,
    severity_in_python,
)
from fuzztui.run.triage.examine import Reproduction, examine_input
from fuzztui.run.triage.gdb import parse_backtraces
from fuzztui.run.triage.program import TargetProgram
from fuzztui.run.triage.sandbox import open_sandbox
from fuzztui.run.triage.sanitizer import parse_report
from fuzztui.run.triage.severity import Fault, reported, signalled
from fuzztui.run.triage.signature import Frame

SOURCE = r"""
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
char global[8];
volatile int sink, zero;
volatile char *leaked;
__attribute__((noinline)) int deeper(int n) {
    volatile char room[512];
    room[0] = n;
    return deeper(n + 1) + room[0];
}
__attribute__((noinline)) void local(void) { volatile char here[8]; leaked = here; here[0] = 1; }
__attribute__((noinline)) void smash(int n) {
    char out[8];
    for (int i = 0; i < n; i++) ((volatile char *)out)[i] = 65;
}
int main(int count, char **words) {
    char input[64] = "", *heap = malloc(8);
    volatile uintptr_t at = 0x123456789000;
    if (!fgets(input, 64, stdin)) return 0;
    input[strcspn(input, "\n")] = 0;
    volatile int n = 9;
#define IS(name) if (!strcmp(input, name))
    IS("heap-write") heap[n] = 1;
    IS("heap-read") sink = heap[n];
    IS("global-write") global[n] = 1;
    IS("global-read") sink = global[n];
    IS("stack-write") smash(64);
    IS("freed-write") { free(heap); *(volatile char *)heap = 1; }
    IS("freed-read") { free(heap); sink = *(volatile char *)heap; }
    IS("double-free") { free(heap); free(heap); }
    IS("bad-free") { char *middle = heap + n - 8; free(middle); }
    IS("negative") { n = -9; memmove(heap, global, n); }
    IS("overlap") memcpy(heap + 1, heap, n - 3);
    IS("huge") sink = *(char *)malloc((size_t)n << 60);
    IS("null-read") sink = *(volatile char *)(at - 0x123456789000);
    IS("null-write") *(volatile char *)(at - 0x123456789000) = 1;
    IS("wild-read") sink = *(volatile char *)at;
    IS("wild-write") *(volatile char *)at = 1;
    IS("odd-read") sink = *(volatile char *)(at << 12);
    IS("odd-write") *(volatile char *)(at << 12) = 1;
    IS("null-call") ((void (*)(void))(at - 0x123456789000))();
    IS("wild-call") ((void (*)(void))at)();
    IS("odd-call") ((void (*)(void))(at << 12))();
    IS("copy") memcpy((char *)at, words, 16);
    IS("length") sink = strlen((char *)at);
    IS("fill") memset((char *)at, 1, 100000);
    IS("abort") abort();
    IS("trap") __builtin_trap();
    IS("breakpoint") raise(SIGTRAP);
    IS("divide") sink = n / zero;
    IS("recursion") sink = deeper(0);
    IS("sent") kill(getpid(), SIGSEGV);
    IS("overflow") { n = 2147483647; n = n + 1; }
    IS("index") { int few[4] = {0}; sink = few[n]; }
    IS("shift") sink = 1 << (n + 90);
    IS("hang") for (;;) sink++;
    return 0;
}
"""

WRITE, READ = EXPLOITABLE, NOT_EXPLOITABLE
BY_ASAN = {
    "heap-write": (WRITE, "heap-buffer-overflow(write)"),
    "heap-read": (READ, "heap-buffer-overflow(read)"),
    "global-write": (WRITE, "global-buffer-overflow(write)"),
    "global-read": (READ, "global-buffer-overflow(read)"),
    "stack-write": (WRITE, "stack-buffer-overflow(write)"),
    "freed-write": (WRITE, "heap-use-after-free(write)"),
    "freed-read": (READ, "heap-use-after-free(read)"),
    "double-free": (NOT_EXPLOITABLE, "double-free"),
    "bad-free": (NOT_EXPLOITABLE, "bad-free"),
    "negative": (PROBABLY_EXPLOITABLE, "negative-size-param"),
    "overlap": (EXPLOITABLE, "param-overlap"),
    "null-read": (NOT_EXPLOITABLE, "SourceAvNearNull"),
    "null-write": (PROBABLY_EXPLOITABLE, "DestAvNearNull"),
    "wild-read": (NOT_EXPLOITABLE, "SourceAv"),
    "wild-write": (EXPLOITABLE, "DestAv"),
    "odd-read": (UNKNOWN, "AccessViolation"),  # the processor does not report the access
    "null-call": (PROBABLY_EXPLOITABLE, "SegFaultOnPcNearNull"),
    "wild-call": (EXPLOITABLE, "SegFaultOnPc"),
    "abort": (NOT_EXPLOITABLE, "AbortSignal"),
    "trap": (PROBABLY_EXPLOITABLE, "BadInstruction"),
    "divide": (NOT_EXPLOITABLE, "FPE"),
    "recursion": (NOT_EXPLOITABLE, "StackOverflow"),
    "hang": (NOT_EXPLOITABLE, "timeout"),
}
BY_GDB = {
    "stack-write": (PROBABLY_EXPLOITABLE, "StackGuard"),
    "double-free": (PROBABLY_EXPLOITABLE, "HeapError"),
    "bad-free": (PROBABLY_EXPLOITABLE, "HeapError"),
    **{name: BY_ASAN[name] for name in (
        "null-read", "null-write", "wild-read", "wild-write", "null-call", "wild-call", "abort",
        "trap", "divide", "recursion", "hang",
    )},
    "odd-read": (NOT_EXPLOITABLE, "SourceAv"),
    "odd-write": (EXPLOITABLE, "DestAv"),
    "odd-call": (EXPLOITABLE, "CallAv"),
    "copy": (EXPLOITABLE, "DestAv"),
    "length": (NOT_EXPLOITABLE, "SourceAv"),
    "fill": (EXPLOITABLE, "DestAv"),
    "breakpoint": (NOT_EXPLOITABLE, "TrapSignal"),
    "sent": (UNKNOWN, "SIGSEGV"),
}  # fmt: skip
BY_UBSAN = {
    "overflow": (NOT_EXPLOITABLE, "undefined-behavior"),
    "shift": (NOT_EXPLOITABLE, "undefined-behavior"),
    "index": (UNKNOWN, "undefined-behavior"),
}


def examined(program: Path, data: str, category: str = "") -> Reproduction:
    target = TargetProgram(
        (str(program),), {}, None, 0, 0.3, "input", (), blind=True, afl_path=""
    )  # fmt: skip
    with open_sandbox(target, data.encode()) as place:
        return asyncio.run(examine_input(place, category))


def built(directory: Path, compiler: str, *options: str) -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (directory / "t.c").write_text(SOURCE)
    command = [compiler, "-g", "-O1", "-w", *options, "-o", "t", "t.c"]
    subprocess.run(command, cwd=directory, check=True, timeout=60)
    return directory / "t"


def all_of(program: Path, names: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    found = {}
    for name in names:
        result = examined(program, name, "hang" if name == "hang" else "crash")
        assert result.severity.reason.endswith(".")
        found[name] = result.severity.level, result.severity.name
    return found


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_reports_of_address_sanitizer(tmp_path: Path, compiler: str) -> None:
    program = built(tmp_path, compiler, "-fsanitize=address", "-fno-builtin")
    assert all_of(program, BY_ASAN) == BY_ASAN


@pytest.mark.slow
def test_reports_of_undefined_behaviour(tmp_path: Path) -> None:
    program = built(tmp_path, "clang", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    assert all_of(program, BY_UBSAN) == BY_UBSAN


NEEDS_GDB = pytest.mark.skipif(
    shutil.which("gdb") is None or platform.machine() != "x86_64", reason="needs gdb and an x86"
)


@pytest.mark.slow
@NEEDS_GDB
def test_traps_of_undefined_behaviour_are_described_as_its_reports(tmp_path: Path) -> None:
    # As AFL++ 4.04c builds with AFL_USE_UBSAN: a check that fails prints nothing.
    traps = "-fsanitize-undefined-trap-on-error"
    program = built(tmp_path, "clang", "-fsanitize=undefined", traps)
    assert all_of(program, BY_UBSAN) == BY_UBSAN
    results = {name: examined(program, name, "crash") for name in BY_UBSAN}
    assert {name: result.title for name, result in results.items()} == {
        "overflow": "signed integer overflow in main",
        "shift": "invalid shift in main",
        "index": "index out of bounds in main",
    }
    assert all("t.c:" in result.stack for result in results.values())
    # One cause is one group, whichever way the program was built.
    report = built(tmp_path, "clang", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    assert examined(report, "overflow", "crash").signature == results["overflow"].signature
    assert examined(report, "trap", "crash").title == "SIGILL in main"


@pytest.mark.slow
@NEEDS_GDB
def test_where_gdb_stops(tmp_path: Path) -> None:
    program = built(tmp_path, "gcc", "-fstack-protector-all", "-fno-builtin")
    assert all_of(program, BY_GDB) == BY_GDB


FAULT = Fault(0x1000_0000, 1, 0x40_0000, 0x7FFF_0000)
"""An access far from null, and no instruction."""


@pytest.mark.parametrize(
    ("instruction", "name"),
    [
        ("mov    BYTE PTR [rcx],0x1", "DestAv"),
        ("mov    eax,DWORD PTR [rip+0x2ee4]        # 0x404010", "SourceAv"),
        ("vpcmpeqb k0,ymm16,YMMWORD PTR [rdi]", "SourceAv"),
        ("cmp    BYTE PTR [rax],0x0", "SourceAv"),
        ("rep stos BYTE PTR es:[rdi],al", "DestAv"),
        ("ret", "ReturnAv"),
        ("bnd jmp rax", "BranchAv"),
        ("call   QWORD PTR [rax+0x8]", "CallAv"),
        # They read and write, or it is not in the instruction which of two accesses has failed.
        ("rep movs BYTE PTR es:[rdi],BYTE PTR ds:[rsi]", "AccessViolation"),
        ("add    DWORD PTR [rax],0x1", "AccessViolation"),
        ("xchg   eax,DWORD PTR [rdx]", "AccessViolation"),
        ("push   rbp", "AccessViolation"),
        ("call   0x401136 <parse>", "AccessViolation"),
        ("str     w1, [x0]", "AccessViolation"),  # of another processor
        ("", "AccessViolation"),
    ],
)
def test_the_instruction_decides_or_the_severity_is_unknown(instruction: str, name: str) -> None:
    fault = Fault(FAULT.address, 1, FAULT.counter, FAULT.stack, instruction)
    found = signalled("SIGSEGV", [Frame("parse")], fault)
    assert found.name == name
    assert (found.level == UNKNOWN) == (name == "AccessViolation")


def test_a_call_at_the_end_of_the_stack_is_a_stack_overflow() -> None:
    fault = Fault(0x7FFE_FFF8, 1, 0x40_0000, 0x7FFF_0000, "call   0x401136 <parse>")
    assert signalled("SIGSEGV", [Frame("parse")], fault).name == "StackOverflow"


def test_gdb_without_an_answer_decides_nothing() -> None:
    (stack,) = parse_backtraces(
        b"@@ fuzztui stack\n#0  0x10 in f () at /a.c:1\n=> 0x10 <f>:\tmov    eax,DWORD PTR [rax]\n"
        b"@@ fuzztui fault,,,\n@@ fuzztui mappings\n@@ fuzztui end\n"
    )
    assert stack.fault is None
    assert signalled("SIGSEGV", stack.frames, stack.fault).level == UNKNOWN
    assert signalled("SIGABRT", [], None).level == UNKNOWN
    assert signalled("SIGFPE", [], None).name == "FPE"


@pytest.mark.parametrize(
    ("text", "level", "name"),
    [
        ("ERROR: AddressSanitizer: heap-use-after-free on address 0x6\n#0 0x1 in f /a.c:1",
         PROBABLY_EXPLOITABLE, "heap-use-after-free"),
        ("ERROR: AddressSanitizer: requested allocation size 0x9 exceeds maximum\n"
         "SUMMARY: AddressSanitizer: allocation-size-too-big /a.c:1 in f",
         NOT_EXPLOITABLE, "allocation-size-too-big"),
        ("ERROR: LeakSanitizer: detected memory leaks", NOT_EXPLOITABLE, "memory-leaks"),
        ("WARNING: MemorySanitizer: use-of-uninitialized-value\n"
         "SUMMARY: MemorySanitizer: use-of-uninitialized-value /a.c:1 in f",
         UNKNOWN, "use-of-uninitialized-value"),
        ("WARNING: ThreadSanitizer: data race (pid=1)", UNKNOWN, "data race"),
        ("ERROR: AddressSanitizer: SEGV on unknown address", UNKNOWN, "AccessViolation"),
        ("ERROR: AddressSanitizer: something of a later version on 0x1", UNKNOWN,
         "something of a later version"),
    ],
)  # fmt: skip
def test_other_reports(text: str, level: str, name: str) -> None:
    report = parse_report(f"==1=={text}".encode())
    assert report is not None
    found = reported(report)
    assert (found.level, found.name) == (level, name)


@pytest.mark.parametrize(
    ("category", "signature", "level", "name"),
    [
        ("crash", "ValueError @ crate.py:12 in unpack", ERROR, "ValueError"),
        ("crash", "app.Bad saying 'internal' @ ", ERROR, "app.Bad"),
        ("crash", "died of SIGSEGV @ app.py in f", UNKNOWN, ""),
        ("crash", "message @ internal compiler error", UNKNOWN, ""),
        ("crash", "did-not-crash-again", UNKNOWN, ""),
        ("differs", "differs @ 1", ERROR, "differs"),
        ("hang", "timeout @ app.py in f", TIMEOUT.level, "timeout"),
    ],
)
def test_of_python_and_of_oracles(category: str, signature: str, level: str, name: str) -> None:
    found = severity_in_python(category, signature)
    assert (found.level, found.name) == (level, name)


def test_levels_are_in_order() -> None:
    levels = [ERROR, NOT_EXPLOITABLE, UNKNOWN, PROBABLY_EXPLOITABLE, EXPLOITABLE]
    assert sorted(set(levels), key=rank) == levels
    assert rank("") == -1
