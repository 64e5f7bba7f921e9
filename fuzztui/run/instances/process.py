"""One engine's process: start or adopt it, watch, signal and end it with its descendants."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.files import open_regular, read_json, read_tail
from fuzztui.run.instances.launcher import Launch
from fuzztui.run.process.identity import (
    MARK_INSTANCE,
    MARK_RUN,
    ProcessId,
    descendants,
    kill_marked,
)

_NAME = "process.json"
_POLL_S = 0.2
_TAIL = 64 * 1024
_REASON = "fuzztui: "


class EngineProcess:
    """A running engine; wait for its end with :meth:`ended`, in the event loop.

    The engine leads its own session and outlives a supervisor that dies; the next supervisor adopts
    it with the help of ``process.json``.
    """

    def __init__(self, identity: ProcessId, child: subprocess.Popen[bytes] | None) -> None:
        self.identity = identity
        self._child = child
        self._exit: asyncio.Future[None] | None = None

    @classmethod
    def start(cls, launch: Launch, run: Path, directory: Path) -> EngineProcess:
        """Start an engine. Raises OSError with the name of the file that cannot be executed."""
        log = open_regular(directory / "worker.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            child = subprocess.Popen(
                launch.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=launch.cwd or directory,
                env={
                    **os.environ,
                    **launch.env,
                    MARK_RUN: str(run),
                    MARK_INSTANCE: directory.name,
                },
                start_new_session=True,
            )
        finally:
            os.close(log)
        # A process that is already dead stays a zombie until the wait: its pid is not reused.
        identity = ProcessId.of(child.pid) or ProcessId(child.pid, -1, "")
        with contextlib.suppress(OSError):  # disk full: the process can be found by its marker
            replace_text(directory / _NAME, json.dumps(identity.to_json()))
        return cls(identity, child)

    @classmethod
    def adopt(cls, directory: Path) -> EngineProcess | None:
        """Return the engine that an earlier supervisor started here; None if it does not run."""
        identity = ProcessId.from_json(read_json(directory / _NAME))
        return cls(identity, None) if identity and identity.alive() else None

    @classmethod
    def unsupervised(cls, run: Path) -> list[str]:
        """Return the instances of a run whose engine is alive. For a run without supervisor."""
        places = ("out", "mutants/slots/*/out")
        files = (file for place in places for file in run.glob(f"{place}/*/{_NAME}"))
        return sorted(file.parent.name for file in files if cls.adopt(file.parent))

    @property
    def pid(self) -> int:
        """Process id of the engine."""
        return self.identity.pid

    async def ended(self) -> int | None:
        """Wait for the end of the engine. Returns the exit status, or minus the signal number.

        Returns None for an adopted process: only a parent process gets the status.
        """
        if self._exit is None:
            self._exit = asyncio.ensure_future(self._watch())
        await asyncio.shield(self._exit)
        return self._child.wait() if self._child else None

    async def stop(self, grace: float) -> bool:
        """Send SIGTERM, wait ``grace`` seconds, then kill the engine and its descendants.

        Returns whether the engine ended without being killed.
        """
        self.identity.signal(signal.SIGTERM)
        self.identity.signal(signal.SIGCONT)  # a stopped process does not handle SIGTERM
        try:
            async with asyncio.timeout(grace):
                await self.ended()
        except TimeoutError:
            await self.kill()
            return False
        return True

    async def kill(self) -> None:
        """Kill the engine and its descendants."""
        below = await asyncio.to_thread(descendants, self.pid)
        for process in (self.identity, *below):
            process.signal(signal.SIGKILL)
        await self.ended()

    @staticmethod
    async def kill_leftovers(run: Path, instance: str) -> int:
        """Kill the processes that an ended engine left running. Returns their number."""
        return await asyncio.to_thread(kill_marked, run, instance)

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        except OSError:  # this kernel (or sandbox) has no pidfd
            while self.identity.alive():
                await asyncio.sleep(_POLL_S)
            return
        over = loop.create_future()
        try:
            # The pid may have been reused since process.json was read.
            if self._child is None and not self.identity.alive():
                return
            loop.add_reader(fd, _resolve, over)
            await over
        finally:
            loop.remove_reader(fd)
            os.close(fd)


def _resolve(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)


def last_reason(directory: Path) -> str:
    """Return the last ``fuzztui: `` line of ``worker.log``, an engine's reason not to start.

    An empty string if there is none.
    """
    text = read_tail(directory / "worker.log", _TAIL)
    reasons = [line for line in text.splitlines() if line.startswith(_REASON)]
    return reasons[-1].removeprefix(_REASON).strip()[:1000] if reasons else ""
