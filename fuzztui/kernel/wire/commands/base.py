"""What every command is: its name, its instances, what makes it invalid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from fuzztui.kernel.base.guarded import guarded
from fuzztui.kernel.wire.events import register


def on_text(instance: str) -> str:
    """Return the end of a command's text that names its instance; an empty string: all."""
    return f" on {instance}" if instance else ""


def _error_text(error: Exception, command: Command) -> str:
    return f"its package failed: {type(error).__name__}: {error}"


def _text_of(own: property, command: Command) -> str:
    return str(own.__get__(command))


_OTHERWISE: dict[str, Callable[[Exception, Command], str]] = {
    "problem": _error_text,
    "summary": lambda _, command: command.name,
    "subject": lambda *_: "",
    "affects": lambda *_: "",
}
"""What the properties of a package's command are if they raise."""

COMMAND_NAMES: dict[str, type[Command]] = {}
"""Every known command, by its name on the wire: those of the classes that are defined until now."""


@dataclass(frozen=True, slots=True)
class Command:
    """Base class of all commands."""

    name: ClassVar[str] = ""
    """The name on the wire and in ``InstanceHello``; a class without a name is not a command."""
    for_all: ClassVar[bool] = False
    """Whether an empty ``instance`` means all running instances; else it means the only one."""
    any_applies: ClassVar[bool] = False
    """Whether a command for several instances is applied if any of them executed it; else all must.
    For states that each instance has of its own, so that one may execute what another rejects."""
    for_ended: ClassVar[bool] = False
    """Whether instances that have ended get the command, too, for when they are resumed."""
    lasting: ClassVar[bool] = False
    """Whether a command for all instances also holds for instances that start later."""
    ordered: ClassVar[bool] = False
    """Whether a sender waits for the answer before the next such command: one may undo another."""

    def __init_subclass__(cls, *, name: str = "") -> None:
        """Add the command to those that are known. Raises TypeError if another one has its name."""
        cls.name = name or cls.name
        if cls.name:
            register(COMMAND_NAMES, cls.name, cls)
        if not cls.__module__.startswith("fuzztui."):  # of a package, whose code may raise
            for attribute, otherwise in _OTHERWISE.items():
                if (own := getattr(cls, attribute)) is not getattr(Command, attribute):
                    setattr(cls, attribute, property(guarded(partial(_text_of, own), otherwise)))

    @property
    def problem(self) -> str:
        """Why no instance can execute this command, for users; an empty string if it is valid."""
        return ""

    @property
    def subject(self) -> str:
        """What this command sets: a later command with the same name and subject replaces it."""
        return ""

    @property
    def affects(self) -> str:
        """The thing whose state commands of several names change; an empty string if none.

        No command replaces an earlier one that affects the same thing.
        """
        return ""

    @property
    def summary(self) -> str:
        """This command in a few words, for the event list."""
        instance = getattr(self, "instance", "")
        return f"{self.name} {instance}" if instance else self.name
