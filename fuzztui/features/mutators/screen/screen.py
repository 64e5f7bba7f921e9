"""The Mutators screen: text mutators with statistics, and commands for their mixture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual.geometry import Size
from textual.widget import Widget

from fuzztui.features.mutators.fold import (
    MixtureSetting,
    MutatorRow,
    arms,
    changed,
    has_mutators,
    mean_of,
    mixture_summary,
    settings,
)
from fuzztui.features.mutators.screen.actions import MixtureContext
from fuzztui.features.mutators.screen.columns import PAYS, columns
from fuzztui.features.mutators.screen.detail import mutator_lines, no_mutators_lines
from fuzztui.features.mutators.screen.strip import MixtureStrip
from fuzztui.kernel.model.commands import unanswered
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.yields import Yields
from fuzztui.kernel.wire.commands import Command, SetMixture, WeighMutator, weight_text
from fuzztui.kernel.wire.events import MutatorStats
from fuzztui.kernel.wire.mixture import Mixture, moved, named_by
from fuzztui.tui.base import shell
from fuzztui.tui.base.canvas import Line
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import ActionContext, RowContext, shared_context
from fuzztui.tui.frame.steered import SETTLE_S, SteeredScreen
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.labels.latest_saved import FINDS
from fuzztui.tui.labels.status import Status

EQUAL = 0.99
"""Share of the largest weight above which a weight is shown as equal to that."""


class MutatorsScreen(SteeredScreen[MutatorRow, None]):
    """The mixture as a bar, and a row for each mutator."""

    TAB = "mutators"
    ABSENT = "no engine of this campaign reports text mutators"
    HINT = "words: swap, splice, ..."
    DEFAULT_CSS = """
    MutatorsScreen {
        & MixtureStrip { margin-top: 1; display: none; }
        & #listing { margin-top: 1; }
        &.-short #listing, &.-tiny #listing { margin-top: 0; }
        &.-short MixtureStrip { margin-top: 0; }
        &.-tiny MixtureStrip { height: 1; margin-top: 0; }
        &.-wide BigTable { width: 2fr; }
        &.-wide DetailPane { width: 1fr; }
        &.-medium DetailPane, &.-narrow DetailPane { height: 38%; }
    }
    """

    def __init__(self) -> None:
        super().__init__(named_by, _words)
        self._arms: dict[str, MutatorRow] = {}
        self._weighted: set[str] = set()
        """The classes whose mutators have different weights."""

    @classmethod
    def is_present(cls, state: State) -> bool:
        """Whether the campaign has text mutators."""
        return has_mutators(state)

    def body(self) -> Iterable[Widget]:
        """Yield the mixture, the table and the details."""
        yield MixtureStrip()
        yield from super().body()

    def make_table(self) -> BigTable[MutatorRow]:
        """Return the table, the best mutators first."""
        every = columns(lambda cls: cls not in self._weighted, self._yields_of)
        table = BigTable(every, empty="no mutators", first=PAYS, reverse=True)
        table.keeps_line = True  # on the best mutator, whichever it is
        return table

    # -------------------------------------------------------------- changes

    def sources(self) -> Sequence[MutatorStats]:
        """Return the statistics of each instance."""
        return list(self.campaign.mutators.values())

    def rebuild(self, *, reset: bool) -> None:
        """Update the rows."""
        now = arms(self.campaign)
        weighted = {arm.cls for arm in now.values() if arm.bar < EQUAL}
        reset = reset or weighted != self._weighted
        self._weighted = weighted
        self.table.replace_rows(self._arms, now, reset=reset)

    def _update_empty(self) -> None:
        self.table.show_empty("no mutator passes the filter" if self._arms else "no mutators")

    def tick(self, status: Status) -> None:
        """Update the mixture."""
        self.query_one(MixtureStrip).show_mixture(mixture_summary(self.campaign), status)
        super().tick(status)

    def nothing(self) -> Sequence[Line]:
        """Return why there are no mutators, and how to get some."""
        return () if self._arms else no_mutators_lines(self.campaign.engine)

    def details(self, row: MutatorRow, preview: None, size: Size) -> Sequence[Line]:
        """Return the details of a mutator."""
        latest = self._latest_saved.latest(self.campaign, row.name)[:FINDS]
        yields = self._yields_of(row)
        return mutator_lines(row, self.campaign, latest, yields, tight=size.height < 10)

    def _yields_of(self, arm: MutatorRow) -> Yields:
        return self.host.status.yields.mutators.get(arm.name) or Yields()

    def do_mutator_find(self) -> None:
        """Go to the latest entry or finding of this mutator."""
        arm = self.table.current
        latest = self._latest_saved.latest(self.campaign, arm.name) if arm is not None else []
        self.go_to_latest(latest, "No known entry was made by this mutator.")

    def do_mutator_copy(self) -> None:
        """Copy the mutator's name."""
        if (arm := self.table.current) is not None:
            self.host.copy(shell.word(arm.name), "name")

    # ------------------------------------------------------------- steering

    def describe_row(self) -> ActionContext:
        """Return what any running engine can do, and the mixture after all pending commands."""
        about = RowContext()
        if wanted := self._wanted():
            about = MixtureContext(mean_of(wanted.values()), _adaptive(wanted), *self._weighed())
        instances = self.campaign.instances.values()
        return shared_context(instances, about, row=self.table.current is not None)

    def _wanted(self) -> dict[str, MixtureSetting]:
        """The mixture of each instance after all pending commands."""
        waiting = [command for _, command in unanswered(self.campaign, SetMixture)]
        return settings(self.campaign, wanted=[*waiting, *self._asked_here()])

    def _weighed(self) -> tuple[str, float]:
        """The mutator under the cursor, and its weight after all pending commands."""
        if (row := self.table.current) is None:
            return "", 1.0
        asked = [c for _, c in unanswered(self.campaign, WeighMutator)]
        asked += [c for c in self._pending.commands if isinstance(c, WeighMutator)]
        return row.name, [row.wish, *(c.weight for c in asked if c.mutator == row.name)][-1]

    def _asked_here(self) -> list[SetMixture]:
        return [wish for wish in self._pending.commands if isinstance(wish, SetMixture)]

    def _show_pending(self) -> None:
        waiting = unanswered(self.campaign, SetMixture)
        mixes = waiting or self._asked_here()
        who, wanted = self._pending.status_text(waiting) if mixes else "", self._wanted()
        asked = SetMixture(*mean_of(wanted.values()), _adaptive(wanted)) if who and wanted else None
        self.query_one(MixtureStrip).ask(asked, who)

    def _ask(
        self, to: Callable[[Mixture], Mixture], *, adaptive: bool = False, after: float = SETTLE_S
    ) -> None:
        wish = changed(self._wanted(), to, adaptive=adaptive)
        self._pending.forget()
        self._pending.add(wish, after)

    def do_mixture_move(self, boundary: int, by: int) -> None:
        """Move probability from one class to the other at a boundary."""
        self._ask(lambda now: moved(now, boundary, by))

    def do_mutators_command(self, action: Action) -> None:
        """Send the command of an action about the mutator under the cursor."""
        if action.command is not None:
            self._pending.add([action.command(self.describe_row().about)])

    def do_mixture_adaptive(self) -> None:
        """Switch between an adaptive mixture and one that stays as it is set."""
        adaptive = not _adaptive(self._wanted())
        self._ask(lambda now: now, adaptive=adaptive, after=0.01)


def _words(wish: Command) -> str:
    """A label of the command, for notifications."""
    if isinstance(wish, WeighMutator):
        return f"{plain(wish.mutator, 60)} {weight_text(wish.weight)}"
    if not isinstance(wish, SetMixture):
        return wish.name
    whose = f" of {wish.instance}" if wish.instance else ""
    return f"mixture{' adaptive' * wish.adaptive}{whose}"


def _adaptive(each: dict[str, MixtureSetting]) -> bool:
    """Whether the mixture of any instance is adaptive."""
    return any(setting.adaptive for setting in each.values())
