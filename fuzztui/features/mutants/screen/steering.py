"""The commands of the Mutants screen: for one mutant, for a group, and after the campaign's end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from textual.notifications import SeverityLevel

from fuzztui.features.mutants.scores import CodeScore, CodeScores
from fuzztui.features.mutants.screen.actions import ACTIONS
from fuzztui.features.mutants.screen.context import about, judges_ended
from fuzztui.features.mutants.screen.functions import group_of
from fuzztui.features.mutants.screen.group_menu import ScopeScreen
from fuzztui.features.mutants.screen.groups import Filter, MutantGroup, marked, one, scopes
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.mutants import NOT_RUN, UNREACHED, knowledge
from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.wire.commands import (
    USES,
    AcceptMutants,
    Command,
    ExactPass,
    MarkEquivalent,
    OfVerdictsFile,
    SkipMutants,
    UnacceptMutants,
    UseMutants,
    Verdict,
)
from fuzztui.kernel.wire.selection import parse_selection
from fuzztui.tui.base.dialogs import AskScreen, ConfirmScreen
from fuzztui.tui.base.source_excerpt import SourceExcerpt
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.listing import ListingScreen
from fuzztui.tui.frame.local_verdict import record_verdict
from fuzztui.tui.labels.mutants import with_places


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
        self._scores = CodeScores()

    def do_mutants_command(self, action: Action) -> None:
        """Send the command of an action for the marked mutants, else for that at the cursor."""
        if self.code is not None:  # ask first: a file may have many mutants
            self.do_mutant_many()
            return
        if self.table.marks:
            if groups := marked(self.chosen()):
                self._send(action, *groups)
            return
        mutant = self.table.current
        if mutant is not None and mutant.id:
            self._send(action, one(mutant) or marked([mutant])[0])

    def _move_on_from(self, mutant_id: str) -> None:
        """Move the cursor on if its row is about to leave the worklist."""
        if self._queue and self.table.cursor == mutant_id:
            self.table.move_on()

    def _notify_unsendable(self) -> None:
        self.notify("This mutant's id cannot be sent: it looks like a selection.", markup=False)

    def do_mutant_many(self) -> None:
        """Ask for a group of mutants and an action."""
        self.host.when_free(self._ask_which)

    @property
    def code(self) -> CodeScore | None:
        """The file or function under the cursor; None while mutants are shown."""
        return None

    def _offered(self) -> list[MutantGroup]:
        """The groups of mutants of the row under the cursor."""
        if (code := self.code) is not None:
            group = group_of(code, self._scores)
            return [group] if group.select else []
        mutant = self.table.current
        if mutant is None:
            return []
        # A selection cannot express progress in a worklist, a group of survivors, nor the states
        # under which the table shows pending mutants after the campaign's end.
        ended = knowledge(self.campaign).over and self.campaign.mutant_counts.get("pending")
        renamed = ended and self._only in ("alive", NOT_RUN, UNREACHED)
        sayable = not (self._queue and self._only) and not self._group and not renamed
        narrowed = self._filter.as_selection(self._only) if sayable else ""
        return scopes(mutant, self.campaign.mutants.values(), narrowed)

    def _ask_which(self) -> None:
        if (self.table.current is None and self.code is None) or not self.may_take_focus:
            return
        found = self._offered()
        if not found:  # without file and function, too
            self._notify_unsendable()
            return
        now = self.host.action_context()
        verbs = [a.with_keys(now) for a in ACTIONS if a.command and a.queue in (None, self._queue)]
        verbs.sort(key=_needs_reason)

        def chosen(answer: tuple[str, MutantGroup] | None) -> None:
            if answer is not None:
                self._send(BY_ID[answer[0]], answer[1])

        self.app.push_screen(ScopeScreen(found, verbs, self._why_not), chosen)

    def _why_not(self, action: Action, scope: MutantGroup) -> str:
        state = next(iter(scope.states)) if len(scope.states) == 1 else ""
        now = self.host.action_context()
        alone = scope.count == 1
        row = about(now)
        row = replace(row, state=state, progress=row.progress if alone else "")
        return action.why_not(replace(now, about=row))

    def _send(self, action: Action, *scopes: MutantGroup) -> None:
        """Send a command for each of the groups; several are parts of one that is too long."""
        if not scopes:
            return
        count = sum(scope.count for scope in scopes)
        select = scopes[0].select
        what = with_places(select, self.campaign.mutants) if count == 1 else f"{count:,} mutants"
        if count > 1 and not select.startswith("id="):
            what += f" ({select})"

        def send(make: Callable[[str], Command]) -> None:
            commands = [make(scope.select) for scope in scopes]
            self._steer_mutants(commands, f"{action.label.lower()} {what}")
            if isinstance(commands[0], (SkipMutants, MarkEquivalent)):
                self._move_on_from(select)
            self.unmark()

        if action.command is not None and not _needs_reason(action):
            send(action.command)
            return

        make: type[MarkEquivalent | AcceptMutants] = MarkEquivalent
        question = (
            f"Why can no input distinguish {what} from the original? The reason is stored in "
            "the log. Equivalent mutants are not run any more and are counted separately."
        )
        if action.command is AcceptMutants:
            if self._all_accepted(scopes):
                send(UnacceptMutants)
                return
            make = AcceptMutants
            question = (
                f"Why may {what} survive? The reason is stored in the verdicts file. Accepted "
                "mutants stay survivors, and are listed apart."
            )

        def answered(because: str | None) -> None:
            if because:
                send(lambda select: make(select, because))

        self.app.push_screen(AskScreen(action.label, question, "because …"), answered)

    def _all_accepted(self, scopes: Sequence[MutantGroup]) -> bool:
        """Whether all survivors of the groups are accepted."""
        mutants = self.campaign.mutants.values()
        rows = [m for s in scopes for m in parse_selection(s.select).of(mutants) if m.survives]
        return bool(rows) and all(m.accepted for m in rows)

    def _steer_mutants(self, commands: Sequence[Command], label: str) -> None:
        """Send commands; after the campaign's end, a separate process records each verdict."""
        run = self.host.run_dir
        ended = run is not None and judges_ended(self.host.action_context())
        verdicts = [c for c in commands if isinstance(c, Verdict | OfVerdictsFile)]
        if run is not None and ended and len(verdicts) == len(commands):
            self.app.run_worker(self._judge(run, verdicts, label), group="judge")
        else:
            for command in commands:
                self.host.steer(command, label)

    async def _judge(
        self, run: Path, commands: Sequence[Verdict | OfVerdictsFile], label: str
    ) -> None:
        for command in commands:  # one after the other: each needs the run for itself
            done, text = await record_verdict(run, command)
            severity: SeverityLevel = "information" if done else "error"
            self.notify(plain(f"{label}: {text}"), severity=severity, markup=False)

    def do_mutants_use(self) -> None:
        """Switch between one mutant at a time and one for each instance."""
        use = USES[not self.campaign.plan.get("parallel")]
        self.host.steer(UseMutants(use), f"{use} use of mutants")

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
    return action.command in (MarkEquivalent, AcceptMutants)
