"""How each kind of engine is started: the seam behind which AFL++ will stand beside ours."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fuzztui.campaign import Campaign
from fuzztui.supervise.files import replace_text
from fuzztui.supervise.rundir import RunDir, SupervisorError

__all__ = [
    "Launch",
    "Launcher",
    "instance_names",
    "launcher_for",
    "trials_share",
    "write_spec",
]


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line, and the environment variables that it adds to ours."""

    argv: list[str]
    env: Mapping[str, str] = field(default_factory=dict)


class Launcher(Protocol):
    """What the supervisor must know of a kind of engine."""

    says_hello: bool
    """Whether it writes ``events.jsonl`` and obeys ``control.jsonl``.

    Of one that does not, the supervisor pauses, resumes and stops the process by
    signals, and nothing else can be asked of it.
    """
    stall_s: float
    """Seconds without a new execution in the figures after which something is wrong."""
    finish_signal: int
    """Sent when a budget is used up: it does what remains to be done and then ends.

    0: nothing remains, SIGTERM will do.
    """

    def prepare(self, campaign: Campaign, home: RunDir, index: int) -> Launch:
        """Write what instance ``index`` needs into its directory. Raises OSError."""
        ...


class InProcess:
    """Our own engines: run by the interpreter of the project under test."""

    says_hello = True
    stall_s = 30.0

    def __init__(self, finish_signal: int = 0) -> None:
        self.finish_signal = finish_signal

    def prepare(self, campaign: Campaign, home: RunDir, index: int) -> Launch:
        """Write ``spec.json`` (docs/house.md).

        Its ``budget_s`` stays 0: only the supervisor knows how long was paused.
        """
        directory = home.instance(instance_names(campaign)[index])
        path = directory / "spec.json"
        write_spec(path, campaign, directory, trials_share(campaign, index))
        package = home.expose_package()
        # -P: the directory it is started in is the target's business, not on the path.
        return Launch(
            [campaign.target["python"], "-P", "-m", "fuzztui.engines", str(path)],
            {"PYTHONPATH": str(package)},
        )


def write_spec(path: Path, campaign: Campaign, directory: Path, budget_trials: int = 0) -> None:
    """Write the ``spec.json`` of the instance whose directory that is. Raises OSError."""
    spec = {
        "proto": 1,
        "instance": directory.name,
        "dir": str(directory),
        "sync_dir": str(directory.parent),
        "seed": campaign.seed,
        "budget_trials": budget_trials,
        "budget_s": 0,
        "engine": campaign.engine,
        "target": campaign.target,
    }
    replace_text(path, json.dumps(spec, indent=1))


_LAUNCHERS: Mapping[str, Launcher] = {"zest": InProcess(), "mu2": InProcess(signal.SIGUSR2)}
"""Launchers by ``[engine] kind``."""


def launcher_for(kind: str) -> Launcher:
    """The launcher of that kind. Raises :class:`SupervisorError`."""
    try:
        return _LAUNCHERS[kind]
    except KeyError:
        known = ", ".join(_LAUNCHERS)
        raise SupervisorError(f"engine.kind = {kind!r}: this version can start {known}") from None


def instance_names(campaign: Campaign) -> list[str]:
    """The instances of a campaign: ``main``, ``s1``, ``s2``, ... as AFL's users name them."""
    return ["main", *(f"s{i}" for i in range(1, campaign.instances))]


def trials_share(campaign: Campaign, index: int) -> int:
    """An instance's part of a budget of trials; the parts add up to it. 0 is no budget."""
    share, rest = divmod(campaign.budget_trials, campaign.instances)
    return share + (index < rest)
