"""The protocol of the control socket, for both ends (kernel/README.md).

JSON lines over a Unix stream socket. The client introduces itself first; then each
numbered request gets ``issued`` at once and a ``result`` later. Anything else is
answered with ``{"error": message}`` and the connection is closed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.wire.codec import CodecError, decode_command, encode_command
from fuzztui.kernel.wire.commands import Command
from fuzztui.kernel.wire.events import CommandIssued

PROTO = 1
"""The protocol's version, in the first message of either side."""

MAX_LINE = 64 * 1024
"""Bytes in one message, newline included."""

MAX_NAME = 200
"""Characters of a user's name, or of the id of a command."""

APPLIED, REJECTED, TIMEOUT = "applied", "rejected", "timeout"
RECORDED = "recorded"
"""The result of a verdict after the campaign's end, which no process answers."""

NO_ANSWER = "no answer yet: the command is pending; the answer will be in the log"
"""The detail of a command without an answer."""


class ProtocolError(ValueError):
    """The other side sent something that is not a valid message; the text has the reason."""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The answer to a command: ``result`` is applied, rejected or timeout.

    ``timeout``: no engine has answered yet; the command is pending, and the log will
    contain its result. ``detail``: the reason, for users. ``trial``: the trial after which it
    applies; -1: none. ``id``: the command's id in the log; "": unknown.
    """

    result: str
    detail: str = ""
    instance: str = ""
    trial: int = -1
    id: str = field(default="", compare=False)

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> CommandAnswer:
        """Return the answer in a message of another process, checked and cut off."""
        trial = message.get("trial")
        return cls(
            str(message["result"])[:20],
            str(message.get("detail", ""))[:4096],
            str(message.get("instance", ""))[:200],
            trial if type(trial) is int else -1,
            str(message.get("id", ""))[:200],
        )

    @property
    def ok(self) -> bool:
        """Whether the command was applied."""
        return self.result in (APPLIED, RECORDED)

    @property
    def pending(self) -> bool:
        """Whether the command may still be applied."""
        return self.result == TIMEOUT


HUB_ID = re.compile(r"[0-9a-z]{1,20}\.c[0-9]{1,18}")
"""What ids of a hub's commands look like: the hub's log, and the id in it."""


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """A command of the user ``by``; see :class:`~fuzztui.kernel.wire.events.CommandIssued`.

    ``id``: its id in the log of a hub; empty: no hub's. A command with an id that the log has
    already is not executed a second time.
    """

    command: Command
    by: str
    undoes: Sequence[str] = ()
    step: str = ""
    id: str = ""

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> CommandRequest:
        """Return the request in a message, checked and cut off. Raises :class:`ProtocolError`."""
        by, id_ = message.get("by", ""), message.get("id", "")
        undoes, step = message.get("undoes", []), message.get("step", "")
        if not isinstance(by, str):
            raise ProtocolError("a request needs a name 'by'")
        try:
            command = decode_command(message.get("command"))
        except CodecError as e:
            raise ProtocolError(str(e)) from None
        if not isinstance(undoes, list) or not isinstance(step, str):
            raise ProtocolError("'undoes' is a list of ids, and 'step' a name")
        if not isinstance(id_, str) or (id_ and not HUB_ID.fullmatch(id_)):
            raise ProtocolError("'id' is no id of a hub's command")
        ids = [str(undone)[:MAX_NAME] for undone in undoes]
        return cls(command, by[:MAX_NAME], ids, step[:MAX_NAME], id_)

    def message(self) -> dict[str, Any]:
        """The inverse of :meth:`of`."""
        about = {"undoes": [*self.undoes], "step": self.step, "id": self.id}
        given = {name: value for name, value in about.items() if value}
        return {"command": encode_command(self.command), "by": self.by, **given}

    def issued(self, command_id: str) -> CommandIssued:
        """Return the event about the command."""
        command = encode_command(self.command)
        return CommandIssued(command_id, command, self.by, [*self.undoes], self.step)


def encode(message: Mapping[str, Any]) -> bytes:
    """Return a message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """The inverse of :func:`encode`. Raises :class:`ProtocolError`."""
    try:
        message = loads(line)
    except (ValueError, RecursionError):
        raise ProtocolError("not a line of JSON") from None
    if not isinstance(message, dict):
        raise ProtocolError("not a JSON object")
    return message
