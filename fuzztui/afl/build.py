"""Making an AFL++ target from its source: a shell command, run once in a run's ``build/``."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable
from errno import EDQUOT, ENOSPC, EROFS
from pathlib import Path

from fuzztui.base.files import read_regular, replace_text
from fuzztui.base.text import several, visible
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import SupervisorError
from fuzztui.process.identity import MARK_RUN

__all__ = ["build_environment", "build_target", "printed_line", "telling_lines"]

_MARK = ".built"
_TOLD = 300
_SHOWN = 10
"""Lines of the command that are shown: all there is to see while a compiler is silent."""

_ERROR = re.compile(r"\berror\b|undefined reference|cannot find|not found|No such file", re.I)
_NO_ROOM = re.compile("|".join(os.strerror(e) for e in (ENOSPC, EDQUOT, EROFS)))
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def build_target(campaign: Campaign, run: Path, progress: Callable[[str], None]) -> None:
    """Run ``target.build``, if there is one and it was not run before.

    Raises :class:`SupervisorError` with the compiler's words.
    """
    command: str = campaign.target["build"]
    if not command:
        return
    directory = campaign.build_directory
    mark = directory / _MARK
    # Sources are not looked at: a campaign continues with the program that it began with.
    told = "\0".join((command, campaign.target["source"], campaign.engine["afl_path"] or ""))
    made = hashlib.sha256(told.encode()).hexdigest()
    try:
        if mark.exists() and read_regular(mark, 100).decode() == made:
            progress(f"the target is built already: delete {directory} to have it built again")
            return
        source: str = campaign.target["source"]
        if not Path(source).is_dir():  # a run continues without, if it has its build
            raise SupervisorError(f"target.source: there is no directory {source}: build needs it")
        # What another or a failed build left is not to be mixed with this one's. A symlink
        # in its place is refused by rmtree: what it leads to is not ours.
        if os.path.lexists(directory):
            shutil.rmtree(directory)
        directory.mkdir(mode=0o700)
        progress(f"building the target:{_shown(command)}")
        status, lines = _run(campaign, run, command, progress)
        if status == 0:
            replace_text(mark, made)
            return
    except OSError as e:
        what = f"{e.filename or directory}: {e.strerror or e}"
        raise SupervisorError(f"target.build: cannot be run: {what}") from None
    said = "".join(f"\n  {line}" for line in telling_lines(lines))
    room = "" if _NO_ROOM.search("\n".join(lines)) is None else _where_room_is_needed(directory)
    raise SupervisorError(
        f"target.build: failed with exit status {status}:{said}\n{room}"
        f"all of its output is in {directory.with_suffix('.log')}"
    )


def _where_room_is_needed(directory: Path) -> str:
    temporary = os.environ.get("TMPDIR") or "/tmp"
    try:
        free = f", with {shutil.disk_usage(temporary).free >> 20} MB free"
    except OSError:
        free = ""
    return (
        f"compilers write temporary files to TMPDIR ({temporary}{free}), and their output to"
        f" {directory}: make room there, or set TMPDIR to another directory\n"
    )


def build_environment(campaign: Campaign) -> dict[str, str]:
    """What ``target.build`` finds in its environment."""
    env = {
        **os.environ,
        "AFL_QUIET": "1",
        "CC": "afl-cc",
        "CXX": "afl-c++",
        "SOURCE": campaign.target["source"],
    }
    if other := campaign.engine["afl_path"]:
        parts = [other, env.get("PATH", os.defpath)]
        # A tree where AFL++ was built has an `as` of its own, which other compilers must not
        # find (4.22a: "Endless loop when calling 'as'").
        if (Path(other) / "as").exists():
            parts.reverse()
            env |= {name: str(Path(other) / env[name]) for name in ("CC", "CXX")}
        env["PATH"] = os.pathsep.join(parts)
    return env


def _run(
    campaign: Campaign, run: Path, command: str, progress: Callable[[str], None]
) -> tuple[int, list[str]]:
    """Run the build; its exit status and the lines that it printed."""
    env = {**build_environment(campaign), MARK_RUN: str(run)}
    lines: list[str] = []
    directory = campaign.build_directory
    with (
        directory.with_suffix(".log").open("w") as log,
        subprocess.Popen(
            ["sh", "-eu", "-c", command],
            cwd=directory,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for raw in process.stdout:
                log.write(raw)
                if line := printed_line(raw):
                    lines.append(line)
                    progress(line)
        except BaseException:  # nobody is there any more who wants it, or the disk is full
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, lines


def _shown(command: str) -> str:
    """The command as it could be typed: joined to one line it would be another one."""
    lines = [visible(line.rstrip())[:_TOLD] for line in command.strip().splitlines()]
    if len(lines) == 1:
        return f" {lines[0]}"
    shown = lines[:_SHOWN]
    if len(lines) > _SHOWN:
        shown[-1:] = [f"... ({several(len(lines) - _SHOWN + 1, 'more line')})"]
    return "".join(f"\n  {line}".rstrip(" ") for line in shown)


def printed_line(raw: str) -> str:
    """A line that a build printed, without colours and harmless; "" for a blank one."""
    return visible(_COLOUR.sub("", raw).rstrip())[:_TOLD]


def telling_lines(lines: Iterable[str]) -> list[str]:
    """Of a failed build's lines the few that tell why: the first errors and the last words."""
    lines = list(lines)
    errors = [line for line in lines if _ERROR.search(line)]
    return list(dict.fromkeys([*errors[:4], *lines[-2:]]))
