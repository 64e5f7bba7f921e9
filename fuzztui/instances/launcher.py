"""What the supervisor must know of a kind of engine: the seam where AFL++ stands beside ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir
from fuzztui.model.state import Instance, State
from fuzztui.observe.stats_reader import FiguresSource
from fuzztui.wire.events import Event, FindingSaved, InstanceHello, Message

__all__ = ["Handler", "Launch", "Launcher", "Progress", "Triage", "instance_names", "trials_share"]

Progress = Callable[[str, float], None]
"""Told how far a handler has come: words, and the part of it that is done (-1: unknown)."""

Handler = Callable[[Any, Progress], Awaitable[str]]
"""What the supervisor itself carries out for a command; gives words for the answer.

Raises :class:`~fuzztui.campaign.rundir.SupervisorError` with the reason why not.
"""


class Triage(Protocol):
    """Finds out what is behind the findings of an engine that cannot say so itself."""

    @property
    def left(self) -> int:
        """How many findings are still to be described, also those that are being run."""

    def saw(self, event: FindingSaved) -> None:
        """There is another one."""

    async def run(self) -> None:
        """Describe findings, until cancelled."""

    async def finish(self) -> None:
        """Describe what is left; may be given up at any time."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line, the environment variables that it adds to ours, and where it runs.

    ``cwd`` None: in the instance's directory.
    """

    argv: list[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None


class Launcher(Protocol):
    """What the supervisor must know of a kind of engine."""

    says_hello: bool
    """Whether it introduces itself in ``events.jsonl``, and obeys what it lists there.

    For one that does not, the supervisor says :meth:`hello`.
    """
    signals: Mapping[str, int]
    """Commands, by name, that are a signal to its process instead of a line in
    ``control.jsonl``."""
    stall_s: float
    """Seconds without a new execution in the figures after which something is wrong."""
    finish_signal: int
    """Sent when a budget is used up: it does what remains to be done and then ends.

    0: nothing remains, SIGTERM will do.
    """

    def setup(
        self, campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]
    ) -> Sequence[Message]:
        """Make what all instances need (build the target), telling of what takes time.

        Called before each start of a campaign none of whose engines runs. Returns what the log
        is to be told. Raises :class:`SupervisorError`.
        """
        ...

    def prepare(self, campaign: Campaign, run_dir: RunDir, index: int) -> Launch:
        """Write what instance ``index`` needs into its directory. Raises OSError."""
        ...

    def hello(self, campaign: Campaign, run_dir: RunDir, index: int) -> InstanceHello:
        """The introduction of an engine that does not say hello."""
        ...

    def has_finished(self, directory: Path, status: int | None) -> bool:
        """Whether its end was one of its own: it has done what its own options limit it to.

        Asked of no end that the supervisor wanted, or knows the limit of. False: whatever
        ended it was not meant to, so it is started again.
        """
        ...

    def refusal(self, directory: Path, status: int | None) -> str:
        """Why it ended with ``status`` and will never start, in words; "" for a crash."""
        ...

    def shortage(self, directory: Path) -> str:
        """What its last process said was in its way, where that may pass; "" for nothing."""
        ...

    def clean_up(self, directory: Path) -> None:
        """Remove what its process left in the machine; called in a thread after each end."""

    def tidy(self, directory: Path) -> None:
        """Keep what it writes within bounds; called now and then, in a thread. Raises OSError."""

    def figures(self, run_dir: RunDir, name: str, known: Instance) -> FiguresSource:
        """Where the figures of instance ``name`` come from; the log has ``known`` so far."""
        ...

    def handlers(self, campaign: Campaign, run_dir: RunDir) -> Mapping[str, Handler]:
        """What the supervisor can do for campaigns of this kind, by the command's name."""
        ...

    def triage(
        self, campaign: Campaign, run_dir: RunDir, record: Callable[[Event], None], state: State
    ) -> Triage | None:
        """Who describes its findings; None where the engine does."""
        ...


def instance_names(campaign: Campaign) -> list[str]:
    """The instances of a campaign: ``main``, ``s1``, ``s2``, ... as AFL's users name them.

    Those of a mutant's turn: ``m7``, ``m7-s1``, ... (AFL takes no other signs in a name).
    """
    others = (f"s{i}" for i in range(1, campaign.instances))
    if slot := campaign.slot:
        return [slot, *(f"{slot}-{name}" for name in others)]
    return ["main", *others]


def trials_share(campaign: Campaign, index: int) -> int:
    """An instance's part of a budget of trials; the parts add up to it. 0 is no budget."""
    share, rest = divmod(campaign.budget_trials, campaign.instances)
    return share + (index < rest)
