"""Which entries reach which lines, as ``fuzztui coverage --by-line`` measures it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzztui.features.source.fold import FileLines, FirstEntry
from fuzztui.features.source.screen.detail import Smallest
from fuzztui.kernel.base import ranges
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.model.state import SourceRow
from fuzztui.tui.base.local_command import CommandResult


@dataclass(slots=True)
class MeasuredLines:
    """The result: coverage by file at one time, and the smallest entry by file and line."""

    done: bool = False
    files: dict[str, FileLines] = field(default_factory=dict)
    smallest: dict[str, dict[int, Smallest]] = field(default_factory=dict)
    _first: dict[str, dict[int, FirstEntry]] = field(default_factory=dict)
    _last: float = 0.0
    """Campaign time of the latest entry that was the first to cover some line."""
    _t: float = -1.0

    def at(self, t: float) -> None:
        """Show the coverage as it was at campaign time ``t``."""
        if (t := min(t, self._last)) != self._t:
            self._t = t
            for path, file in self.files.items():
                file.show({n: f for n, f in self._first[path].items() if f.t <= t})

    @classmethod
    def of(cls, data: Any) -> MeasuredLines:
        """Read the command's answer. Raises ValueError, LookupError, TypeError, AttributeError."""
        found = cls(done=True)
        for path, lines in data["by_line"].items():
            row = SourceRow(str(path), 0, statements=ranges.encode(map(int, lines["statements"])))
            found.files[path] = FileLines(row)
            found._first[path] = {
                int(n): FirstEntry(str(entry), float(t)) for n, entry, t in lines["first"]
            }
            found.smallest[path] = {
                int(n): Smallest(str(entry), int(size)) for n, entry, size in lines["smallest"]
            }
        times = (f.t for of_file in found._first.values() for f in of_file.values())
        found._last = max(times, default=0.0)
        return found


def measured_lines(result: CommandResult) -> tuple[MeasuredLines | None, str]:
    """Return what the command has measured (None: nothing), and why not."""
    if result.status:
        return None, result.message or f"exit status {result.status}"
    try:
        return MeasuredLines.of(loads(result.output)), ""
    except (ValueError, LookupError, TypeError, AttributeError) as e:
        return None, f"the answer of fuzztui coverage is damaged: {e}"
