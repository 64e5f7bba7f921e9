"""The Mutants screen: all mutants with change and state, and commands about them.

In a fuzz-first campaign the table is the worklist: turns that run or are over, then the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from textual import on
from textual.containers import Container
from textual.geometry import Size
from textual.widget import Widget

from fuzztui.features.fuzzfirst.fold import can_go_on
from fuzztui.features.fuzzfirst.screen.columns import worklist_columns
from fuzztui.features.fuzzfirst.screen.detail import TurnDetail, worklist_mutant_lines
from fuzztui.features.fuzzfirst.screen.strip import QueueStrip
from fuzztui.features.fuzzfirst.screen.worklist import FuzzfirstSummary, Worklist, progress_label
from fuzztui.features.fuzzfirst.screen.worklist_text import spent_text, turn_text, used_text
from fuzztui.features.mutants.scores import CodeScore
from fuzztui.features.mutants.screen.columns import columns
from fuzztui.features.mutants.screen.context import MutantContext
from fuzztui.features.mutants.screen.detail import mutant_lines
from fuzztui.features.mutants.screen.functions import FunctionTable, group_of
from fuzztui.features.mutants.screen.groups import parse_filter
from fuzztui.features.mutants.screen.steering import MutantControls
from fuzztui.features.mutants.screen.strip import MutantStrip
from fuzztui.kernel.model.mutants import LIKELY, SURVIVORS, knowledge, nearest, outcome
from fuzztui.kernel.model.progress import AT_WORK, PHASES, phase
from fuzztui.kernel.model.receipts import in_force
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Changes, Finding, Mutant, State
from fuzztui.kernel.wire.commands import MutantCommand, names_of
from fuzztui.kernel.wire.conditions import FilterKey
from fuzztui.kernel.wire.selection import KEYS
from fuzztui.tui.base import shell, source_excerpt
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.columns import Cell, Column, column_keys
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.pane import DetailPane
from fuzztui.tui.base.source_excerpt import SourceExcerpt
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.action_context import ActionContext
from fuzztui.tui.frame.command_sender import pending_mutants
from fuzztui.tui.frame.strip import ChoiceStrip
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.commands import brief_since
from fuzztui.tui.labels.mutants import GROUP_LABELS, SIGNS, SURVIVING, steer_text
from fuzztui.tui.labels.status import Status

FIGURES = "mutants.figures"
"""The user's choice whether the figures above the table are shown."""


_QUEUE_COMMANDS = frozenset(names_of(MutantCommand))


