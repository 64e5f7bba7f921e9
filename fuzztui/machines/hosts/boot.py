"""The stub that runs first on a host: puts fuzztui into a cache, then becomes the server.

Its text is an argument of the host's Python (``bundle.BOOT``), so it imports nothing of fuzztui. It
must compile under Pythons that are too old for fuzztui (3.6), to say so.

It writes lines that begin with ``MAGIC``: ``have`` or ``need``, then ``ready`` or ``failed`` with a
JSON object. After ``need`` it reads the bundle from stdin, and not a byte more: what follows is for
the server. ``~/.cache/fuzztui/lib/HASH`` has one version of fuzztui; who uses it holds a shared
flock on its file ``.in-use``, which lists the files: a copy that has lost some is replaced.
"""

import base64
import contextlib
import errno
import fcntl
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

MAGIC = b"\x00fuzztui-boot 1 "
IN_USE = ".in-use"
NATIVE = "native"
OLDEST = (3, 11)
KEPT = 3
TMP = ".tmp-"
OLD = ".old-"
LEFT_S = 3600
PSUTIL = "import psutil; assert psutil.version_info >= (6,), psutil.__version__"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NO_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS)


class BootFailure(Exception):
    """The server cannot be started; ``fields`` say why."""

    def __init__(self, what: str, **fields: str) -> None:
        super().__init__(what)
        self.fields = dict(fields, what=what)


def say(word: str) -> None:
    """Write one line for the hub."""
    os.write(1, MAGIC + word.encode("ascii", "backslashreplace") + b"\n")


def receive(size: int) -> bytes:
    """Read exactly ``size`` bytes, and none of what follows."""
    parts = []
    while size:
        part = os.read(0, min(size, 1 << 16))
        if not part:
            sys.exit(1)  # the hub is gone
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def hold(entry: Path) -> int:
    """Lock a cache entry as used; return the descriptor, -1 if there is no such entry."""
    lock = entry / IN_USE
    try:
        fd = os.open(str(lock), os.O_RDWR)
    except FileNotFoundError:
        return -1
    with contextlib.suppress(OSError):  # a file system without locks: nothing is removed there
        fcntl.flock(fd, fcntl.LOCK_SH)
    # Another process may have removed the entry while this one waited.
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(fd), lock.stat()):
            if entry.stat().st_uid != os.geteuid():
                raise BootFailure("foreign", path=str(entry))
            if is_whole(entry, fd):
                os.utime(str(lock))
                return fd
            entry.rename(another(entry, OLD))  # removed when no process uses it
    os.close(fd)
    return -1


def is_whole(entry: Path, fd: int) -> bool:
    """Whether all files that ``fd`` lists exist with their sizes: cleaners delete old files."""
    for line in os.read(fd, 1 << 24).decode("utf-8", "surrogateescape").splitlines():
        size, _, name = line.partition(" ")
        try:
            if (entry / name).stat().st_size != int(size):
                return False
        except OSError:
            return False
    return True


def another(entry: Path, mark: str) -> Path:
    """Return an unused path next to a cache entry."""
    return entry.with_name(entry.name + mark + base64.b16encode(os.urandom(6)).decode())


def unpack(data: bytes, entry: Path) -> None:
    """Make the entry, as a whole or not at all; another process may be making it, too."""
    part = another(entry, TMP)
    part.mkdir(0o700)
    try:
        with (part / IN_USE).open("wb") as lock:
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_SH)
            more = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            with tarfile.open(fileobj=io.BytesIO(data)) as tar:
                tar.extractall(str(part), **more)  # type: ignore[arg-type]
                names = [str(m.size) + " " + m.name for m in tar.getmembers() if m.isfile()]
            lock.write("\n".join(names).encode("utf-8", "surrogateescape"))
            lock.flush()
            part.rename(entry)
    except OSError as e:
        shutil.rmtree(str(part), ignore_errors=True)
        if e.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def prune(entry: Path) -> None:
    """Remove old entries that no process uses, and what killed starts have left."""
    ages = {}
    for path in entry.parent.iterdir():
        if TMP in path.name or OLD in path.name:
            remove_unused(path)
        elif path != entry and (path / IN_USE).exists():
            ages[path] = (path / IN_USE).stat().st_mtime
    for path in sorted(ages, key=lambda path: -ages[path])[KEPT - 1 :]:
        remove_unused(path)


