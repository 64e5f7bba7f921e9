"""The lines on the Overview about mutants, the mixture of mutators, and type targeting."""

from __future__ import annotations

from fuzztui.kernel.wire.mixture import CLASSES, percentage
from fuzztui.tui.base.canvas import Line, TextSpan, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.strip import StatusCanvas
from fuzztui.tui.labels.mutators import SIGNS
from fuzztui.tui.labels.status import Status
from fuzztui.tui.labels.targeting import brief_location
from fuzztui.tui.screens.fuzzfirst.strip import gains, phase_line, work_line
from fuzztui.tui.screens.mutants.strip import activity_text, brief_times, with_audits
from fuzztui.tui.screens.mutators.strip import best_spans, mode_span
from fuzztui.tui.screens.targeting.columns import PINNED
from fuzztui.tui.screens.targeting.strip import fitting, targeted_spans, uncovered_spans


class OverviewLine(StatusCanvas):
    """A line of the Overview that is hidden as long as it has nothing to show."""

    DEFAULT_CSS = "OverviewLine { height: 1; display: none; }"

    def has_content(self, status: Status) -> bool:
        """Whether there is something to show."""
        raise NotImplementedError

    def show(self, status: Status) -> None:
        """Draw ``status``, or hide the line."""
        self.display = self.has_content(status)
        super().show(status)


def whole_spans(line: Line, width: int) -> Line:
    """Return ``line`` without the spans that do not fit whole: half a number is a wrong number.

    Nor does it end in a label without its value.
    """
    shown = [*line]
    if width_of(shown) <= width:
        return shown
    while shown and (width_of(shown) > width or _is_label(shown[-1])):
        shown.pop()
    return shown


def _is_label(span: TextSpan) -> bool:
    return span.style == "muted" or span.text.endswith(" ")


class MutationLine(OverviewLine):
    """Mutation analysis: last kill, use of time, audits. Fuzz-first: the phase and the turns.

    Hidden if there are no mutants.
    """

    def has_content(self, status: Status) -> bool:
        """Whether there are mutants."""
        return status.mutants is not None or status.first is not None

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw one line or two."""
        s, analysis = self._status, self._status.analysis
        if s.first is not None:
            if s.first.stage != "mutants":
                below = gains(s.first)
            else:
                below = work_line(s.first, width)
            return [whole_spans(line, width) for line in (phase_line(s, s.first, width), below)]
        if s.mutants is None:
            return []
        line = [TextSpan(" last kill ", "muted"), TextSpan(s.when(s.last_kill_t))]
        if analysis is None:
            return [line]
        if analysis.phase and not s.over:
            line.append(TextSpan(f"  {activity_text(analysis, s.mutants)}", "bold pending"))
        line += [TextSpan(" "), *brief_times(analysis)]
        return [whole_spans(with_audits(line, analysis, width), width)]


class MixtureLine(OverviewLine):
    """The three probabilities and the best mutators. Hidden if there is no mixture."""

    def has_content(self, status: Status) -> bool:
        """Whether there is a mixture."""
        return status.mixture is not None

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw one line."""
        blend = self._status.mixture
        if blend is None:
            return []
        line = [TextSpan(" mixture ", "muted")]
        for i, (name, part) in enumerate(zip(CLASSES, blend.mixture, strict=True)):
            line.append(TextSpan(" · " if i else "", "muted"))
            line.append(TextSpan(f"{name} ", SIGNS[name][1]))
            line.append(TextSpan(percentage(part), "bold"))
            line.append(TextSpan(blend.did(name), "pending"))
        has_mode = blend.adaptive or blend.each
        line += [TextSpan(" "), mode_span(blend), TextSpan("  ")] if has_mode else [TextSpan("   ")]
        line += best_spans(blend.best, width - width_of(line) - 1)
        return [whole_spans(line, width)]


class TargetingLine(OverviewLine):
    """Uncovered goals, the pin, the targeted share. Hidden until an engine has reported types."""

    def has_content(self, status: Status) -> bool:
        """Whether an engine has reported types."""
        return status.targeting is not None

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw one line."""
        aim = self._status.targeting
        if aim is None:
            return []
        left = uncovered_spans(aim)
        if aim.pinned:
            room = width - width_of(left) - 16
            where = plain(brief_location(aim.pinned, max(8, room)))
            left += [TextSpan(f"   {PINNED.glyph} {where}", PINNED.style)]
        return [whole_spans(fitting(left, targeted_spans(aim), width), width)]
