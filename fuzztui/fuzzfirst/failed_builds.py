"""Builds that made no program: what there is to say of them, and all that they printed."""

from __future__ import annotations

import os
from pathlib import Path

from fuzztui.afl.build import printed_line, telling_lines
from fuzztui.process.execute import ProcessResult

__all__ = ["FailedBuilds", "made"]

KEPT = 200
"""Logs of failed builds."""


def made(outcome: ProcessResult, program: Path) -> bool:
    """Whether a build has made its program."""
    return outcome.status == 0 and program.is_file()


class FailedBuilds:
    """Keeps logs of failed builds in ``directory``, the newest ones."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def words(self, name: str, outcome: ProcessResult, program: Path, source: Path) -> str:
        """Why a build made no ``program``, and where all of its output is: it is kept as ``name``.

        ``source``: the private copy that was compiled, which the words do not name. Raises OSError.
        """
        self._directory.mkdir(mode=0o700, exist_ok=True)
        log = self._directory / f"{name}.log"
        log.write_bytes(outcome.output)
        logs = sorted(self._directory.iterdir(), key=lambda path: path.lstat().st_mtime_ns)
        for old in logs[:-KEPT]:
            old.unlink(missing_ok=True)
        if outcome.status is None:
            words = f"it took more than {outcome.seconds:.0f} s"
        elif outcome.status:
            words = f"it failed with exit status {outcome.status}"
        else:
            words = f"it made no {program.name}"
        printed = outcome.output.decode(errors="replace").splitlines()
        lines = [printed_line(line.replace(f"{source}{os.sep}", "")) for line in printed]
        said = "".join(f"\n  {line}" for line in telling_lines(filter(None, lines)))
        return f"{words}:{said}\nall of its output is in {log}"
