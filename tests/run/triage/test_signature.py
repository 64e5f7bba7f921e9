"""Stacks and sanitizers' reports: equal causes are equal, nothing that is printed breaks us."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.run.triage.gdb import parse_backtraces
from fuzztui.run.triage.sanitizer import parse_report
from fuzztui.run.triage.signature import (
    Frame,
    common,
    cycle,
    naming_frame,
    relevant_frames,
    signature,
    signed,
)

OVERFLOW = b"""reading x
=================================================================
==28941==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014 at pc 0x5646
WRITE of size 5 at 0x602000000014 thread T0
    #0 0x5646c69eb659 in __asan_memcpy (/tmp/zoo/t_asan+0xa4659) (BuildId: 3a1a56975a788f2)
    #1 0x5646c6a27249 in ns::parse(char const*, unsigned long) const /tmp/my dir/t.cc:18:32
    #2 0x5646c6a27249 in (anonymous namespace)::top(int) /tmp/my dir/t.cc:30
    #3 0x5646c6a27249 in main /tmp/my dir/t.cc:40:1
    #4 0x7f0ba569a249 in __libc_start_call_main csu/../sysdeps/nptl/libc_start_call_main.h:58:16
    #5 0x5646c6969430 in _start (/tmp/zoo/t_asan+0x22430) (BuildId: 3a1a56975a788f2)

0x602000000014 is located 0 bytes to the right of 4-byte region [0x602000000010,0x602000000014)
allocated by thread T0 here:
    #0 0x5646c69ec27e in __interceptor_malloc (/tmp/zoo/t_asan+0xa527e) (BuildId: 3a1a56975a788f2)

SUMMARY: AddressSanitizer: heap-buffer-overflow (/tmp/zoo/t_asan+0xa4659) in __asan_memcpy
Shadow bytes around the buggy address:
"""


def test_a_report_of_asan():
    report = parse_report(OVERFLOW)
    assert (report.kind, report.access) == ("heap-buffer-overflow", "WRITE of size 5")
    assert report.text.startswith("==28941==ERROR")
    assert "Shadow" not in report.text
    assert len(report.frames) == 6
    frames = relevant_frames(report.frames)
    assert [f.name for f in frames] == ["ns::parse", "(anonymous namespace)::top", "main"]
    assert frames[0].place == "t.cc:18 in ns::parse"
    assert frames[0].file == "/tmp/my dir/t.cc"


@pytest.mark.parametrize(
    ("said", "kind", "access", "names"),
    [
        (
            b"==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x1 T0)\n"
            b"==1==The signal is caused by a READ memory access.\n    #0 0x1 in f /t.c:8:39\n",
            "SEGV", "READ", ["f"],
        ),
        (
            b"==1==ERROR: AddressSanitizer: attempting double-free on 0x6 in thread T0:\n"
            b"    #0 0x1 in __interceptor_free (/t+0x1)\n    #1 0x1  (/t+0x14)\n",
            "double-free", "", ["t+0x14"],
        ),
        (
            b"==1==ERROR: AddressSanitizer: attempting free on address which was not malloc()-ed\n",
            "bad-free", "", [],
        ),
        (
            b"==7==WARNING: MemorySanitizer: use-of-uninitialized-value\n    #0 0x4 in g /t.c:1\n",
            "use-of-uninitialized-value", "", ["g"],
        ),
        (
            b"t.c:12:5: runtime error: index 12 out of bounds for type 'int [4]'\n"
            b"    #0 0x4 in g /t.c:1\n",
            "index N out of bounds for type 'int [N]'", "", ["g"],
        ),
        (
            b"t.c:1:5: runtime error: signed integer overflow: 2147483647 + 1 cannot be\n",
            "signed integer overflow", "", [],
        ),
        (
            b"==9==ERROR: LeakSanitizer: detected memory leaks\n\nDirect leak of 3 byte(s)\n"
            b"    #0 0x1 in malloc (/t+0x1)\n    #1 0x2 in leaky /t.c:3\n\n",
            "memory leak", "", ["leaky"],
        ),
        (
            b"WARNING: ThreadSanitizer: data race (pid=77)\n  Write of size 4\n"
            b"    #0 racer(int, int) /my t.c:3:12 (t+0xd4473) (BuildId: c1f8)\n"
            b"    #1 start_thread <null> (t+0xd4473)\n    #2 sub.c:3 (t+0x3)\n",
            "data race", "", ["racer", "t+0x3"],
        ),
    ],
)  # fmt: skip
def test_reports(said, kind, access, names):
    report = parse_report(said)
    assert (report.kind, report.access) == (kind, access)
    assert [frame.name for frame in relevant_frames(report.frames)] == names


def test_no_report():
    assert parse_report(b"") is None
    assert parse_report(b"ERROR: something else: x\nAssertion failed\n") is None


WORDS = st.sampled_from(
    [b"==1==ERROR: AddressSanitizer: ", b"runtime error: ", b"    #0 0x1 in ", b"#1 0x2", b" (",
     b")", b"+0x", b"/a b/c:1:2", b"\n", b"\r", b"\x1b[31m", b"\xff\xfe", b"[/x]", b"operator()",
     b"SUMMARY: AddressSanitizer: x", b"READ of size 4", b"(BuildId: ab)", b"@@ fuzztui stack\n",
     b"@@ fuzztui mappings\n", b"@@ fuzztui end\n", b"#0  0x1 in f (", b") at x.c:1",
     b" from /l.so", b"      0x1 0x2 0x1 0x0 r--p /x\n", b"=> 0x1 <f>"]
)  # fmt: skip


@given(st.lists(WORDS | st.binary(max_size=20), max_size=60).map(b"".join))
def test_whatever_is_printed_is_read_without_failing(output):
    report = parse_report(output)
    if report:
        assert signature(report.kind, relevant_frames(report.frames))
    for trace in parse_backtraces(output):
        assert signature("SIGSEGV", relevant_frames(trace.frames))


@pytest.mark.slow
@pytest.mark.parametrize(
    "filling",
    [b"    #0 0x1 in " + b"(" * 3_000_000, b"a " * 2_000_000, b"#1 0x2 in f /x:1\n" * 200_000,
     b"\n" * 3_000_000, (b"#1 0x2 in " + b" () at x:1 (" * 150 + b"\n") * 300,
     b"ERROR: AddressSanitizer: " * 100_000],
)  # fmt: skip
def test_huge_reports_are_cut(filling):
    report = parse_report(b"==1==ERROR: AddressSanitizer: SEGV on\n" + filling)
    assert report.kind == "SEGV"
    assert len(report.frames) <= 512
    parse_backtraces(b"@@ fuzztui stack\n" + filling + b"\n@@ fuzztui end\n")


GDB = """process 1 is executing new program: /t

