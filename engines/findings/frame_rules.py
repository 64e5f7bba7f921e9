"""The rules about frames that do not count for signatures, which users may change during a run."""

from __future__ import annotations

import os
from pathlib import Path

from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.wire.frames import MAX_RULES, MAX_TEXT, RULES_FILE, Rules, rule_problem

_MAX_SIZE = MAX_RULES * MAX_TEXT * 4


class FrameRules:
    """The file with the rules of a run, which its supervisor writes: one rule on a line."""

    def __init__(self, sync_dir: Path) -> None:
        """``sync_dir``: the directory that contains the instances of the run."""
        self._file = sync_dir / RULES_FILE
        self._seen: object = None
        self.rules: Rules = ()
        self.changed()

    def changed(self) -> bool:
        """Read the file again if it was changed. Returns whether the rules are others now."""
        try:
            status = os.stat(self._file)  # noqa: PTH116 - 20 times a second
        except OSError:
            seen = None
        else:
            seen = status.st_ino, status.st_size, status.st_mtime_ns
        if seen == self._seen:
            return False
        self._seen, before = seen, self.rules
        raw = read_if_regular(self._file, _MAX_SIZE) or b""
        lines = raw.decode(errors="replace").split("\n")
        self.rules = tuple(line for line in lines if line and not rule_problem(line))[:MAX_RULES]
        return self.rules != before
