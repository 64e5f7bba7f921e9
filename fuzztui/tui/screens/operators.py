"""Which operators on text pay, and how probable they are: looking, and moving probability."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import is_

from textual.geometry import Size
from textual.timer import Timer
from textual.widget import Widget

from fuzztui.model.operators import (
    Arm,
    Setting,
    arms,
    changed,
    mean_of,
    pending_mixtures,
    settings,
)
from fuzztui.model.selectors import ENDED
from fuzztui.model.state import Changes, Entry, Finding
from fuzztui.tui import shell
from fuzztui.tui.actions import Situation
from fuzztui.tui.operatorcolumns import PAYS, columns
from fuzztui.tui.operatordetail import FINDS, named_by, no_operators_lines, operator_lines
from fuzztui.tui.screens.listing import ListingScreen
from fuzztui.tui.status import Status
from fuzztui.tui.widgets.canvas import Line
from fuzztui.tui.widgets.mixturestrip import MixtureStrip
from fuzztui.tui.widgets.table import BigTable
from fuzztui.wire.commands import SetMixture
from fuzztui.wire.events import OperatorFigures
from fuzztui.wire.mixture import Mixture, moved

SETTLE_S = 0.4
"""Steps that follow each other as fast are one command."""

ECHO_S = 10.0
"""So long a mixture that was sent is shown as asked for, if the log does not say it is."""

MOST_LOOKED_AT = 20_000
"""Entries, the latest, among which an operator's finds are looked for after a seek."""


