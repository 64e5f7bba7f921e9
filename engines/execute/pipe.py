"""A pipe between two processes that survives who writes into it or closes it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
from collections.abc import Iterator
from typing import Any, Final

from fuzztui.engines.execute.descriptors import high_copy

__all__ = ["Pipe"]

_LINE_LIMIT: Final = 16 << 20

_write, _fstat, _dumps = os.write, os.fstat, json.dumps  # before a target replaces them


class Pipe:
    """Carries JSON lines from a forked child to the process that made the pipe.

    Each line begins with a token that only the two know; what else comes is passed over.
    Both ends stay open in the parent, so that a child whose end was closed gets at it
    again by way of ``/proc``.
    """

    def __init__(self) -> None:
        """Raises OSError."""
        self.reading, writing = os.pipe2(os.O_CLOEXEC)
        try:
            self._writing = high_copy(writing)
        finally:
            os.close(writing)
        self._identity = _identity(self._writing)
        self._token = secrets.token_hex(8).encode() + b" "
        self._rest = b""

    def close(self) -> None:
        """Both ends, unless somebody has closed them and the numbers are others' by now."""
        for fd in (self.reading, self._writing):
            with contextlib.suppress(OSError):
                if _identity(fd) == self._identity:
                    os.close(fd)

    # ------------------------------------------------------------------ in the parent

    def heard(self) -> Iterator[tuple[str, Any]]:
        """What has arrived since the last call: each ``say()``'s word and value.

        Raises OSError if somebody has closed the reading end in this process.
        """
        ready = select.poll()
        ready.register(self.reading, select.POLLIN)
        while ready.poll(0):
            data = os.read(self.reading, 1 << 16)
            *lines, self._rest = (self._rest + data).split(b"\n")
            if len(self._rest) > _LINE_LIMIT:
                self._rest = b""
            for text in lines:
                found = self._decoded(text)
                if found is not None:
                    yield found

    def _decoded(self, text: bytes) -> tuple[str, Any] | None:
        _, token, body = text.partition(self._token)
        if not token:
            return None
        try:
            word, value = json.loads(body)
        except (ValueError, TypeError, RecursionError):
            return None
        return word, value

    # ------------------------------------------------------------------- in the child

    def settle_in(self) -> None:
        """Before anything else there: the reading end is the parent's alone."""
        os.close(self.reading)

    def say(self, word: str, value: object) -> None:
        """One line. Raises ValueError or TypeError for what is no JSON, OSError."""
        body = _dumps([word, value]).encode()
        if len(body) > _LINE_LIMIT // 2:
            raise ValueError(f"{len(body)} bytes are too many for one message")
        data = b"\n" + self._token + body + b"\n"
        while data:
            data = data[_write(self._end(), data) :]

    def _end(self) -> int:
        try:
            if _identity(self._writing) == self._identity:
                return self._writing
        except OSError:
            pass
        # Closed, or another file by now. Not closed by us: it may be the target's.
        found = os.open(f"/proc/{os.getppid()}/fd/{self.reading}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            if _identity(found) != self._identity:
                raise OSError("the parent has lost its end")
            self._writing = high_copy(found)
        finally:
            os.close(found)
        return self._writing


def _identity(fd: int) -> tuple[int, int]:
    found = _fstat(fd)
    return found.st_dev, found.st_ino
