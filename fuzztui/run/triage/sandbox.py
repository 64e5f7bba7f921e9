"""The sandbox in which a target is run again: private directory, copy of the input, limits."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from fuzztui.kernel.base.files import temporary_directory
from fuzztui.run.process.execute import ProcessMark, ProcessResult, execute
from fuzztui.run.triage.program import TargetProgram

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One input for one target, to be run any number of times.

    The input is a copy, because a target may change or delete its input file.
    """

    program: TargetProgram
    directory: Path
    mark: ProcessMark

    @property
    def file(self) -> Path:
        """The copy of the input."""
        return self.directory / self.program.input_name

    @property
    def argv(self) -> list[str]:
        """The target's command for the input."""
        return self.program.argv(self.file)

    @property
    def stdin(self) -> Path | None:
        """The file for stdin; None: empty."""
        return None if self.program.reads_file else self.file

    @property
    def cwd(self) -> Path:
        """The working directory of the target."""
        return self.program.cwd or self.directory / "cwd"

    @property
    def quiet(self) -> Path:
        """A script that executes its arguments as a command without output."""
        return self.directory / "quiet"

    async def run(
        self,
        limit: float,
        *,
        stdout: bool = False,
        on_output: Callable[[bytes], None] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
        nice: bool = True,
    ) -> ProcessResult:
        """Run the target once, without the fuzzer; ``nice``: at low priority."""
        niced = ("nice", "-n", "10") if nice else ()
        return await execute(
            [*niced, "/bin/sh", str(self.directory / "launch"), *self.argv],
            self.mark,
            cwd=self.cwd,
            limit=limit,
            stdin=self.stdin,
            stdout=stdout,
            on_output=on_output,
            on_stderr=on_stderr,
        )


@contextmanager
def private_directory(run: Path | None) -> Iterator[Path]:
    """Context manager: a directory that is removed at the end.

    It is in ``run``, where :func:`remove_sandboxes` finds it; None: among temporary files. Raises
    OSError.
    """
    place = None
    if run is not None:
        place = _sandboxes(run)
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with temporary_directory(f"fuzztui-{os.getpid()}-", place) as temporary:
        yield Path(temporary)


@contextmanager
def open_sandbox(
    program: TargetProgram, data: bytes, mark: ProcessMark | None = None
) -> Iterator[Sandbox]:
    """Context manager: a sandbox with an input, removed at the end with all its files.

    With a ``mark`` the directory is in the mark's run, so that :func:`remove_sandboxes` finds it if
    this process is killed. Raises OSError.
    """
    with private_directory(mark.run if mark else None) as directory:
        (directory / "cwd").mkdir()
        (directory / program.input_name).write_bytes(data)
        launch = _launcher(program)
        (directory / "launch").write_text(f'{launch}exec "$@"\n', errors="surrogateescape")
        (directory / "quiet").write_text(
            f'{launch}exec "$@" >/dev/null 2>&1\n', errors="surrogateescape"
        )
        yield Sandbox(program, directory, mark or ProcessMark(directory, "bench"))


def remove_sandboxes(run: Path) -> None:
    """Remove the sandboxes of a run whose creators were killed."""
    for left in _sandboxes(run).glob("fuzztui-*-*"):
        maker = left.name.split("-")[1]
        is_pid = maker.isdecimal() and len(maker) < 10
        if not (is_pid and psutil.pid_exists(int(maker))):
            shutil.rmtree(left, ignore_errors=True)
    shutil.rmtree(run / "mutants" / "scratch", ignore_errors=True)  # of earlier versions


def _sandboxes(run: Path) -> Path:
    return run / "supervisor" / "bench"


def _launcher(program: TargetProgram) -> str:
    """Shell commands that set limits and environment in the process that becomes the target.

    They are not set earlier, because libraries that are preloaded for the target must not be loaded
    into a debugger.
    """
    lines = ["ulimit -c 0", "unset LINES COLUMNS"]
    if program.unaided:
        lines += [f"unset {n}" for n in os.environ if n.startswith("AFL_") and _NAME.fullmatch(n)]
    if program.memory:
        lines.append(f"ulimit -v {max(1, program.memory // 1024)}")
    for name, value in program.environment().items():
        if _NAME.fullmatch(name):
            lines.append(f"export {name}={shlex.quote(value)}")
    return "".join(f"{line}\n" for line in lines)
