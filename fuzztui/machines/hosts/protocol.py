"""What hub and host say to each other: JSON lines over one ssh connection (machines/README.md).

Each line is an object with one key, the name of the message, whose value is an object. The server
on the host speaks first, with ``hello``. Both ends check everything that they read: a host may be
hostile to the hub, and the other way round.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from fuzztui.kernel.base.bounds import whole
from fuzztui.kernel.remote.protocol import ProtocolError, decode, encode
from fuzztui.kernel.wire.finding_kinds import FOLDERS

LINK_PROTO: Final = 1
"""The version of these messages, in the first message of the server."""

MAX_FRAME: Final = 8 << 20
"""Bytes in one line, at most: that of the reader's buffer in ``machines/hosts/bundle.py``."""

MAX_BATCH: Final = 1 << 20
"""Bytes of records or files after which a line is sent; one file may be larger."""

MAX_FILE: Final = 4 << 20
"""Bytes of a file that travels whole; AFL's inputs have at most 1 MiB."""

PING_S: Final = 2.0
"""Seconds between two pings of the hub."""

SILENCE_S: Final = 8.0
"""Seconds without any message after which the hub takes the connection for lost."""

DESERTED_S: Final = 30.0
"""Seconds without any message after which the server on the host ends."""

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""Names of instances: those that AFL allows."""

_FILE = re.compile(r"[^/\0]{1,255}")


def frame(kind: str, body: Mapping[str, Any]) -> bytes:
    """Return a message as a line."""
    return encode({kind: body})


def unframe(line: bytes) -> tuple[str, dict[str, Any]]:
    """The inverse of :func:`frame`. Raises ProtocolError."""
    message = decode(line)
    if len(message) != 1:
        raise ProtocolError("not a JSON object with one key")
    ((kind, body),) = message.items()
    if not isinstance(body, dict):
        raise ProtocolError(f"the value of {kind[:40]!r} is not an object")
    return kind, body


class LinkLines:
    """Reads lines from a pipe. ``heard``: called when any part of a line has arrived.

    On a slow link a long line may take longer than the silence after which a connection counts as
    lost.
    """

    def __init__(self, stream: asyncio.StreamReader, heard: Callable[[], object]) -> None:
        self._stream, self._heard = stream, heard
        self._buffer = bytearray()

    async def next(self) -> bytes:
        """Return the next line; an empty string at the end. Raises ProtocolError if it is long."""
        buffer, seen = self._buffer, 0
        while (end := buffer.find(b"\n", seen) + 1) == 0:
            seen = len(buffer)
            if seen > MAX_FRAME:
                raise ProtocolError("a line without an end")
            part = await self._stream.read(1 << 16)
            if not part:
                return b""
            self._heard()
            buffer += part
        line = bytes(buffer[:end])
        del buffer[:end]
        return line


def to_text(data: bytes) -> str:
    """Return bytes as a message contains them."""
    return base64.b64encode(data).decode()


def to_bytes(text: Any) -> bytes:
    """The inverse of :func:`to_text`. Raises ProtocolError."""
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise ProtocolError("data that is not base64") from None


def instance_name(value: Any) -> str:
    """Return the name of an instance. Raises ProtocolError for what cannot be one."""
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ProtocolError(f"{str(value)[:60]!r} is no name of an instance")
    return value


def file_name(value: Any) -> str:
    """Return the name of a file in a queue. Raises ProtocolError for what cannot be one."""
    if not isinstance(value, str) or not _FILE.fullmatch(value) or value.startswith("."):
        raise ProtocolError(f"{str(value)[:60]!r} is no name of a queue entry")
    if len(value.encode(errors="surrogateescape")) > 255:
        raise ProtocolError("a name of more than 255 bytes")
    return value


def folder_name(value: Any) -> str:
    """Return a folder of an instance that contains inputs. Raises ProtocolError."""
    if value not in ("queue", *FOLDERS):
        raise ProtocolError(f"{str(value)[:40]!r} is no folder of inputs")
    return str(value)


def number(body: Mapping[str, Any], key: str) -> int:
    """Return a number from 0 on. Raises ProtocolError."""
    if (value := whole(body.get(key), -1)) < 0:
        raise ProtocolError(f"{key} is no number")
    return value
