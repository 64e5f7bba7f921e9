"""The report of a finding: its own frames are bright, and the source around the crash is shown."""

from __future__ import annotations

import os

import pytest
from fakes import WALL, started
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.kernel.wire import events as ev
from fuzztui.tui.base.source_excerpt import CHANGED, load_at
from fuzztui.tui.labels.report import crash_frame, frames_of, report_lines

PYTHON = """Traceback (most recent call last):
  File "/home/me/harness.py", line 7, in load
    return yaml.load(text)
  File "/v/lib/python3.11/site-packages/yaml/__init__.py", line 93, in load
    yield loader.get()
  File "/usr/lib/python3.11/re.py", line 3, in match
    compile()
  File "/v/lib/python3.11/site-packages/yaml/constructor.py", line 325, in timestamp
    values = match.groupdict()
AttributeError: no groupdict
"""
ASAN = """==25138==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x6
    #0 0x55dc1ba013dc in unpack /tmp/nt/crate.c:50:25
    #1 0x55dc1ba013dc in main /tmp/nt/crate.c:88:21
    #2 0x7fd8efd56249 in __libc_start_call_main csu/../sysdeps/nptl/libc_start_call_main.h:58:16
    #3 0x55dc1b942400 in _start (/tmp/nt/crate+0x22400) (BuildId: c31090)
"""
GDB = """#0  unpack (data=0x1, n=3) at crate.c:50
#1  0x0000555555555300 in main () at crate.c:88
#2  0x00007ffff7d4d24a in ?? () from /lib/x86_64-linux-gnu/libc.so.6
"""


def styles(report, place):
    lines = report_lines(report, place, "crash")
    return {line[0].text.strip()[:30]: line[0].style for line in lines if line}


def test_frames_of_a_package_under_test_are_bright_wherever_it_is_installed():
    shown = styles(PYTHON, "constructor.py:325 in timestamp")
    assert [f.line for f in frames_of(PYTHON)] == [7, 93, 3, 325]
    assert shown['File "/home/me/harness.py", li'] == "muted"
    assert shown["return yaml.load(text)"] == "muted"
    assert shown["yield loader.get()"] == ""
    assert shown['File "/usr/lib/python3.11/re.p'] == "muted"
    assert shown["AttributeError: no groupdict"] == "bold crash"
    assert crash_frame(PYTHON, "constructor.py:325 in timestamp").code.startswith("values")


@pytest.mark.parametrize("report", [ASAN, GDB])
def test_frames_of_the_c_library_are_dim(report):
    lines = [line[0].style for line in report_lines(report, "crate.c:50 in unpack", "crash")]
    frames = [style for style in lines if style]
    assert frames[-1] == "muted" and frames.count("bold crash") >= 1
    assert crash_frame(report, "crate.c:50 in unpack").line == 50


def test_a_place_that_is_in_no_frame_is_no_crash():
    for place in ("", "x", "other.py:3 in f", "constructor.py:3 in timestamp"):
        assert crash_frame(PYTHON, place) is None
    assert styles(PYTHON, "")['File "/home/me/harness.py", li'] == "bold"


@given(st.text(alphabet='#0123 at in/.:()<>"File, line\n', max_size=300), st.text(max_size=20))
def test_any_report_can_be_drawn(report, place):
    lines = report_lines(report, place, "crash")
    assert len(lines) == report.count("\n") + 1


def test_a_long_line_is_drawn():
    assert len(report_lines("#0 " + " at" * 100_000, "x:1", "crash")) == 1  # hours, if it tried all


def test_the_source_is_what_the_program_ran(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("\n".join(f"line {n}" for n in range(1, 31)))
    os.utime(file, (WALL, WALL))
    found = load_at(str(file), 10, "line 10", 0.0, 4)
    assert (found.first, found.line, len(found.lines)) == (6, 10, 9)
    assert load_at(str(file), 10, "line 11", WALL, 4).problem == CHANGED
    assert load_at(str(file), 10, "", WALL, 4).lines
    assert load_at(str(file), 10, "", WALL - 1, 4).problem == CHANGED
    assert load_at(str(file), 99, "", WALL, 4).problem == CHANGED
    assert load_at("a.py", 1, "", WALL, 4).problem and load_at("/nowhere", 1, "", WALL, 4).problem


@pytest.mark.slow
async def test_few_findings_are_above_a_report_of_full_width(drive, tmp_path):
    source = tmp_path / "app.py"
    source.write_text("def f():\n    a = 1\n    raise KeyError(a)\n")
    log = started()
    for n in range(12):
        name = f"crashes/id:{n:06}"
        detail = f'  File "{source}", line 3, in f\n    raise KeyError(a)\nKeyError: 1'
        log.add(
            ev.FindingSaved("main", "crash", name, id=n),
            ev.FindingDescribed("main", "crash", name, str(n), "KeyError", "app.py:3 in f", detail),
        )
    few = started()
    few.records = log.records[: 3 + 4]
    async with drive(few, run=tmp_path, press="3") as d:
        assert d.screen.pane.size.width > 100
        await d.until_shows("▸     3     raise KeyError(a)")
    async with drive(log, run=tmp_path, press="3") as d:
        assert d.screen.pane.size.width < 60