class OperatorsScreen(ListingScreen[Arm, None]):
    """The mixture as a bar, and a row for each operator."""

    TAB = "operators"
    HINT = "words: swap, splice, ..."
    DEFAULT_CSS = """
    OperatorsScreen {
        & MixtureStrip { margin-top: 1; display: none; }
        & #listing { margin-top: 1; }
        &.-short #listing, &.-tiny #listing { margin-top: 0; }
        &.-short MixtureStrip { margin-top: 0; }
        &.-tiny MixtureStrip { height: 1; margin-top: 0; }
        &.-wide BigTable { width: 2fr; }
        &.-wide Pane { width: 1fr; }
        &.-medium Pane, &.-narrow Pane { height: 38%; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._arms: dict[str, Arm] = {}
        self._figures: list[OperatorFigures] = []
        """Which figures the rows are of."""
        self._finds: dict[str, deque[str]] = {}
        """The keys of the latest finds by arm."""
        self._wish: list[SetMixture] = []
        """What was asked for here, until the log says so."""
        self._known: frozenset[str] | None = None
        """The commands that there were when the wish was sent; None before it is."""
        self._timer: Timer | None = None

    def body(self) -> Iterable[Widget]:
        """The mixture, table, details."""
        yield MixtureStrip()
        yield from super().body()

    def make_table(self) -> BigTable[Arm]:
        """Those that pay best first."""
        every = columns()
        table: BigTable[Arm] = BigTable(every, empty="no operators")
        table.rows.sort(next(c for c in every if c.id == PAYS), reverse=True)
        table.rests = True  # on what pays best, whatever that is
        return table

    # -------------------------------------------------------------- changes

    def show(self, changes: Changes) -> None:
        """Take in new figures, finds, and commands that came or went."""
        state = self.campaign
        self._note_finds(changes)
        if changes.reset or changes.commands:
            self._heard()
        figures = list(state.operators.values())
        same = len(figures) == len(self._figures) and all(map(is_, figures, self._figures))
        if changes.reset or not same:
            self._figures = figures
            before, now = dict(self._arms), arms(state)
            self._arms.clear()
            self._arms.update(now)
            if changes.reset or not before:
                self.table.load(self._arms)
            else:
                every = before.keys() | now.keys()
                self.table.touch(n for n in every if before.get(n) != now.get(n))
        self.table.show_empty("no operator passes the filter" if self._arms else "no operators")
        self._count()
        self.show_detail()
        self.host.refresh_footer()

    def tick(self, status: Status) -> None:
        """The mixture."""
        super().tick(status)
        strip = self.query_one(MixtureStrip)
        strip.display = status.blend is not None
        strip.show(status)
        self._show_asked()

    def _note_finds(self, changes: Changes) -> None:
        state = self.campaign
        if changes.reset:
            self._finds = {}
            latest = islice(reversed(list(state.entries)), MOST_LOOKED_AT)
            keys = [*reversed(list(latest)), *list(state.findings)[-MOST_LOOKED_AT:]]
        else:
            keys = sorted(changes.entries) + sorted(changes.findings)
        for key in keys:
            row = self._find(key)
            for name in named_by(row.op) if row is not None else ():
                known = self._finds.setdefault(name, deque(maxlen=2 * FINDS))
                if key not in known:
                    known.append(key)

    def _find(self, key: str) -> Entry | Finding | None:
        return self.campaign.entries.get(key) or self.campaign.findings.get(key)

    def nothing(self) -> Sequence[Line]:
        """Why there are no operators, and how to get some."""
        return () if self._arms else no_operators_lines(self.campaign.engine)

    def details(self, row: Arm, preview: None, size: Size) -> Sequence[Line]:
        """What it does and how it fares."""
        latest = self._latest(row)[:FINDS]
        return operator_lines(row, self.campaign, latest, tight=size.height < 10)

    def _latest(self, arm: Arm) -> list[Entry | Finding]:
        """What it found, the latest first."""
        rows = [self._find(key) for key in self._finds.get(arm.name, ())]
        return sorted((r for r in rows if r is not None), key=lambda r: -r.t)

    def do_operator_find(self) -> None:
        """To the latest of what it found."""
        latest = self._latest(self.table.current) if self.table.current is not None else []
        if not latest:
            self.notify("No entry that is known names this operator.", markup=False)
        else:
            is_finding = isinstance(latest[0], Finding)
            self.host.look_at("findings" if is_finding else "corpus", latest[0].key)

    def do_operator_copy(self) -> None:
        """Its name."""
        if (arm := self.table.current) is not None:
            self.host.copy(shell.word(arm.name), "name")

    # ------------------------------------------------------------- steering

    def describe_row(self) -> Situation:
        """What any living engine can do, and the mixture as it is to be."""
        able: set[str] | None = None
        unable: dict[str, str] = {}
        for instance in list(self.campaign.instances.values()):
            if instance.state not in ENDED and (instance.capabilities or instance.engine):
                able = (able or set()) | set(instance.capabilities)
                unable |= instance.unable
        wanted = self._wanted()
        return Situation(
            row=self.table.current is not None,
            capabilities=None if able is None else frozenset(able),
            unable={name: why for name, why in unable.items() if name not in (able or ())},
            mixture=mean_of(wanted.values()) if wanted else None,
            adaptive=_adaptive(wanted),
        )

    def _asked(self) -> str:
        """What becomes of what is asked for and not answered yet; "" if nothing is."""
        if self._wish:
            return "to be sent" if self._known is None else "sent…"
        waiting = pending_mixtures(self.campaign)
        if not waiting:
            return ""
        status, command = waiting[-1]
        whom = command.instance or "the engines"
        return f"asked by {status.by or 'somebody'}, {whom} will answer…"

    def _wanted(self) -> dict[str, Setting]:
        """What each instance mixes when all that was asked for is done."""
        waiting = [command for _, command in pending_mixtures(self.campaign)]
        return settings(self.campaign, wanted=[*waiting, *self._wish])

    def _show_asked(self) -> None:
        who, wanted = self._asked(), self._wanted()
        asked = SetMixture(*mean_of(wanted.values()), _adaptive(wanted)) if who and wanted else None
        self.query_one(MixtureStrip).ask(asked, who)

    def _heard(self) -> None:
        """The log may have what was sent: from there on it says what becomes of it."""
        known = self._known
        if known is not None and len(self._wish) <= sum(
            status.command.get("c") == SetMixture.name
            for id, status in list(self.campaign.commands.items())
            if id not in known
        ):
            self._forget()
        self._show_asked()

    def _forget(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._wish, self._known, self._timer = [], None, None

    def _ask(
        self, to: Callable[[Mixture], Mixture], *, adaptive: bool = False, after: float = SETTLE_S
    ) -> None:
        wish = changed(self._wanted(), to, adaptive=adaptive)
        self._forget()
        self._wish = wish
        self._timer = self.set_timer(after, self._send)
        self._show_asked()
        self.host.refresh_footer()

    def _send(self) -> None:
        if not self._wish:
            return
        self._known = frozenset(list(self.campaign.commands))
        self._timer = self.set_timer(ECHO_S, self._not_heard)
        for wish in self._wish:
            whose = f" of {wish.instance}" if wish.instance else ""
            self.host.steer(wish, f"mixture{' adaptive' * wish.adaptive}{whose}")
        self._show_asked()

    def _not_heard(self) -> None:
        self._forget()
        self._show_asked()
        self.host.refresh_footer()

    def _move(self, boundary: int, by: int) -> None:
        self._ask(lambda now: moved(now, boundary, by))

    def do_mixture_text(self) -> None:
        """From havoc to text."""
        self._move(0, -1)

    def do_mixture_havoc(self) -> None:
        """From text to havoc."""
        self._move(0, 1)

    def do_mixture_splice(self) -> None:
        """From text to splice."""
        self._move(1, -1)

    def do_mixture_unsplice(self) -> None:
        """From splice to text."""
        self._move(1, 1)

    def do_mixture_adaptive(self) -> None:
        """Let it adapt, or hold it where it is."""
        adaptive = not _adaptive(self._wanted())
        self._ask(lambda now: now, adaptive=adaptive, after=0.01)


def _adaptive(each: dict[str, Setting]) -> bool:
    """Whether any of them is."""
    return any(setting.adaptive for setting in each.values())
