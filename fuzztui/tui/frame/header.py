"""The two lines at the top of every screen: campaign, state, screens, budget."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fuzztui.kernel.model.selectors import ENDED, exact_words
from fuzztui.kernel.wire.events import ALL_GONE
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import gauge
from fuzztui.tui.base.canvas import Line, TextSpan, painter, spread, width_of
from fuzztui.tui.base.text import fit, plain
from fuzztui.tui.frame.actions import OPTIONAL, TABS
from fuzztui.tui.frame.strip import StatusCanvas
from fuzztui.tui.labels.hosts import hosts_text
from fuzztui.tui.labels.states import state_sign, state_style

FINDINGS = "findings"
GAUGE = "gauge"
"""The style of the unused part of the budget's bar."""
Tab = tuple[str, str, str]
"""Id, key and title of a screen."""
SHORT = {"mutators": "Mutr"}
"""Shortened titles that are not the first four letters: "Muta" is Mutants."""
_SHORTEST = 4
_NARROW, _TIGHT = 76, 100
"""Cells below which all titles are short, and below which one space is between them."""


FUNCTION = re.compile(r"(.*\.py|[\w.]+):")
"""The file or module in front of a function's name; any other target is a command."""


def brief_target(target: str, room: int) -> str:
    """Shorten ``dir/file.py:function``, or a command, to about ``room`` characters.

    Folders are removed first, from the outermost. Then a function loses its start, because its end
    distinguishes the tests of a file; a command is returned too long, to be cut at its end.
    """
    if len(target) <= room:
        return target
    path = target if FUNCTION.match(target) else target.partition(" ")[0]
    folders = [i for i, char in enumerate(path) if char == "/"]
    for i in folders:
        if len(target) - i < room:
            return "…" + target[i:]
    if path is target and room > 1:
        return "…" + target[1 - room :]
    return target[folders[-1] + 1 :] if folders else target


