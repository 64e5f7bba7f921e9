"""gcov, and the choice between it and llvm-cov."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from fuzztui.features.fuzzfirst.coverage_tool import CoverageTool, Report, json_of, report
from fuzztui.features.fuzzfirst.llvm_cov import LlvmCov, clang_version
from fuzztui.run.afl.build import build_environment
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import SupervisorError

AUTO: Final = "auto"
KEY: Final = "target.coverage_tool"


class Gcov(CoverageTool):
    """gcc and gcov."""

    name = "gcov"
    compiler = "gcc --coverage"
    flags = "--coverage -O0"
    dump = "__gcov_dump"
    counts = "*.gcda"

    def __init__(self) -> None:
        self.compilers = {name: shutil.which(name) or name for name in ("gcc", "g++")}

    def missing(self) -> str:
        """Debian's build-essential has all of them."""
        lost = next((t for t in ("gcc", "g++", "gcov", "ar") if shutil.which(t) is None), "")
        return lost and f"{lost} is not installed (Debian: apt install build-essential)"

    def reports(self, home: Path, build: Path, program: Path) -> Iterator[Report]:
        """Run gcov on each object."""
        for notes in sorted(home.rglob("*.gcno")):
            # A name that begins with a dash would be an option.
            command = ["gcov", "-b", "--json-format", "--stdout", f"./{notes.name}"]
            for line in report(command, notes.parent).splitlines():
                answer = json_of(line)
                where = Path(answer.get("current_working_directory", notes.parent))
                for file in answer["files"]:
                    yield file["file"], where, notes, file


def chosen_tool(wanted: str, campaign: Campaign) -> tuple[CoverageTool, str]:
    """Return the tool for a build, and why it is this one, as text for users. Blocks.

    ``wanted``: the name of a tool, or :data:`AUTO`: llvm-cov if afl-cc is clang, else gcov. Raises
    OSError, :class:`SupervisorError` if something is not installed.
    """
    env = build_environment(campaign)
    is_named = campaign.target.get("coverage_tool") == wanted
    named = f"{KEY} names it" if is_named else "as in the log of the run"
    afl = shutil.which(env["CC"], path=env.get("PATH"))
    version, _ = clang_version(afl or "")
    if wanted == Gcov.name or (wanted == AUTO and not version):
        tool: CoverageTool = Gcov()
        why = named if wanted != AUTO else f"{env['CC']} is not clang"
    else:
        tool = LlvmCov(str(afl) if version else "clang")
        why = named if wanted != AUTO else f"afl-cc is clang {version}"
        if wanted == AUTO and (lost := tool.missing()):
            tool, why = Gcov(), lost
    if lost := tool.missing():
        raise SupervisorError(f"{lost}; install it, or leave this out")
    return tool, why
