"""The interface between the supervisor and one engine kind (AFL++ or in-process)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzztui.kernel.model.state import Instance
from fuzztui.kernel.wire.events import InstanceHello, Message
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.observe.stats_reader import FileStats, StatsSource
from fuzztui.run.process.service import Service, ServiceContext

TERM_GRACE_S = 5.0
"""Seconds for a clean end after SIGTERM, before an engine is killed."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line, additional environment variables, and the working directory.

    ``cwd`` None: the instance's directory.
    """

    argv: list[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None


class Launcher:
    """What the supervisor knows about one engine kind; defaults are for in-process engines."""

    says_hello: bool = True
    """Whether the engine writes a hello with its capabilities to ``events.jsonl``.

    If not, the supervisor records :meth:`hello`.
    """
    signals: Mapping[str, int] = {}
    """Commands, by name, that are sent as a signal instead of a line in ``control.jsonl``."""
    stall_s: float = 30.0
    """Seconds without a new execution after which an instance is stalled."""
    grace_s: float = TERM_GRACE_S
    """Seconds for a clean end after SIGTERM, before the process is killed."""
    finish_signal: int = 0
    """The signal, sent when a budget is used up, after which the engine finishes its work and ends.

    0: the engine has no work to finish and gets SIGTERM.
    """

    def setup(
        self, campaign: Campaign, run_dir: RunDir, progress: Callable[[str], None]
    ) -> Sequence[Message]:
        """Prepare what all instances need besides what services prepare, such as the target.

        Called at each start of a campaign if none of its engines runs. ``progress`` is called with
        a message about each slow step. Returns messages to record. Raises
        :class:`SupervisorError`.
        """
        return ()

    def prepare(self, campaign: Campaign, run_dir: RunDir, index: int) -> Launch:
        """Write the files of instance ``index``, return how to start it. Raises OSError."""
        raise NotImplementedError

    def hello(self, campaign: Campaign, run_dir: RunDir, index: int) -> InstanceHello:
        """Return the hello of an engine that does not say hello itself."""
        raise NotImplementedError

    def limit_reached(self, directory: Path, status: int | None) -> str:
        """Return because of which limit of its own the engine ended.

        Not called if the supervisor ended the engine or the instance's budget is used up. An empty
        string: the end was an accident, and the engine is started again.
        """
        return ""

    def refusal(self, directory: Path, status: int | None) -> str:
        """Return why the engine can never start; an empty string if it may start next time."""
        return ""

    def shortage(self, directory: Path) -> str:
        """Return the temporary problem that the engine's last process reported; empty if none.

        For example: no free memory. In-process engines report shortages in messages.
        """
        return ""

    def clean_up(self, directory: Path) -> None:
        """Remove what the engine left outside its directory. Called in a thread after each end."""

    def tidy(self, directory: Path) -> None:
        """Limit the size of the engine's files. Called each minute in a thread. Raises OSError."""

    def stats_source(self, run_dir: RunDir, name: str, known: Instance) -> StatsSource:
        """Return the source of the statistics of instance ``name``; ``known``: its state."""
        return FileStats(run_dir.instance(name), name)

    def triage(self, context: ServiceContext) -> Service | None:
        """Return the triage of the engine's findings; None if the engine describes them itself."""
        return None


def instance_names(campaign: Campaign) -> list[str]:
    """Return the instances of a campaign: ``main``, ``s1``, ``s2``, ... as in AFL's documentation,
    or as ``engine.names`` has them.

    In a mutant's turn: ``m7``, ``m7-s1``, ... (AFL allows no other characters in a name). On a
    host: ``box_main``, ``box_s1``, because afl-fuzz takes entries of another ``main`` for its own.
    Of a campaign of several targets: the names of the targets.
    """
    if campaign.targets:
        return [part.name for part in campaign.targets]
    if slot := campaign.slot:  # begins with the host's name, too
        return [slot, *(f"{slot}-s{i}" for i in range(1, campaign.instances))]
    return [f"{campaign.name_prefix}{name}" for name in campaign.own_names]


def trials_share(campaign: Campaign, index: int) -> int:
    """Return an instance's part of the trial budget; the parts add up to it. 0: no budget."""
    share, rest = divmod(campaign.budget_trials, campaign.instances)
    return share + (index < rest)
