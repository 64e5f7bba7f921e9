"""The commands of the Mutants screen: for one mutant, for a group, and after the campaign's end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fuzztui.base.text import several
from fuzztui.model.state import Mutant
from fuzztui.tui.base.dialogs import AskScreen, ConfirmScreen
from fuzztui.tui.base.source_excerpt import SourceExcerpt
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.action_context import Action, judges_ended
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.listing import ListingScreen
from fuzztui.tui.frame.mutant_actions import MUTANTS
from fuzztui.tui.labels.mutant_groups import Filter, MutantGroup, one, scopes
from fuzztui.tui.screens.mutants.group_menu import ScopeScreen
from fuzztui.tui.screens.mutants.local_verdict import record_verdict
from fuzztui.wire.commands import Command, ExactPass, MarkEquivalent, SkipMutants, Verdict


class MutantControls(ListingScreen[Mutant, SourceExcerpt]):
    """Sends commands about mutants; what the table shows decides which groups are offered."""

    def __init__(self) -> None:
        super().__init__()
        self._filter = Filter()
        self._only = ""
        """The one state (worklist: progress) that is shown; an empty string: all."""
        self._group = ""
        """The one group of survivors that is shown, or ``SURVIVING``; empty: all mutants."""
        self._queue = False
        """Whether the table is a worklist."""

    def do_mutants_command(self, action: Action) -> None:
        """Send the command of an action for the mutant under the cursor."""
        mutant = self.table.current
        if mutant is None:
            return
        scope = one(mutant)
        if scope is None:
            self._notify_unsendable()
        else:
            self._send(action, scope)

    def _move_on_from(self, mutant_id: str) -> None:
        """Move the cursor on if its row is about to leave the worklist."""
        if self._queue and self.table.cursor == mutant_id:
            self.table.move_on()

    def _notify_unsendable(self) -> None:
        self.notify("This mutant's id cannot be sent: it looks like a selection.", markup=False)

    def do_mutant_many(self) -> None:
        """Ask for a group of mutants and an action."""
        self.host.when_free(self._ask_which)

    def _ask_which(self) -> None:
        mutant = self.table.current
        if mutant is None or not self.may_take_focus:
            return
        # A selection cannot express progress in a worklist, nor a group of survivors.
        sayable = not (self._queue and self._only) and not self._group
        narrowed = self._filter.as_selection(self._only) if sayable else ""
        found = scopes(mutant, self.campaign.mutants.values(), narrowed)
        if not found:  # without file and function, too
            self._notify_unsendable()
            return
        verbs = [a for a in MUTANTS if a.command and a.queue in (None, self._queue)]
        verbs.sort(key=_needs_reason)

        def chosen(answer: tuple[str, MutantGroup] | None) -> None:
            if answer is not None:
                self._send(BY_ID[answer[0]], answer[1])

        self.app.push_screen(ScopeScreen(found, verbs, self._why_not), chosen)

    def _why_not(self, action: Action, scope: MutantGroup) -> str:
        state = next(iter(scope.states)) if len(scope.states) == 1 else ""
        now = self.host.action_context()
        alone = scope.count == 1
        return action.why_not(replace(now, mutant=state, phase=now.phase if alone else ""))

    def _send(self, action: Action, scope: MutantGroup) -> None:
        whom = scope.select if scope.count == 1 else f"{scope.count:,} mutants ({scope.select})"
        if action.command is not None and not _needs_reason(action):
            command = action.command(scope.select)
            self._steer_mutants(command, f"{action.label.lower()} {whom}")
            if isinstance(command, SkipMutants):
                self._move_on_from(scope.select)
            return

        def answered(because: str | None) -> None:
            if because:
                self._steer_mutants(MarkEquivalent(scope.select, because), f"equivalent {whom}")
                self._move_on_from(scope.select)

        question = (
            f"Why can no input distinguish {whom} from the original? The reason is stored in "
            "the log. Equivalent mutants are not run any more and are counted separately."
        )
        self.app.push_screen(AskScreen("Equivalent", question, "because …"), answered)

    def _steer_mutants(self, command: Command, label: str) -> None:
        """Send a command; after the campaign's end, a separate process records the verdict."""
        run = self.host.run_dir
        ended = run is not None and judges_ended(self.host.action_context())
        if run is not None and ended and isinstance(command, Verdict):
            self.app.run_worker(self._judge(run, command, label), group="judge")
        else:
            self.host.steer(command, label)

    async def _judge(self, run: Path, command: Verdict, label: str) -> None:
        done, text = await record_verdict(run, command)
        self.notify(
            plain(f"{label}: {text}"), severity="information" if done else "error", markup=False
        )

    def do_mutants_exact(self) -> None:
        """Ask for confirmation, because the pass may take long."""
        s = self.host.status
        living = s.mutants.alive + s.mutants.pending if s.mutants is not None else 0
        entries = several(s.stats.corpus, "input")
        question = (
            f"Run {several(living, 'survivor')} on all of the {entries} that "
            "infect them? Fuzzing is slower meanwhile. The score is exact afterwards, unless "
            "engine.exact_budget is used up before. The engine does this at the end of the "
            "campaign anyway, if engine.exact is on."
        )

        def answer(yes: bool | None) -> None:
            if yes:
                self.host.steer(ExactPass(), "exact pass")

        self.app.push_screen(ConfirmScreen("Exact pass", question, "Run", "Cancel"), answer)


def _needs_reason(action: Action) -> bool:
    return action.command is MarkEquivalent
