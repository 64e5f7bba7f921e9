"""Every mutant of the program: what it changes, what became of it; steering them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from textual import on
from textual.geometry import Size
from textual.widget import Widget

from fuzztui.model.selectors import ENDED
from fuzztui.model.state import Changes, Mutant
from fuzztui.tui import shell, source
from fuzztui.tui.actions import BY_ID, Action, Situation
from fuzztui.tui.mutantcolumns import columns
from fuzztui.tui.mutantdetail import mutant_lines, no_mutants_lines
from fuzztui.tui.mutants import SIGNS, steer_words
from fuzztui.tui.scopes import Filter, Scope, one, parse_filter, scopes
from fuzztui.tui.screens.ask import AskScreen
from fuzztui.tui.screens.confirm import ConfirmScreen
from fuzztui.tui.screens.listing import ListingScreen
from fuzztui.tui.screens.scope import ScopeScreen
from fuzztui.tui.source import Source
from fuzztui.tui.status import Status
from fuzztui.tui.steering import pending_mutants
from fuzztui.tui.widgets.canvas import Line
from fuzztui.tui.widgets.columns import Cell
from fuzztui.tui.widgets.filterbar import FilterBar
from fuzztui.tui.widgets.mutantstrip import MutantStrip
from fuzztui.tui.widgets.table import BigTable
from fuzztui.wire.commands import (
    Command,
    ExactPass,
    MarkEquivalent,
    MoveMutants,
    PromoteMutants,
    RequeueMutants,
    SkipMutants,
)
from fuzztui.wire.text import several

VERBS: dict[str, Callable[[str], Command]] = {
    "mutant.promote": PromoteMutants,
    "mutant.skip": SkipMutants,
    "mutant.requeue": RequeueMutants,
    "mutant.first": partial(MoveMutants, to="first"),
    "mutant.last": partial(MoveMutants, to="last"),
}
"""What is done with a selection at once; a verdict of equivalence asks for the reason."""

EQUIVALENT = "mutant.equivalent"


class MutantsScreen(ListingScreen[Mutant, Source]):
    """The analysis in figures, and a row for each mutant."""

    TAB = "mutants"
    HINT = "words, or conditions such as operator=math,state=alive"
    DEFAULT_CSS = """
    MutantsScreen {
        & MutantStrip { margin-top: 1; }
        & #listing { margin-top: 1; }
        &.-short #listing, &.-tiny #listing { margin-top: 0; }
        &.-short MutantStrip { height: 4; margin-top: 0; }
        &.-tiny MutantStrip { height: 1; margin-top: 0; }
        &.-wide {
            & #listing { layout: vertical; }
            & BigTable { width: 100%; height: 1fr; }
            & Pane { width: 100%; height: 45%; border-left: none; border-top: solid $rule; }
            & Pane:focus { border-left: none; border-top: solid $primary; height: 80%; }
        }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._pending: dict[str, list[str]] = {}
        self._filter = Filter()
        self._only = ""
        """The one state that is shown, "" for all."""

    def body(self) -> Iterable[Widget]:
        """Figures, table, details."""
        yield MutantStrip()
        yield from super().body()

    def make_table(self) -> BigTable[Mutant]:
        """In the order of the program, as the engine told them."""
        return BigTable(columns(self._steer), empty="no mutants")

    def _steer(self, mutant: Mutant) -> Cell:
        if waiting := self._pending.get(mutant.id):
            return f"{waiting[-1].removesuffix('-mutants')}…", "pending"
        return steer_words(mutant.steer), "promoted" if mutant.steer == "promoted" else ""

    # -------------------------------------------------------------- changes

    def show(self, changes: Changes) -> None:
        """Take in new and changed mutants, and commands that came or went."""
        state = self.campaign
        before = self._pending
        if changes.reset or changes.commands:
            self._pending = pending_mutants(state)
        if changes.reset:
            self.table.load(state.mutants)
        else:
            steered = before.keys() ^ self._pending.keys() if changes.commands else set()
            changed = changes.mutants | (steered & state.mutants.keys())
            self.table.touch(changed)
            if self.table.cursor not in changed and not changes.commands and state.mutants:
                self._count()
                return
        self._count()
        self.show_detail()
        self.host.refresh_footer()

    def tick(self, status: Status) -> None:
        """Figures and ages."""
        super().tick(status)
        strip = self.query_one(MutantStrip)
        strip.display = status.mutants is not None
        strip.show(status)

    def _count(self) -> None:
        super()._count()
        rows = self.table.rows
        narrowed = bool(self._only or rows.filter_text or self._filter.selection)
        words = self._only or "shown"
        caption = f"{words}: {len(rows):,} of {rows.total:,}" if narrowed else ""
        self.table.empty = "no mutant passes the filter" if rows.total else "no mutants"
        self.table.set_caption(caption)

    def nothing(self) -> Sequence[Line]:
        """Why there are no mutants, and what to do."""
        if self.campaign.mutants:
            return ()
        engines = [i.engine for i in list(self.campaign.instances.values()) if i.engine]
        return no_mutants_lines(next(iter(engines), self.campaign.engine))

    def details(self, row: Mutant, preview: Source | None, size: Size) -> Sequence[Line]:
        """The change in its surroundings, and the mutant's story."""
        pending = self._pending.get(row.id, ())
        return mutant_lines(row, self.campaign, preview, pending, tight=size.height < 10)

    def preview_of(self, row: Mutant) -> tuple[str, Callable[[], Source]] | None:
        """The lines of the program around it."""
        name = f"{row.path}:{row.line}:{row.id}"
        return name, partial(source.load, row.path, row.line, row.before)

    def describe_row(self) -> Situation:
        """What any living engine here can do: mutants belong to all of them."""
        able: set[str] | None = None
        for instance in list(self.campaign.instances.values()):
            if instance.state not in ENDED and (instance.capabilities or instance.engine):
                able = (able or set()) | set(instance.capabilities)
        mutant = self.table.current
        return Situation(
            row=mutant is not None,
            mutant=mutant.state if mutant is not None else "",
            capabilities=None if able is None else frozenset(able),
        )

    # -------------------------------------------------------------- filter

    def narrow(self, text: str) -> None:
        """By words and conditions, and by state."""
        self._filter = parse_filter(text)
        self.table.rows.narrow(self._filter.words, self._filter.accepts(self._only))
        self.table.sync(reveal=True)
        self._count()
        self.show_detail()

    def do_mutants_state(self) -> None:
        """The next state of which there are mutants; after the last, all."""
        counts = self.campaign.mutant_counts
        choices = ["", *(state for state in SIGNS if counts.get(state))]
        at = choices.index(self._only) if self._only in choices else 0
        self._show_only(choices[(at + 1) % len(choices)])

    @on(MutantStrip.Chosen)
    def _chosen(self, event: MutantStrip.Chosen) -> None:
        self._show_only("" if event.state == self._only else event.state)

    def _show_only(self, state: str) -> None:
        self._only = state
        text = self.query_one(FilterBar).text
        self.host.when_free(lambda: self.narrow(text))

    def do_table_unfilter(self) -> None:
        """As everywhere; with no filter left, all states again."""
        if self._only and self.focused is not self.pane and not self.query_one(FilterBar).text:
            self._show_only("")
        else:
            super().do_table_unfilter()

    # ------------------------------------------------------------- steering

    def do_mutant_promote(self) -> None:  # noqa: D102
        self._steer_current("mutant.promote")

    def do_mutant_skip(self) -> None:  # noqa: D102
        self._steer_current("mutant.skip")

    def do_mutant_equivalent(self) -> None:  # noqa: D102
        self._steer_current(EQUIVALENT)

    def do_mutant_requeue(self) -> None:  # noqa: D102
        self._steer_current("mutant.requeue")

    def do_mutant_first(self) -> None:  # noqa: D102
        self._steer_current("mutant.first")

    def do_mutant_last(self) -> None:  # noqa: D102
        self._steer_current("mutant.last")

    def _steer_current(self, action_id: str) -> None:
        mutant = self.table.current
        if mutant is None:
            return
        scope = one(mutant)
        if scope is None:
            self.notify("This mutant's id cannot be sent: it reads as a selection.", markup=False)
        else:
            self._send(action_id, scope)

    def do_mutant_many(self) -> None:
        """Ask which mutants are meant, and what for."""
        self.host.when_free(self._ask_which)

    def _ask_which(self) -> None:
        mutant = self.table.current
        if mutant is None:
            return
        narrowed = self._filter.as_selection(self._only)
        found = scopes(mutant, self.campaign.mutants.values(), narrowed)
        verbs = [BY_ID[action_id] for action_id in (*VERBS, EQUIVALENT)]

        def chosen(answer: tuple[str, Scope] | None) -> None:
            if answer is not None:
                self._send(*answer)

        self.app.push_screen(ScopeScreen(found, verbs, self._why_not), chosen)

    def _why_not(self, action: Action, scope: Scope) -> str:
        state = next(iter(scope.states)) if len(scope.states) == 1 else ""
        return action.why_not(replace(self.host.situation(), mutant=state))

    def _send(self, action_id: str, scope: Scope) -> None:
        whom = scope.select if scope.count == 1 else f"{scope.count:,} mutants ({scope.select})"
        if action_id != EQUIVALENT:
            verb = BY_ID[action_id].label.lower()
            self.host.steer(VERBS[action_id](scope.select), f"{verb} {whom}")
            return

        def answered(because: str | None) -> None:
            if because:
                self.host.steer(MarkEquivalent(scope.select, because), f"equivalent {whom}")

        question = (
            f"Why can no input tell {whom} from the program? The reason is kept in the "
            "campaign's log. Such mutants are not run any more and are counted apart."
        )
        self.app.push_screen(AskScreen("Equivalent", question, "because …"), answered)

    def do_mutants_exact(self) -> None:
        """After asking: it may take long."""
        s = self.host.status
        living = s.mutants.alive + s.mutants.pending if s.mutants is not None else 0
        question = (
            f"Run {several(living, 'living mutant')} on all of the {s.corpus:,} inputs in "
            "the queues that "
            "infect them? Fuzzing stands still meanwhile; the score is then the sound one. "
            "The engine does this at the end of the campaign anyway, if exact is on."
        )

        def answer(yes: bool | None) -> None:
            if yes:
                self.host.steer(ExactPass(), "exact pass")

        self.app.push_screen(ConfirmScreen("Exact pass", question, "Run", "Not now"), answer)

    # -------------------------------------------------------------- looking

    def do_mutant_killer(self) -> None:
        """To the queue entry that killed it."""
        mutant = self.table.current
        if mutant is None or not mutant.killer:
            self.notify("Nothing has killed this mutant.", markup=False)
        else:
            self.host.look_at("corpus", mutant.killer)

    def do_mutant_copy(self) -> None:
        """Its id."""
        if (mutant := self.table.current) is not None:
            self.host.copy(shell.word(mutant.id), "id")

    def do_mutant_copy_place(self) -> None:
        """Where it is."""
        if (mutant := self.table.current) is not None:
            self.host.copy(shell.path(f"{mutant.path or mutant.file}:{mutant.line}"), "place")
