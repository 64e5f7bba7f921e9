"""The mixture in three lines: the bar, what moves it, and what was asked or pays best."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.base.text import several
from fuzztui.model.mutators import MixtureSummary, MutatorRow
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan, spread, width_of
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
        bar: Line = [TextSpan(" "), *mixture_bar(blend.mixture, width - 2)]
        status = self._status
        keys = status.mode == "live" and not (status.over or status.watched or blend.adaptive)
        legend = _legend(blend, width, KEYS if keys else ("   ", "   "))
        if self._asked is not None:
            return [bar, legend, _asked(self._asked, self._who, width)]
        if blend.each:
            return [bar, legend, [TextSpan(f" {plain(blend.each, max(0, width - 2))}", "pending")]]
        return [bar, legend, pays_line(blend, width)]


def _only(blend: MixtureSummary, asked: SetMixture | None, width: int) -> Line:
    """All in one line: the bar, and how it is kept."""
    words = [TextSpan(" "), mode_word(blend)]
    if asked is not None:
        words.append(TextSpan(" → adaptive" if asked.adaptive else " → fixed", "bold pending"))
    return [TextSpan(" "), *mixture_bar(blend.mixture, width - 2 - width_of(words)), *words]


def _legend(blend: MixtureSummary, width: int, between: Sequence[str]) -> Line:
    """Names, percentages, and what stands between them: keys, if they do anything now."""
    left = [TextSpan(" ")]
    for i, (name, part) in enumerate(zip(CLASSES, blend.mixture, strict=True)):
        fill, style = SIGNS[name]
        left += [TextSpan(f"{fill} ", style), TextSpan(f"{name} {percentage(part)}", "bold")]
        left.append(TextSpan(blend.did(name), "pending"))
        if i < len(between):
            left.append(TextSpan(between[i], "primary"))
    for right in (mode_words(blend), [mode_word(blend)]):
        if width_of(left) + width_of(right) < width:
            return spread(left, [*right, TextSpan(" ")], width)
    return left


def mode_word(blend: MixtureSummary) -> TextSpan:
    """Adaptive, or fixed, or not the same everywhere."""
    if blend.each:
        return TextSpan(f"mean of {blend.instances}", "bold pending")
    return TextSpan("adaptive", "bold promoted") if blend.adaptive else TextSpan("fixed", "bold")


def mode_words(blend: MixtureSummary) -> list[TextSpan]:
    """Fixed or adaptive, since when, and who wanted that."""
    if blend.each:
        return [TextSpan(f" mean of {several(blend.instances, 'instance')}:", "bold pending")]
    spans = [TextSpan(" "), mode_word(blend)]
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


def pays_line(blend: MixtureSummary, width: int) -> Line:
    """How many trials, and which arms pay best."""
    line = [TextSpan(f" {format.count(blend.trials)} trial{'s' * (blend.trials != 1)}   ", "muted")]
    legend = [TextSpan(LEGEND if width >= WIDE else "", "muted")]
    line += best_spans(blend.best, width - width_of(line) - width_of(legend))
    return spread(line, legend, width)


def best_spans(best: Sequence[MutatorRow], room: int) -> list[TextSpan]:
    """The arms that pay best, as many as there is room for: finds of applications."""
    if not best:
        return [TextSpan("too little found yet to tell what pays", "muted")]
    for of in (True, False):
        spans = [TextSpan("pays best ", "muted")]
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
