"""Start fuzztui on a host that has only sshd and Python: fuzztui ships itself.

A zip file on ``sys.path`` would not do: engines compile and link to files of the package.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import gzip
import hashlib
import io
import json
import os
import shlex
import sys
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import fuzztui
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.ssh import users_ssh
from fuzztui.kernel.base.text import visible
from fuzztui.machines.hosts import boot
from fuzztui.machines.hosts.protocol import MAX_FRAME
from fuzztui.machines.hosts.ssh import HostError, complaint, ssh_argv
from fuzztui.run.campaign.places import HostPlace

SERVER: Final = "fuzztui.machines.hosts.serve"
"""The module that runs on a host."""

_MAX_CHATTER: Final = 256 * 1024
"""Bytes that start-up files of a shell may print before fuzztui's first line."""

_START_S: Final = 45.0
_SEND_S: Final = 600.0
"""Seconds until the host's answer after the bundle; a dead link ends earlier (ServerAlive)."""

_STDERR: Final = 2048
"""Bytes of the end of stderr that are kept."""

_LEFT_OUT: Final = ("tui", "themes", "sample_campaigns", "testing", "pytest_plugin.py")
"""What is not needed on a host."""

_PURE: Final = ("tomli", "tomli_w", "watchdog")
_COMPILED: Final = ("psutil",)
_HASH: Final = 32


@dataclass(frozen=True, slots=True)
class Bundle:
    """fuzztui and what it imports on a host, as a ``tar.gz``."""

    hash: str
    data: bytes


@functools.cache
def bundle() -> Bundle:
    """Return what a host needs: the same bytes each time for the same installation."""
    files = io.BytesIO()
    with tarfile.open(fileobj=files, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, path in _contents():
            info = tarfile.TarInfo(name)  # no times, no owners: the hash is of the content
            data = path.read_bytes()
            info.size, info.mode = len(data), 0o755 if os.access(path, os.X_OK) else 0o644
            tar.addfile(info, io.BytesIO(data))
    packed = gzip.compress(files.getvalue(), 6, mtime=0)
    return Bundle(hashlib.sha256(packed).hexdigest()[:_HASH], packed)


def _contents() -> Iterator[tuple[str, Path]]:
    """Yield the name in the bundle and the file of each part, in a fixed order."""
    yield from _package("fuzztui", Path(fuzztui.__file__).parent, leave_out=_LEFT_OUT)
    for name in _PURE:  # the compiled parts of tomli only make it faster
        yield from _package(name, _directory(name), pure=True)
    for name in _COMPILED:
        yield from _package(f"{boot.NATIVE}/{name}", _directory(name))


def _directory(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.origin:
        raise HostError(f"{package} is not installed here", "install fuzztui again")
    return Path(spec.origin).parent


def _package(
    name: str, directory: Path, *, pure: bool = False, leave_out: tuple[str, ...] = ()
) -> Iterator[tuple[str, Path]]:
    for path in sorted(directory.iterdir()):
        if path.name == "__pycache__" or path.name in leave_out:
            continue
        if path.is_dir():  # also a symlink: fuzztui/engines, in a work tree
            yield from _package(f"{name}/{path.name}", path, pure=pure)
        elif path.is_file() and not (pure and path.suffix == ".so"):
            yield f"{name}/{path.name}", path


@functools.cache
def _boot_text() -> str:
    source = Path(boot.__file__).read_text(encoding="utf-8")
    return base64.b64encode(zlib.compress(f"{source}\nmain(sys.argv[2])\n".encode(), 9)).decode()


# Without quotes and line breaks: csh and fish quote in other ways than sh.
_UNPACK: Final = "import sys,zlib,base64;exec(zlib.decompress(base64.b64decode(sys.argv[1])))"


def remote_script(place: HostPlace, arguments: list[str], module: str = SERVER) -> str:
    """Return the script of ``sh`` that starts fuzztui on a host."""
    found = bundle()
    given = {
        "hash": found.hash,
        "size": len(found.data),
        "arguments": arguments,
        "module": module,
    }
    packed = base64.b64encode(json.dumps(given).encode()).decode()
    return f'exec {_shell_path(python_of(place))} -I -c "{_UNPACK}" {_boot_text()} {packed}'


def python_of(place: HostPlace) -> str:
    """Return the host's interpreter as it is run there."""
    return place.python or "python3"


def _shell_path(path: str) -> str:
    """Quote a path for ``sh``; ``~/`` at its start is the host's home directory."""
    if path.startswith("~/"):
        return f'"$HOME"/{shlex.quote(path[2:])}'
    return shlex.quote(path)


class HostProcess:
    """The server of a host, at the other end of stdin and stdout.

    Its stderr is read all the time.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout
        self._process = process
        self._stderr = bytearray()
        self._drain = asyncio.ensure_future(self._read_stderr())

    @property
    def returncode(self) -> int | None:
        """The exit status of ssh, or of the server on this machine; None: it runs."""
        return self._process.returncode

    @property
    def stderr_tail(self) -> str:
        """The last 2 kB that ssh and the server have printed: not parsed, escaped by the caller."""
        return self._stderr.decode(errors="replace")

    async def wait(self) -> int:
        """Wait for the end; its stderr is complete then."""
        status = await self._process.wait()
        with contextlib.suppress(TimeoutError):
            # A process that the server has left may hold stderr open.
            async with asyncio.timeout(1.0):
                await asyncio.shield(self._drain)
        return status

    def kill(self) -> None:
        """Send SIGKILL."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def close(self) -> None:
        """End the process: first by the end of its stdin, then by a signal."""
        self.stdin.close()
        try:
            # Not wait_for: in Python 3.11 it loses a cancellation that comes when the process ends.
            async with asyncio.timeout(2.0):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        finally:
            # What was not read of a host that sends much would keep its pipe open.
            self._process._transport.close()  # type: ignore[attr-defined]
            self._drain.cancel()

    async def _read_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while part := await stderr.read(1 << 14):
            self._stderr += part
            del self._stderr[:-_STDERR]


async def open_host(place: HostPlace, arguments: list[str], *, module: str = SERVER) -> HostProcess:
    """Start the server on a host, and fuzztui's code before it if that is not there yet.

    Returns when the server starts: the next line of ``stdout`` is its first one. On this machine
    (``place.address`` is "") no ssh is run. Raises :class:`HostError`.
    """
    if not place.address:
        return await _start([sys.executable, "-P", "-m", module, *arguments])
    opened = await _start(ssh_argv(place.address, remote_script(place, arguments, module)))
    try:
        await _boot(opened, place)
    except BaseException:
        opened.kill()
        await opened.wait()
        raise
    return opened


async def _start(argv: list[str]) -> HostProcess:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=MAX_FRAME,
            start_new_session=True,  # Ctrl-C at the terminal is not for ssh
        )
    except OSError as e:
        raise HostError(
            f"{argv[0]} cannot be run: {e.strerror}",
            "install an ssh client (openssh-client)",
            lasting=True,
        ) from None
    return HostProcess(process)


async def _boot(opened: HostProcess, place: HostPlace) -> None:
    """Answer the stub until it becomes the server. Raises :class:`HostError`."""
    word = await _word(opened, place, _START_S)
    if word == "need":
        sending = asyncio.ensure_future(_send(opened, bundle().data))
        try:
            word = await _word(opened, place, _SEND_S)
        finally:
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError):
                await sending
    elif word == "have":
        word = await _word(opened, place, _START_S)
    if word == "ready":
        return
    verb, _, rest = word.partition(" ")
    if verb == "failed":
        with contextlib.suppress(ValueError):
            if isinstance(fields := loads(rest), dict):
                raise _failure(place, fields)
    raise HostError(
        f"the host answered {visible(word[:100])!r} in place of fuzztui's stub",
        f"look at what `{users_ssh()} {place.address} true` prints",
    )


