"""Kinds of events and names of commands: known once they are defined, and unique."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from fuzztui.kernel.wire.codec import decode_command, decode_event, encode_command, encode_event
from fuzztui.kernel.wire.commands import COMMAND_NAMES, Command, Stop
from fuzztui.kernel.wire.events import EVENT_KINDS, Event, Message, Unknown

pytestmark = pytest.mark.usefixtures("registries_as_before")


def test_an_event_is_known_once_it_is_defined():
    line = '{"k":"tide","metres":[1.5]}'
    assert decode_event(line) == Unknown("tide", {"metres": [1.5]})

    @dataclass(frozen=True, slots=True)
    class Tide(Event):
        kind: ClassVar[str] = "tide"
        metres: list[float]

    assert decode_event(line) == Tide([1.5])
    assert encode_event(Tide([1.5])) == line


def test_a_command_is_known_once_it_is_defined():
    @dataclass(frozen=True, slots=True)
    class Ebb(Command):
        name: ClassVar[str] = "ebb"
        metres: float

    assert decode_command(encode_command(Ebb(2.0))) == Ebb(2.0)


def test_a_name_that_another_class_has_is_refused():
    with pytest.raises(TypeError, match=r"'message' of .* is fuzztui\.kernel\.wire.* already"):

        class Letter(Event):
            kind: ClassVar[str] = "message"

    with pytest.raises(TypeError, match="'stop'"):

        class Halt(Command):
            name: ClassVar[str] = "stop"

    assert (EVENT_KINDS["message"], COMMAND_NAMES["stop"]) == (Message, Stop)
