"""Commands about the whole campaign, or one instance: pause, resume, stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fuzztui.kernel.wire.commands.base import Command


@dataclass(frozen=True, slots=True)
class Pause(Command):
    """Stop fuzzing until :class:`Resume`."""

    name: ClassVar[str] = "pause"
    for_all: ClassVar[bool] = True
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Resume(Command):
    """Undo :class:`Pause`."""

    name: ClassVar[str] = "resume"
    for_all: ClassVar[bool] = True
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Stop(Command):
    """End one instance; an empty ``instance``: end the campaign. Everything is saved first."""

    name: ClassVar[str] = "stop"
    for_all: ClassVar[bool] = True
    instance: str = ""
