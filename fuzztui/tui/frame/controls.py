"""Sending of a user's commands, and notifications of their results.

Mixed into the app; implements ``do_campaign_*`` of the registry.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from textual.notifications import SeverityLevel

from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.model.commands import command_of
from fuzztui.kernel.model.inverses import UndoError
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Changes, CommandStatus, State
from fuzztui.kernel.model.undo import is_undoable, last_step, undo, why_not
from fuzztui.kernel.wire.commands import AddSeed, Command, OfVerdictsFile, Pause, Resume, Stop
from fuzztui.tui.base import format
from fuzztui.tui.base.background import in_thread
from fuzztui.tui.base.dialogs import AskScreen, ConfirmScreen
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.themed import ThemedApp
from fuzztui.tui.frame.action_context import ActionContext, without_supervisor
from fuzztui.tui.frame.actions import BY_ID
from fuzztui.tui.frame.command_sender import STEER, Answered, CommandOutcome, CommandSender
from fuzztui.tui.frame.local_verdict import record_undo
from fuzztui.tui.frame.marks import Marks
from fuzztui.tui.labels.events import command_text
from fuzztui.tui.labels.mutants import with_places
from fuzztui.tui.labels.status import Status

WAITED_S = 10.0
"""Seconds for which the sender of a command waits for the answer."""

AT_ONCE = 8
"""Commands about several rows that are sent at the same time."""

MAX_COMMANDS = 100
"""Commands of one key press: the state keeps 200, of which an undo needs them all."""

_SHOWN: dict[str, tuple[SeverityLevel, float, str]] = {
    "applied": ("information", 3, "done"),
    "pending": ("information", 5, "sent"),
    "rejected": ("warning", 8, "rejected"),
    "failed": ("error", 8, "not sent"),
}
"""How outcomes are notified, by kind: severity, seconds and word; the worst one last."""

MAX_PATH = 4096
"""Characters of a path."""


class CampaignControls(ThemedApp):
    """The commands of the app."""

    steering: CommandSender | None
    status: Status
    mode: str
    run_dir: Path | None
    _present_t = -1.0
    """Campaign time of the last record when the log was opened; older answers are not notified."""
    _step = ""
    """The name of the step that the present key press makes; "" if it has given no command yet."""
    _undoing = False
    _in_turn: asyncio.Lock
    """Held while a command is sent that may undo the one before (:attr:`Command.ordered`)."""

    if TYPE_CHECKING:

        @property
        def campaign(self) -> State: ...  # noqa: D102
        @property
        def end_t(self) -> float: ...  # noqa: D102
        @property
        def marks(self) -> Marks: ...  # noqa: D102
        def now(self) -> float: ...  # noqa: D102
        def seek(self, t: float) -> None: ...  # noqa: D102
        def tick(self) -> None: ...  # noqa: D102
        def say(self, text: str) -> None: ...  # noqa: D102
        def past(self, command: CommandStatus | None) -> State: ...  # noqa: D102
        def action_context(self) -> ActionContext: ...  # noqa: D102
        def nudge(self) -> None: ...  # noqa: D102

    def steer(self, command: Command, label: str) -> None:
        """Send a command in a worker. Its result is notified, and is recorded in the log.

        The commands that one key press gives are one step for an undo.
        """
        self.run_worker(self._steer(command, label, step=self._own_step()), group=STEER)

    def _own_step(self) -> str:
        """Return the name of the undo step that all commands of the present key press share."""
        if not self._step:
            self._step = secrets.token_hex(4)
            self.call_later(self._end_step)
        return self._step

    def _end_step(self) -> None:
        self._step = ""

    def steer_all(
        self, commands: Sequence[Command], label: str, answered: Answered | None = None
    ) -> bool:
        """Send one command for each of several rows, in a worker; one undo takes them all back.

        Returns False if there are too many, which is reported instead. ``answered`` is called with
        the worst outcome. If it returns True it has shown the outcome, else a notification does.
        """
        if len(commands) > MAX_COMMANDS:
            why = f"at most {MAX_COMMANDS} rows at once, or undo could not restore all"
            if answered is None or not answered(CommandOutcome("failed", why)):
                self.notify(plain(f"{label}: {why}"), severity="warning")
            return False
        work = self._steer_all(commands, label, self._own_step(), answered)
        self.run_worker(work, group=STEER)
        return True

    async def _steer_all(
        self, commands: Sequence[Command], label: str, step: str, answered: Answered | None
    ) -> None:
        if self.steering is None:
            return
        steering, free = self.steering, asyncio.Semaphore(AT_ONCE)

        async def send(command: Command) -> CommandOutcome:
            async with free:
                return await steering.send(command, step=step)

        outcomes = await asyncio.gather(*map(send, commands))
        # The worst outcome is notified: a row that was left out must not be overlooked.
        worst = max(outcomes, key=lambda outcome: [*_SHOWN].index(outcome.kind))
        same = sum(outcome.kind == worst.kind for outcome in outcomes)
        part = f" ({same:,} of {len(outcomes):,})" if same < len(outcomes) else ""
        if answered is not None and answered(worst):
            self.nudge()
            return
        self._notify_outcome(commands[0], f"{label}{part}", worst)

    def why_not_undo(self) -> str:
        """Return why the user's last steering cannot be undone; "" if it can be, or is unknown."""
        if self.steering is None:
            return ""
        step = last_step(self.campaign, self.steering.by)
        if self.campaign.state in ENDED and not all(
            isinstance(command_of(status), OfVerdictsFile) for status in step
        ):
            return f"the campaign has {self.campaign.state}"
        return why_not(step)

    def do_app_undo(self) -> None:
        """Undo the user's last steering. What was set before it is read from the log."""
        if self.steering is None or self._undoing:
            return
        self._undoing = True
        run = self.run_dir
        if run is not None and without_supervisor(self.action_context()):
            self.run_worker(self._undo_ended(run), group=STEER)
        else:
            self.run_worker(self._undo(self.steering.by), group=STEER)

    async def _undo_ended(self, run: Path) -> None:
        """Undo the user's last verdict about a campaign that has ended, in a separate process."""
        try:
            done, answer = await record_undo(run)
        finally:
            self._undoing = False
        severity: SeverityLevel = "information" if done else "error"
        self.notify(plain(f"Undo: {answer}"), severity=severity, timeout=6)

    async def _undo(self, by: str) -> None:
        try:
            found = await in_thread(lambda: undo(self.past(None), by, self.past))
            label = f"undo of {found.what}"
            for command, undoes in found.commands:
                await self._steer(command, label, undoes=undoes)
            if found.note:
                self.notify(plain(found.note), severity="warning", timeout=8)
        except UndoError as e:
            self.notify(plain(f"Undo: {e}"), severity="warning", timeout=6)
        except (LogError, OSError) as e:
            text = plain(f"Undo: the log cannot be read: {e}")
            self.notify(text, severity="error", timeout=8)
        finally:
            self._undoing = False

    async def _steer(
        self, command: Command, label: str, *, undoes: Sequence[str] = (), step: str = ""
    ) -> None:
        if self.steering is None:
            return
        async with self._in_turn if command.ordered else nullcontext():
            outcome = await self.steering.send(command, undoes=undoes, step=step)
        self._notify_outcome(command, label, outcome, undoes=bool(undoes))

    def _notify_outcome(
        self, command: Command, label: str, outcome: CommandOutcome, *, undoes: bool = False
    ) -> None:
        severity, timeout, word = _SHOWN[outcome.kind]
        text = f"{with_places(label, self.campaign.mutants)}: {word}"
        if outcome.kind == "applied":
            at = f" at trial {outcome.trial:,}" if outcome.trial >= 0 else ""
            said = f" ({answer_text(command, outcome.detail)})" if outcome.detail else ""
            key = BY_ID["app.undo"].key_label(self.action_context())
            back = f"; {key} undoes" if key and not undoes and is_undoable(command) else ""
            text += f"{at}{said}{back}"
        elif outcome.detail:
            text += f": {outcome.detail}"
        self.notify(plain(text), severity=severity, timeout=timeout)
        self.nudge()

    def notify_answers(self, changes: Changes) -> None:
        """Notify the user of commands that were answered after :data:`WAITED_S`."""
        if changes.reset:
            self._present_t = self.end_t
        for id in () if self.mode != "live" else changes.commands:
            status = self.campaign.commands.get(id)
            if status is None or status.done_t - status.t < WAITED_S:
                continue
            if status.done_t <= self._present_t:  # a long log is read in several polls
                continue
            done = status.state == "applied"
            words = with_places(command_text(status.command), self.campaign.mutants)
            text = f"{words}: {'done' if done else 'rejected'}"
            text += f": {status.text}" if status.text else ""
            severity: SeverityLevel = "information" if done else "warning"
            self.notify(plain(text), severity=severity, timeout=10)

    def do_campaign_add_seed(self) -> None:
        """Ask for the path of a seed and send it."""

        remote = self.action_context().remote

        def answered(text: str | None) -> None:
            if not text:
                return
            if remote and not text.startswith("/"):
                why = "Add seed: the run is on another machine; name an absolute path there"
                self.notify(why, severity="warning")
                return
            try:
                file = os.path.abspath(Path(text).expanduser())  # noqa: PTH100 - links stay
            except (RuntimeError, ValueError) as e:  # no such user's home, a NUL
                self.notify(plain(f"Add seed: {e}"), severity="warning")
                return
            self.steer(AddSeed(file), f"add seed {file}")

        question = (
            f"Path of a file{' on the machine of the run' * remote} to add to the campaign. Each "
            "instance imports the input if it covers something new there."
        )
        self.push_screen(AskScreen("Add seed", question, "~/seeds/one.bin", MAX_PATH), answered)

    def do_campaign_pause(self) -> None:
        """Pause or resume the campaign."""
        if self.campaign.state == "paused":
            self.steer(Resume(), "resume the campaign")
        else:
            self.steer(Pause(), "pause the campaign")

    def do_campaign_stop(self) -> None:
        """Ask for confirmation and stop the campaign."""
        s = self.status
        leave = BY_ID["app.quit"].key_label(self.action_context())
        question = (
            f"Stop the campaign {s.name!r} after {format.clock(s.now)}? All entries and findings "
            "are kept. To close only this screen while the campaign continues, press "
            f"{leave} instead."
        )

        def answer(yes: bool | None) -> None:
            if yes:
                self.steer(Stop(), "stop the campaign")

        self.push_screen(ConfirmScreen("Stop the campaign", question, "Stop", "Cancel"), answer)


def answer_text(command: Command, said: str) -> str:
    """Return an engine's answer ``said`` with "it" in place of the name that ``command`` is about.

    The answer is shown behind the command's label, which contains that name already.
    """
    name = command.affects or command.subject
    return re.sub(rf"(?<![\w.]){re.escape(name)}(?![\w.])", "it", said) if name else said
