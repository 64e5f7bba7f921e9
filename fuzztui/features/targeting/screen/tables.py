"""The tables of types and of goals: both if there is room, else one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from textual.containers import Container
from textual.widget import Widget

from fuzztui.features.targeting.fold import GoalRow, TypeRow
from fuzztui.features.targeting.screen.columns import (
    CHANCE,
    LEFT,
    TypeColumnContext,
    goal_columns,
    type_columns,
)
from fuzztui.kernel.wire.conditions import FilterKey, parse_filter
from fuzztui.tui.base.columns import Column, column_keys
from fuzztui.tui.base.filterbar import FilterBar
from fuzztui.tui.base.source_excerpt import SourceExcerpt
from fuzztui.tui.frame.steered import SteeredScreen
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.frame.table_tabs import TableTabs


class TypeTables(SteeredScreen[TypeRow | GoalRow, SourceExcerpt]):
    """A screen with both tables. Subclasses fill them."""

    DEFAULT_CSS = """
    TypeTables {
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

    def tables(self, context: TypeColumnContext) -> Iterable[Widget]:
        """Return both tables with their tabs."""
        of_types = _table("types", type_columns(context), CHANCE, reverse=True)
        of_targets = _table("targets", goal_columns(context), LEFT)
        tabs = TableTabs("types.other", ("types", "uncovered goals"))
        yield Container(tabs, of_types, of_targets, id="tables")

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

    def narrow(self, text: str) -> None:
        """Filter both tables: the rows of goals contain names of types, too."""
        problems = []
        for table in (self.types, self.targets):
            found = parse_filter(text, column_keys(table.columns))
            table.narrow(found.words, found.passes)
            problems.append(found.problem)
        # A key of one table narrows that table alone.
        self.query_one(FilterBar).say(problems[0] if all(problems) else "")
        self._count()

    def keys(self) -> Mapping[str, FilterKey[Any]]:
        """Return the keys of both tables."""
        return {**column_keys(self.types.columns), **column_keys(self.targets.columns)}

    def do_table_sort(self) -> None:
        """Sort the table whose details are shown."""
        self.table.do_table_sort()

    def do_table_reverse(self) -> None:
        """As :meth:`do_table_sort`."""
        self.table.do_table_reverse()


def _table(
    id: str, columns: Sequence[Column[Any]], first: str, *, reverse: bool = False
) -> BigTable[Any]:
    """A table sorted by ``first``, with the cursor staying on the first line."""
    table: BigTable[Any] = BigTable(columns, empty="nothing here yet", id=id)
    table.rows.sort(next(c for c in columns if c.id == first), reverse=reverse)
    table.keeps_line = True
    return table
