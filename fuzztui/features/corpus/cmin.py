"""Run afl-cmin: which of some inputs together cover what all of them cover.

afl-cmin is an awk script that puts names into shell commands without escaping them (4.04c): it
gets inputs with numbers as names, in a directory whose path needs no escaping.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import temporary_directory
from fuzztui.run.afl.build import printed_line
from fuzztui.run.campaign import Campaign
from fuzztui.run.process.execute import ProcessMark, execute
from fuzztui.run.triage.program import TargetProgram

_START_S: Final = 30.0
_INPUT_S: Final = 1.0
"""Seconds for the trace of one input, which a script reads, in addition to its execution."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./+:@%,-]+")
_FILE: Final = re.compile(r"Processing file (\d+)")
_UNWANTED: Final = (
    "AFL_CMIN_ALLOW_ANY",
    "AFL_CMIN_CRASHES_ONLY",
    "AFL_DEBUG",
    "AFL_DEBUG_CHILD",
    "AFL_KEEP_TRACES",
    "AFL_PRINT_FILENAMES",
)
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])|[\x0e\x0f]")
_REASON: Final = re.compile(r"^\[[-!]\]|error|ABORT", re.I)


class CminFailed(Exception):
    """afl-cmin has no result; the message is the reason."""


async def cmin(
    campaign: Campaign,
    inputs: Sequence[Path],
    mark: ProcessMark,
    progress: Callable[[int], None],
) -> list[int]:
    """Return the indices of the inputs that afl-cmin keeps.

    ``progress`` is called with the number of inputs whose traces were read. Raises
    :class:`CminFailed`, SupervisorError, OSError.
    """
    subject = TargetProgram.of(campaign)
    tool = subject.tool("afl-cmin")
    if tool is None:
        raise CminFailed("afl-cmin was not found; install afl++, or set engine.afl_path")
    if subject.blind or "-W" in subject.modes:
        raise CminFailed(f"afl-cmin cannot run a target with {'-n' if subject.blind else '-W'}")
    if any("'" in word for word in subject.command):
        raise CminFailed("afl-cmin cannot pass an argument with ' to a program")
    with temporary_directory() as temporary:
        place = Path(temporary)
        if not _PLAIN.fullmatch(str(place)):
            raise CminFailed(f"afl-cmin cannot use {place}; set TMPDIR to a plain path")
        for part in ("in", "cwd"):
            (place / part).mkdir()
        for at, file in enumerate(inputs):
            shutil.copyfile(file, place / "in" / f"{at:07}")
        program = subject.command[0]
        if not _PLAIN.fullmatch(program):
            (place / "program").symlink_to(program)
            program = str(place / "program")
        argv = ["env", *(word for name in _UNWANTED for word in ("-u", name)), tool]
        argv += ["-i", str(place / "in"), "-o", str(place / "out")]
        argv += ["-t", str(max(20, round(1000 * subject.hang_limit)))]
        argv += ["-m", str(max(5, subject.memory >> 20)) if subject.memory else "none"]
        if any("@@" in word for word in subject.command):
            argv += ["-f", str(place / subject.input_name)]
        argv += [*subject.modes, "--", program, *subject.command[1:]]
        env = {key: value for key, value in subject.env.items() if key not in _UNWANTED}
        env |= {"AFL_ALLOW_TMP": "1"}
        if "AFL_FORKSRV_INIT_TMOUT" not in {**os.environ, **env}:
            env["AFL_FORKSRV_INIT_TMOUT"] = str(round(1000 * _START_S))

        def hear(output: bytes) -> None:
            if found := _FILE.findall(output.decode(errors="replace")):
                progress(int(found[-1]))

        ended = await execute(
            argv,
            mark,
            cwd=subject.cwd or place / "cwd",
            limit=2 * _START_S + len(inputs) * (subject.hang_limit + _INPUT_S),
            env=env,
            stdout=True,
            on_output=hear,
        )
        if ended.status != 0:
            lines = [
                printed_line(_ESCAPES.sub("", line))
                for line in ended.output.decode(errors="replace").splitlines()
            ]
            said = [line for line in lines if _REASON.search(line)] or [*filter(None, lines)]
            if ended.status is None:
                raise CminFailed(f"afl-cmin took more than {ended.seconds:.0f} s")
            raise CminFailed(said[-1] if said else f"afl-cmin: exit status {ended.status}")
        names = os.listdir(place / "out")  # noqa: PTH208 - names only
        kept = sorted(int(name) for name in names if name.isdecimal())
    if not kept or kept[-1] >= len(inputs):
        raise CminFailed("afl-cmin kept no input")
    return kept
