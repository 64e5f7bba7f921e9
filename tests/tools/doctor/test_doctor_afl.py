"""What ``doctor`` says of AFL++: by programs that only answer."""

from pathlib import Path

import pytest

from fuzztui.tools.doctor import afl
from fuzztui.tools.doctor.findings import ABSENT, FAILED, OK, WARNING, MachineFinding

RUNTIME = (
    "ld: cannot find /usr/lib/llvm-14/lib/clang/14.0.6/libclang_rt.asan-x86_64.a: No such file"
)


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH with these programs only: texts are shell scripts."""

    def made(**scripts: str) -> Path:
        for name, script in scripts.items():
            path = tmp_path / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        return tmp_path

    monkeypatch.setattr(afl, "steering_library", lambda: (Path("x"), ""))
    monkeypatch.setattr(afl, "text_library", lambda: (Path("x"), ""))
    return made


GOOD = {
    "afl_fuzz": "echo 'afl-fuzz++4.21c based on afl'",
    "afl_showmap": "",
    "afl_tmin": "",
    "afl_cmin": "",
    "afl_cc": "exit 0",
    "gdb": "echo '[Inferior 1 (process 1) exited normally]'",
}


def found(pattern: str = "core", governor: str = "") -> dict[str, MachineFinding]:
    rows = list(afl.afl_findings(pattern, governor))
    assert all(row.advice for row in rows if row.state != OK)
    assert not any(row.advice for row in rows if row.state == OK)
    return {row.what: row for row in rows}


def states(**kernel: str) -> dict[str, str]:
    return {what: row.state for what, row in found(**kernel).items() if row.state != OK}


def test_all_is_well(programs):
    programs(**GOOD)
    assert states() == {}
    assert "4.21c" in found()["afl++"].text


def test_without_afl_only_that_is_said(programs):
    programs(gdb="exit 1")
    assert {what: row.state for what, row in found("|apport", "powersave").items()} == {
        "afl++": ABSENT
    }


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"afl_fuzz": "echo 'afl-fuzz++3.14c'"}, {"afl++": WARNING}),
        ({"afl_tmin": None}, {"afl tools": WARNING}),
        ({"afl_cc": None}, {"afl-cc": WARNING}),
        ({"afl_cc": "echo error: no; exit 1"}, {"afl-cc": FAILED, "afl-cc, ASan": WARNING}),
        ({"afl_cc": 'test -z "$AFL_USE_ASAN"'}, {"afl-cc, ASan": WARNING}),
        ({"gdb": None}, {"ptrace": ABSENT}),
        ({"gdb": "echo ptrace: Operation not permitted"}, {"ptrace": WARNING}),
    ],
    ids=str,
)
def test_what_is_not_well_has_a_state(other, expected, programs):
    programs(**{name: script for name, script in (GOOD | other).items() if script is not None})
    assert states() == expected


def test_kernel_settings(programs):
    programs(**GOOD)
    assert states(pattern="|/usr/share/apport", governor="powersave") == {
        "core_pattern": WARNING,
        "governor": WARNING,
    }


def test_the_package_of_a_missing_sanitizer_runtime_is_named(programs):
    script = f'test -z "$AFL_USE_ASAN" || {{ echo "{RUNTIME}"; exit 1; }}'
    programs(**GOOD | {"afl_cc": script})
    assert "libclang-rt-14-dev" in found()["afl-cc, ASan"].advice


def test_custom_mutators_that_cannot_be_compiled(programs, monkeypatch):
    programs(**GOOD)
    monkeypatch.setattr(afl, "text_library", lambda: (None, "no C compiler"))
    assert states() == {"mutators": WARNING}
    assert "no C compiler" in found()["mutators"].text
