"""Build an AFL++ target, and its other binaries: shell commands, each run once in the run.

The plain binary is built in ``build/``, one named ``asan`` in ``build-asan/``. Executed with a run
directory as its argument, this module builds the target of the run's frozen campaign.
"""

from __future__ import annotations

import contextlib
import filecmp
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from errno import EDQUOT, ENOSPC, EROFS
from pathlib import Path

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.files import read_if_regular, read_regular
from fuzztui.kernel.base.text import several, visible
from fuzztui.kernel.wire.events import Message
from fuzztui.run.campaign import Campaign, load
from fuzztui.run.campaign.binaries import Binary, planned_binaries
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.identity import MARK_RUN, kill_marked
from fuzztui.run.triage.program import holds

_MARK = ".built"
_FAILED = ".failed"
"""The file in the directory of an optional binary that could not be built; it contains why."""
_MAX_WHY = 10_000
_MAX_LINE = 300
_SHOWN = 10
"""Lines of the command shown to the user, who sees nothing else until the compiler prints."""

_ERROR = re.compile(r"\berror\b|undefined reference|cannot find|not found|No such file", re.I)
_NO_ROOM = re.compile("|".join(os.strerror(e) for e in (ENOSPC, EDQUOT, EROFS)))
_NO_RUNTIME = re.compile(
    r"(cannot (find|open)|no such file|not found|unable to find)[^\n]*libclang_rt\."
    r"|libclang_rt\.[^\n]*(no such file|not found|cannot)",
    re.I,
)
_CLANG = re.compile(r"(?:llvm-?|clang[/-])(\d+)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class BuildFailed(SupervisorError):
    """A build that has failed, or made another program than it should."""


@dataclass(frozen=True, slots=True)
class _Build:
    """One build of a campaign's target."""

    key: str
    """The dotted key of the command in the campaign file."""
    what: str
    command: str
    directory: Path
    env: Mapping[str, str] = field(default_factory=dict)


def build_target(
    campaign: Campaign, run: Path, progress: Callable[[str], None]
) -> Sequence[Message]:
    """Run ``target.build``, if it is given and was not run before, and build other binaries.

    Returns warnings about optional ones that could not be built.
    Raises :class:`SupervisorError` with the compiler's messages.
    """
    warnings: list[Message] = []
    if command := campaign.target["build"]:
        plain = _Build("target.build", "the target", command, campaign.build_directory)
        _build(campaign, run, plain, progress)
    for binary in planned_binaries(campaign):
        failed = binary.directory / _FAILED
        if binary.optional and (why := read_if_regular(failed, _MAX_WHY)):
            text = why.decode(errors="replace")
            progress(f"{text} (delete {binary.directory} to build it again)")
            continue
        try:
            _build_binary(campaign, run, binary, progress)
        except BuildFailed as e:
            if not binary.optional:
                raise
            warnings.append(Message("warning", f"the campaign has no binary {binary.name}: {e}"))
            progress(warnings[-1].text)
            shutil.rmtree(binary.directory, ignore_errors=True)  # what is there is no such binary
            with contextlib.suppress(OSError):
                binary.directory.mkdir(mode=0o700)
                replace_text(failed, warnings[-1].text)
    return warnings


def _build_binary(
    campaign: Campaign, run: Path, binary: Binary, progress: Callable[[str], None]
) -> None:
    if not binary.build:
        return
    env = {**binary.variant.env, **binary.env}
    key, program = f"target.binaries.{binary.name}", Path(binary.command[0])
    what = f"the binary {binary.name}"
    _build(campaign, run, _Build(key, what, binary.build, binary.directory, env), progress)
    if not program.is_file():
        raise BuildFailed(f"{key}: {program}: the build did not make it")
    symbol, plain = binary.variant.symbol, Path(campaign.target["command"][0])
    without = symbol and not holds(str(program), (symbol,))
    if without or (plain.is_file() and filecmp.cmp(plain, program, shallow=False)):
        is_ = f"was built without {binary.variant.sanitizer}" if without else "is the plain one"
        raise BuildFailed(
            f"{key}: {program} {is_}: the build must compile everything with $CC or $CXX in its "
            "own directory; one inside $SOURCE keeps earlier object files (begin it with "
            'cp -r "$SOURCE/." .)'
        )


def _build(campaign: Campaign, run: Path, build: _Build, progress: Callable[[str], None]) -> None:
    command, directory = build.command, build.directory
    mark = directory / _MARK
    # Changed sources do not matter: a campaign continues with the program that it started with.
    parts = [command, campaign.target["source"], campaign.engine["afl_path"] or ""]
    parts += [f"{name}={value}" for name, value in sorted(build.env.items())]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    try:
        if mark.exists() and read_regular(mark, 100).decode() == digest:
            progress(f"{build.what} is built already; delete {directory} to build it again")
            return
        source: str = campaign.target["source"]
        if not Path(source).is_dir():  # not needed if the run has its build already
            raise SupervisorError(f"target.source: there is no directory {source}: build needs it")
        # Files of another or a failed build must not be mixed with this one. What a symbolic link
        # leads to is a directory of the user.
        if directory.is_symlink():
            raise SupervisorError(
                f"{build.key}: {directory} is a symbolic link, not a build; remove it"
            )
        if os.path.lexists(directory):
            shutil.rmtree(directory)
        directory.mkdir(mode=0o700)
        with_env = "".join(f" {shlex.quote(f'{n}={v}')}" for n, v in build.env.items())
        progress(f"building {build.what}{f' with{with_env}' * bool(with_env)}:{_shown(command)}")
        status, lines = _run(campaign, run, build, progress)
        if status == 0:
            replace_text(mark, digest)
            return
    except OSError as e:
        what = f"{e.filename or directory}: {e.strerror or e}"
        raise SupervisorError(f"{build.key}: cannot be run: {what}") from None
    shown = "".join(f"\n  {line}" for line in telling_lines(lines))
    room = "" if _NO_ROOM.search("\n".join(lines)) is None else _where_room_is_needed(directory)
    raise BuildFailed(
        f"{build.key}: failed with exit status {status}:{shown}\n{room}{missing_runtime(lines)}"
        f"the complete output is in {directory.with_suffix('.log')}"
    )


def missing_runtime(lines: Iterable[str]) -> str:
    """Return a line that names the package of a missing sanitizer runtime; "" if none is missing.

    ``lines``: the output of the build, in which clang says what it did not find.
    """
    missing = next(filter(_NO_RUNTIME.search, lines), None)
    if missing is None:
        return ""
    version = _CLANG.search(missing)
    package = f"libclang-rt-{version[1] if version else 'N'}-dev"
    which = "" if version else ", N being the version of clang"
    return (
        f"clang's sanitizer runtime is not installed: apt-get install {package}"
        f" (Debian, Ubuntu{which}), or build without the sanitizer\n"
    )


def _where_room_is_needed(directory: Path) -> str:
    temporary = os.environ.get("TMPDIR") or "/tmp"
    try:
        free = f", with {shutil.disk_usage(temporary).free >> 20} MB free"
    except OSError:
        free = ""
    return (
        f"compilers write temporary files to TMPDIR ({temporary}{free}), and their output to"
        f" {directory}: free space there, or set TMPDIR to another directory\n"
    )


def build_environment(campaign: Campaign) -> dict[str, str]:
    """Return the environment of ``target.build``."""
    env = {
        **os.environ,
        "AFL_QUIET": "1",
        "CC": "afl-cc",
        "CXX": "afl-c++",
        "SOURCE": campaign.target["source"],
    }
    if other := campaign.engine["afl_path"]:
        parts = [other, env.get("PATH", os.defpath)]
        # A tree in which AFL++ was built contains an `as`, which other compilers must not find
        # (4.22a: "Endless loop when calling 'as'").
        if (Path(other) / "as").exists():
            parts.reverse()
            env |= {name: str(Path(other) / env[name]) for name in ("CC", "CXX")}
        env["PATH"] = os.pathsep.join(parts)
    return env


def _run(
    campaign: Campaign, run: Path, build: _Build, progress: Callable[[str], None]
) -> tuple[int, list[str]]:
    """Run the build. Returns the exit status and the printed lines."""
    env = {**build_environment(campaign), **build.env, MARK_RUN: str(run)}
    lines: list[str] = []
    command, directory = build.command, build.directory
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
        except BaseException:  # the start was cancelled, or the disk is full
            os.killpg(process.pid, signal.SIGKILL)
            kill_marked(run)  # those with a session of their own
            raise
    return process.returncode, lines


def _shown(command: str) -> str:
    """The command with its line breaks: joined to one line it would be another command."""
    lines = [visible(line.rstrip())[:_MAX_LINE] for line in command.strip().splitlines()]
    if len(lines) == 1:
        return f" {lines[0]}"
    shown = lines[:_SHOWN]
    if len(lines) > _SHOWN:
        shown[-1:] = [f"... ({several(len(lines) - _SHOWN + 1, 'more line')})"]
    return "".join(f"\n  {line}".rstrip(" ") for line in shown)


def printed_line(raw: str) -> str:
    """Return a line that a build printed, escaped and without colours; "" for a blank line."""
    return visible(_COLOUR.sub("", raw).rstrip())[:_MAX_LINE]


def telling_lines(lines: Iterable[str]) -> list[str]:
    """Return the lines that explain a failed build: the first errors and the last lines."""
    lines = list(lines)
    errors = [line for line in lines if _ERROR.search(line)]
    return list(dict.fromkeys([*errors[:4], *lines[-2:]]))


def _main(run: Path) -> None:
    try:
        build_target(load(RunDir(run).campaign).campaign, run, print)
    except UserError as e:
        sys.exit(f"fuzztui: {e}")


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
