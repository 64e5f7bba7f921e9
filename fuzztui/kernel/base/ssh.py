"""The command line of the user's ssh: its agent, jump hosts and configured names work as usual."""

from __future__ import annotations

import os
import shlex
from typing import Final

COMMAND: Final = "FUZZTUI_SSH"
"""Environment variable: the ssh to run, with options of its own, such as ``ssh -F config``."""

CONNECT_S: Final = 10
"""Seconds within which ssh must have connected."""

_OPTIONS: Final = (
    "BatchMode=yes",  # no user is there to answer a question
    f"ConnectTimeout={CONNECT_S}",
    # Without these two a lost connection is not noticed for a quarter of an hour.
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    # The options above have no effect on a connection that the user's ssh shares (ControlMaster).
    "ControlMaster=no",
    "ControlPath=none",
    "EscapeChar=none",
    "Compression=yes",  # a log shrinks to a tenth
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",  # prints into our stdout
    "RequestTTY=no",
    "RemoteCommand=none",  # such as tmux
)


def users_ssh() -> str:
    """Return the ssh command as messages show it, for the user to try."""
    return os.environ.get(COMMAND, "").strip() or "ssh"


def ssh_command(address: str, script: str) -> list[str]:
    """Return the command that runs a script of ``sh`` on a host.

    The user's shell over there may be any: it gets one quoted word. Raises ValueError with a
    message for the user if :data:`COMMAND` cannot be split into words.
    """
    given = os.environ.get(COMMAND, "")
    try:
        words = shlex.split(given) or ["ssh"]
    except ValueError as e:
        raise ValueError(f"{COMMAND}={given!r}: {e}") from None
    options = [word for option in _OPTIONS for word in ("-o", option)]
    return [*words, "-T", *options, "--", address, f"exec sh -c {shlex.quote(script)}"]
