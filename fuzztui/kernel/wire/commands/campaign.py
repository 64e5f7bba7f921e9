"""Commands about the whole campaign, or one instance: pause, resume, stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fuzztui.kernel.wire.commands.base import Command


@dataclass(frozen=True, slots=True)
class Pause(Command, name="pause"):
    """Stop fuzzing until :class:`Resume`."""

    for_all: ClassVar[bool] = True
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Resume(Command, name="resume"):
    """Undo :class:`Pause`."""

    for_all: ClassVar[bool] = True
    instance: str = ""


@dataclass(frozen=True, slots=True)
class Stop(Command, name="stop"):
    """End one instance; an empty ``instance``: end the campaign. Everything is saved first."""

    for_all: ClassVar[bool] = True
    instance: str = ""
