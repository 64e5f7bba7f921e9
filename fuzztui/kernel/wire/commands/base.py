"""The base class of commands, and the registry of their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from fuzztui.kernel.base.guarded import guarded
from fuzztui.kernel.wire.events import register


def on_text(instance: str) -> str:
    """Return the end of a command's text: `` on INSTANCE``; empty if the command is for all."""
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
"""What the properties of a package's command return instead if they raise."""

COMMAND_NAMES: dict[str, type[Command]] = {}
"""Every known command, by its name on the wire: those of the classes that are defined until now."""


@dataclass(frozen=True, slots=True)
class Command:
    """Base class of all commands."""

    name: ClassVar[str] = ""
    """The name on the wire and in ``InstanceHello``; a class without a name is not a command."""
    for_all: ClassVar[bool] = False
    """Whether an empty ``instance`` means all running instances; if not, it means the only one."""
    any_applies: ClassVar[bool] = False
    """Whether a command for several instances counts as applied if one of them has executed it; if
    not, all must. For state that each instance has separately: one may execute the command and
    another reject it."""
    for_ended: ClassVar[bool] = False
    """Whether instances that have ended get the command, too, to apply it when they are resumed."""
    lasting: ClassVar[bool] = False
    """Whether a command for all instances also holds for instances that start later."""
    ordered: ClassVar[bool] = False
    """Whether a sender must wait for the answer before it sends the next such command, because one
    may undo the other."""

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
    def as_logged(self) -> Command:
        """This command as an old log means it: where a bound is newer, its value is the bound."""
        return self

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
