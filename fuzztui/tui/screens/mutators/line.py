"""The line about the mixture on the Overview."""

from __future__ import annotations

from fuzztui.tui.base.canvas import Line, TextSpan, width_of
from fuzztui.tui.frame.strip import StatusCanvas
from fuzztui.tui.labels.mixing import SIGNS
from fuzztui.tui.labels.status import Status
from fuzztui.tui.screens.mutators.strip import best_spans, mode_span
from fuzztui.wire.mixture import CLASSES, percentage


class MixtureLine(StatusCanvas):
    """The three probabilities and the best mutators. Hidden if there is no mixture."""

    DEFAULT_CSS = "MixtureLine { height: 1; display: none; }"

    def show(self, status: Status) -> None:
        """Draw ``status``; hide the line if there is no mixture."""
        self.display = status.blend is not None
        super().show(status)

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw one line."""
        blend = self._status.blend
        if blend is None:
            return []
        line = [TextSpan(" mixture ", "muted")]
        for i, (name, part) in enumerate(zip(CLASSES, blend.mixture, strict=True)):
            line.append(TextSpan(" · " if i else "", "muted"))
            line.append(TextSpan(f"{name} ", SIGNS[name][1]))
            line.append(TextSpan(percentage(part), "bold"))
            line.append(TextSpan(blend.did(name), "pending"))
        told = blend.adaptive or blend.each
        line += [TextSpan(" "), mode_span(blend), TextSpan("  ")] if told else [TextSpan("   ")]
        return [[*line, *best_spans(blend.best, width - width_of(line) - 1)]]
