"""Sending of a user's commands, and notifications of their results.

Mixed into the app; implements ``do_campaign_*`` and ``do_app_quit`` of the registry.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual.notifications import SeverityLevel
from textual.worker import WorkerError

from fuzztui.model.state import Changes, State
from fuzztui.tui.base import format
from fuzztui.tui.base.dialogs import AskScreen, ConfirmScreen
from fuzztui.tui.base.text import plain
from fuzztui.tui.base.themed import ThemedApp
from fuzztui.tui.frame.command_sender import CommandSender
from fuzztui.tui.frame.screen import CampaignScreen
from fuzztui.tui.labels.events import command_text
from fuzztui.tui.labels.status import Status
from fuzztui.tui.labels.targeting import answer_text
from fuzztui.wire.commands import AddSeed, Command, Pause, Resume, Stop

WAITED_S = 10.0
"""Seconds for which the sender of a command waits for the answer."""

LEAVE_S = 2.0
"""Maximal seconds for which leaving the app waits until commands are sent."""

STEER, REMEMBER = "steer", "remember"
"""Groups of workers for which leaving waits: sending commands, and storing a theme."""

MAX_PATH = 4096
"""Characters of a path."""


class CampaignControls(ThemedApp):
    """The commands of the app."""

    steering: CommandSender | None
    status: Status
    mode: str
    _leaving = False
    _present_t = -1.0
    """Campaign time of the last record when the log was opened; older answers are not notified."""
    _in_turn: asyncio.Lock
    """Held while a command is sent that may undo the one before (:attr:`Command.ordered`)."""

    if TYPE_CHECKING:

        @property
        def campaign(self) -> State: ...  # noqa: D102
        @property
        def end_t(self) -> float: ...  # noqa: D102
        @property
        def _campaign_screen(self) -> CampaignScreen | None: ...
        def nudge(self) -> None: ...  # noqa: D102

    def do_app_quit(self) -> None:
        """Leave when all commands are sent; pressed again: at once."""
        screen = self._campaign_screen
        if self._leaving or screen is None:
            self.exit()
            return
        self._leaving = True
        screen.leave()
        self.run_worker(self._leave(), group="leave")

    async def _leave(self) -> None:
        ours = [w for w in self.workers if w.group in (STEER, REMEMBER) and not w.is_finished]
        if ours:
            with suppress(TimeoutError, WorkerError):
                await asyncio.wait_for(self.workers.wait_for_complete(ours), LEAVE_S)
        self.exit()

    def steer(self, command: Command, label: str) -> None:
        """Send a command in a worker. Its result is notified, and is recorded in the log."""
        self.run_worker(self._steer(command, label), group=STEER)

    async def _steer(self, command: Command, label: str) -> None:
        if self.steering is None:
            return
        async with self._in_turn if command.ordered else nullcontext():
            outcome = await self.steering.send(command)
        detail = f": {outcome.detail}" if outcome.detail else ""
        if outcome.kind == "applied":
            at = f" at trial {outcome.trial:,}" if outcome.trial >= 0 else ""
            said = f" ({answer_text(command, outcome.detail)})" if outcome.detail else ""
            self.notify(plain(f"{label}: done{at}{said}"), markup=False, timeout=3)
        elif outcome.kind == "pending":
            self.notify(plain(f"{label}: sent{detail}"), markup=False, timeout=5)
        elif outcome.kind == "rejected":
            text = plain(f"{label}: rejected{detail}")
            self.notify(text, severity="warning", markup=False, timeout=8)
        else:
            text = plain(f"{label}: not sent{detail}")
            self.notify(text, severity="error", markup=False, timeout=8)
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
            text = f"{command_text(status.command)}: {'done' if done else 'rejected'}"
            text += f": {status.text}" if status.text else ""
            severity: SeverityLevel = "information" if done else "warning"
            self.notify(plain(text), severity=severity, markup=False, timeout=10)

    def do_campaign_add_seed(self) -> None:
        """Ask for the path of a seed and send it."""

        def answered(text: str | None) -> None:
            if not text:
                return
            try:
                file = os.path.abspath(Path(text).expanduser())  # noqa: PTH100 - links stay
            except (RuntimeError, ValueError) as e:  # no such user's home, a NUL
                self.notify(plain(f"Add seed: {e}"), severity="warning", markup=False)
                return
            self.steer(AddSeed(file), f"add seed {file}")

        question = (
            "Path of a file to add to the campaign. Each instance imports the input if it covers "
            "something new there."
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
        question = (
            f"Stop the campaign {s.name!r} after {format.clock(s.now)}? All entries and findings "
            "are kept. To close only this screen while the campaign continues, press q instead."
        )

        def answer(yes: bool | None) -> None:
            if yes:
                self.steer(Stop(), "stop the campaign")

        self.push_screen(ConfirmScreen("Stop the campaign", question, "Stop", "Cancel"), answer)
