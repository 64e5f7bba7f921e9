"""Commands about type targeting: types and goals of spoton engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fuzztui.kernel.wire.commands.base import Command, on_text
from fuzztui.kernel.wire.commands.weights import weight_problem, weight_text
from fuzztui.kernel.wire.mixture import percentage


class TypeCommand(Command):
    """Base class of commands about types and goals, of which each instance has its own."""

    __slots__ = ()
    for_all = any_applies = lasting = True
    instance: str

    @property
    def summary(self) -> str:
        return f"{self.name} {self.what}" + on_text(self.instance)

    @property
    def what(self) -> str:
        """The setting in a few words, for :attr:`summary`."""
        return self.subject


@dataclass(frozen=True, slots=True)
class WeighType(TypeCommand, name="weigh-type"):
    """Target this type ``weight`` times as often as its distance implies; 0 bans the type.

    ``type``: a name that the static analysis has reported.
    """

    type: str
    weight: float
    instance: str = ""

    @property
    def subject(self) -> str:
        return self.type

    @property
    def what(self) -> str:
        return f"{self.type} {weight_text(self.weight)}"

    @property
    def problem(self) -> str:
        return weight_problem(self.weight)


@dataclass(frozen=True, slots=True)
class PinGoal(TypeCommand, name="pin-target"):
    """Target this goal alone until it is covered; an empty ``location`` removes the pin.

    ``location`` as in ``targets.json``: ``package/module.py:12:then``.
    """

    ordered: ClassVar[bool] = True
    location: str
    instance: str = ""

    @property
    def affects(self) -> str:
        return self.location

    @property
    def what(self) -> str:
        return self.location or "none"


@dataclass(frozen=True, slots=True)
class IgnoreGoal(TypeCommand, name="ignore-target"):
    """Do not target this goal; ``ignored`` false targets it again.

    Pinning an ignored goal does so, too; ignoring the pinned goal removes the pin.
    """

    ordered: ClassVar[bool] = True
    location: str
    ignored: bool = True
    instance: str = ""

    @property
    def subject(self) -> str:
        return self.location

    @property
    def affects(self) -> str:
        return self.location

    @property
    def what(self) -> str:
        return self.location if self.ignored else f"{self.location} off"


@dataclass(frozen=True, slots=True)
class SetTargetedShare(TypeCommand, name="targeted"):
    """Set the part of the mutations, 0 to 1, that are targeted at types.

    ``adaptive``: from now on it follows from what such mutations bring, and ``share`` is unused.
    """

    share: float = -1.0
    instance: str = ""
    adaptive: bool = False

    @property
    def problem(self) -> str:
        if not self.adaptive and not 0 <= self.share <= 1:
            return f"targeted is {str(self.share)[:20]}, not a part from 0 to 1"
        return ""

    @property
    def what(self) -> str:
        return "adaptive" if self.adaptive else percentage(self.share)
