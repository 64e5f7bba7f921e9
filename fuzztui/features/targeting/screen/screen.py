"""The Types screen: types, uncovered goals, and commands about both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from textual.containers import Container
from textual.geometry import Size
from textual.widget import Widget

from fuzztui.features.targeting.fold import (
    GoalRow,
    TargetingSummary,
    TypeRow,
    goal_place,
    goal_rows,
    has_types,
    stale,
    targeting_summary,
    type_rows,
)
from fuzztui.features.targeting.screen import source
from fuzztui.features.targeting.screen.actions import PendingTargeting, TargetingContext
from fuzztui.features.targeting.screen.columns import (
    CHANCE,
    LEFT,
    TypeColumnContext,
    goal_columns,
    type_columns,
)
from fuzztui.features.targeting.screen.detail import (
    goal_lines,
    no_goals_lines,
    no_types_lines,
    type_lines,
)
from fuzztui.features.targeting.screen.labels import pending_label, short_names
from fuzztui.features.targeting.screen.strip import TargetingStrip
from fuzztui.kernel.model.commands import unanswered
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.commands import (
    IgnoreGoal,
    PinGoal,
    SetTargetedShare,
    TypeCommand,
    WeighType,
    weight_text,
)
from fuzztui.kernel.wire.conditions import FilterKey, parse_filter
from fuzztui.kernel.wire.targeting import have_changed, label_in, type_label
from fuzztui.tui.base import shell
from fuzztui.tui.base.canvas import Line
from fuzztui.tui.base.columns import column_keys
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.pane import DetailPane
from fuzztui.tui.base.source_excerpt import SourceExcerpt
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import ActionContext, shared_context
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.steered import SteeredScreen
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.frame.table_tabs import TableTabs
from fuzztui.tui.labels.latest_saved import FINDS
from fuzztui.tui.labels.status import Status

IDLE = "types.idle"
"""The user's choice to see the types that are not drawn."""

NEXT = 12
"""Maximal number of types that the strip names."""


