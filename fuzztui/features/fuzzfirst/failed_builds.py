"""Builds of the target, and why one failed: the important lines, and a log of the whole output."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fuzztui.features.fuzzfirst.build_tree import BuildTree
from fuzztui.kernel.base.text import visible
from fuzztui.run.afl.build import build_environment, printed_line, telling_lines
from fuzztui.run.campaign import Campaign
from fuzztui.run.process.execute import ProcessMark, ProcessResult, execute

KEPT = 200
"""Number of logs that are kept."""


def made(outcome: ProcessResult, program: Path) -> bool:
    """Whether a build succeeded and made its program."""
    return outcome.status == 0 and program.is_file()


async def build_target(
    campaign: Campaign, mark: ProcessMark, tree: BuildTree, program: Path,
    *, what: str, env: Mapping[str, str], limit: float = 6 * 3600.0,
) -> str:  # fmt: skip
    """Build the target once more; return why that made no ``program``, "" if it did.

    ``what`` names the build in messages. Raises OSError, :class:`SupervisorError`.
    """
    env = {**build_environment(campaign), "SOURCE": str(tree.source), **env}
    command = ["sh", "-eu", "-c", campaign.target["build"]]
    outcome = await execute(command, mark, cwd=tree.build, limit=limit, env=env, stdout=True)
    return "" if made(outcome, program) else _failure(outcome, program, tree.source, what)


def _failure(outcome: ProcessResult, program: Path, source: Path, what: str) -> str:
    if outcome.status is None:
        message = f"{what} took more than {outcome.seconds:.0f} s"
    elif outcome.status:
        message = f"{what} failed with exit status {outcome.status}"
    else:
        message = f"{what} made no {visible(program.name)}"
    printed = outcome.output.decode(errors="replace").splitlines()
    lines = [printed_line(line.replace(f"{source}{os.sep}", "")) for line in printed]
    return f"{message}:" + "".join(f"\n  {line}" for line in telling_lines(filter(None, lines)))


def record_failure(log: Path, outcome: ProcessResult, program: Path, source: Path) -> str:
    """Write a log, of which the newest are kept; return why the build made no ``program``.

    ``source``: the private copy of the source, which is left out of the message. Raises OSError.
    """
    log.parent.mkdir(mode=0o700, exist_ok=True)
    log.write_bytes(outcome.output)
    logs = sorted(log.parent.iterdir(), key=lambda path: path.lstat().st_mtime_ns)
    for old in logs[:-KEPT]:
        old.unlink(missing_ok=True)
    return f"{_failure(outcome, program, source, 'the build')}\nthe whole output is in {log}"
