"""Who may read a run, and who may steer it: its owner, and the members of one Unix group.

The kernel says who is at the other end of the control socket. The name that a client gives itself
is only a claim: it is recorded next to the account.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
import struct
from dataclasses import dataclass
from typing import Final

_SO_PEERGROUPS: Final = 59
"""Of Linux (4.13); Python has no name for it."""

_MAX_GROUPS_BYTES: Final = 1024
"""The most that Python's getsockopt reads: 256 groups."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end of a Unix socket, from the kernel."""

    uid: int
    groups: frozenset[int] = frozenset()


def peer_of(sock: socket.socket) -> Peer:
    """Return the user and the groups of the process at the other end. Raises OSError."""
    size = struct.calcsize("3i")
    _, uid, gid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    groups = {gid}
    try:
        raw = sock.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _MAX_GROUPS_BYTES)
        groups |= {*struct.unpack(f"{len(raw) // 4}I", raw)}
    except OSError:  # an old kernel, or more groups than that: those of the user's account
        with contextlib.suppress(KeyError, OSError):
            groups |= {*os.getgrouplist(pwd.getpwuid(uid).pw_name, gid)}
    return Peer(uid, frozenset(groups))


@dataclass(frozen=True, slots=True)
class Access:
    """Who may use a run besides its owner and root: by default no account.

    ``gid``: the group whose members may read; -1: none. ``group``: its name.
    """

    gid: int = -1
    group: str = ""
    may_steer: bool = False

    def may_read(self, peer: Peer) -> bool:
        """Whether the peer may connect."""
        return self._owns(peer) or self.gid in peer.groups

    def why_not_steer(self, peer: Peer) -> str:
        """Return why the peer may give no commands, for users; "" if it may."""
        if self._owns(peer) or (self.may_steer and self.gid in peer.groups):
            return ""
        return f"members of the group {self.group} may only look: campaign.group_may_steer is false"

    @staticmethod
    def _owns(peer: Peer) -> bool:
        return peer.uid in (0, os.getuid())


def account(uid: int) -> str:
    """Return the name of an account of this machine, with the machine's name."""
    return f"{user_name(uid)}@{socket.gethostname()}"


def user_name(uid: int) -> str:
    """Return the name of a user; the number if there is none, as in containers."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def author(claimed: str, proved: str) -> str:
    """Return the author of a command, as the log names it.

    ``claimed``: the user's name according to the client; ``proved``: the client's account, from the
    kernel. Returns ``CLAIMED as PROVED`` if the two differ.
    """
    return proved if claimed in ("", proved) else f"{claimed} as {proved}"
