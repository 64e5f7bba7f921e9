"""The choice of the tool that measures lines, and the bounds of its reports."""

import os
import shutil
from pathlib import Path

import pytest

from fuzztui.features.fuzzfirst import coverage_tool
from fuzztui.features.fuzzfirst.coverage_tool import report
from fuzztui.features.fuzzfirst.coverage_tools import chosen_tool
from fuzztui.run.campaign import Campaign, load
from fuzztui.run.campaign.rundir import SupervisorError

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("gcc", "gcov")), reason="gcc is not installed"
)


def campaign(place: Path, compiler: str) -> Campaign:
    """A campaign for which AFL++'s compiler is the one whose ``--version`` prints this."""
    afl = place / "afl"
    afl.mkdir()
    for name in ("afl-cc", "afl-fuzz"):
        (afl / name).write_text(f"#!/bin/sh\nprintf '%s\\n' '{compiler}'\n")
        (afl / name).chmod(0o700)
    (place / "seed").write_text("x")
    (place / "c.toml").write_text(
        '[target]\ncommand = ["./a", "@@"]\nbuild = "$CC -o a $SOURCE/a.c"\n'
        '[engine]\nkind = "afl"\nseeds = ["seed"]\nafl_path = "afl"\n'
    )
    return load(place / "c.toml").campaign


def test_a_clang_without_tools_of_its_version_is_no_reason_to_fail(tmp_path: Path) -> None:
    found = campaign(tmp_path, "clang version 4321.0.1")
    tool, why = chosen_tool("auto", found)
    assert tool.name == "gcov"
    assert "4321" in why or "clang" in why
    with pytest.raises(SupervisorError, match="apt install"):
        chosen_tool("llvm-cov", found)


def test_gcc_measures_by_gcov(tmp_path: Path) -> None:
    tool, why = chosen_tool("auto", campaign(tmp_path, "gcc (Debian) 12.2.0"))
    assert tool.name == "gcov"
    assert "not clang" in why


@pytest.mark.skipif(shutil.which("llvm-profdata") is None, reason="llvm is not installed")
def test_a_tool_that_is_named_is_used(tmp_path: Path) -> None:
    found = campaign(tmp_path, "gcc (Debian) 12.2.0")
    assert chosen_tool("llvm-cov", found)[0].name == "llvm-cov"
    assert chosen_tool("gcov", found)[0].name == "gcov"


def test_a_report_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert report(["echo", "x"], tmp_path) == b"x\n"
    monkeypatch.setattr(coverage_tool, "MAX_REPORT", 1 << 20)
    with pytest.raises(SupervisorError, match="larger than 1 MiB"):
        report(["yes"], tmp_path)
    with pytest.raises(SupervisorError, match="nowhere"):
        report(["ls", os.fspath(tmp_path / "nowhere")], tmp_path)
