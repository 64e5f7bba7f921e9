"""What a user can do on the home screen now."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fuzztui.tui.frame.action_context import RowContext


@dataclass(frozen=True, slots=True)
class HomeContext(RowContext):
    """The runs that an action is for: the marked ones, else the one under the cursor."""

    chosen: int = 0
    """Their number."""
    unread: int = 0
    """How many of them have logs that were not opened yet."""
    running: int = 0
    """How many of them have a supervisor."""
    resumable: int = 0
    """How many of them have none, but the campaign file to start them again, and budget left."""
    finished: int = 0
    """How many of them have used up their budget, or met a stop condition."""
    live: int = 0
    """Runs that can be shown side by side: with a supervisor, and marked if any is marked."""
    marked: bool = False
    """Whether any run is marked."""
    panes: int | None = None
    """Number of runs that are shown side by side; None: the table is shown."""

    def stopping(self) -> str:
        """Why no run can be stopped."""
        return self._none() or ("" if self.running else "the campaign is not under way")

    def resuming(self) -> str:
        """Why no run can be resumed."""
        if reason := self._none():
            return reason
        if self.resumable:
            return ""
        if self.running:
            return "the campaign is under way already"
        if self.finished:
            return (
                "the campaign has finished; to continue: "
                "fuzztui RUN/campaign.toml --set campaign.budget=LARGER"
            )
        return "the run has no campaign.toml"

    def _none(self) -> str:
        if not self.chosen:
            return "no run under the cursor"
        return "the log is being read" if self.unread == self.chosen else ""

    def showing_beside(self) -> str:
        """Why no runs can be shown side by side."""
        if self.panes is not None or self.live:
            return ""
        what = "no marked run" if self.marked else "no campaign"
        return f"{what} is under way; {{home.resume:r}} resumes one"

    def elsewhere(self) -> Collection[str]:
        """The ids of actions that the footer leaves out: about panes that are not shown, and the
        one of stop and resume that the runs do not need."""
        out = [f"home.run_{n}" for n in range((self.panes or 0) + 1, MAX_PANES + 1)]
        if not self.chosen:
            out += ["home.stop", "home.resume", "home.beside"]
        elif bool(self.running) != bool(self.resumable):
            out.append("home.resume" if self.running else "home.stop")
        return out

    def labels(self) -> dict[str, str]:
        """The current label of the key that switches, by action id."""
        return {"home.beside": "Side by side" if self.panes is None else "Table"}


MAX_PANES = 4
"""Runs that are shown side by side at most."""
