"""A tool that measures which lines of C and C++ programs run: the interface, and running it.

Each tool answers in the form of gcov's JSON, for each file: ``functions`` (``demangled_name``,
``start_line``, ``end_line``, ``execution_count``) and ``lines`` (``line_number``, ``count``,
``function_name``, ``branches``).
"""

from __future__ import annotations

import json
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, ClassVar, Final

from fuzztui.kernel.base.text import brief
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.reaper import own_children

MAX_REPORT: Final = 128 << 20
"""Bytes of one report of a tool."""

Report = tuple[str, Path, Path, Mapping[str, Any]]
"""A file's name as the compiler got it, its working directory, the object, and the report."""


class CoverageTool(ABC):
    """One tool, for one build."""

    name: ClassVar[str]
    compiler: ClassVar[str]
    """For messages: what the build is made with."""
    flags: ClassVar[str]
    dump: ClassVar[str]
    """The C function that writes the counts of a process."""
    counts: ClassVar[str]
    """Pattern of the files that contain counts."""
    compilers: Mapping[str, str]
    """Path of the C compiler (``gcc``) and of the C++ compiler (``g++``)."""

    def environment(self, home: Path) -> dict[str, str]:
        """Return what a program of the build needs to write its counts below ``home``."""
        del home
        return {}

    @abstractmethod
    def missing(self) -> str:
        """Return what is not installed and how to install it; an empty string: nothing."""

    @abstractmethod
    def reports(self, home: Path, build: Path, program: Path) -> Iterator[Report]:
        """Yield the reports about all files, with all counts below ``home``.

        A file may come several times. Blocks. Raises OSError, LookupError, ValueError,
        :class:`SupervisorError`.
        """


def report(argv: list[str], place: Path) -> bytes:
    """Run a tool; return its report. Raises :class:`SupervisorError` if that is too large."""
    with own_children(), TemporaryFile() as errors:
        with subprocess.Popen(
            argv, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        ) as process:
            assert process.stdout is not None
            printed = process.stdout.read(MAX_REPORT + 1)
            if len(printed) > MAX_REPORT:
                process.kill()
        name = Path(argv[0]).name
        if len(printed) > MAX_REPORT:
            raise SupervisorError(
                f"{name}: its report is larger than {MAX_REPORT >> 20} MiB; build fewer files "
                "with $CC in target.build"
            )
        if process.returncode:
            errors.seek(0)
            said = errors.read(1 << 20).decode(errors="replace").strip().splitlines()
            raise SupervisorError(
                f"{name} fails: {brief(said[-1]) if said else process.returncode}"
            )
        return printed


def text_of(data: bytes) -> str:
    """Return a tool's output as text: names of files are bytes."""
    return data.decode(errors="surrogateescape")


def json_of(data: bytes) -> Any:
    """Return a tool's JSON data. Raises ValueError."""
    return json.loads(text_of(data), strict=False)  # gcov escapes not all control characters
