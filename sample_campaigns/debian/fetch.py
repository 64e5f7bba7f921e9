"""Download a source tarball of Debian's once, check it, unpack it into a directory.

    python3 fetch.py pool/main/m/mujs/mujs_1.3.2.orig.tar.xz SHA256 DIRECTORY

What was downloaded stays in ``$XDG_CACHE_HOME/fuzztui/sources``, so that the next build needs no
network. ``http_proxy`` and the like are respected; FUZZTUI_DEBIAN_MIRROR names another mirror.
Plain http by default, as Debian's own: it is the hash that says whether a file is the right one.
Standard library only, Python 3.8 or newer: it runs under whatever ``python3`` is on PATH.
"""

import hashlib
import os
import sys
import tarfile
import tempfile
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.request import urlopen

MIRROR = "http://deb.debian.org/debian"
TIMEOUT_S = 30
LARGEST = 64 << 20


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"  # noqa: PTH117
    return base / "fuzztui" / "sources"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def cached(file: Path, sha256: str) -> bytes:
    """What an earlier build has downloaded; nothing if it is not what it should be."""
    try:
        data = file.read_bytes()
    except OSError:
        return b""
    if digest(data) == sha256:
        return data
    print(f"{file}: is damaged, downloading it again", flush=True)
    return b""


def download(url: str) -> bytes:
    print(f"downloading {url}", flush=True)
    with urlopen(url, timeout=TIMEOUT_S) as answer:
        data: bytes = answer.read(LARGEST + 1)
    return data


def keep(file: Path, data: bytes) -> None:
    """Put it into the cache, whole or not at all. A cache that cannot be written is no error."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".", delete=False) as f:
            f.write(data)
        Path(f.name).replace(file)
    except OSError as e:
        print(f"{file}: cannot be kept for the next build: {e.strerror or e}", flush=True)


def tarball(pool: str, sha256: str) -> Path:
    """The file in the cache, or in the current directory if there can be no cache."""
    name = PurePosixPath(pool).name
    file = cache() / name
    if cached(file, sha256):
        return file
    url = f"{os.environ.get('FUZZTUI_DEBIAN_MIRROR') or MIRROR}/{pool.replace('+', '%2B')}"
    try:
        data = download(url)
    except (OSError, ValueError, HTTPException) as e:
        sys.exit(
            f"error: {url} cannot be downloaded: {e}\n"
            f"Put {name} (sha256 {sha256}) into {file.parent}, or name another mirror with "
            "FUZZTUI_DEBIAN_MIRROR, or a proxy with http_proxy"
        )
    if (found := digest(data)) != sha256:
        sys.exit(
            f"error: {url} is not the file it should be\n"
            f"error: its sha256 is {found}, not {sha256}\n"
            "Nothing of it was used or kept: name another mirror with FUZZTUI_DEBIAN_MIRROR"
        )
    keep(file, data)
    if not cached(file, sha256):
        file = Path(name)
        file.write_bytes(data)
    return file


def unpack(file: Path, into: Path) -> None:
    """All files, without the one directory that everything in most tarballs lies in."""
    with tarfile.open(file) as tar:
        members = tar.getmembers()
        paths = [PurePosixPath(member.name) for member in members]
        tops = {path.parts[0] for path in paths if path.parts}
        if len(tops) == 1:
            for member, path in zip(members, paths):  # noqa: B905 (3.8)
                member.name = str(PurePosixPath(*path.parts[1:]))
        # From 3.12 on Python warns without; older ones need not know it.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        tar.extractall(into, members, **safely)


def main() -> None:
    pool, sha256, into = sys.argv[1:]
    unpack(tarball(pool, sha256), Path(into))


if __name__ == "__main__":
    main()
