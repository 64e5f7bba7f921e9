"""The line about mutants on the Overview."""

from __future__ import annotations

from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.frame.strip import StatusCanvas
from fuzztui.tui.labels.status import Status
from fuzztui.tui.screens.fuzzfirst.strip import gains, phase_line, work_line
from fuzztui.tui.screens.mutants.strip import activity_text, brief_times, with_audits


class MutationLine(StatusCanvas):
    """Mutation analysis: last kill, use of time, audits. Fuzz-first: the phase and the turns.

    Hidden if there are no mutants.
    """

    DEFAULT_CSS = "MutationLine { height: 1; display: none; }"

    def show(self, status: Status) -> None:
        """Draw ``status``; hide the line if there are no mutants."""
        self.display = status.mutants is not None or status.first is not None
        super().show(status)

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw one line or two."""
        s, analysis = self._status, self._status.analysis
        if s.first is not None:
            if s.first.stage != "mutants":
                return [phase_line(s, s.first, width), gains(s.first)]
            return [phase_line(s, s.first, width), work_line(s.first, width)]
        if s.mutants is None:
            return []
        line = [TextSpan(" last kill ", "muted"), TextSpan(s.when(s.last_kill_t))]
        if analysis is None:
            return [line]
        if analysis.phase:
            line.append(TextSpan(f"  {activity_text(analysis)}", "bold pending"))
        return [with_audits([*line, TextSpan(" "), *brief_times(analysis)], analysis, width)]
