"""The line of the Overview about the mixture of mutators."""

from __future__ import annotations

from fuzztui.features.mutators.fold import mixture_summary
from fuzztui.features.mutators.screen.labels import SIGNS
from fuzztui.features.mutators.screen.strip import best_spans, mode_span
from fuzztui.kernel.wire.mixture import CLASSES, percentage
from fuzztui.tui.base.canvas import Line, TextSpan, width_of
from fuzztui.tui.frame.host import host
from fuzztui.tui.frame.overview_line import OverviewLine


class MixtureLine(OverviewLine):
    """The three probabilities and the best mutators. Hidden if there is no mixture."""

    def content(self, width: int) -> list[Line]:
        """Draw one line."""
        blend = mixture_summary(host(self).campaign)
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
        return [line]


def lines() -> list[OverviewLine]:
    """The lines that the feature adds to the Overview."""
    return [MixtureLine()]
