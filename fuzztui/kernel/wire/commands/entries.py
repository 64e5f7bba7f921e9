"""Commands about queue entries: which ones are fuzzed, seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fuzztui.kernel.wire.commands.base import Command


@dataclass(frozen=True, slots=True)
class EntryCommand(Command):
    """Base class of commands about a queue entry. ``instance`` may be empty if there is one."""

    entry: int
    instance: str = ""

    @property
    def summary(self) -> str:
        return f"{self.name} {self.instance or '?'}/{self.entry}"


@dataclass(frozen=True, slots=True)
class SkipEntry(EntryCommand, name="skip"):
    """Never pick this entry again."""


@dataclass(frozen=True, slots=True)
class PromoteEntry(EntryCommand, name="promote"):
    """Pick this entry next, with a favored entry's energy; undoes a skip."""


@dataclass(frozen=True, slots=True)
class DemoteEntry(EntryCommand, name="demote"):
    """Pick this entry as rarely as the engine can, with the least energy; undoes a skip."""


@dataclass(frozen=True, slots=True)
class ResetEntry(EntryCommand, name="reset"):
    """Undo a skip, a promotion or a demotion of this entry."""


@dataclass(frozen=True, slots=True)
class SkipCurrent(Command, name="skip-current"):
    """Stop fuzzing the present entry and continue with another one."""

    for_all: ClassVar[bool] = True
    instance: str = ""


@dataclass(frozen=True, slots=True)
class AddSeed(Command, name="add-seed"):
    """Add a seed. ``file``: an absolute path on the machine of the campaign.

    Instances import the seed like an entry of a peer: if it covers something new.
    """

    file: str

    @property
    def summary(self) -> str:
        return f"{self.name} {self.file}"
