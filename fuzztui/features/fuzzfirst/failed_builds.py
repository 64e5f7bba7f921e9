"""Failed builds: a message with the important lines, and a log with the whole output."""

from __future__ import annotations

import os
from pathlib import Path

from fuzztui.run.afl.build import printed_line, telling_lines
from fuzztui.run.process.execute import ProcessResult

KEPT = 200
"""Number of logs that are kept."""


def made(outcome: ProcessResult, program: Path) -> bool:
    """Whether a build succeeded and made its program."""
    return outcome.status == 0 and program.is_file()


def record_failure(log: Path, outcome: ProcessResult, program: Path, source: Path) -> str:
    """Write a log, of which the newest are kept; return why the build made no ``program``.

    ``source``: the private copy of the source, which is left out of the message. Raises OSError.
    """
    log.parent.mkdir(mode=0o700, exist_ok=True)
    log.write_bytes(outcome.output)
    logs = sorted(log.parent.iterdir(), key=lambda path: path.lstat().st_mtime_ns)
    for old in logs[:-KEPT]:
        old.unlink(missing_ok=True)
    if outcome.status is None:
        message = f"the build took more than {outcome.seconds:.0f} s"
    elif outcome.status:
        message = f"the build failed with exit status {outcome.status}"
    else:
        message = f"the build made no {program.name}"
    printed = outcome.output.decode(errors="replace").splitlines()
    lines = [printed_line(line.replace(f"{source}{os.sep}", "")) for line in printed]
    said = "".join(f"\n  {line}" for line in telling_lines(filter(None, lines)))
    return f"{message}:{said}\nthe whole output is in {log}"
