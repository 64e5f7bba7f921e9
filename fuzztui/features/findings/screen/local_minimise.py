"""Minimise a finding without a supervisor, by the command ``fuzztui minimise``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fuzztui.tui.base.local_command import LocalCommand


class LocalMinimiser:
    """One run of ``fuzztui minimise`` for one finding."""

    def __init__(self, run: Path, file: Callable[[], Path]) -> None:
        """``file`` returns the path of the finding's file; may block."""
        self._command = LocalCommand(lambda: ["minimise", "--progress", str(run), str(file())])

    async def run(self, progress: Callable[[str], None]) -> tuple[bool, str]:
        """Minimise; call ``progress`` with each line about the search.

        Returns whether a smaller input was written, and the command's last line.
        """
        result = await self._command.run(progress)
        if result.status == 0:
            return True, result.output.strip().rpartition("\n")[2]
        return False, result.message or f"ended with exit status {result.status}"

    def cancel(self) -> None:
        """Stop the command, which keeps the smallest input yet; called again: interrupt it."""
        self._command.cancel()
