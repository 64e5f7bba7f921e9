"""A checked campaign, its frozen copy in the run, and the errors of an invalid one.

The run never reads the original file again.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

import tomli_w

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.errors import UserError
from fuzztui.run.campaign.places import HostPlace

FROZEN = "campaign.toml"
"""File name of the frozen copy in the run directory."""

VERDICTS = ".verdicts.toml"
"""The verdicts file of ``crate.toml`` is ``crate.verdicts.toml``."""

_RUN = ("supervisor", "log", "out")
"""Directories that a run directory contains."""

Tables = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Problem:
    """One error: its place (``file:line`` or ``--set ...``), the dotted key, the message."""

    origin: str
    key: str
    text: str

    def __str__(self) -> str:
        """``file:line: key: text``."""
        return ": ".join(part for part in (self.origin, self.key, self.text) if part)


class CampaignError(UserError):
    """The campaign file is invalid. ``problems`` contains every error, in file order."""

    code = 2

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


_EXACT_S: Final = 60.0
_EXACT_SHARE: Final = 0.25
_MOST_EXACT: Final = 0.5
"""By default an exact pass may take a quarter of the budget, or 60 s; but never more than half."""

ALONE: Final = "default"
"""The name that afl-fuzz gives to an instance without ``-M`` and ``-S``."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """One campaign file with every default filled in and every path absolute.

    ``target`` and ``engine`` are the tables of the same names with units resolved
    (seconds, bytes, absolute paths), as they are written to an engine's ``spec.json``.
    A budget or stop condition of 0 means no limit.
    """

    file: Path
    name: str
    output: Path
    seed: int
    budget_s: float
    budget_trials: int
    stop_crashes: int
    stop_idle_s: float
    kind: str
    """The engine kind, ``[engine] kind``."""
    instances: int
    target: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    stop_edges_s: float = 0.0
    tables: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    """The tables of all features, by name; None: the campaign does not have the table."""
    verdicts: str = ""
    """The verdicts file, which need not exist; empty: one in the run directory."""
    host: str = ""
    """The name of this host if a hub has sent the campaign here; else empty."""
    group: str = ""
    """The Unix group whose members may read the run; empty: none."""
    group_may_steer: bool = False
    """Whether the members of ``group`` may steer the run, too."""
    hosts: tuple[HostPlace, ...] = ()
    """Where the campaign runs; empty: all instances run on this machine, without a hub."""
    stuck_trials: int = 0
    """Trials without a new edge after which the target is stuck; 0: no limit."""
    stuck_from: int = 0
    """The trial from which these count, if it is later than that of the last new edge."""
    slot: str = ""
    """The mutant's turn (``m7``) for which this campaign was derived; empty: a whole campaign."""
    targets: tuple[TargetPart, ...] = ()
    """The targets of a campaign of several; empty: the campaign has one target."""
    cores: int = 0
    """The cores that several targets share; 0: all of the machine."""

    def table(self, name: str) -> dict[str, Any]:
        """Return the checked values of a feature's table; {}: the campaign does not have it.

        Raises KeyError for a name that is of no feature's table.
        """
        return self.tables[name] or {}

    @property
    def name_prefix(self) -> str:
        """The prefix of the instances' names, ``HOST_``; empty if no hub has sent the campaign."""
        return f"{self.host}_" if self.host else ""

    @property
    def blind(self) -> bool:
        """Whether afl-fuzz runs without instrumentation (``-n``), for which it must be alone."""
        return "-n" in self.engine.get("extra_args", ())

    @property
    def own_names(self) -> list[str]:
        """The names of the instances without :attr:`name_prefix`: ``main``, ``s1``, ``s2``, ..."""
        given = self.engine.get("names") or [ALONE if self.blind else "main"]
        others = (name for n in count(1) if (name := f"s{n}") not in given)
        return [*given, *islice(others, self.instances)][: self.instances]

    @property
    def subject(self) -> str:
        """The target's short name: the function, the command line, or the names of several."""
        if self.targets:
            return ", ".join(part.name for part in self.targets)
        if "command" not in self.target:
            return str(self.target.get("function", ""))
        program, *arguments = self.target["command"]
        return shlex.join([Path(program).name, *arguments])

    @property
    def draws_constants(self) -> bool:
        """Whether inputs are made with constants, which the run keeps in ``constants.json``.

        spoton also draws them for a Hypothesis test.
        """
        generates = self.target.get("generator") or self.target.get("suite")
        return bool(self.engine.get("constants") and (generates or self.kind == "spoton"))

    @property
    def exact_s(self) -> float:
        """Seconds that the exact pass at the end may take; 0: none is made, or it has no limit."""
        if self.kind != "mu2" or not self.engine.get("exact"):
            return 0.0
        if (given := self.engine.get("exact_budget")) is not None:
            return float(given[0])
        return min(max(_EXACT_S, _EXACT_SHARE * self.budget_s), _MOST_EXACT * self.budget_s)

    @property
    def build_directory(self) -> Path:
        """The directory in which ``target.build`` is run."""
        return self.output / "build"


@dataclass(frozen=True, slots=True)
class TargetPart:
    """One target of a campaign of several: an ordinary campaign, whose run is in that run."""

    name: str
    weight: float
    """The target gets this many times the share that its yield implies; 0: no turns."""
    loaded: FrozenCampaign


@dataclass(frozen=True, slots=True)
class FrozenCampaign:
    """A checked campaign and the tables of its frozen copy (all paths absolute)."""

    campaign: Campaign
    frozen: Tables
    origin: Callable[[str], str] = field(default=str, repr=False, compare=False)
    """Called with a dotted key; returns its origin: ``file:line`` or ``--set ...``.

    For a key that is not in the file: the line of its table.
    """
    given: frozenset[str] = frozenset()
    """The dotted keys that are in the file or given with ``--set``."""
    says_where: bool = False
    """Whether ``campaign.output`` is given, so that the directory is meant for this campaign."""

    def toml(self) -> str:
        """Return the text of the frozen copy; loading this text gives the same campaign."""
        return toml_of(self.frozen)


def toml_of(frozen: Tables) -> str:
    """Return frozen tables as TOML; an empty table ``[stop]`` is left out, as it has no effect."""
    return tomli_w.dumps({name: table for name, table in frozen.items() if table or name != "stop"})


def run_of(file: Path) -> Path | None:
    """Return the run of which ``file`` is the frozen copy; None for any other file."""
    here = file.absolute().parent
    frozen = file.name == FROZEN and all((here / part).is_dir() for part in _RUN)
    return here if frozen else None


def write_frozen(loaded: FrozenCampaign, run: Path) -> None:
    """Write the frozen copy into a run directory, atomically. Raises OSError."""
    replace_text(run / FROZEN, loaded.toml())