class Header(StatusCanvas):
    """Name, engine and state; below them the screens and the budget."""

    DEFAULT_CSS = "Header { height: 2; background: $panel; }"

    def __init__(self, tab: str) -> None:
        super().__init__()
        self._tab = tab

    def clicked(self, click: str, at: int) -> None:
        """Go to the clicked screen."""
        painter(self).perform(f"view.{click}")

    def paint(self, width: int, height: int) -> list[Line]:
        """Return the two lines."""
        return [self._who(width), self._where(width)]

    def _who(self, width: int) -> Line:
        s = self._status
        badge = self._replay(width) if s.mode == "replay" else self._badge()
        room = width - width_of(badge) - 2
        name = plain(s.name) or "…"
        left = [
            TextSpan(" fuzztui ", "bold primary"),
            TextSpan(fit(name, min(len(name), room - 10)), "bold"),
        ]
        left_room = room - width_of(left) - 2
        engine = plain(s.engine)
        target = brief_target(plain(s.target), left_room - len(engine) - 2)
        about = "  ".join(x for x in (engine, target) if x)
        if about and left_room > 6:
            left.append(TextSpan("  " + fit(about, min(len(about), left_room)), "muted"))
        return spread(left, badge, width)

    def _replay(self, width: int) -> list[TextSpan]:
        """The state at the replayed moment, and the one in which the run ended, with their times.

        In a narrow terminal only the first one: the timeline has the times.
        """
        s = self._status
        ended = s.ended if s.ended in ENDED else ""
        spans = [TextSpan("▷ REPLAY ", "bold primary")]
        moment = s.end_t if s.state == ended else s.now
        spans.append(TextSpan(f" {s.state}", state_style(s.state)))
        if width < 76:
            return [*spans, TextSpan(" ")]
        spans.append(TextSpan(f" at {format.clock(moment)}", "muted"))
        if ended and s.state != ended:
            spans += [
                TextSpan(", ", "muted"),
                TextSpan(ended, state_style(ended)),
                TextSpan(f" at {format.clock(s.end_t)}", "muted"),
            ]
        return [*spans, TextSpan(" ")]

    def _badge(self) -> list[TextSpan]:
        s = self._status
        if s.caught_up < 1:
            done = format.percent(s.caught_up, 1) if s.caught_up else "…"
            return [TextSpan(f"{state_sign('starting')} CATCHING UP {done} ", "bold pending")]
        if s.orphaned:
            who = "WATCHER" if s.watched else "HUB" if s.hosts else "SUPERVISOR"
            return [TextSpan(f"✗ NO {who} ", "bold failed")]
        word = "deleted" if s.reason == ALL_GONE else s.state
        troubled = 0 if s.over else s.troubled
        style = state_style("failed" if troubled else s.state)
        spans = [TextSpan(f"{state_sign(s.state)} {word.upper()} ", f"bold {style}")]
        if troubled:
            spans.insert(0, TextSpan(f"▲ {troubled:,} in trouble ", "bold failed"))
        if s.unmeasured:
            spans.insert(0, TextSpan("nothing measured ", "bold failed" if s.over else "hang"))
        if s.analysis is not None and s.analysis.uncompared:
            spans.insert(0, TextSpan("values compared in part ", "hang"))
        if s.watched:
            spans.insert(0, TextSpan("watched ", "muted"))
        if s.quiet_s and not s.watched:
            spans.insert(0, TextSpan(f"nothing new for {format.span(s.quiet_s)} ", "hang"))
        if s.pending:
            spans.insert(0, TextSpan(f"{s.pending} pending ", "pending"))
        words, bad = hosts_text(s.hosts.values())
        if words:
            spans.insert(0, TextSpan(f"{words} ", "bold failed" if bad and not s.over else "muted"))
        if s.stats_age > s.fresh_s or (s.watched and s.stats_age >= 0):
            style = "hang" if s.stats_age > s.stale_s else "muted"
            age = format.age_from(s.fresh_s, s.stats_age)
            spans.append(TextSpan(f"stats {age} old ", style))
        return spans

    def _where(self, width: int) -> Line:
        """The screens and the budget, whose bar is left out before titles are shortened."""
        absent = OPTIONAL if self._status.state == "empty" else self._status.absent
        shown = [tab for tab in TABS if tab[0] == self._tab or tab[0] not in absent]
        lengths = {len(title) for _, _, title in shown} | {_SHORTEST}
        whole, *shorter = sorted(n for n in lengths if n >= _SHORTEST)[::-1]
        choices = [(n, False) for n in (whole, *shorter)] if width >= _NARROW else []
        for longest, all_short in (*choices, (_SHORTEST, True)):
            tabs = self._tabs(shown, width, longest, all_short)
            budget = self._budget(width - width_of(tabs))
            if self._complete(budget):
                return spread(tabs, budget, width)
        return spread(tabs, self._budget(width - width_of(tabs)), width)

    def _complete(self, budget: list[TextSpan]) -> bool:
        """Whether ``budget`` has more than the clock, if there is more; of a pass, that it runs."""
        s = self._status
        if s.progress < 0 or s.caught_up < 1:
            return True
        if s.overtime_s and s.by_time and s.mode != "replay":
            return any("exact pass" in span.text for span in budget)
        return len(budget) > 1

    def _tabs(
        self, shown: Sequence[Tab], width: int, longest: int, all_short: bool
    ) -> list[TextSpan]:
        """The screens; titles of more than ``longest`` cells are shortened.

        The title of the present screen is shortened only with ``all_short``.
        """
        tabs: list[TextSpan] = [TextSpan(" ")]
        tight = width < _TIGHT
        for tab, key, title in shown:
            here = tab == self._tab
            short = len(title) > longest and (all_short or not here)
            text = SHORT.get(tab, title[:_SHORTEST]) if short else title
            tabs.append(TextSpan(f"{key} ", "muted", tab))
            tabs.append(TextSpan(text, "bold underline" if here else "muted", tab))
            if tab == FINDINGS:
                tabs += self._findings(tab, tight)
            tabs.append(TextSpan(" " if tight else "  "))
        return tabs

    def _findings(self, tab: str, tight: bool) -> list[TextSpan]:
        """The number of groups of findings that the user has not seen, else of all groups.

        In a tight header the number of all is left out, because the budget needs its room.
        """
        if unseen := self._status.unseen:
            return [TextSpan(f"●{format.count(unseen)}", "bold crash", tab)]
        if self._status.groups and not tight:
            return [TextSpan(f"·{format.count(self._status.groups)}", "crash", tab)]
        return []

    def _budget(self, room: int) -> list[TextSpan]:
        """Campaign time, as everywhere on the screens, and the used share of the budget."""
        s = self._status
        if s.caught_up < 1:
            return []
        clock = [TextSpan(format.clock(s.now), "bold")]
        share = s.progress
        if share < 0:
            words = "elapsed in total " if s.campaigns > 1 else "elapsed "
            fits = room > len(words) + 12
            return [TextSpan(words, "muted"), *clock, TextSpan(" ")] if fits else clock
        # In a replay the timeline is the only bar: two bars would be confused.
        for ends, least in () if s.mode == "replay" else self._ends(share):
            bar_room = min(40, room - width_of(clock) - width_of(ends) - 2)
            if bar_room >= least:
                bar_room *= least > 0  # no bar at all is better than one of a cell or two
                full, rest = gauge(share, bar_room)
                return [
                    *clock,
                    TextSpan(" "),
                    TextSpan(full, "primary"),
                    TextSpan(rest, GAUGE),
                    *ends,
                ]
        if s.paused_s and s.by_time:
            return [*clock, TextSpan(f" {format.percent(share, 1)} ", "muted")]
        of = "of a budget of" if s.mode == "replay" else "/"  # not of what the timeline shows
        limit = f" {of} {self._limit()} "
        for text in (limit, f" {format.percent(share, 1)} "):
            if width_of(clock) + len(text) < room:
                return [*clock, TextSpan(text, "muted")]
        return clock

    def _ends(self, share: float) -> Iterator[tuple[list[TextSpan], int]]:
        """The texts after the gauge, longest first, each with the gauge's minimal width in cells.

        A time budget counts running time, which is shown only if pauses make it differ.
        """
        s = self._status
        limit, percent = self._limit(), format.percent(share, 1)
        used = TextSpan(f"{percent:>5} ", "bold")
        if s.overtime_s and s.by_time:
            of = f" of at most {format.span(s.exact_s)}" if s.exact_s else ""
            over = f"exact pass {format.span(s.overtime_s)}{of} "
            yield [TextSpan(f" {limit} ", "muted"), used, TextSpan(over, "pending")], 4
            yield [TextSpan(f" {limit} ", "muted"), TextSpan(over, "pending")], 4
            yield [TextSpan(" "), TextSpan(over, "pending")], 4
            yield [TextSpan(over, "pending")], 0
            yield [TextSpan(f"exact pass {format.span(s.overtime_s)} ", "pending")], 0
            return
        if not (s.paused_s and s.by_time):
            if s.by_time and s.exact_s and s.state not in ENDED:
                then = exact_words(s.exact_s, format.span)
                yield [TextSpan(f" {limit}{then} ", "muted"), used], 8
            yield [TextSpan(f" {limit} ", "muted"), used], 4
            return
        ran = f" {format.clock(s.running_s)} of {limit} run"
        yield [TextSpan(f"{ran}, paused {format.span(s.paused_s)} ", "muted"), used], 8
        yield [TextSpan(f"{ran} ", "muted"), used], 4
        yield [TextSpan(f" {percent}", "bold"), TextSpan(f" of {limit} run ", "muted")], 1

    def _limit(self) -> str:
        s = self._status
        if s.by_time:
            return format.clock(s.budget_s)
        return f"{format.count(s.stats.execs)}/{format.count(s.budget_trials)}"