async def _send(opened: HostProcess, data: bytes) -> None:
    with contextlib.suppress(OSError):  # its answer says why the other end reads no more
        opened.stdin.write(data)
        await opened.stdin.drain()


async def _word(opened: HostProcess, place: HostPlace, seconds: float) -> str:
    """Return what the next line of the stub says; lines before it are skipped."""
    skipped = 0
    try:
        async with asyncio.timeout(seconds):
            while line := await opened.stdout.readline():
                _, magic, word = line.partition(boot.MAGIC)
                if magic:
                    return word.decode(errors="replace").strip()
                skipped += len(line)
                if skipped > _MAX_CHATTER:
                    raise ValueError
    except TimeoutError:
        opened.kill()
        await opened.wait()
        stderr = opened.stderr_tail
        raise complaint(place.address, None, stderr, python_of(place)) from None
    except ValueError:  # also a line longer than the reader's buffer
        raise HostError(
            "the host's shell prints without end before fuzztui starts",
            "make its start-up file (.bashrc, .zshenv, ...) silent if the shell is not interactive",
        ) from None
    status = await opened.wait()
    raise complaint(place.address, status, opened.stderr_tail, python_of(place))


def _failure(place: HostPlace, fields: dict[str, Any]) -> HostError:
    """Return the error that the stub reports."""
    text = {name: visible(str(value))[:300] for name, value in fields.items()}
    path, why, python = (text.get(name, "") for name in ("path", "why", "python"))
    what = text.get("what", "")
    if what == "python":
        others = text.get("others", "").split()
        which = others[0] if others else "/path/to/python3.11"
        install = "" if others else "install Python 3.11 or newer there, and "
        return HostError(
            f"{python} on the host is Python {text.get('version', '')}, fuzztui needs 3.11",
            f'{install}write [hosts] "{place.address}" = {{ python = "{which}" }}',
            lasting=True,
        )
    if what == "system":
        system = text.get("system", "")
        reason = f"the host runs {system}, and fuzztui needs Linux"
        return HostError(reason, "use another host", lasting=True)
    if what == "psutil":
        return HostError(
            f"psutil does not run on the host ({text.get('machine', '')}): {why}",
            f"the shipped one is for {os.uname().machine}; install the host's own there: "
            f"{python} -m pip install 'psutil>=6'",
            lasting=True,
        )
    if what == "disk":
        return HostError(f"the host's disk is full: {path}: {why}", "free some 10 MB there")
    if what == "permission":
        return HostError(
            f"the host's cache cannot be written: {path}: {why}",
            "make the directory writable there, or set XDG_CACHE_HOME in the shell's start-up file",
            lasting=True,
        )
    if what == "damaged":
        return HostError("fuzztui arrived damaged on the host", "try again")
    if what in ("foreign", "cache"):
        belongs = "belongs to another user" if what == "foreign" else "cannot be used"
        reason = f"{path} on the host {belongs}"
        return HostError(reason, "remove that directory there", lasting=True)
    return HostError(f"fuzztui cannot be unpacked on the host: {path}: {why}", "correct that there")