def remove_unused(path: Path) -> None:
    """Remove an entry, or what is left of one, unless a process uses it."""
    try:
        with (path / IN_USE).open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if it is in use
            away = another(path, OLD)
            path.rename(away)
            shutil.rmtree(str(away), ignore_errors=True)
    except FileNotFoundError:  # killed before there was a lock
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT_S:
                shutil.rmtree(str(path), ignore_errors=True)
    except OSError:
        pass


def search_path(entry: Path) -> str:
    """Return PYTHONPATH: with the psutil that was shipped if it runs here, else the host's own."""
    native = str(entry / NATIVE)
    sys.path.insert(0, native)
    try:
        import psutil  # noqa: F401
    except Exception as e:  # another architecture or libc: whatever the loader says
        shipped = type(e).__name__ + ": " + str(e)
    else:
        return os.pathsep.join((str(entry), native))
    done = subprocess.run(  # not here: this process does not see the user's site-packages
        [sys.executable, "-P", "-c", PSUTIL],
        env=dict(os.environ, PYTHONPATH=str(entry)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode == 0:
        return str(entry)
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    own = lines[-1] if lines else "exit status " + str(done.returncode)
    why = shipped + " / " + own
    raise BootFailure("psutil", python=sys.executable, machine=os.uname().machine, why=why)


def cached(entry: Path, size: int) -> int:
    """Make sure that the cache entry exists; return what keeps it locked as used."""
    entry.parent.mkdir(0o700, parents=True, exist_ok=True)
    fd = hold(entry)
    if fd >= 0:
        say("have")
        return fd
    say("need")
    data = receive(size)
    if hashlib.sha256(data).hexdigest()[: len(entry.name)] != entry.name:
        raise BootFailure("damaged")
    for _ in range(5):
        unpack(data, entry)
        fd = hold(entry)
        if fd >= 0:
            prune(entry)
            return fd
    raise BootFailure("cache", path=str(entry))


def refuse_host() -> None:
    """Raise BootFailure if the system is not Linux, or this Python too old; newer ones on PATH are
    named.
    """
    if not sys.platform.startswith("linux"):
        raise BootFailure("system", system=sys.platform)
    if sys.version_info[:2] >= OLDEST:
        return
    names = ["python3." + str(minor) for minor in range(14, 10, -1)]
    raise BootFailure(
        "python",
        version=".".join(map(str, sys.version_info[:3])),
        python=sys.executable,
        others=" ".join(path for path in map(shutil.which, names) if path),
    )


def main(text: str) -> None:
    """Become the server; ``text``: a JSON object in base64: hash, size, arguments, module."""
    given = json.loads(base64.b64decode(text).decode())
    place = ""
    try:
        refuse_host()
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
        entry = Path(cache, "fuzztui", "lib", given["hash"])
        place = str(entry.parent)
        fd = cached(entry, given["size"])
        os.environ["PYTHONPATH"] = search_path(entry)
        os.set_inheritable(fd, True)
        say("ready")
        os.execv(sys.executable, [sys.executable, "-P", "-m", given["module"], *given["arguments"]])
    except BootFailure as e:
        say("failed " + json.dumps(e.fields))
    except OSError as e:
        kind = "disk" if e.errno in NO_ROOM else "permission" if e.errno in NO_RIGHT else "os"
        why = e.strerror or str(e)
        say("failed " + json.dumps({"what": kind, "path": str(e.filename or place), "why": why}))
    sys.exit(1)
