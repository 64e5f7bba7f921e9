"""Telling causes apart: stack frames, those that mean something, and a short hash of them.

A signature has no address, line or count in it: it stays equal over runs, machines with
another address layout, and small edits of the program.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

__all__ = ["Frame", "common", "cycle", "relevant_frames", "signature"]

DEPTH = 3
"""How many functions, from the innermost out, make a cause."""

MANY = 16
"""A function that is on the stack so often is in an endless recursion."""

_RUNTIME = re.compile(
    r"""
      _*(interceptor|asan|ubsan|msan|tsan|lsan|sanitizer|sanitizer_cov|ubsan_handle)_ .*
    | (__asan|__msan|__tsan|__lsan|__ubsan|__sanitizer|__interception|__sancov|__afl) .*
    | (__GI_)? _* (abort|raise|gsignal|p?thread_kill.*|kill|tgkill|libc_message.*)
    | _* (assert|assert_fail|assert_perror_fail)(_base)?
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
"""Functions of the C library, sanitizers and runtimes: where a bug shows, not where it is."""

_LIBRARY = re.compile(
    r"(ld(-linux[\w-]*|-musl[\w-]*|-[\d.]+)?|lib(c|pthread|m|rt|gcc_s|stdc\+\+|c\+\+|c\+\+abi"
    r"|asan|ubsan|msan|tsan|lsan|clang_rt[\w.-]*|dislocator))(-[\d.]+)?\.so([.\d]*)"
    r"|\[vdso\]|linux-vdso\.so\.1"
)

_SUFFIX = re.compile(r"(\.(isra|constprop|part|cold|lto_priv|llvm)(\.\d+)*|::h[0-9a-f]{16})+\Z")


@dataclass(frozen=True, slots=True)
class Frame:
    """One call, as a debugger or a sanitizer tells it. What is not known is empty."""

    function: str = ""
    file: str = ""
    line: int = 0
    module: str = ""
    offset: int = -1

    @property
    def name(self) -> str:
        """The function; without symbols, the place in the module's file."""
        if self.function:
            return _SUFFIX.sub("", self.function)
        if self.module and self.offset >= 0:
            return f"{self.module.rpartition('/')[2]}+{self.offset:#x}"
        return "??"

    @property
    def place(self) -> str:
        """``file.c:12 in func``."""
        if not self.file:
            return f"in {self.name}"
        name = self.file.rpartition("/")[2]
        return f"{name}:{self.line} in {self.name}" if self.line else f"{name} in {self.name}"

    @property
    def runtime(self) -> bool:
        """Whether it belongs to a library below the application."""
        if self.function and _RUNTIME.fullmatch(self.name):
            return True
        return bool(_LIBRARY.fullmatch(self.module.rpartition("/")[2]))


def relevant_frames(frames: Iterable[Frame]) -> list[Frame]:
    """The application's frames; where there are none, all that have a name."""
    known = [frame for frame in frames if frame.name != "??"]
    return [frame for frame in known if not frame.runtime] or known


def cycle(frames: Sequence[Frame]) -> list[Frame]:
    """The functions of an endless recursion, by name; none where the stack has an end.

    Where in its round the stack gave out is chance: all of them are the cause.
    """
    counts = Counter(frame.name for frame in frames)
    often = max(MANY, max(counts.values(), default=0) // 8)
    first = {frame.name: frame for frame in reversed(frames) if counts[frame.name] >= often}
    return [first[name] for name in sorted(first)]


def common(stacks: Sequence[Sequence[Frame]]) -> list[Frame]:
    """The calls that all stacks of one run share, innermost first: where it does not come out.

    Of an endless loop only the function that loops is the same at every look; the functions
    that it calls come and go.
    """
    outside_in = [list(reversed(stack)) for stack in stacks if stack]
    if not outside_in:
        return []
    levels = takewhile(
        lambda level: len({frame.name for frame in level}) == 1, zip(*outside_in, strict=False)
    )
    return [level[0] for level in levels][::-1] or list(stacks[0])


def signature(kind: str, frames: Sequence[Frame], *more: str) -> str:
    """``SIGSEGV-1f0c2d3e4a``: one for all findings with that kind and that top of the stack.

    ``frames``: as :func:`relevant_frames` gives them. ``more``: what else is part of the cause.
    """
    names = [frame.name for frame in cycle(frames)]
    if not names:
        # Once each: how often a recursion that ends was entered is the input's business.
        names = list(dict.fromkeys(frame.name for frame in frames))[:DEPTH]
    digest = hashlib.sha256("\n".join([kind, *names, *more]).encode(errors="backslashreplace"))
    word = re.sub(r"[^A-Za-z0-9]+", "-", kind).strip("-")[:40] or "crash"
    return f"{word}-{digest.hexdigest()[:10]}"
