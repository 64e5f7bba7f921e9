"""Start Dask's scheduler and workers ourselves: always with TLS, no open HTTP, no orphans.

Each of them runs under a guard, so that it ends with this process, and is started again when it
dies: Dask's workers end when they lose their scheduler. The guard of a worker that ssh launches
waits over there on stdin, which is the connection: nothing is left when it is cut.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fuzztui.features.jobs.config import ClusterConfig, ClusterError
from fuzztui.features.jobs.guard import FOLDER
from fuzztui.features.jobs.request import guard_source
from fuzztui.features.jobs.tls import TlsFiles
from fuzztui.kernel.base.files import read_tail, temporary_directory
from fuzztui.kernel.base.ssh import ssh_command

START_S: Final = 60.0
_AGAIN_S: Final = 1.0
_MAX_AGAIN_S: Final = 30.0
_DEATH_S: Final = 60
"""Seconds after which a worker that finds no scheduler ends; it is started again."""

CLOSING_S: Final = 20.0
"""Seconds that a worker may take to close."""
_CLOSING_LOOK_S: Final = 1.0
_CLOSING: Final = ("closing", "closing_gracefully", "closed", "failed", "stopping", "stopped")
_CLOSING_EXIT: Final = 75

SETTINGS: Final = {
    # The dashboard's server also runs with --no-dashboard, and would answer any client.
    "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
    # Dask must not repeat a job itself: the queue of the bag counts attempts.
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION": "1.0",
    "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False",
    "DASK_LOGGING__DISTRIBUTED": "warning",
    "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
}
"""Settings of Dask by environment variable, which count before configuration files."""
_NO_HTTP: Final = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]


def bracketed(address: str) -> str:
    """An IP address as it is written before a port: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def scheduler_argv(
    python: str, address: str, port: int, tls: TlsFiles, file: Path | None = None
) -> list[str]:
    """The command of a scheduler that listens on one address. ``file``: gets its address."""
    return [
        *(python, "-P", "-m", "distributed.cli.dask_scheduler"),
        *("--host", f"tls://{bracketed(address)}", "--port", str(port)),
        *_NO_HTTP,
        *tls.arguments(),
        *(["--scheduler-file", str(file)] if file else []),
    ]


def worker_argv(python: str, scheduler: str, host: str, threads: int, tls: TlsFiles) -> list[str]:
    """The command of a worker that listens on ``host``."""
    return [
        *(python, "-P", "-m", "distributed.cli.dask_worker", scheduler),
        *("--host", f"tls://{bracketed(host)}", "--nthreads", str(threads)),
        *("--no-nanny", "--memory-limit", "0", "--death-timeout", str(_DEATH_S)),
        *("--preload", __name__),
        *_NO_HTTP,
        *tls.arguments(),
    ]


def own_address(scheduler: str) -> str:
    """The address of this machine on the way to a scheduler. Raises :class:`ClusterError`."""
    host, _, port = scheduler.partition("://")[2].rpartition(":")
    try:
        family, kind, _, _, target = socket.getaddrinfo(
            host.strip("[]"), int(port), type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind) as probe:
            probe.connect(target)  # sends nothing
            return str(probe.getsockname()[0])
    except (OSError, ValueError) as e:
        raise ClusterError(f"{scheduler}: there is no way to that address: {e}") from None


