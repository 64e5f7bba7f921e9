"""Where the screens are served, and which requests get in."""

from __future__ import annotations

import ipaddress
import secrets
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from fuzztui.kernel.base.errors import UserError

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names that a browser on this machine may use, also at the end of a port forwarded by ssh."""


class AccessError(UserError):
    """The screens cannot be served in this way."""

    code = 2


@dataclass(frozen=True, slots=True)
class WebAccess:
    """One address, the secret in it, and the certificate."""

    host: str
    """As it is written in the address."""
    ip: str
    """The address that is listened on."""
    tls: ssl.SSLContext | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def origin(self, host: str) -> str:
        """Return the origin of the pages that are served under the header ``Host: host``."""
        return f"{'http' if self.tls is None else 'https'}://{host}"

    def address(self, port: int) -> str:
        """Return the address for users."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.origin(f'{host}:{port}')}/{self.token}/"

    def refusal(
        self, path: str, hosts: Sequence[str], origins: Sequence[str], *, websocket: bool
    ) -> str:
        """Return why a request is refused; "" if it is served.

        ``hosts`` and ``origins``: its headers of these names. Another name in ``Host`` is one that
        an attacker's domain gives this address; another ``Origin`` is an attacker's page, which may
        open websockets to any server.
        """
        if len(hosts) != 1 or _name(hosts[0]) not in {self.host.lower(), self.ip, *LOOPBACK}:
            return "this server is addressed by another name"
        if any(o != self.origin(hosts[0]) for o in origins) or (websocket and not origins):
            return "the request comes from another site"
        first = path.split("/", 2)[1:2]
        if not first or not secrets.compare_digest(_bytes(first[0]), _bytes(self.token)):
            return "the address is incomplete: fuzztui serve has printed the whole one"
        return ""


def open_access(host: str, certificate: Path | None = None, key: Path | None = None) -> WebAccess:
    """Return the access at an address or a name of this machine. Raises :class:`AccessError`.

    ``key``: None: the private key is in the file of the certificate.
    """
    try:
        ip = str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
        address = ipaddress.ip_address(ip.partition("%")[0])
    except (OSError, ValueError) as e:  # ValueError: a name that no name can be
        raise AccessError(f"--host {host}: is no address of this machine: {e}") from None
    if address.is_unspecified:
        raise AccessError(
            f"--host {host}: is every address of this machine; give the one that browsers use, or "
            "a name, which must be that of the certificate"
        )
    tls = _tls(certificate, key)
    if tls is None and not address.is_loopback:
        raise AccessError(
            f"--host {host}: beyond this machine the screens are served by TLS only: give "
            "--cert FILE and --key FILE, or leave out --host and forward the port over ssh"
        )
    return WebAccess(host, ip, tls)


def _tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if certificate is None:
        if key is not None:
            raise AccessError("--key FILE: belongs to --cert FILE, which is missing")
        return None
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        tls.load_cert_chain(certificate, key)
    except OSError as e:
        files = f"--cert {certificate}" + ("" if key is None else f" --key {key}")
        no_pair = isinstance(e, ssl.SSLError)
        reason = "no certificate with its private key, in PEM" if no_pair else e.strerror
        raise AccessError(f"{files}: {reason}") from None
    return tls


def _name(host: str) -> str:
    """The name in a header ``Host``, without the port; "" if it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
