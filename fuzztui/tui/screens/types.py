"""What a spoton engine aims at: types and code targets that are left; looking, and steering it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from textual import events
from textual.containers import Container
from textual.geometry import Size
from textual.widget import Widget

from fuzztui.model.state import Changes
from fuzztui.model.types import (
    TargetRow,
    TypeRow,
    aim,
    pending_types,
    targets_left,
    types,
)
from fuzztui.tui import shell, targetsource
from fuzztui.tui.actions import Situation
from fuzztui.tui.aiming import STEP, Aiming, Asked
from fuzztui.tui.finds import Finds
from fuzztui.tui.operatordetail import FINDS
from fuzztui.tui.screens.listing import ListingScreen, unchanged
from fuzztui.tui.situation import over_all
from fuzztui.tui.source import Source
from fuzztui.tui.status import Status
from fuzztui.tui.typecolumns import CHANCE, LEFT, Looks, target_columns, type_columns
from fuzztui.tui.typedetail import no_targets_lines, no_types_lines, target_lines, type_lines
from fuzztui.tui.typewords import named_by, type_label, weight_words, wish_words
from fuzztui.tui.widgets.aimstrip import AimStrip
from fuzztui.tui.widgets.canvas import Line
from fuzztui.tui.widgets.columns import Column
from fuzztui.tui.widgets.filterbar import FilterBar
from fuzztui.tui.widgets.pane import Pane
from fuzztui.tui.widgets.table import BigTable
from fuzztui.tui.wishes import Wishes
from fuzztui.wire.commands import IgnoreTarget, PinTarget, SetTargeted, WeighType

NEXT = 12
"""Types that the strip may name."""


class TypesScreen(ListingScreen[TypeRow | TargetRow, Source]):
    """What is left as a bar, a row for each type, and a row for each code target that is left.

    Both tables where there is room, else one of them.
    """

    TAB = "types"
    HINT = "words: datetime, module.py, frontier, ..."
    DEFAULT_CSS = """
    TypesScreen {
        & AimStrip { margin-top: 1; display: none; }
        & #listing { margin-top: 1; }
        & #tables { width: 2fr; layout: vertical; }
        & #types { height: 1fr; width: 100%; }
        & #targets { height: 1fr; width: 100%; margin-top: 1; }
        & Pane { width: 1fr; }
        &.-short #listing, &.-tiny #listing { margin-top: 0; }
        &.-short AimStrip { margin-top: 0; }
        &.-short #targets, &.-tiny #targets { margin-top: 0; }
        &.-tiny AimStrip { height: 1; margin-top: 0; }
        &.-medium #tables, &.-narrow #tables { width: 100%; height: 1fr; }
        &.-medium Pane, &.-narrow Pane { height: 38%; }
        &.-medium #targets, &.-narrow #targets, &.-tiny #targets { display: none; margin-top: 0; }
        &.-targets.-medium #targets, &.-targets.-narrow #targets { display: block; }
        &.-targets.-tiny #targets { display: block; }
        &.-targets.-medium #types, &.-targets.-narrow #types { display: none; }
        &.-targets.-tiny #types { display: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._types: dict[str, TypeRow] = {}
        self._left: dict[str, TargetRow] = {}
        self._told: list[object] = []
        """Which figures the rows are of."""
        self._finds = Finds(named_by)
        self._wishes = Wishes(self, wish_words, self._show_wishes)
        self._asked = Asked()

    def body(self) -> Iterable[Widget]:
        """The strip, two tables, details."""
        yield AimStrip()
        looks = Looks(self._room, self._weight_asked, self._pin_asked)
        of_types = _table("types", type_columns(looks), CHANCE, reverse=True)
        of_targets = _table("targets", target_columns(looks), LEFT)
        tables = Container(of_types, of_targets, id="tables")
        yield Container(tables, Pane(id="detail"), id="listing")
        yield FilterBar(self.HINT)

    @property
    def types(self) -> BigTable[TypeRow]:
        """The table of types."""
        return self.query_one("#types", BigTable)

    @property
    def targets(self) -> BigTable[TargetRow]:
        """The table of code targets."""
        return self.query_one("#targets", BigTable)

    @property
    def table(self) -> BigTable[Any]:
        """The one that has, or last had, the focus."""
        return self.targets if self.has_class("-targets") else self.types

    def _room(self) -> int:
        width = self.app.size.width
        return 48 if width >= 170 else 24 if width >= 76 else 18

    # -------------------------------------------------------------- changes

    def show(self, changes: Changes) -> None:
        """Take in new figures, finds, and commands that came or went."""
        state = self.campaign
        self._finds.note(state, changes)
        if changes.reset or changes.commands:
            self._wishes.heard()
            self._show_asked()
        # And who lives: what those pick next is what counts.
        lives = [state.instances[name].state for name in list(state.types)]
        told = [*state.types.values(), *state.left.values(), *lives]
        if changes.reset or not unchanged(self._told, told):
            self._told = told
            now = types(state)
            self.types.become(self._types, now, anew=changes.reset)
            self.targets.become(self._left, targets_left(state), anew=changes.reset)
            self.query_one(AimStrip).show_next(list(now.values())[:NEXT])
            # What a few types leave empty is the targets'.
            self.types.styles.max_height = 2 + max(2, len(now))
        self._say_what_is_missing()
        self._count()
        self.show_detail()
        self.host.refresh_footer()

    def tick(self, status: Status) -> None:
        """The strip."""
        super().tick(status)
        strip = self.query_one(AimStrip)
        strip.display = status.aim is not None
        strip.show(status)
        self._show_asked()

    def _say_what_is_missing(self) -> None:
        """Why a table is empty; engines tell of some hundred targets only."""
        whole = aim(self.campaign)
        covered = whole is not None and whole.targets and not whole.uncovered
        untold = 0 if whole is None else whole.uncovered - len(self._left)
        self.targets.set_caption(f"+{untold:,} not told" if untold > 0 and self._left else "")
        none_left = "everything that can be aimed at is covered" if covered else "no code targets"
        self.types.show_empty("no type passes the filter" if self._types else "no types")
        self.targets.show_empty("no target passes the filter" if self._left else none_left)

    def nothing(self) -> Sequence[Line]:
        """Why there is nothing in the table, and how to get some."""
        engine, whole = self.campaign.engine, aim(self.campaign)
        if self.table is self.targets:
            return () if self._left else no_targets_lines(engine, whole)
        return () if self._types else no_types_lines(engine, whole)

    def details(
        self, row: TypeRow | TargetRow, preview: Source | None, size: Size
    ) -> Sequence[Line]:
        """Of a type or of a code target."""
        if isinstance(row, TargetRow):
            asked, tight = self._pin_asked(row.location), size.height < 10
            return target_lines(row, self._types, asked, preview, tight=tight)
        finds = self._finds.latest(self.campaign, type_label(row.name))[:FINDS]
        asked = self._weight_asked(row.name)
        left = self._left.values()
        return type_lines(row, self.campaign, left, finds, asked)

    def preview_of(self, row: TypeRow | TargetRow) -> tuple[str, Callable[[], Source]] | None:
        """The lines of the program around a target."""
        run = self.host.run_dir
        if run is None or not isinstance(row, TargetRow):
            return None
        return row.location, partial(targetsource.load, run, row.location)

    # ----------------------------------------------------------- two tables

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The details are of the table that is looked at."""
        if isinstance(event.widget, BigTable):
            self._turn_to(event.widget)

    def _turn_to(self, table: BigTable[Any]) -> None:
        if table is not self.table:
            self.set_class(table is self.targets, "-targets")
            self._count()
            self.look()

    def do_types_other(self) -> None:
        """From the types to the code targets, or back."""
        self._turn_to(self.types if self.table is self.targets else self.targets)
        self.table.focus()

    def narrow(self, text: str) -> None:
        """Both tables: what a type is called stands beside the targets that it decides about."""
        self.types.narrow(text)
        self.targets.narrow(text)
        self._count()

    def do_table_sort(self) -> None:
        """From the details: of the table that they are of."""
        self.table.do_table_sort()

    def do_table_reverse(self) -> None:
        """As :meth:`do_table_sort`."""
        self.table.do_table_reverse()

    def on_resize(self) -> None:
        """Names have more room, or less."""
        super().on_resize()
        for table in (self.types, self.targets):
            table.invalidate()

    # -------------------------------------------------------------- looking

    def do_types_find(self) -> None:
        """To the latest entry that aiming at it has brought."""
        row = self.table.current
        if not isinstance(row, TypeRow):
            return
        finds = self._finds.latest(self.campaign, type_label(row.name))
        self.go_to_first(finds, "No entry that is known was made by aiming at this type.")

    def do_types_copy(self) -> None:
        """The name or the location."""
        row = self.table.current
        if isinstance(row, TypeRow):
            self.host.copy(shell.word(row.name), "type")
        elif isinstance(row, TargetRow):
            self.host.copy(shell.word(row.location), "location")

    # ------------------------------------------------------------- steering

    def describe_row(self) -> Situation:
        """What any living engine can do, and how things are once all that is asked for is done."""
        row, whole = self.table.current, aim(self.campaign)
        target = row if isinstance(row, TargetRow) else None
        now, asked = "" if whole is None else whole.pinned, self._asked.pinned
        pinned = now if asked is None else asked
        return replace(
            over_all(self.campaign.instances.values()),
            row=row is not None,
            aiming=Aiming(
                self._targeted(),
                self._weight(row) if isinstance(row, TypeRow) else -1.0,
                "" if target is None else target.location,
                target is not None and bool(target.types),
                "" if self._asked.ignored(pinned) else pinned,
                self.table is self.targets,
                target is not None and self._ignored(target),
            ),
        )

    def _weight(self, row: TypeRow) -> float:
        asked = self._asked.weight(row.name)
        return row.weight if asked is None else asked

    def _ignored(self, row: TargetRow) -> bool:
        asked = self._asked.ignored(row.location)
        return row.ignored if asked is None else asked

    def _targeted(self) -> float:
        whole, asked = aim(self.campaign), self._asked.targeted
        return -1.0 if whole is None else whole.targeted if asked is None else asked

    def _weight_asked(self, name: str) -> str:
        asked = self._asked.weight(name)
        return "" if asked is None else weight_words(asked)

    def _pin_asked(self, location: str) -> str:
        asked, row = self._asked.pinned, self._left.get(location)
        if ignored := self._asked.ignored(location):
            return "ignore…"
        if asked == location:
            return "pin…"
        if ignored is False and row is not None and row.ignored:
            return "aim…"
        return "unpin…" if asked is not None and row is not None and row.pinned else ""

    def _show_wishes(self) -> None:
        self._show_asked()
        self.show_detail()
        self.host.refresh_footer()

    def _show_asked(self) -> None:
        waiting = pending_types(self.campaign)
        asked = Asked((*(command for _, command in waiting), *self._wishes.commands))
        if asked != self._asked:
            subjects = [*self._asked.commands, *asked.commands]
            self._asked = asked
            self.types.touch({c.type for c in subjects if isinstance(c, WeighType)})
            places = {c.location for c in subjects if isinstance(c, (PinTarget, IgnoreTarget))}
            if places:
                self.targets.touch(places | {r.location for r in self._left.values() if r.pinned})
        who = self._wishes.story(waiting)
        self.query_one(AimStrip).ask([*dict.fromkeys(wish_words(c) for c in asked.commands)], who)

    def _weigh(self, to: Callable[[float], float]) -> None:
        row = self.table.current
        if isinstance(row, TypeRow):
            self._wishes.ask([WeighType(row.name, to(self._weight(row)))])

    def do_types_raise(self) -> None:
        """Twice as likely."""
        self._weigh(lambda weight: weight * 2)

    def do_types_lower(self) -> None:
        """Half as likely."""
        self._weigh(lambda weight: weight / 2)

    def do_types_ban(self) -> None:
        """Never, or as its distance says again."""
        self._weigh(lambda weight: 0.0 if weight else 1.0)

    def do_types_pin(self) -> None:
        """Aim at the target alone, or end that."""
        now = self.describe_row().aiming
        if now is not None:
            self._wishes.ask([PinTarget("" if now.unpins else now.target)])

    def do_types_ignore(self) -> None:
        """Leave the target out of what is aimed at, or end that."""
        row = self.table.current
        if isinstance(row, TargetRow):
            self._wishes.ask([IgnoreTarget(row.location, not self._ignored(row))])

    def do_types_more(self) -> None:
        """More of the mutations aim."""
        self._share(STEP)

    def do_types_less(self) -> None:
        """Fewer of them do."""
        self._share(-STEP)

    def _share(self, by: float) -> None:
        share = round(min(1.0, max(0.0, self._targeted() + by)), 4)
        self._wishes.ask([SetTargeted(share)])


def _table(
    id: str, columns: Sequence[Column[Any]], first: str, *, reverse: bool = False
) -> BigTable[Any]:
    """Sorted by ``first``, the cursor on what comes first, whatever that is."""
    table: BigTable[Any] = BigTable(columns, empty="nothing here yet", id=id)
    table.rows.sort(next(c for c in columns if c.id == first), reverse=reverse)
    table.rests = True
    return table