def free_port(address: str, port: int = 0) -> int:
    """Return ``port``, or any free port if 0, after binding it once. Raises OSError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))
        return int(probe.getsockname()[1])


def guarded(python: str, argv: Sequence[str]) -> list[str]:
    """Return a command under the guard."""
    return [python, "-I", "-S", "-c", guard_source(), *argv]


class KeptProcess:
    """A process under a guard, which is started again when it ends, until :meth:`close`."""

    def __init__(self, argv: Sequence[str], env: dict[str, str], *, over_ssh: bool = False) -> None:
        """``over_ssh``: ``argv`` is a command of ssh, whose end closes the guard over there."""
        self._argv, self._env = list(argv), env
        if not over_ssh:
            self._argv = guarded(sys.executable, argv)
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._over = threading.Event()
        self._stderr = tempfile.NamedTemporaryFile(prefix="fuzztui-dask-")  # noqa: SIM115
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    @property
    def last_words(self) -> str:
        """The end of what the process has printed."""
        return read_tail(Path(self._stderr.name), 4096).strip()

    @property
    def pid(self) -> int:
        """The pid of the guard; 0: it does not run at present."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else 0

    def close(self) -> None:
        """End the process, and wait for that."""
        self._over.set()
        self._thread.join()
        with contextlib.suppress(OSError):  # a full disk: the others must end, too
            self._stderr.close()

    def _keep(self) -> None:
        again_s = _AGAIN_S
        while not self._over.is_set():
            began = time.monotonic()
            self.starts += 1
            try:
                self._once()
            except OSError as e:
                self._stderr.write(f"{self._argv[0]}: {e.strerror}\n".encode())
                self._stderr.flush()
            if time.monotonic() - began > START_S:
                again_s = _AGAIN_S
            self._over.wait(again_s)
            again_s = min(2 * again_s, _MAX_AGAIN_S)

    def _once(self) -> None:
        process = self._process = subprocess.Popen(
            self._argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._stderr,
            env={**os.environ, **self._env, FOLDER: ""},  # there is no directory to remove
            start_new_session=True,
        )
        while process.poll() is None and not self._over.wait(0.1):
            pass
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(START_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class OwnScheduler:
    """A scheduler on this machine, kept running at one address."""

    def __init__(self, address: str, tls: TlsFiles) -> None:
        """Start it. Raises :class:`ClusterError` if it does not come up."""
        try:
            port = free_port(address)  # fixed, so that workers find it again
        except OSError as e:
            raise ClusterError(
                f"cluster.address = {address!r} is not an address of this machine: {e.strerror}"
            ) from None
        self._folder = temporary_directory("fuzztui-dask-")  # for the scheduler's file
        file = Path(self._folder.name, "scheduler.json")
        argv = scheduler_argv(sys.executable, address, port, tls, file)
        self.process = KeptProcess(argv, SETTINGS)
        until = time.monotonic() + START_S
        self.address = ""
        while not self.address and self.process.starts < 3 and time.monotonic() < until:
            time.sleep(0.05)
            with contextlib.suppress(OSError, ValueError, LookupError):
                self.address = str(json.loads(file.read_text())["address"])
        if not self.address:
            why = self.process.last_words[-500:] or "it printed nothing"
            self.close()
            raise ClusterError(f"the scheduler did not start: {why}")

    def close(self) -> None:
        """End it."""
        self.process.close()
        self._folder.cleanup()


def worker_command(config: ClusterConfig, scheduler: str) -> list[str]:
    """Return the command of a worker on a host, under the guard."""
    python = config.python or sys.executable
    worker = [python, "-P", "-m", "fuzztui", "cluster", "worker", scheduler, "--tls", config.tls]
    if config.slots:
        worker += ["--slots", str(config.slots)]
    return guarded(python, worker)


def start_ssh_workers(config: ClusterConfig, scheduler: str) -> list[KeptProcess]:
    """Start a worker on each host; they are started again when they end.

    Raises :class:`ClusterError`.
    """
    script = f"exec {shlex.join(worker_command(config, scheduler))}"
    try:
        argvs = [ssh_command(host, script) for host in config.ssh]
    except ValueError as e:
        raise ClusterError(f"cluster.ssh: {e}") from None
    return [KeptProcess(argv, {}, over_ssh=True) for argv in argvs]


def dask_setup(worker: Any) -> None:
    """Watch a worker; called by Dask when it starts (``--preload``).

    A worker that is ended in the moment in which its scheduler dies may wait in ``Worker.close``
    for ever (seen with distributed 2026.8): it would hold its slot, and would not be started again.
    """
    threading.Thread(target=watch_closing, args=(worker, os._exit), daemon=True).start()


def watch_closing(worker: Any, leave: Any) -> None:
    """Call ``leave`` once the worker has been closing for :data:`CLOSING_S`."""
    since = 0.0
    while True:
        time.sleep(_CLOSING_LOOK_S)
        if getattr(worker.status, "name", "") not in _CLOSING:
            since = 0.0
        elif not since:
            since = time.monotonic()
        elif time.monotonic() - since > CLOSING_S:
            leave(_CLOSING_EXIT)
            return
