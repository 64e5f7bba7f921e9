"""The line of the Overview about mutants."""

from __future__ import annotations

from fuzztui.features.fuzzfirst.screen.strip import gains, phase_line, work_line
from fuzztui.features.fuzzfirst.screen.worklist import Worklist
from fuzztui.features.mutants.screen.strip import activity_text, brief_times, with_audits
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.frame.host import host
from fuzztui.tui.frame.overview_line import OverviewLine


class MutationLine(OverviewLine):
    """Mutation analysis: last kill, use of time, audits. Fuzz-first: the phase and the turns.

    Hidden if there are no mutants.
    """

    SCOPED_CSS = False  # in a low terminal, which the screen's class says, there is one line
    DEFAULT_CSS = """
    MutationLine.-first { height: 2; }
    OverviewScreen.-tiny MutationLine.-first { height: 1; }
    """

    def content(self, width: int) -> list[Line]:
        """Draw one line or two."""
        s, analysis = self._status, self._status.analysis
        first = host(self).tracked(Worklist).glance(s.now)
        self.set_class(first is not None, "-first")
        if first is not None:
            below = work_line(first, width) if first.stage == "mutants" else gains(first)
            return [phase_line(s, first, width), below]
        if s.mutants is None:
            return []
        line = [TextSpan(" last kill ", "muted"), TextSpan(s.when(s.last_kill_t))]
        if analysis is None:
            return [line]
        if analysis.phase and not s.over:
            line.append(TextSpan(f"  {activity_text(analysis, s.mutants)}", "bold pending"))
        line += [TextSpan(" "), *brief_times(analysis)]
        return [with_audits(line, analysis, width)]


def lines() -> list[OverviewLine]:
    """The lines that the feature adds to the Overview."""
    return [MutationLine()]
