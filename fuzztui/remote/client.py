"""The blocking end of the control socket, for scripts and for a screen's threads."""

from __future__ import annotations

import getpass
import os
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzztui.remote.address import published
from fuzztui.remote.lock import running, trouble
from fuzztui.remote.protocol import (
    APPLIED,
    MAX_LINE,
    PROTO,
    TIMEOUT,
    ProtocolError,
    decode,
    encode,
    peer_uid,
)
from fuzztui.wire.codec import encode_command
from fuzztui.wire.commands import Command

__all__ = [
    "ControlClient",
    "NotRunning",
    "NotYet",
    "RemoteError",
    "Result",
    "running",
    "trouble",
]

_CONNECT_S = 5.0


class RemoteError(Exception):
    """The supervisor cannot be talked to; says why, in words."""


class NotRunning(RemoteError):
    """No supervisor lives on the run."""


class NotYet(RemoteError):
    """A supervisor lives, but listens nowhere: most likely it has only begun."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended. When not ``ok``, ``detail`` is the reason, for users.

    ``pending``: nobody has answered yet, it may still be applied. ``trial`` is -1
    where no trial is meant.
    """

    ok: bool
    detail: str = ""
    instance: str = ""
    trial: int = -1
    pending: bool = False


class ControlClient:
    """A connection to a run's supervisor; safe to use from several threads.

    ``client`` names the program that asks ("ctl", "tui"). Raises :class:`NotRunning`,
    :class:`NotYet` or another :class:`RemoteError`.
    """

    def __init__(self, run: Path, client: str) -> None:
        self._by = f"{_user()}@{socket.gethostname()}"
        self._buffer = bytearray()
        self._turn = threading.Condition()
        self._reading = False
        self._broken: RemoteError | None = None
        self._n = 0
        self._results: dict[int, dict[str, Any]] = {}
        self._socket = _connect(run)
        try:
            try:
                self._write({"proto": PROTO, "client": client})
            except RemoteError:
                # It hung up on us: the reason may still be there to read.
                self._read(time.monotonic() + _CONNECT_S)
                raise
            hello = self._read(time.monotonic() + _CONNECT_S)
            if hello is None:
                raise RemoteError(f"{run}: the supervisor does not answer; is it stopped?")
            if hello.get("proto") != PROTO:
                raise RemoteError(
                    f"{run}: the supervisor is of another version "
                    f"({str(hello.get('error') or hello.get('version'))[:200]})"
                )
        except BaseException:
            self._socket.close()
            raise

    def send(self, command: Command, timeout: float = 10.0) -> Result:
        """Ask for ``command`` and wait up to ``timeout`` seconds for its end.

        No answer in time is not an error: the result says that it is pending.
        Raises :class:`RemoteError` when the supervisor went away or refuses to talk.
        """
        deadline = time.monotonic() + timeout
        with self._turn:
            self._check()
            self._n = n = self._n + 1
            request = {"n": n, "command": encode_command(command), "by": self._by}
            self._write({**request, "patience": timeout})
        message = self._result(n, deadline)
        if message is None or message["result"] == TIMEOUT:
            waited = "no answer yet: the command is pending, the log will tell"
            return Result(False, str((message or {}).get("detail") or waited), pending=True)
        trial = message.get("trial", -1)
        return Result(
            ok=message["result"] == APPLIED,
            detail=str(message.get("detail", "")),
            instance=str(message.get("instance", "")),
            trial=trial if isinstance(trial, int) else -1,
        )

    def close(self) -> None:
        """Close the connection; commands in progress go on."""
        self._socket.close()

    def _result(self, n: int, deadline: float) -> dict[str, Any] | None:
        """The end of request ``n``. One of the waiting threads reads for all of them."""
        with self._turn:
            while n not in self._results:
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self._check()
                if self._reading:
                    self._turn.wait(left)
                else:
                    self._read_for_all(deadline)
            return self._results.pop(n)

    def _read_for_all(self, deadline: float) -> None:
        self._reading = True
        self._turn.release()
        message: dict[str, Any] | None = None
        broken: RemoteError | None = None
        try:
            message = self._read(deadline)
        except RemoteError as e:
            broken = e
        finally:
            self._turn.acquire()
            self._reading = False
            self._broken = self._broken or broken
            if message is not None and "result" in message and isinstance(message.get("n"), int):
                self._results[message["n"]] = message
            self._turn.notify_all()

    def _check(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _write(self, message: Mapping[str, Any]) -> None:
        try:
            self._socket.settimeout(_CONNECT_S)
            self._socket.sendall(encode(message))
        except OSError as e:
            raise RemoteError(f"the supervisor went away: {e.strerror or e}") from None

    def _read(self, deadline: float) -> dict[str, Any] | None:
        """One message, or None at the deadline. An error message is raised."""
        while (end := self._buffer.find(b"\n")) < 0:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if len(self._buffer) > MAX_LINE:
                raise RemoteError("the supervisor sent an endless line")
            try:
                self._socket.settimeout(left)
                data = self._socket.recv(MAX_LINE)
            except TimeoutError:
                return None
            except OSError as e:
                raise RemoteError(f"the supervisor went away: {e.strerror or e}") from None
            if not data:
                raise RemoteError("the supervisor went away")
            self._buffer += data
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        try:
            message = decode(line)
        except ProtocolError as e:
            raise RemoteError(f"the supervisor sent {e}") from None
        if "error" in message:
            raise RemoteError(f"the supervisor refused: {str(message['error'])[:500]}")
        return message


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a uid without a name, as in containers
        return str(os.getuid())


def _connect(run: Path) -> socket.socket:
    path = published(run)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(_CONNECT_S)
    try:
        if path is None:
            raise FileNotFoundError("no socket is named there")
        sock.connect(os.fspath(path))
        uid = peer_uid(sock)
        if uid not in (os.getuid(), run.stat().st_uid):
            raise PermissionError(f"the socket {path} belongs to user {uid}")
    except (OSError, ValueError) as e:
        sock.close()
        pid = running(run)
        if pid is None:
            raise NotRunning(f"{run}: no supervisor runs there") from None
        absent = isinstance(e, FileNotFoundError | ConnectionRefusedError)
        raise (NotYet if absent else RemoteError)(
            f"{run}: the supervisor (process {pid}) cannot be reached: "
            f"{getattr(e, 'strerror', None) or e}"
        ) from None
    return sock