class MutantsScreen(MutantControls):
    """The summary of the analysis, and a row for each mutant."""

    TAB = "mutants"
    ABSENT = (
        "this campaign makes none; 'fuzztui score RUN' runs mutants on a Python target's corpus"
    )
    SCOPES = ("listing", "marking")
    HINT = "words, or conditions: state=alive function=*parse_* runs>10"
    DEFAULT_CSS = """
    MutantsScreen {
        & MutantStrip, & QueueStrip { margin-top: 1; display: none; }
        & #listing { margin-top: 1; }
        &.-short #listing, &.-tiny #listing { margin-top: 0; }
        & FunctionTable { display: none; width: 100%; }
        &.-functions FunctionTable { display: block; }
        &.-functions #mutants, &.-functions DetailPane { display: none; }
        &.-short ChoiceStrip, &.-tiny ChoiceStrip { margin-top: 0; }
        &.-wide, &.-vast {
            & #listing { layout: vertical; }
            & BigTable { width: 100%; height: 1fr; }
            & DetailPane { width: 100%; height: 45%; border-left: none; border-top: solid $rule; }
            & DetailPane:focus { border-left: none; border-top: solid $primary; height: 80%; }
        }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._pending: dict[str, list[str]] = {}
        self._steered = frozenset[str]()
        """Ids of the mutants on which a command has an effect."""
        self._functions = FunctionTable(self._scores)
        self._known = LIKELY
        self._turns: dict[str, str] = {}
        """In a worklist: when each mutant gets its turn, by id."""
        self._at_work: dict[str, str] = {}
        """The used part of the budget of mutants with a running turn, by id."""
        self._looked_at = ("", "")
        """The mutant under the cursor, and its progress."""
        self._first: FuzzfirstSummary | None = None
        """The worklist as of the last tick; None if there is none."""

    @classmethod
    def is_present(cls, state: State) -> bool:
        """Whether the campaign has mutants, or will have some."""
        return bool(state.mutants or state.stage or state.engine in ("", "mu2"))

    def body(self) -> Iterable[Widget]:
        """Yield the summary, the table and the details."""
        strip, queue = MutantStrip(), QueueStrip()
        strip.scores = self._scores
        for each in (strip, queue):
            each.open(FIGURES in self.host.choices)
            yield each
        details = DetailPane(id="detail")
        yield Container(self.make_table(), details, self._functions, id="listing")
        yield self.filter_bar()

    @property
    def table(self) -> BigTable[Mutant]:
        """The table of mutants, also while the table of functions is shown."""
        return self.query_one("#mutants", BigTable)

    def make_table(self) -> BigTable[Mutant]:
        """Return the table in the order of the engine's report."""
        return BigTable(self._columns(), empty="no mutants", id="mutants")

    def _columns(self) -> Sequence[Column[Mutant]]:
        return columns(self._steer, self._group_of, lambda: self._known)

    def _group_of(self, mutant: Mutant) -> str:
        """The group of a survivor; an empty string for other mutants."""
        return self._scores.group_of(mutant.id)

    def _steer(self, mutant: Mutant) -> Cell:
        if pending := self.pending(mutant):
            return pending, "pending"
        style = "promoted" if mutant.steer == "promoted" else ""
        since = brief_since(self.campaign, mutant.id) if mutant.id in self._steered else ""
        return since or steer_text(mutant.steer), style

    # -------------------------------------------------------------- changes

    @property
    def topic(self) -> str:
        """The name of the words above the table."""
        return "fuzz-first" if self._queue else self.TAB

    @property
    def _worklist(self) -> Worklist:
        return self.host.tracked(Worklist)

    def show(self, changes: Changes) -> None:
        """Show new and changed mutants, and commands that came or went."""
        state = self.campaign
        self._first = self._worklist.glance(self.host.status.now)
        before = self._pending
        if changes.reset or changes.commands:
            self._pending = pending_mutants(state)
            effects = list(state.effects.values())
            self._steered = frozenset(key for e in effects if e.noun == "mutant" for key in e.then)
        turned = bool(state.stage) != self._queue
        if turned:
            self._queue = bool(state.stage)
            columns_ = worklist_columns(self) if self._queue else self._columns()
            self.table.show_columns(columns_, columns_[0] if self._queue else None)
            self.table.keeps_line = self._queue
            self._only = self._group = ""
            self.table.narrow(self._filter.words, self._accepts())
        if self._queue and (changes.reset or changes.mutants or changes.campaign):
            self._look_at_turns()
        every = changes.reset or turned or self._known != knowledge(state)
        self._note_scores(state.mutants if every else changes.mutants, reset=every)
        if changes.reset or turned:
            self.table.load(state.mutants)
        else:
            steered = before.keys() ^ self._pending.keys() if changes.commands else set()
            if not self._queue:  # what came since grows without a record about them
                steered |= self._steered
            changed = changes.mutants | (steered & state.mutants.keys())
            self._touch(changed)
            self._look()
            cursor = self.table.cursor or ""
            still = in_force(state, cursor) is None  # else what came since grows
            if still and cursor not in changed and not changes.commands and state.mutants:
                self._count()
                return
        self._count()
        self.show_detail()
        self.host.refresh_footer()

    def _note_scores(self, ids: Iterable[str], *, reset: bool) -> None:
        """Note the changed mutants; of 100,000 all take too long for each tick."""
        if reset:
            self._known = knowledge(self.campaign)
        keys = self._scores.note(
            self.campaign.mutants, list(ids), reset=reset, known=self._known,
            queue=self._queue,
        )  # fmt: skip
        self._functions.note(keys, reset=reset)

    def tick(self, status: Status) -> None:
        """Update summary and waiting times."""
        super().tick(status)
        self._first = self._worklist.glance(status.now)
        strip, queue = self.query_one(MutantStrip), self.query_one(QueueStrip)
        strip.display = status.mutants is not None and self._first is None
        queue.display = self._first is not None
        queue.first = self._first
        strip.show(status)
        queue.show(status)
        if self.has_class("-functions"):
            self._functions.catch_up()
        if self._queue:
            self._look_at_turns()
            if (mutant := self.table.current) is not None and mutant.stage in AT_WORK:
                self.show_detail()

    def do_mutants_figures(self) -> None:
        """Open or fold the figures above the table."""
        opened = FIGURES not in self.host.choices
        self.host.choose(FIGURES, opened)
        for strip in self.query(ChoiceStrip):
            strip.open(opened)

    # ------------------------------------------------- files and functions

    def do_mutants_functions(self) -> None:
        """Switch between the mutants, and files and functions with their scores."""
        shown = not self.has_class("-functions")
        self.set_class(shown, "-functions")
        self.query_one(FilterBar).close()
        if shown:
            self._functions.narrow("")
            self._functions.catch_up()
        self.to_table()
        self.host.refresh_footer()

    def to_table(self) -> None:
        """Move the focus to the table that is shown."""
        self.set_focus(self._functions if self.has_class("-functions") else self.table)

    @property
    def code(self) -> CodeScore | None:
        """The file or function under the cursor; None while mutants are shown."""
        return self._functions.current if self.has_class("-functions") else None

    @on(BigTable.Selected)
    def _opened_function(self, event: BigTable.Selected) -> None:
        """Show the mutants of a file or function: a filter, which escape removes."""
        row = self.code
        if row is None or event.table is not self._functions:
            return
        event.stop()
        self.do_mutants_functions()
        self.query_one(FilterBar).set(group_of(row, self._scores).select)

    def _moved(self, event: BigTable.Highlighted) -> None:
        super()._moved(event)
        if event.table is self._functions:
            self.host.refresh_footer()

    # ------------------------------------------------------------- worklist

    def _look_at_turns(self) -> None:
        """Update the rows whose waiting times have changed, out of thousands."""
        first, turns = self._first, self._worklist
        if first is None:
            return
        view = first.view
        waits, now = turns.waits(view, self.host.status.now), {}
        for id, number in turns.numbers.items():
            words = turn_text(waits.get(id), number, first)
            now[id] = f"{number}{'' if first.can_run else '-'} {words}"  # draws the status, too
        for mutant, used, of in first.working:
            now[mutant.id] = used_text(used, of, trials=view.trials)
        self._at_work = {
            m.id: spent_text(used, of, trials=view.trials) for m, used, of in first.working
        }
        before, self._turns = self._turns, now
        self._touch(
            id
            for id in before.keys() | now.keys()
            if before.get(id) != now.get(id) and id in self.table.rows
        )

    def _touch(self, ids: Iterable[str]) -> None:
        """Update changed rows. A mutant whose turn ends moves below those that are running.

        The cursor moves with it if the user has put it there; the view never scrolls.
        """
        id, before = self._looked_at
        mutant = self.campaign.mutants.get(id) if id == self.table.cursor else None
        ends = self._queue and mutant is not None and phase(mutant) != before
        self.table.touch(ids, still=ends)

    @on(BigTable.Highlighted)
    def _look(self) -> None:
        mutant = self.table.current
        self._looked_at = ("", "") if mutant is None else (mutant.id, phase(mutant))

    def pending(self, mutant: Mutant) -> str:
        """Return the verb of the latest pending command; an empty string if there is none."""
        waiting = self._pending.get(mutant.id)
        return f"{waiting[-1].partition('-')[0]}…" if waiting else ""

    def number(self, mutant: Mutant) -> int:
        """Return the mutant's position among the waiting ones, from 1; 0 if not waiting."""
        return self._worklist.numbers.get(mutant.id, 0)

    @property
    def mutants_phase(self) -> bool:
        """Whether waiting mutants of a fuzz-first campaign can still have a turn."""
        return self._first is None or self._first.can_run

    def within(self, mutant: Mutant) -> bool:
        """Return whether the mutant has had its turn, or will get one."""
        first = self._first
        return first is None or first.between or self.number(mutant) <= first.view.left

    def turn(self, mutant: Mutant) -> str:
        """Return when the turn starts, how far it is, or how long it took."""
        words = self._turns.get(mutant.id, "")
        if self.number(mutant):
            return words.partition(" ")[2]
        if not words and mutant.slot and self._first is not None:
            view = self._first.view
            used = self._worklist.used(mutant, view, self.host.status.now)
            return used_text(used, 0.0, trials=view.trials) if used else ""
        return words

    def _count(self) -> None:
        super()._count()
        rows = self.table.rows
        by_text = bool(rows.filter_text or self._filter.passes)
        filters = [GROUP_LABELS.get(self._group, ""), progress_label(self._only)]
        filters = [word for word in filters if word]
        if by_text and filters:
            filters.append(plain(f'"{self.query_one(FilterBar).text}"'))
        words = " + ".join(filters) or "shown"
        passing = f"{len(rows):,}/{rows.total:,}"
        which = f"is {words} (esc shows all)" if filters else "passes the filter"
        self.table.show_empty(f"no mutant {which}" if rows.total else "no mutants")
        narrowed = by_text or filters
        self.table.set_caption(*((f"{words} {passing}", passing, words) if narrowed else ()))

    def nothing(self) -> Sequence[Line]:
        """Return why there are no mutants yet."""
        if self.campaign.mutants:
            return ()
        if self._queue:
            return [[TextSpan("The mutants are being created and ranked.", "muted")]]
        return [[TextSpan("The engine reports its mutants after loading the target.", "muted")]]

    def details(self, row: Mutant, preview: SourceExcerpt | None, size: Size) -> Sequence[Line]:
        """Return the change with its source lines, and the mutant's properties."""
        pending, tight = self._pending.get(row.id, ()), size.height < 10
        if not self._queue:
            return mutant_lines(row, self.campaign, preview, pending, tight=tight)
        words = self._at_work.get(row.id) or self.turn(row)
        turn = TurnDetail(
            words,
            self.number(row),
            self.within(row),
            self.mutants_phase,
            pending,
            self._findings_of(row),
        )
        return worklist_mutant_lines(row, self.campaign, preview, turn, tight=tight)

    def _findings_of(self, mutant: Mutant) -> list[Finding]:
        """Findings of the target that are credited to the mutant."""
        if not mutant.slot:
            return []
        state, lineage = self.campaign, self.host.lineage
        own = (f for f in list(state.findings.values()) if lineage.of_target(f))
        return [f for f in own if lineage.behind(f) == mutant.id]

    def preview_of(self, row: Mutant) -> tuple[str, Callable[[], SourceExcerpt]] | None:
        """Return the reader of the mutant's source lines."""
        name = f"{row.path}:{row.line}:{row.id}"
        before = " ".join(row.before.split()) if self._queue else row.before
        return name, partial(source_excerpt.load, row.path, row.line, before)

    def describe_row(self) -> ActionContext:
        """Return what any running engine can do, because all engines share the mutants.

        In a worklist the supervisor carries out the commands.
        """
        if self._queue:
            return self._in_queue()
        able: set[str] | None = None
        over = self.campaign.state in ENDED  # then mutants can be judged
        for instance in list(self.campaign.instances.values()):
            if (over or instance.state not in ENDED) and (instance.capabilities or instance.engine):
                able = (able or set()) | set(instance.capabilities)
        states = {m.state for m in self.chosen()} if self.code is None else set()
        return ActionContext(
            row=bool(states) or self.code is not None,
            about=MutantContext(next(iter(states)) if len(states) == 1 else ""),
            capabilities=None if able is None else frozenset(able),
        )

    def _in_queue(self) -> ActionContext:
        """The context of rows of a worklist."""
        mutants = self.chosen() if self.code is None else []
        states = {m.state for m in mutants}
        progress = ""
        if len(mutants) == 1:
            stage = mutants[0].stage
            progress = stage if stage in (*AT_WORK, "dropped") else phase(mutants[0])
        row = MutantContext(
            next(iter(states)) if len(states) == 1 else "", progress, can_go_on(self.campaign)
        )
        return ActionContext(
            row=bool(mutants) or self.code is not None, about=row, capabilities=_QUEUE_COMMANDS
        )

    # -------------------------------------------------------------- filter

    def narrow(self, text: str) -> None:
        """Filter by words, conditions and state; functions by words only."""
        if self.has_class("-functions"):
            self._functions.narrow(text)
            self.query_one(FilterBar).count(len(self._functions.rows), len(self._scores.rows))
            if text:
                return
        self._filter = parse_filter(text, self.screen_keys)
        self.query_one(FilterBar).say(self._filter.problem)
        self.table.narrow(self._filter.words, self._accepts())
        self._count()
        self.show_detail()

    @property
    def screen_keys(self) -> Mapping[str, FilterKey[Mutant]]:
        """Keys of the filter that only this screen knows: columns of the table."""
        return {
            name: key for name, key in column_keys(self.table.columns).items() if name not in KEYS
        }

    def keys(self) -> Mapping[str, FilterKey[Mutant]]:
        """Return all keys of the filter: those that commands know, and :attr:`screen_keys`."""
        return {**KEYS, **self.screen_keys}

    def _accepts(self) -> Callable[[Mutant], bool] | None:
        if not (self._queue and self._only):
            passes = self._filter.accepts(self._only, lambda m: outcome(m, self._known))
            group = self._group
            if not group:
                return passes
            wanted = SURVIVORS if group == SURVIVING else (group,)
            return lambda m: self._group_of(m) in wanted and (passes is None or passes(m))
        accepts, only = self._filter.accepts(""), self._only
        return lambda m: phase(m) == only and (accepts is None or accepts(m))

    def do_mutants_state(self) -> None:
        """Show the next state (worklist: progress) that any mutant has; after the last one: all."""
        counts: Mapping[str, int] = self.campaign.mutant_counts
        if self._queue and self._first is not None:
            counts = self._first.phases
        elif (mutants := self.host.status.mutants) is not None:
            counts = {word: mutants.count(word) for word in self._states}
        choices = ["", *(state for state in self._states if counts.get(state))]
        at = choices.index(self._only) if self._only in choices else 0
        self._show_only(choices[(at + 1) % len(choices)])

    def do_mutants_survivors(self) -> None:
        """Show the survivors in the order of their groups, then each group alone, then all."""
        here = +self._scores.groups
        choices = ["", SURVIVING, *(group for group in SURVIVORS if group in here)]
        at = choices.index(self._group) if self._group in choices else 0
        self._show_group(choices[(at + 1) % len(choices)])

    def _show_group(self, group: str) -> None:
        by_state = self.table.columns[0]
        if bool(group) != bool(self._group):
            self.table.sort_by(by_state if group else None)
        self._group = group
        self._show_only("")
        if group:
            self.host.when_free(lambda: self.table.move_to(0))  # the most interesting ones

    @property
    def _states(self) -> Iterable[str]:
        """The states to which the table can be filtered; waiting mutants can be promoted."""
        return ("waiting", *(p for p in PHASES if p != "waiting")) if self._queue else SIGNS

    @on(ChoiceStrip.Chosen)
    def _chosen(self, event: ChoiceStrip.Chosen) -> None:
        if event.state in SURVIVORS:
            self._show_group("" if event.state == self._group else event.state)
        else:
            self._show_only("" if event.state == self._only else event.state)

    def _show_only(self, state: str) -> None:
        if self.has_class("-functions"):
            self.do_mutants_functions()
        self._only = state
        text = self.query_one(FilterBar).text
        self.host.when_free(lambda: self.narrow(text))

    def do_table_unfilter(self) -> None:
        """Remove all filters at once; before that, unmark all rows."""
        narrowed = bool(self._group or self._only)
        if narrowed and self.focused is not self.pane and not self.table.marks:
            self.query_one(FilterBar).close()
            self._show_group("")
        else:
            super().do_table_unfilter()

    # -------------------------------------------------------------- looking

    def do_mutant_killer(self) -> None:
        """Go to the entry that killed the mutant, or came nearest to it."""
        mutant = self.table.current
        near = None if mutant is None or mutant.killer else nearest(mutant)
        if near is not None:
            self.host.go_to_row("corpus", near[0])
        elif mutant is None or not mutant.killer:
            self.notify("No entry has killed this mutant.", markup=False)
        else:
            is_finding = mutant.killer in self.campaign.findings
            self.host.go_to_row("findings" if is_finding else "corpus", mutant.killer)

    def do_mutant_copy(self) -> None:
        """Copy the mutant's id."""
        if (mutant := self.table.current) is not None:
            self.host.copy(shell.word(mutant.id), "id")

    def do_row_edit(self) -> None:
        """Open the mutant's file at its line in the user's editor."""
        mutant = self.table.current
        if mutant is None:
            return
        path = Path(mutant.path)
        if path.is_absolute() and path.is_file():
            self.host.edit_file(path, mutant.line)
        else:
            where = mutant.path or mutant.file
            self.notify(plain(f"{where}: there is no such file here"), markup=False, timeout=4)

    def do_row_source(self) -> None:
        """Open the Source screen at the mutant's line."""
        if (mutant := self.table.current) is not None:
            self.host.go_to_row("source", f"{mutant.path}:{mutant.line}")

    def do_mutant_copy_place(self) -> None:
        """Copy path and line."""
        if (mutant := self.table.current) is not None:
            self.host.copy(shell.path(f"{mutant.path or mutant.file}:{mutant.line}"), "location")
