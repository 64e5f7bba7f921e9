"""A pipe between two processes that works even if a target writes to it or closes it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
from collections.abc import Iterator
from typing import Any, Final

from fuzztui.engines.execute.limits import high_copy

_LINE_LIMIT: Final = 16 << 20
"""Bytes of unread text without a newline that are dropped; a message may have half as many."""

_write, _fstat, _dumps = os.write, os.fstat, json.dumps  # before a target replaces them


class Pipe:
    """Carries JSON lines from a forked child to the process that made the pipe.

    Each line begins with a secret token; other lines are skipped. Both ends stay open in the
    parent, so that a child whose end was closed can reopen it through ``/proc``.
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
        """Close both ends, unless their descriptors were closed and reused by another file."""
        for fd in (self.reading, self._writing):
            with contextlib.suppress(OSError):
                if _identity(fd) == self._identity:
                    os.close(fd)

    # ------------------------------------------------------------------ in the parent

    def received(self) -> Iterator[tuple[str, Any]]:
        """Yield the word and value of each ``send()`` that arrived since the last call.

        Raises OSError if the reading end was closed in this process.
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

    def enter_child(self) -> None:
        """Close the reading end, which only the parent uses; call this first in the child."""
        os.close(self.reading)

    def send(self, word: str, value: object) -> None:
        """Send one line. Raises ValueError or TypeError if ``value`` is not JSON data, OSError."""
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
        # The descriptor was closed or reused. Do not close it: it may be the target's file.
        found = os.open(f"/proc/{os.getppid()}/fd/{self.reading}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            if _identity(found) != self._identity:
                raise OSError("the parent's end was closed")
            self._writing = high_copy(found)
        finally:
            os.close(found)
        return self._writing


def _identity(fd: int) -> tuple[int, int]:
    found = _fstat(fd)
    return found.st_dev, found.st_ino
