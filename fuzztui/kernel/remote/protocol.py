"""The protocol of the control socket, for both ends (kernel/README.md).

JSON lines over a Unix stream socket. The client introduces itself first; then each
numbered request gets ``issued`` at once and a ``result`` later. Anything else is
answered with ``{"error": message}`` and the connection is closed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fuzztui.kernel.base.bounds import loads

PROTO = 1
"""The protocol's version, in the first message of either side."""

MAX_LINE = 64 * 1024
"""Bytes in one message, newline included."""

MAX_NAME = 200
"""Characters of a user's name, or of the id of a command."""

APPLIED, REJECTED, TIMEOUT = "applied", "rejected", "timeout"

NO_ANSWER = "no answer yet: the command is pending; the answer will be in the log"
"""The detail of a command without an answer."""


class ProtocolError(ValueError):
    """The other side sent something that is not a valid message; the text has the reason."""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The answer to a command: ``result`` is applied, rejected or timeout.

    ``timeout``: no engine has answered yet; the command is pending, and the log will
    contain its result. ``detail``: the reason, for users. ``trial``: the trial after which it
    applies; -1: none.
    """

    result: str
    detail: str = ""
    instance: str = ""
    trial: int = -1

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> CommandAnswer:
        """Return the answer in a message of another process, checked and cut off."""
        trial = message.get("trial")
        return cls(
            str(message["result"])[:20],
            str(message.get("detail", ""))[:4096],
            str(message.get("instance", ""))[:200],
            trial if type(trial) is int else -1,
        )

    @property
    def ok(self) -> bool:
        """Whether the command was applied."""
        return self.result == APPLIED

    @property
    def pending(self) -> bool:
        """Whether the command may still be applied."""
        return self.result == TIMEOUT


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
