"""The mixture: in the strip above the table of mutators, and in a line of the Overview."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.features.mutators.fold import MixtureSummary, MutatorRow, mixture_summary
from fuzztui.features.mutators.screen.labels import SIGNS, mixture_bar
from fuzztui.kernel.base.text import several
from fuzztui.kernel.wire.commands import SetMixture
from fuzztui.kernel.wire.mixture import CLASSES, percentage
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan, spread, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.host import host
from fuzztui.tui.frame.overview_line import OverviewLine
from fuzztui.tui.frame.strip import StatusCanvas
from fuzztui.tui.labels.status import Status

KEYS = (" < > ", " [ ] ")
"""Keys that move the boundaries between the classes."""

LEGEND = "  ( ) too few to compare "
"""Explains rates in brackets in the table below."""

WIDE = 100
"""Cells from which on :data:`LEGEND` is shown."""


class MixtureStrip(StatusCanvas):
    """Three lines; with room for one, the bar only. Empty without mutators."""

    DEFAULT_CSS = "MixtureStrip { height: 3; }"

    def __init__(self) -> None:
        super().__init__()
        self._asked: SetMixture | None = None
        self._who = ""
        self._blend: MixtureSummary | None = None

    def show_mixture(self, blend: MixtureSummary | None, status: Status) -> None:
        """Draw the mixture."""
        self._blend = blend
        self.display = blend is not None
        self.show(status)

    def ask(self, asked: SetMixture | None, who: str = "") -> None:
        """Set the pending command, and a text about the instances that must answer."""
        self._asked, self._who = asked, who
        self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """Draw the bar, the legend, and the pending command or the best mutators."""
        blend = self._blend
        if blend is None:
            return []
        if height == 1:
            return [_only(blend, self._asked, width)]
        bar: Line = [TextSpan(" "), *mixture_bar(blend.mixture, width - 2)]
        status = self._status
        keys = status.mode == "live" and not (status.over or status.watched or blend.adaptive)
        legend = _legend(blend, width, KEYS if keys else ("   ", "   "))
        if self._asked is not None:
            return [bar, legend, _asked(self._asked, self._who, width)]
        if blend.each:
            return [bar, legend, [TextSpan(f" {plain(blend.each, max(0, width - 2))}", "pending")]]
        return [bar, legend, best_line(blend, width)]


def _only(blend: MixtureSummary, asked: SetMixture | None, width: int) -> Line:
    """The bar and the mode in one line."""
    words = [TextSpan(" "), mode_span(blend)]
    if asked is not None:
        words.append(TextSpan(" → adaptive" if asked.adaptive else " → fixed", "bold pending"))
    return [TextSpan(" "), *mixture_bar(blend.mixture, width - 2 - width_of(words)), *words]


def _legend(blend: MixtureSummary, width: int, between: Sequence[str]) -> Line:
    """Classes, percentages, and keys between them if the keys work now."""
    left = [TextSpan(" ")]
    for i, (name, part) in enumerate(zip(CLASSES, blend.mixture, strict=True)):
        fill, style = SIGNS[name]
        left += [TextSpan(f"{fill} ", style), TextSpan(f"{name} {percentage(part)}", "bold")]
        left.append(TextSpan(blend.did(name), "pending"))
        if i < len(between):
            left.append(TextSpan(between[i], "primary"))
    for right in (mode_spans(blend), [mode_span(blend)]):
        if width_of(left) + width_of(right) < width:
            return spread(left, [*right, TextSpan(" ")], width)
    return left


def mode_span(blend: MixtureSummary) -> TextSpan:
    """Return adaptive, fixed, or that instances differ."""
    if blend.each:
        return TextSpan(f"mean of {blend.instances}", "bold pending")
    return TextSpan("adaptive", "bold promoted") if blend.adaptive else TextSpan("fixed", "bold")


def mode_spans(blend: MixtureSummary) -> list[TextSpan]:
    """Return the mode, since when, and who set it."""
    if blend.each:
        return [TextSpan(f" mean of {several(blend.instances, 'instance')}:", "bold pending")]
    spans = [TextSpan(" "), mode_span(blend)]
    if blend.t >= 0:
        by = f" by {plain(blend.by, 40)}" if blend.by else ""
        spans.append(TextSpan(f" since {format.clock(blend.t)}{by}", "muted"))
    else:
        spans.append(TextSpan(" from the start", "muted"))
    if blend.differ:
        spans.append(TextSpan(f"  mean of {several(blend.instances, 'instance')}", "pending"))
    return spans


def _asked(asked: SetMixture, who: str, width: int) -> Line:
    left = [TextSpan(" → ", "bold pending")]
    if asked.adaptive:
        left.append(TextSpan("adaptive", "bold pending"))
    else:
        left.append(TextSpan(str(asked.mixture), "bold pending"))
    return spread(left, [TextSpan(f"{plain(who, 60)} ", "pending")], width)


def best_line(blend: MixtureSummary, width: int) -> Line:
    """Return the number of trials and the best mutators."""
    line = [TextSpan(f" {format.count(blend.trials)} trial{'s' * (blend.trials != 1)}   ", "muted")]
    legend = [TextSpan(LEGEND if width >= WIDE else "", "muted")]
    line += best_spans(blend.best, width - width_of(line) - width_of(legend))
    return spread(line, legend, width)


def best_spans(best: Sequence[MutatorRow], room: int) -> list[TextSpan]:
    """Return the best mutators, as many as fit: entries per applications."""
    if not best:
        return [TextSpan("too few entries to compare mutators", "muted")]
    for of in (True, False):
        spans = [TextSpan("best ", "muted")]
        for n, arm in enumerate(best):
            words = [
                TextSpan(", " if n else "", "muted"),
                TextSpan(plain(arm.name, 40), SIGNS[arm.cls][1]),
                TextSpan(f" {format.count(arm.found)}"),
                TextSpan(f" of {format.count(arm.applied)}" if of else "", "muted"),
            ]
            if width_of([*spans, *words]) > room:
                break
            spans += words
        if len(spans) > 1:
            return spans
    return []


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
