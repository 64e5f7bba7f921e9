"""Send a campaign's files to a host: only what is not there, in pieces, with an estimate."""

from __future__ import annotations

import asyncio
import errno
import os
import time
import zlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

from fuzztui.kernel.base.bounds import whole
from fuzztui.kernel.base.text import several, visible
from fuzztui.machines.hosts.gather import ShippedFile
from fuzztui.machines.hosts.link import MessageSize
from fuzztui.machines.hosts.protocol import to_text
from fuzztui.machines.hosts.receive import MAX_ROWS, PIECE
from fuzztui.machines.hosts.shipping import Shipment
from fuzztui.machines.hosts.ssh import HostError

_REPORT_S: Final = 1.0
_SHOWN: Final = 500
_ROOM: Final = 64 << 20
"""Bytes that must be free beyond what is sent."""

_PATIENCE_S: Final = 600.0


Ask = Callable[..., Awaitable[dict[str, Any]]]
"""Asks the server of a host (:meth:`HostLink.ask`)."""


async def ship(shipment: Shipment, ask: Ask, progress: Callable[[str], None]) -> None:
    """Send the files that the host does not have. ``progress``: called with a text each second.

    What an interrupted call has sent is not sent again. Raises :class:`HostError`, and whatever
    ``ask`` raises.
    """
    missing = await _announce(shipment, ask)
    by_hash = {file.hash: file for file in shipment.files}
    left = [(by_hash[digest], offset) for digest, offset in missing.items()]
    whole_size = sum(file.size - offset for file, offset in left)
    if left:
        progress(f"sending what is missing of: {'; '.join(shipment.described())}"[:_SHOWN])
    cargo = _Cargo(left)
    sent, began, due, size = 0, time.monotonic(), 0.0, MessageSize(PIECE)
    while pieces := cargo.take(size.bytes):
        now = time.monotonic()
        if now >= due:
            due = now + _REPORT_S
            progress(_progress(len(left), sent, whole_size, now - began))
        packed = await asyncio.to_thread(_packed, pieces)
        _checked(await size.timed(ask("blob", patience=_PATIENCE_S, pieces=packed)))
        sent += sum(length for _, _, length in pieces)
    _checked(await ask("ship", patience=_PATIENCE_S, files=[], last=True))


def _progress(files: int, sent: int, whole_size: int, seconds: float) -> str:
    text = (
        f"sending {several(files, 'file')}: "
        f"{sent / (1 << 20):.1f} of {whole_size / (1 << 20):.1f} MB"
    )
    if sent and seconds > _REPORT_S:
        text += f", {seconds * (whole_size - sent) / sent:.0f} s left"
    return text


async def _announce(shipment: Shipment, ask: Ask) -> dict[str, int]:
    """Name all files; return the missing contents, each with the bytes that are there already."""
    sizes = {file.hash: file.size for file in shipment.files}
    missing: dict[str, int] = {}
    free = 0
    rows = [[file.path, file.size, file.hash, file.mode] for file in shipment.files]
    for at in range(0, max(1, len(rows)), MAX_ROWS):
        chunk = rows[at : at + MAX_ROWS]
        first: dict[str, Any] = {"first": True, "directories": [*shipment.directories]}
        more = first if at == 0 else {}
        answer = _checked(await ask("ship", patience=_PATIENCE_S, files=chunk, **more))
        found, free = answer.get("missing"), whole(answer.get("free"))
        if not isinstance(found, dict):
            raise HostError("the host does not say which files it has")
        for digest, offset in found.items():
            if not 0 <= whole(offset) <= sizes.get(digest, -1):
                raise HostError("the host asks for a file that was not named")
        missing |= found
    needed = sum(sizes[digest] - offset for digest, offset in missing.items())
    if missing and 0 <= free < needed + _ROOM:
        raise HostError(
            f"the host's disk has {free >> 20} MB free at {shipment.run}, and the campaign's files "
            f"need {needed >> 20} MB",
            "free space there, or set another path for this host in [hosts]",
        )
    return missing


_Piece = tuple[ShippedFile, int, int]
"""A file, where its piece begins, and the bytes of the piece."""


class _Cargo:
    """Contents that are still to be sent; each file with the bytes that the host has of it."""

    def __init__(self, left: list[tuple[ShippedFile, int]]) -> None:
        self._left = left[::-1]

    def take(self, limit: int) -> list[_Piece]:
        """Return the pieces of the next message, ``limit`` bytes in all; an empty list: none."""
        pieces: list[_Piece] = []
        room = limit
        while self._left and room and len(pieces) < MAX_ROWS:
            file, at = self._left.pop()
            length = min(room, file.size - at)
            pieces.append((file, at, length))
            room -= length
            if at + length < file.size:
                self._left.append((file, at + length))
        return pieces


def _packed(pieces: list[_Piece]) -> list[dict[str, Any]]:
    """Read and compress pieces. Raises :class:`HostError`."""
    found = []
    for file, at, length in pieces:
        try:
            with file.source.open("rb") as opened:
                opened.seek(at)
                data = opened.read(length)
        except OSError as e:
            raise HostError(
                f"{file.source} cannot be read: {e.strerror}", "start the campaign again"
            ) from None
        if len(data) != length:
            raise HostError(
                f"{visible(str(file.source))} has changed while it was sent",
                "start the campaign again when its files are at rest",
            )
        text = to_text(zlib.compress(data, 1))
        found.append({"hash": file.hash, "offset": at, "data": text})
    return found


_NO_ROOM: Final = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT))


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without an error. Raises :class:`HostError`."""
    if not (error := answer.get("error")):
        return answer
    text = visible(str(error)[:500])
    if any(words in text for words in _NO_ROOM):
        advice = "free space on the host, or set another path for it in [hosts]"
    elif "changed while" in text:
        advice = "start the campaign again when its files are at rest"
    else:
        advice = "correct that on the host, or set another path for it in [hosts]"
    raise HostError(f"the host cannot take the campaign's files: {text}", advice)