@@ fuzztui stack
#0  parse_null (p=...) at t.c:8
#1  0x0000555555558000 in ns::f<int> (x=...) at /src/my dir/t.c:14
#2  <signal handler called>
#3  0x00007ffff7e00000 in ?? () from /lib/x86_64-linux-gnu/libc.so.6
#4  0x0000555555557010 in ?? ()
#5  0x00007ffffffde100 in ?? ()
=> 0x555555557123 <parse_null+3>:\tud2

@@ fuzztui mappings
process 28916
Mapped address spaces:

          Start Addr           End Addr       Size     Offset  Perms  objfile
      0x555555554000     0x555555557000     0x3000        0x0  r--p   /tmp/zoo/t_g
      0x555555557000     0x55555555c000     0x5000     0x3000  r-xp   /tmp/zoo/t_g
      0x7ffff7dfa000     0x7ffff7f50000   0x156000    0x26000  r-xp   /usr/lib/libc.so.6
      0x7ffffffde000     0x7ffffffff000    0x21000        0x0  rw-p   [stack]

@@ fuzztui end
"""


def test_a_backtrace_of_gdb():
    (trace,) = parse_backtraces(GDB.encode())
    assert trace.frames[0] == Frame("parse_null", "t.c", 8, "/tmp/zoo/t_g", 0x3123)
    assert [frame.name for frame in relevant_frames(trace.frames)] == [
        "parse_null", "ns::f<int>", "t_g+0x3010",
    ]  # fmt: skip
    assert trace.text.count("\n") == 5


def test_the_address_layout_does_not_matter():
    elsewhere = GDB.replace("0x5555555", "0x6666666").replace("0x00005555555", "0x00006666666")
    one, other = (parse_backtraces(text.encode())[0].frames for text in (GDB, elsewhere))
    assert one == other


def frames(*names):
    return [Frame(name) for name in names]


def test_runtimes_are_passed_over_but_not_the_application():
    below = frames(
        "__GI_raise", "abort", "__assert_fail_base", "__interceptor_strcpy", "__asan_memcpy",
        "__memcpy_avx_unaligned_erms", "__libc_message", "malloc_printerr", "_int_free", "free",
        "std::terminate()", "__cxa_throw", "pthread_kill@@GLIBC_2.34", "__stack_chk_fail",
        "strlen", "operator new(unsigned long)", "_start", "__libc_start_main",
    )  # fmt: skip
    ours = frames("memory_of", "string_parse", "abort_parse", "free_node", "starter", "maller")
    assert relevant_frames(below + ours) == ours
    assert relevant_frames(below) == below  # better than nothing
    assert relevant_frames([Frame("", module="/usr/lib/libc.so.6", offset=3), *ours]) == ours


@pytest.mark.parametrize(
    "inner",
    [
        [Frame("snprintf", "/usr/include/x86_64-linux-gnu/bits/stdio2.h", 54, "/t", 5)],
        [Frame("atoi", "/usr/include/stdlib.h", 364, "/t", 5)],
        [Frame("std::vector<int>::at", "/usr/include/c++/12/bits/stl_vector.h", 1, "/t", 5)],
        [Frame("f", "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/new", 1)],
        [Frame("_mm_load_si128", "/usr/lib/llvm-14/lib/clang/14.0.6/include/emmintrin.h", 3)],
        [Frame(name, module="/t", offset=7) for name in ("__vfprintf_internal", "snprintf")],
        [  # with the debug symbols of the C library
            Frame("__GI__IO_doallocbuf", "./libio/./libio/genops.c", 342),
            Frame("__vfprintf_internal", "./stdio-common/./stdio-common/vfprintf-internal.c", 1),
            Frame("printf", "./stdio-common/./stdio-common/printf.c", 33),
            Frame("__write", "../sysdeps/unix/sysv/linux/write.c", 26),
        ],
    ],
)
def test_a_finding_has_the_name_of_the_programs_frame_not_of_the_c_librarys(inner):
    ours = [Frame("parse", "/src/parse.c", 54, "/t", 9), Frame("main", "/src/main.c", 8, "/t", 99)]
    assert naming_frame([*inner, *ours]) == ours[0]
    assert naming_frame(inner) == inner[0]  # better than nothing


def test_a_library_that_is_installed_may_be_what_is_fuzzed():
    for file in ("/usr/include/nlohmann/json.hpp", "/usr/include/boost/bits/x.hpp", "/src/c++/x.h"):
        one = Frame("next", file, 3)
        assert naming_frame([one, Frame("main", "/src/main.c", 8)]) is one
    one = Frame("png_read_row", module="/t", offset=7)  # compiled without -g, the harness with it
    assert naming_frame([one, Frame("main", "/src/main.c", 8)]) is one


def test_the_frame_that_names_a_finding_does_not_change_its_signature():
    """A resumed campaign, and verdicts files, have signatures that earlier versions have made."""
    header = "/usr/include/x86_64-linux-gnu/bits/stdio2.h"
    stack = [Frame("abort"), Frame("snprintf", header, 54), Frame("parse", "../parse.c", 54),
             Frame("main", "../main.c", 8)]  # fmt: skip
    absolute = [Frame(f.function, f.file.replace("..", "/src"), f.line) for f in stack]
    assert signed("SIGABRT", stack).signature == "SIGABRT-c5a2a584c0"
    assert signed("SIGABRT", absolute).signature == "SIGABRT-c5a2a584c0"


def test_an_endless_recursion_has_lines():
    stack = [Frame("value", "/p.c", 7), Frame("list", "/p.c", 3)] * 40
    made = signed("SIGSEGV", stack)
    assert [(row["function"], row["line"]) for row in made.frames] == [("list", 3), ("value", 7)]


def test_a_signature_goes_by_the_top_of_the_stack():
    one = signature("SIGSEGV", frames("f", "g", "h", "i"))
    assert one.startswith("SIGSEGV-")
    assert one == signature("SIGSEGV", frames("f", "g", "h", "j"))
    assert one == signature("SIGSEGV", frames("f", "f", "g", "f", "h"))
    assert one == signature("SIGSEGV", [Frame("f.isra.0", "x.c", 3), *frames("g", "h")])
    assert one != signature("SIGSEGV", frames("g", "f", "h"))
    assert one != signature("SIGABRT", frames("f", "g", "h"))
    assert signature("a \x1b[31m\n/b", []).startswith("a-31m-b-")


def test_endless_recursion_is_one_cause_wherever_it_breaks_off():
    rounds = ["value", "list", "item"] * 80
    stacks = [frames(*start, *rounds) for start in ([], ["leaf"], ["item"], ["list", "item"])]
    assert len({signature("SIGSEGV", stack) for stack in stacks}) == 1
    assert [f.name for f in cycle(stacks[1])] == ["item", "list", "value"]
    assert cycle(frames("value", "list", "value", "main")) == []


def test_what_looks_at_a_loop_have_in_common():
    looks = [frames("leaf", "step", "loop", "main"), frames("loop", "main"),
             frames("other", "loop", "main")]  # fmt: skip
    assert [f.name for f in common(looks)] == ["loop", "main"]
    assert common([]) == []
    assert [f.name for f in common([frames("a"), frames("b")])] == ["a"]
