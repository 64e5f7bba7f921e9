"""Run inputs of fleets that fuzztui only watches, by the commands in AFL's files.

Other users may have written these files, so that no command is run before the user has seen it and
has agreed.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from fuzztui.cli.asking import agreed
from fuzztui.cli.output import DONE, FAILED, FINDINGS, CliError, UsageError, say
from fuzztui.cli.repro_program import code_of, run_programs
from fuzztui.features.watch.directories import Trees
from fuzztui.features.watch.reproduced import keep
from fuzztui.features.watch.snapshot import snapshot
from fuzztui.kernel.base.files import read_if_regular, read_regular
from fuzztui.kernel.base.text import several, visible
from fuzztui.kernel.model.finding_tallies import is_examined
from fuzztui.kernel.wire.events import FindingSaved
from fuzztui.kernel.wire.finding_kinds import CRASH
from fuzztui.kernel.wire.severity import beside
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.triage.afl import MAX_INPUT, category_of, description, examine_file
from fuzztui.run.triage.examine import Reproduction, printable
from fuzztui.run.triage.program import (
    HANG_S,
    TargetProgram,
    calibrated,
    find_file,
    keeps_shadow,
    repro_command_line,
)

MEMORY = 4 << 30
"""Bytes of address space of a program that runs the crashes of a fleet, unless it has a
sanitizer."""

_MAX_COMMAND = 64 << 10
_FILE = Path("@@")
"""Stands for the input in a command that is shown for several."""
_HERE = "run this in the directory in which afl-fuzz was started"


def repro_watched(directory: Path, given: str) -> int:
    """Run an input of a watched fleet by the command in AFL's files, after asking the user."""
    near = directory, directory.absolute().parent, *sorted(directory.iterdir())
    places = [Path(given), *(place / given for place in near)]
    # os.path: no error for a directory that this user may not look into.
    found = (place.absolute() for place in places if os.path.isfile(place))  # noqa: PTH113
    if (file := next(found, None)) is None:
        words = f"there is no such file here or in {directory}, whose findings are listed by"
        raise UsageError(f"{given}: {words}: fuzztui repro {directory}")
    program = _program(instance := file.parent.parent)
    print(f"command: {visible(repro_command_line(program, file))}", flush=True)
    if missing := program.missing():
        raise CliError(f"{missing}; {_HERE}")
    trust = "run the line above, or 'fuzztui repro' in a terminal"
    if not _agreed(f"{instance}/cmdline names this command", trust):
        return FAILED
    try:
        data = read_regular(file, MAX_INPUT)
        result = run_programs([program], file, data, category_of(file))
    except OSError as e:
        raise CliError(str(e)) from None
    _keep(file, data, result)
    return code_of(result)


def run_crashes(directories: list[Path], trusted: Collection[str]) -> int:
    """Run the crashes that were not run yet, one at a time, and keep what they do.

    The user must agree to each command, or have named it in ``trusted``. Returns FAILED if some
    were not run, else FINDINGS if an input has crashed its program again, else DONE.
    """
    codes = {DONE}
    for program, files in _by_command(directories, codes):
        line = repro_command_line(program, _FILE)
        if visible(line) != line:
            codes.add(FAILED)
            say(f"not run: a command with control characters: {visible(line)}")
            continue
        print(f"command: {line}", flush=True)
        names = f"{files[0].parent.parent}/cmdline names this command"
        trust = f"name it: --trust {shlex.quote(line)}"
        if missing := program.missing():
            say(f"not run: {missing}; {_HERE}")
        if missing or not (
            line in trusted
            or _agreed(f"{names} for {several(len(files), CRASH.noun, CRASH.plural)}", trust)
        ):
            codes.add(FAILED)
            continue
        for n, file in enumerate(files, 1):
            at = f"{n:,} of {len(files):,}: {file.parent.parent.name}/{file.name}"
            try:
                data = read_regular(file, MAX_INPUT)
                result = asyncio.run(examine_file(program, CRASH.category, data))
            except (OSError, SupervisorError) as e:
                codes.add(FAILED)
                say(f"{at}: not run: {e}")
            else:
                codes.add(code_of(result))
                _keep(file, data, result)
                say(f"{at}: {result.title}{beside(result.severity.level)}")
    return next(code for code in (FAILED, FINDINGS, DONE) if code in codes)


def _by_command(directories: list[Path], codes: set[int]) -> list[tuple[TargetProgram, list[Path]]]:
    """The crashes that were not run yet, by their command; without one: FAILED."""
    state = snapshot(Trees(directories)).state
    found: dict[object, tuple[TargetProgram, list[Path]]] = {}
    for finding in state.findings.values():
        instance = Path(state.instances[finding.instance].directory)
        file = find_file(instance, finding.file)
        if finding.category != CRASH.category or is_examined(finding) or file is None:
            continue
        try:
            program = _program(instance)
        except UsageError as e:
            codes.add(FAILED)
            say(f"{finding.key}: not run: {e}")
        else:
            memory = 0 if keeps_shadow(program.command[0]) else MEMORY
            program = replace(program, memory=memory)
            found.setdefault((program.command, program.cwd), (program, []))[1].append(file)
    return [*found.values()]


def _program(instance: Path) -> TargetProgram:
    """The program that AFL's files name. Raises :class:`UsageError`."""
    words = (read_if_regular(instance / "cmdline", _MAX_COMMAND) or b"").decode(errors="replace")
    command = words.removesuffix("\n").split("\n")  # an argument may have other line ends
    if not command[0]:
        raise UsageError(f"{instance / 'cmdline'}: does not have the target's command")
    # afl-fuzz was mostly started here, or near its output.
    near = (Path.cwd(), *instance.parents)
    cwd = next((at for at in near if (at / command[0]).is_file()), Path.cwd())
    command[0] = os.path.normpath(cwd / command[0])
    timeout = calibrated(instance) or HANG_S
    return TargetProgram(tuple(command), {}, cwd, 0, timeout, "input", (), False, "")


def _agreed(names: str, trust: str) -> bool:
    """Ask whether to run the command that was shown. Returns False if no terminal can be asked.

    ``names``: which file names the command; ``trust``: what to do then.
    """
    if not sys.stdin.isatty():
        say(f"not run: {names}, and no terminal could be asked")
        say(f"if you trust it, {trust}")
        return False
    return agreed(f"{names}. Run it?")


def _keep(file: Path, data: bytes, result: Reproduction) -> None:
    """Keep the result for watchers and ``status``."""
    try:
        keep(file, description(FindingSaved("", "", file.name), result, printable(data)))
    except OSError as e:
        say(f"'fuzztui watch' and 'status' will not show this result: {e}")