class TypesScreen(SteeredScreen[TypeRow | GoalRow, SourceExcerpt]):
    """The covered share as a bar, a row for each type, and a row for each uncovered goal.

    Shows both tables if there is room, else one of them.
    """

    TAB = "types"
    ABSENT = "the engine of this campaign does not target types"
    SCOPES = ("listing", "marking")
    HINT = "words: datetime, module.py, frontier, ..."
    DEFAULT_CSS = """
    TypesScreen {
        & TargetingStrip { margin-top: 1; display: none; }
        & #listing { margin-top: 1; }
        &.-short #listing, &.-tiny #listing { margin-top: 0; }
        &.-short TargetingStrip { margin-top: 0; }
        &.-tiny TargetingStrip { height: 1; margin-top: 0; }
        & #tables { width: 2fr; layout: vertical; }
        & #types { height: 1fr; width: 100%; }
        & #targets { height: 1fr; width: 100%; margin-top: 1; }
        & DetailPane { width: 1fr; }
        &.-short #targets { margin-top: 0; }
        &.-medium #tables, &.-narrow #tables { width: 100%; height: 1fr; }
        &.-medium DetailPane, &.-narrow DetailPane { height: 38%; }
        &.-medium #targets, &.-narrow #targets, &.-tiny #targets { display: none; margin-top: 0; }
        &.-medium TableTabs, &.-narrow TableTabs, &.-tiny TableTabs { display: block; }
        &.-targets.-medium #targets, &.-targets.-narrow #targets { display: block; }
        &.-targets.-tiny #targets { display: block; }
        &.-targets.-medium #types, &.-targets.-narrow #types { display: none; }
        &.-targets.-tiny #types { display: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__(lambda op: filter(None, [label_in(op)]), pending_label)
        self._types: dict[str, TypeRow] = {}
        self._left: dict[str, GoalRow] = {}
        self._names: dict[str, str] = {}
        """Short names of types."""
        self._aim: TargetingSummary | None = None
        self._asked = PendingTargeting()
        self._idle = 0
        """Number of types that are not drawn."""
        self._folded = False
        """Whether these are left out."""

    @classmethod
    def is_present(cls, state: State) -> bool:
        """Whether the campaign targets types."""
        return has_types(state)

    def body(self) -> Iterable[Widget]:
        """Yield the strip, two tables and the details."""
        yield TargetingStrip()
        context = TypeColumnContext(self._short, self._weight_asked, self._pin_asked)
        types: BigTable[TypeRow] = BigTable(
            type_columns(context), first=CHANCE, reverse=True, id="types"
        )
        targets: BigTable[GoalRow] = BigTable(goal_columns(context), first=LEFT, id="targets")
        types.keeps_line = targets.keeps_line = True
        tabs = TableTabs("types.other", ("types", "uncovered goals"))
        tables = Container(tabs, types, targets, id="tables")
        yield Container(tables, DetailPane(id="detail"), id="listing")
        yield self.filter_bar()

    @property
    def types(self) -> BigTable[TypeRow]:
        """The table of types."""
        return self.query_one("#types", BigTable)

    @property
    def targets(self) -> BigTable[GoalRow]:
        """The table of goals."""
        return self.query_one("#targets", BigTable)

    @property
    def table(self) -> BigTable[Any]:
        """The table that has, or last had, the focus."""
        return self.targets if self.has_class("-targets") else self.types

    def watch_focused(self, focused: Widget | None) -> None:
        """Show the details of the table with the focus."""
        if isinstance(focused, BigTable):
            self._turn_to(focused)

    def _turn_to(self, table: BigTable[Any]) -> None:
        if table is not self.table:
            self.set_class(table is self.targets, "-targets")
            self.query_one(TableTabs).turn(to_second=table is self.targets)
            self._count()
            self.look()

    def do_types_other(self) -> None:
        """Switch between the types and the goals."""
        self.set_focus(self.types if self.table is self.targets else self.targets)

    def keys(self) -> Mapping[str, FilterKey[Any]]:
        """Return the keys of both tables."""
        return {**column_keys(self.types.columns), **column_keys(self.targets.columns)}

    def do_table_sort(self) -> None:
        """Sort the table whose details are shown."""
        self.table.do_table_sort()

    def do_table_reverse(self) -> None:
        """Reverse the order of the table whose details are shown."""
        self.table.do_table_reverse()

    # -------------------------------------------------------------- changes

    def _short(self, type: str) -> str:
        return self._names.get(type, type)

    def sources(self) -> Sequence[object]:
        """Return statistics, goals, and the instances' states, because only running ones count."""
        state = self.campaign
        lives = [state.instances[name].state for name in list(state.types)]
        return [*state.types.values(), *state.uncovered_goals.values(), *lives]

    def rebuild(self, *, reset: bool) -> None:
        """Update the rows of both tables."""
        self._aim = targeting_summary(self.campaign)
        now, left = type_rows(self.campaign), goal_rows(self.campaign)
        names = short_names([*now, *(name for row in left.values() for name, _ in row.types)])
        reset = reset or names != self._names
        self._names = names
        self.types.replace_rows(self._types, now, reset=reset)
        self._fold()
        self.targets.replace_rows(self._left, left, reset=reset)
        likely = [(self._short(row.name), row.probability) for row in now.values()]
        self.query_one(TargetingStrip).show_next(likely[:NEXT])

    # ------------------------------------------------------- types at 0%

    def _is_idle(self, row: TypeRow) -> bool:
        """Whether the type is not drawn at present, by no decision of a user."""
        return not row.probability and row.weight == 1 and not self._weight_asked(row.name)

    def _fold(self) -> None:
        """Leave the types out that are not drawn, unless the user wants them or filters."""
        self._idle = sum(map(self._is_idle, self._types.values()))
        fold = IDLE not in self.host.choices and self._idle < len(self._types)
        fold = fold and self._idle > 1 and not self.query_one(FilterBar).text
        if fold or self._folded:
            words = self.types.rows.filter_text
            self.types.rows.narrow(words, self._is_drawn if fold else None)
            self.types.sync()
        self._folded = fold
        hidden = f"+{self._idle:,} at 0%"
        key = BY_ID["types.idle"].key_label(self.host.action_context()) if fold else ""
        self.types.set_caption(*((f"{hidden}: {key} shows them", hidden) if fold else ()))
        # A short table of types leaves its room to the goals.
        self.types.styles.max_height = 2 + max(2, len(self.types.rows))

    def _is_drawn(self, row: TypeRow) -> bool:
        return not self._is_idle(row)

    def do_types_idle(self) -> None:
        """Show the types that are not drawn, or leave them out."""
        self.host.choose(IDLE, IDLE not in self.host.choices)
        self._fold()
        self._count()
        self.show_detail()

    def narrow(self, text: str) -> None:
        """Filter both tables: the rows of goals contain names of types, too.

        A filter also finds types that are not drawn.
        """
        problems = []
        for table in (self.types, self.targets):
            found = parse_filter(text, column_keys(table.columns))
            table.narrow(found.words, found.passes)
            problems.append(found.problem)
        # A key of one table narrows that table alone.
        self.query_one(FilterBar).say(problems[0] if all(problems) else "")
        self._folded = False
        self._fold()
        self._count()

    def reveal(self, key: str) -> None:
        """Put the cursor on a type, also on one that is left out."""
        if key in self._types and self._is_idle(self._types[key]) and self._folded:
            self.do_types_idle()
        super().reveal(key)

    def tick(self, status: Status) -> None:
        """Update the strip."""
        self._aim = targeting_summary(self.campaign)
        self.query_one(TargetingStrip).show_aim(self._aim, status)
        super().tick(status)

    def _update_empty(self) -> None:
        """Show why a table is empty; engines report only some hundred goals."""
        whole = self._aim
        left = len(self._left) if whole is None else whole.uncovered
        self.query_one(TableTabs).count(len(self._types), left)
        covered = whole is not None and whole.targets and not whole.uncovered
        untold = 0 if whole is None else whole.uncovered - len(self._left)
        more = (f"+{untold:,} not reported", f"+{untold:,}") if untold > 0 and self._left else ()
        self.targets.set_caption(*more)
        none_left = "all goals are covered" if covered else "no goals"
        if whole is not None and whole.changed:
            none_left = plain(f"none: {have_changed(whole.changed)}")
        self.types.show_empty("no type passes the filter" if self._types else "no types")
        self.targets.show_empty("no goal passes the filter" if self._left else none_left)

    def nothing(self) -> Sequence[Line]:
        """Return why the table is empty, and how to fill it."""
        missing = self.campaign.engine, self._aim, stale(self.campaign)
        if self.table is self.targets:
            return () if self._left else no_goals_lines(*missing)
        return () if self._types else no_types_lines(*missing)

    def details(
        self, row: TypeRow | GoalRow, preview: SourceExcerpt | None, size: Size
    ) -> Sequence[Line]:
        """Return the details of a type or of a goal."""
        if isinstance(row, GoalRow):
            asked, tight = self._pin_asked(row.location), size.height < 10
            return goal_lines(row, self._types, asked, preview, self.campaign, tight=tight)
        finds = self._latest_saved.latest(self.campaign, type_label(row.name))[:FINDS]
        asked = self._weight_asked(row.name)
        left = self._left.values()
        return type_lines(row, self.campaign, self._aim, left, finds, asked=asked)

    def preview_of(self, row: TypeRow | GoalRow) -> tuple[str, Callable[[], SourceExcerpt]] | None:
        """Return the reader of a goal's source lines."""
        run = self.host.run_dir
        if run is None or not isinstance(row, GoalRow):
            return None
        of = next((f.analysis for f in list(self.campaign.types.values()) if f.analysis), "")
        return f"{of} {row.location}", partial(source.load, run, row.location, of)

    # -------------------------------------------------------------- looking

    def do_types_find(self) -> None:
        """Go to the latest entry from targeting this type."""
        row = self.table.current
        if not isinstance(row, TypeRow):
            return
        finds = self._latest_saved.latest(self.campaign, type_label(row.name))
        self.go_to_latest(finds, "No known entry was made by targeting this type.")

    def do_types_copy(self) -> None:
        """Copy the type's name or the goal's location."""
        row = self.table.current
        if isinstance(row, TypeRow):
            self.host.copy(shell.word(row.name), "type")
        elif isinstance(row, GoalRow):
            self.host.copy(shell.word(row.location), "location")

    def do_row_source(self) -> None:
        """Open the Source screen at the goal's line."""
        row = self.table.current
        at = goal_place(row.location, self.campaign) if isinstance(row, GoalRow) else None
        if at is not None:
            self.host.go_to_row("source", f"{at[0]}:{at[1]}")
        else:
            self.notify("Only goals have a line, in a file that the log names.")

    # ------------------------------------------------------------- steering

    def describe_row(self) -> ActionContext:
        """Return what any running engine can do, and the row after all pending commands."""
        row = next(iter(self.chosen()), None)
        instances = self.campaign.instances.values()
        return shared_context(instances, self._context_of(row), row=row is not None)

    def _context_of(self, row: TypeRow | GoalRow | None) -> TargetingContext:
        on_targets = self.table is self.targets
        return TargetingContext.of(self._aim, row, self._asked, on_targets=on_targets)

    def _weight_asked(self, name: str) -> str:
        asked = self._asked.weight(name)
        return "" if asked is None else weight_text(asked)

    def _pin_asked(self, location: str) -> str:
        asked, row = self._asked.pinned, self._left.get(location)
        if ignored := self._asked.ignored(location):
            return "ignore…"
        if asked == location:
            return "pin…"
        if ignored is False and row is not None and row.ignored:
            return "target…"
        return "unpin…" if asked is not None and row is not None and row.pinned else ""

    def _show_pending(self) -> None:
        waiting = unanswered(self.campaign, TypeCommand)
        asked = PendingTargeting((*(command for _, command in waiting), *self._pending.commands))
        if asked != self._asked:
            subjects = [*self._asked.commands, *asked.commands]
            self._asked = asked
            self.types.touch({c.type for c in subjects if isinstance(c, WeighType)})
            places = {c.location for c in subjects if isinstance(c, (PinGoal, IgnoreGoal))}
            if places:
                self.targets.touch(places | {r.location for r in self._left.values() if r.pinned})
        who = self._pending.status_text(waiting)
        self.query_one(TargetingStrip).ask(
            [*dict.fromkeys(pending_label(c) for c in asked.commands)], who
        )

    def do_types_command(self, action: Action) -> None:
        """Send the command of an action. After a ban or an ignore, go to the next similar row."""
        if action.command is None:
            return
        if self.table.marks:
            every = [self._context_of(row) for row in self.chosen()]
            possible = [
                c for c in every if not action.check(replace(self.host.action_context(), about=c))
            ]
            self._pending.add(action.command(c) for c in possible)
            self.unmark()
            return
        now = self._context_of(next(iter(self.chosen()), None))
        command = action.command(now)
        self._pending.add([command])
        if action.command == TargetingContext.banned:
            self.types.move_on(lambda r: bool(self._asked.weight_of(r)) == bool(now.weight))
        elif isinstance(command, IgnoreGoal):
            self.targets.move_on(lambda r: self._asked.ignores(r) == now.ignored)
        elif not isinstance(command, SetTargetedShare):
            self.table.hold()
