"""The mixture in three lines: the bar, what moves it, and what was asked or pays best."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.base.text import several
from fuzztui.model.mutators import Arm, Blend
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, Span, spread, width_of
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.strip import StatusCanvas
from fuzztui.tui.labels.mixing import SIGNS, mixture_bar
from fuzztui.wire.commands import SetMixture
from fuzztui.wire.mixture import CLASSES, percentage

KEYS = (" < > ", " [ ] ")
"""What moves the boundaries, between the names of what is beside them."""

LEGEND = "  ( ) too little to tell "
"""Of the rates in brackets in the table below."""

WIDE = 100
"""Cells from which on there is room for that."""


class MixtureStrip(StatusCanvas):
    """Three lines; in one there is room for the bar only. Nothing without operators."""

    DEFAULT_CSS = "MixtureStrip { height: 3; }"

    def __init__(self) -> None:
        super().__init__()
        self._asked: SetMixture | None = None
        self._who = ""

    def ask(self, asked: SetMixture | None, who: str = "") -> None:
        """What is asked for and not answered yet, and who or what that waits for."""
        if (asked, who) != (self._asked, self._who):
            self._asked, self._who = asked, who
            self.repaint()

    def paint(self, width: int, height: int) -> list[Line]:
        """The bar, the legend, then what is asked or what pays."""
        blend = self._status.blend
        if blend is None:
            return []
        if height == 1:
            return [_only(blend, self._asked, width)]
        bar: Line = [Span(" "), *mixture_bar(blend.mixture, width - 2)]
        status = self._status
        keys = status.mode == "live" and not (status.over or status.watched or blend.adaptive)
        legend = _legend(blend, width, KEYS if keys else ("   ", "   "))
        if self._asked is not None:
            return [bar, legend, _asked(self._asked, self._who, width)]
        if blend.each:
            return [bar, legend, [Span(f" {plain(blend.each, max(0, width - 2))}", "pending")]]
        return [bar, legend, pays_line(blend, width)]


def _only(blend: Blend, asked: SetMixture | None, width: int) -> Line:
    """All in one line: the bar, and how it is kept."""
    words = [Span(" "), mode_word(blend)]
    if asked is not None:
        words.append(Span(" → adaptive" if asked.adaptive else " → fixed", "bold pending"))
    return [Span(" "), *mixture_bar(blend.mixture, width - 2 - width_of(words)), *words]


def _legend(blend: Blend, width: int, between: Sequence[str]) -> Line:
    """Names, percentages, and what stands between them: keys, if they do anything now."""
    left = [Span(" ")]
    for i, (name, part) in enumerate(zip(CLASSES, blend.mixture, strict=True)):
        fill, style = SIGNS[name]
        left += [Span(f"{fill} ", style), Span(f"{name} {percentage(part)}", "bold")]
        left.append(Span(blend.did(name), "pending"))
        if i < len(between):
            left.append(Span(between[i], "primary"))
    for right in (mode_words(blend), [mode_word(blend)]):
        if width_of(left) + width_of(right) < width:
            return spread(left, [*right, Span(" ")], width)
    return left


def mode_word(blend: Blend) -> Span:
    """Adaptive, or fixed, or not the same everywhere."""
    if blend.each:
        return Span(f"mean of {blend.instances}", "bold pending")
    return Span("adaptive", "bold promoted") if blend.adaptive else Span("fixed", "bold")


def mode_words(blend: Blend) -> list[Span]:
    """Fixed or adaptive, since when, and who wanted that."""
    if blend.each:
        return [Span(f" mean of {several(blend.instances, 'instance')}:", "bold pending")]
    spans = [Span(" "), mode_word(blend)]
    if blend.t >= 0:
        by = f" by {plain(blend.by, 40)}" if blend.by else ""
        spans.append(Span(f" since {format.clock(blend.t)}{by}", "muted"))
    else:
        spans.append(Span(" from the start", "muted"))
    if blend.differ:
        spans.append(Span(f"  mean of {several(blend.instances, 'instance')}", "pending"))
    return spans


def _asked(asked: SetMixture, who: str, width: int) -> Line:
    left = [Span(" → ", "bold pending")]
    if asked.adaptive:
        left.append(Span("adaptive", "bold pending"))
    else:
        left.append(Span(str(asked.mixture), "bold pending"))
    return spread(left, [Span(f"{plain(who, 60)} ", "pending")], width)


def pays_line(blend: Blend, width: int) -> Line:
    """How many trials, and which arms pay best."""
    line = [Span(f" {format.count(blend.trials)} trial{'s' * (blend.trials != 1)}   ", "muted")]
    legend = [Span(LEGEND if width >= WIDE else "", "muted")]
    line += best_spans(blend.best, width - width_of(line) - width_of(legend))
    return spread(line, legend, width)


def best_spans(best: Sequence[Arm], room: int) -> list[Span]:
    """The arms that pay best, as many as there is room for: finds of applications."""
    if not best:
        return [Span("too little found yet to tell what pays", "muted")]
    for of in (True, False):
        spans = [Span("pays best ", "muted")]
        for n, arm in enumerate(best):
            words = [
                Span(", " if n else "", "muted"),
                Span(plain(arm.name, 40), SIGNS[arm.cls][1]),
                Span(f" {format.count(arm.found)}"),
                Span(f" of {format.count(arm.applied)}" if of else "", "muted"),
            ]
            if width_of([*spans, *words]) > room:
                break
            spans += words
        if len(spans) > 1:
            return spans
    return []
