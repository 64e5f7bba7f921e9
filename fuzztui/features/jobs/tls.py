"""Certificates of a cluster: ``fuzztui cluster init`` makes them, everything else checks them.

On loopback, too: every user of a machine can connect there. A cluster that stays on loopback needs
no directory of certificates, because it has this user's own (:func:`tls_for`).

All machines share one self-signed certificate. Its key is enough to run programs on each of them,
which the key of a machine's own certificate would be, too. Without an authority no certificates can
be added to a directory: it is made again. Directories of former versions, with an authority, stay
valid.
"""

from __future__ import annotations

import datetime
import fcntl
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.features.jobs.config import INIT, ClusterError, is_loopback
from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.user_dirs import state_dir
from fuzztui.run.campaign.extras import missing_extra

CA, CERT, KEY = "ca.pem", "node.pem", "node.key"
DAYS: Final = 365
_DAY: Final = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files that each machine of a cluster needs, at the same path."""

    ca: str
    cert: str
    key: str

    def arguments(self) -> list[str]:
        """The options of Dask's scheduler and worker."""
        return ["--tls-ca-file", self.ca, "--tls-cert", self.cert, "--tls-key", self.key]


def make_certificates(directory: Path) -> None:
    """Make one certificate for all machines. Raises :class:`ClusterError`."""
    if missing := missing_extra("cluster"):
        raise ClusterError(missing)
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if present := [name for name in (CA, CERT, KEY) if os.path.lexists(directory / name)]:
            raise ClusterError(
                f"{directory}: there is a {present[0]} already; remove it, or give another "
                "directory. Machines that have the old certificates need the new ones then"
            )
        directory.chmod(0o700)
    except OSError as e:
        raise ClusterError(f"{directory}: {e.strerror}") from None

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fuzztui cluster")])
    now = datetime.datetime.now(datetime.UTC)
    usage = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)  # clocks of machines differ
        .not_valid_after(now + DAYS * _DAY)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usage), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = certificate.public_bytes(pem)
    try:
        for file, data in ((KEY, secret), (CERT, public), (CA, public)):
            replace_bytes(directory / file, data, sync=True)  # mode 0600
    except OSError as e:
        raise ClusterError(f"{directory}: {e.strerror}") from None


def tls_for(directory: str, address: str) -> TlsFiles:
    """Return the files of ``cluster.tls``; if it is empty, this user's own for loopback.

    ``address``: where the scheduler listens, as HOST or tls://HOST:PORT.
    Raises :class:`ClusterError`.
    """
    if missing := missing_extra("cluster"):
        raise ClusterError(missing)
    if directory:
        return tls_files(directory)
    if not is_loopback(address):
        raise ClusterError(
            f"certificates are missing: without them all who reach {address} "
            f"could run programs there; {INIT}"
        )
    return _own_files()


def _own_files() -> TlsFiles:
    """The certificates of this user for loopback: made on first use, and again when they end."""
    try:
        place = state_dir()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as e:
        raise ClusterError(f"certificates for loopback: {e}; set XDG_STATE_HOME") from None
    directory = place / "loopback-tls"
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two commands that are both the first
        whole = all((directory / name).exists() for name in (CA, CERT, KEY))
        if not whole or days_left(tls_files(str(directory))) < 1:
            shutil.rmtree(directory, ignore_errors=True)
            make_certificates(directory)
        return tls_files(str(directory))
    except OSError as e:
        raise ClusterError(f"certificates for loopback: {place}: {e.strerror}") from None
    finally:
        os.close(lock)


def tls_files(directory: str) -> TlsFiles:
    """Return the files, after checking that other users can neither read the key nor replace any.

    Raises :class:`ClusterError`.
    """
    folder = Path(directory)
    for name in (CA, CERT, KEY, "."):
        path = folder / name
        try:
            status = path.stat()
        except OSError as e:
            raise ClusterError(
                f"cluster.tls = {directory!r}: {name}: {e.strerror}; 'fuzztui cluster init "
                f"{directory}' makes the certificates"
            ) from None
        owners = (os.geteuid(),) if name == KEY else (os.geteuid(), 0)
        if status.st_mode & (0o077 if name == KEY else 0o022) or status.st_uid not in owners:
            raise ClusterError(
                f"cluster.tls: {path} has mode {stat.S_IMODE(status.st_mode):04o} and "
                f"owner {status.st_uid}: others could run programs with it; make it yours, then "
                f"chmod {'700' if name == '.' else '600'} {path}, or make new certificates"
            )
    return TlsFiles(*(str(folder / name) for name in (CA, CERT, KEY)))


def days_left(tls: TlsFiles) -> int:
    """Days until the certificate ends; negative: it has ended. Raises :class:`ClusterError`."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(Path(tls.cert).read_bytes())
    except (OSError, ValueError) as e:
        raise ClusterError(f"cluster.tls: {tls.cert}: is not a certificate: {e}") from None
    return (found.not_valid_after_utc - datetime.datetime.now(datetime.UTC)).days
