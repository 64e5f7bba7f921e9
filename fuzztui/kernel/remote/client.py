"""The client of the control socket: blocking calls, for scripts and for a thread of a screen."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fuzztui.kernel.remote.access import account, author, peer_of, user_name
from fuzztui.kernel.remote.address import read_socket_path
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.remote.protocol import (
    APPLIED,
    MAX_LINE,
    MAX_NAME,
    NO_ANSWER,
    PROTO,
    TIMEOUT,
    CommandAnswer,
    CommandRequest,
    ProtocolError,
    decode,
    encode,
)
from fuzztui.kernel.wire.commands import Command

_CONNECT_S = 5.0


class RemoteError(Exception):
    """The supervisor cannot be reached, or the connection failed; the message has the reason."""


class NotRunning(RemoteError):
    """The run has no living supervisor."""


class NotYet(RemoteError):
    """A supervisor lives but does not listen: most likely it is still starting."""


class ControlClient:
    """A connection to a run's supervisor, for one thread.

    ``client``: the name of the calling program ("ctl", "tui"). ``by``: the author of its commands,
    if that is no user. Raises :class:`NotRunning`,
    :class:`NotYet` or another :class:`RemoteError`.
    """

    def __init__(self, run: Path, client: str, by: str = "") -> None:
        self._by = by or sender()
        self._buffer = bytearray()
        self._n = 0
        self._socket = _connect(run)
        try:
            # If the supervisor has closed the connection, its reason may still be readable.
            with contextlib.suppress(RemoteError):
                self._write({"proto": PROTO, "client": client})
            hello = self._read(time.monotonic() + _CONNECT_S)
            if hello is None:
                raise RemoteError(
                    f"{run}: the supervisor does not answer; check that it is not stopped (SIGSTOP)"
                )
            if hello.get("proto") != PROTO:
                raise RemoteError(
                    f"{run}: the supervisor runs another version of fuzztui "
                    f"({str(hello.get('error') or hello.get('version'))[:200]})"
                )
        except BaseException:
            self._socket.close()
            raise
        self.why_not_steer = str(hello.get("why_not_steer", ""))[:500]
        """Why this user may give no commands; an empty string if it may."""
        self.author = author(self._by, str(hello.get("account") or self._by)[:MAX_NAME])
        """What the log names as the author of this client's commands."""

    def send(
        self, command: Command, timeout: float = 10.0, *, undoes: Sequence[str] = (), step: str = ""
    ) -> CommandAnswer:
        """Send ``command`` and wait up to ``timeout`` seconds for its result.

        ``undoes`` and ``step`` are recorded with it
        (:class:`~fuzztui.kernel.wire.events.CommandIssued`).
        If there is no answer in time, it is ``pending``. Raises :class:`RemoteError`
        if the supervisor closed the connection or rejected the request.
        """
        message = self._ask(CommandRequest(command, self._by, undoes, step).message(), timeout)
        if message is None or (message["result"] == TIMEOUT and not message.get("detail")):
            return CommandAnswer(TIMEOUT, NO_ANSWER)
        return CommandAnswer.of(message)

    def fetch(self, file: str, timeout: float = 10.0) -> str:
        """Have a file of a mirrored run copied from its host; ``file``: its path in the run.

        Returns why that failed, or an empty string. Raises :class:`RemoteError`.
        """
        message = self._ask({"fetch": file}, timeout)
        if message is None:
            return "no answer yet"
        return "" if message["result"] == APPLIED else str(message.get("detail"))[:500]

    def _ask(self, request: Mapping[str, Any], timeout: float) -> dict[str, Any] | None:
        """Send a request; return its result, None if there is none in time."""
        deadline = time.monotonic() + timeout
        self._n += 1
        self._write({"n": self._n, **request, "patience": timeout})
        while (message := self._read(deadline)) is not None:
            if "result" in message and message.get("n") == self._n:
                return message
        return None

    def close(self) -> None:
        """Close the connection; commands in progress continue."""
        self._socket.close()

    def _write(self, message: Mapping[str, Any]) -> None:
        try:
            self._socket.settimeout(_CONNECT_S)
            self._socket.sendall(encode(message))
        except OSError as e:
            raise _lost(e) from None

    def _read(self, deadline: float) -> dict[str, Any] | None:
        """One message; None at the deadline. Raises RemoteError for an error message."""
        while (end := self._buffer.find(b"\n")) < 0:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if len(self._buffer) > MAX_LINE:
                raise RemoteError("the supervisor sent a message without an end")
            try:
                self._socket.settimeout(left)
                data = self._socket.recv(MAX_LINE)
            except TimeoutError:
                return None
            except OSError as e:
                raise _lost(e) from None
            if not data:
                raise RemoteError("the supervisor closed the connection")
            self._buffer += data
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        try:
            message = decode(line)
        except ProtocolError as e:
            raise RemoteError(f"the supervisor sent {e}") from None
        if "error" in message:
            raise RemoteError(f"the supervisor reported an error: {str(message['error'])[:500]}")
        return message


def _lost(error: OSError) -> RemoteError:
    return RemoteError(f"lost the connection to the supervisor: {error.strerror or error}")


def sender() -> str:
    """The user and machine that this process names as the sender of its commands."""
    return account(os.getuid())


def _connect(run: Path) -> socket.socket:
    path = read_socket_path(run)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(_CONNECT_S)
    try:
        if path is None:
            raise FileNotFoundError("the run does not name a socket")
        sock.connect(os.fspath(path))
        uid = peer_of(sock).uid
        if uid not in (os.getuid(), run.stat().st_uid):
            raise PermissionError(f"the socket {path} belongs to {user_name(uid)}")
    except (OSError, ValueError) as e:
        sock.close()
        pid = running(run)
        if pid is None:
            raise NotRunning(f"{run}: no supervisor is running") from None
        absent = isinstance(e, FileNotFoundError | ConnectionRefusedError)
        raise (NotYet if absent else RemoteError)(
            f"{run}: the supervisor (process {pid}) cannot be reached: "
            f"{getattr(e, 'strerror', None) or e}"
        ) from None
    return sock
