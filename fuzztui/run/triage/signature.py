"""Signatures of findings: the relevant frames of a stack, and a short hash of them.

A signature contains no address, line or count: it is equal for other runs, other address layouts
and small edits of the program.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from fuzztui.kernel.wire.frames import (
    HARNESS,
    LIBRARY,
    OWN,
    Basis,
    StackFrame,
    counting,
    frame_rows,
    is_system_header,
    parse_frames,
    signature_of,
)

DEPTH = 3
"""Number of functions in a signature, from the innermost outwards."""

MANY = 16
"""Occurrences of a function on the stack from which on it counts as an endless recursion."""

_ENTRY = "LLVMFuzzerTestOneInput"
"""The harness's function: this frame and all frames outside of it are not the application's."""

_RUNTIME = re.compile(
    r"""
      _*(interceptor|asan|ubsan|msan|tsan|lsan|sanitizer|sanitizer_cov|ubsan_handle)_ .*
    | (__asan|__msan|__tsan|__lsan|__ubsan|__sanitizer|__interception|__sancov|__afl) .*
    | (__GI_)? _* (abort|raise|gsignal|p?thread_kill.*|kill|tgkill|libc_message.*)
    | (__GI_)? _* (assert|assert_fail|assert_perror_fail)(_base)?
    | (__GI_)? _* (libc_(malloc|free|calloc|realloc|fatal|start_main|start_call_main).*
        | stack_chk_fail.* | fortify_fail.* | chk_fail | malloc_printerr | munmap_chunk
        | malloc_assert | int_(malloc|free|realloc).* | malloc_consolidate | unlink_chunk.*
        | sysmalloc.* | tcache_.* | malloc | free | calloc | realloc | reallocarray | memalign
        | posix_memalign)
    | _start | (__GI_)? __clone3? | start_thread
    | (__GI_)? _* (w?mem(p?cpy|move|set|r?chr|cmp|mem) | bcmp | bzero
        | (str|wcs)(n?len|n?cpy|n?cat|n?(case)?cmp|r?chr|(case)?str|c?spn|pbrk|tok|sep|n?dup
        | to[a-z]+)
        | stpn?cpy) (_(l|r|chk|internal|sse|ssse|avx|evex|erms|unaligned|generic).*)?
    | operator\ (new|delete)(\[\])? (\(.*)?
    | std::(terminate|unexpected|abort|__\w+) .* | __cxa_.* | __gnu_cxx::__verbose_terminate.*
    | __cxxabiv1::.* | __restore_rt | <signal\ handler\ called> | _IO_.* | __kernel_.*
    | (rust_panic|rust_begin_unwind|core::panicking::|std::panicking::|std::sys::backtrace).*
    """,
    re.VERBOSE,
)
"""Functions of the C library, sanitizers and runtimes, in which a bug shows but is not located."""

_LIBRARY = re.compile(
    r"(ld(-linux[\w-]*|-musl[\w-]*|-[\d.]+)?|lib(c|pthread|m|rt|gcc_s|stdc\+\+|c\+\+|c\+\+abi"
    r"|asan|ubsan|msan|tsan|lsan|clang_rt[\w.-]*|dislocator))(-[\d.]+)?\.so([.\d]*)"
    r"|\[vdso\]|linux-vdso\.so\.1"
)

_LINKED_IN = re.compile(
    r"""
      _(?![ZR])[_A-Z]\w*  # _Z and _R begin mangled names of C++ and Rust
    | v?(f|s|d|as|sn)?w?(printf|scanf) | f?(put|get)w?[cs] | (get|put)w?char | f(read|write)
    | qsort(_r)? | bsearch | (ato|strto)[a-z]+ | f?(open|close|flush) | getline | getdelim | perror
    """,
    re.VERBOSE,
)
"""Functions that belong to the C library, if they have no source file, or one of the C library.

C reserves the first kind of names for it.
"""

_C_LIBRARY_FILE = re.compile(
    r"\./(?P<folder>[\w/-]+)/\./(?P=folder)/.*|(.*/)?(sysdeps|glibc-[\d.]+)/.*"
)
"""Source files of glibc, as its debug symbols name them: a package that gdb recommends."""

_SUFFIX = re.compile(r"(\.(isra|constprop|part|cold|lto_priv|llvm)(\.\d+)*|::h[0-9a-f]{16})+\Z")


@dataclass(frozen=True, slots=True)
class Frame:
    """One call, as reported by a debugger or a sanitizer; unknown fields have their defaults."""

    function: str = ""
    file: str = ""
    line: int = 0
    module: str = ""
    offset: int = -1

    @property
    def name(self) -> str:
        """The function; without symbols, the module and the offset in its file."""
        if self.function:
            return _SUFFIX.sub("", self.function)
        if self.module and self.offset >= 0:
            return f"{self.module.rpartition('/')[2]}+{self.offset:#x}"
        return "??"

    @property
    def place(self) -> str:
        """``file.c:12 in func``."""
        return StackFrame(self.name, self.file, self.line).place

    @property
    def runtime(self) -> bool:
        """Whether the call is in the C library, a sanitizer or a runtime."""
        if self.function and _RUNTIME.fullmatch(self.name):
            return True
        return bool(_LIBRARY.fullmatch(self.module.rpartition("/")[2]))

    @property
    def inherited(self) -> bool:
        """Whether the call is in code of the C or C++ library that is part of the program's file.

        Such code is inlined from a header, or linked statically.
        """
        if self.file and not _C_LIBRARY_FILE.fullmatch(self.file):
            return is_system_header(self.file)
        return _LINKED_IN.fullmatch(self.name) is not None


def relevant_frames(frames: Iterable[Frame]) -> list[Frame]:
    """Return the application's frames; if there are none, all frames with a name."""
    known = [frame for frame in frames if frame.name != "??"]
    return [frame for frame in known if not frame.runtime] or known


def naming_frame(relevant: Sequence[Frame]) -> Frame:
    """Return the frame by which users know a finding: the innermost one of the program itself.

    ``relevant``: from :func:`relevant_frames`, not empty. Signatures do not depend on this: they
    are also in logs and verdicts files, and must stay equal for the same bug.
    """
    return next((frame for frame in relevant if not frame.inherited), relevant[0])


def cycle(frames: Sequence[Frame]) -> list[Frame]:
    """Return the functions of an endless recursion, sorted by name; an empty list if none.

    All functions of the cycle are returned, because it is chance in which one the stack overflows.
    """
    counts = Counter(frame.name for frame in frames)
    often = max(MANY, max(counts.values(), default=0) // 8)
    first = {frame.name: frame for frame in reversed(frames) if counts[frame.name] >= often}
    return [first[name] for name in sorted(first)]


def common(stacks: Sequence[Sequence[Frame]]) -> list[Frame]:
    """Return the calls that all stacks of one run share, innermost first.

    In an endless loop the stacks share the function with the loop; the called functions vary.
    """
    outside_in = [list(reversed(stack)) for stack in stacks if stack]
    if not outside_in:
        return []
    levels = takewhile(
        lambda level: len({frame.name for frame in level}) == 1, zip(*outside_in, strict=False)
    )
    return [level[0] for level in levels][::-1] or list(stacks[0])


def signature(kind: str, frames: Sequence[Frame], *more: str) -> str:
    """Return the signature, like ``SIGSEGV-1f0c2d3e4a``, of a kind and the top of a stack.

    ``frames``: from :func:`relevant_frames`. ``more``: other texts that distinguish causes.
    """
    endless = cycle(frames)
    basis = Basis(kind, depth=len(endless) or DEPTH, more=more)
    counted = counting([StackFrame(f.name) for f in endless or frames], basis, ())
    return signature_of(basis, counted)


@dataclass(frozen=True, slots=True)
class Signed:
    """A signature, and the frames and basis of which it is made, as an event contains them.

    ``frames`` and ``basis`` are empty if the signature cannot be made of them again.
    """

    signature: str
    frames: list[dict[str, Any]] = field(default_factory=list)
    basis: dict[str, Any] = field(default_factory=dict)


def signed(kind: str, frames: Iterable[Frame], *more: str) -> Signed:
    """Return the signature of a kind and all frames of a stack, innermost first."""
    every = [frame for frame in frames if frame.name != "??"]
    relevant = relevant_frames(every)
    text = signature(kind, relevant, *more)
    endless = cycle(relevant)
    outside = next((n for n, f in enumerate(every) if f.name == _ENTRY), len(every))
    stack = [
        StackFrame(
            f.name, f.file, f.line, LIBRARY if f.runtime else HARNESS if n >= outside else OWN
        )
        for n, f in enumerate(every)
    ]
    if endless:
        stack = [StackFrame(f.name, f.file, f.line) for f in endless]
    rows = frame_rows(stack, lambda frame: frame.function)
    basis = Basis(kind, depth=len(endless) or DEPTH, more=more)
    kept = parse_frames(rows)
    # Not if names were cut, or functions of a recursion left out: the signature would differ.
    if not kept or signature_of(basis, counting(kept, basis, ())) != text:
        return Signed(text)
    return Signed(text, rows, basis.row())
