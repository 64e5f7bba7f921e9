"""One engine's process: started or adopted, watched, signalled, ended with all below it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

from fuzztui.base.files import open_regular, read_json, read_tail, replace_text
from fuzztui.instances.launcher import Launch
from fuzztui.process.identity import (
    MARK_INSTANCE,
    MARK_RUN,
    ProcessId,
    descendants,
    kill_marked,
)

__all__ = ["EngineProcess", "last_reason"]

_NAME = "process.json"
_POLL_S = 0.2
_TAIL = 64 * 1024
_REASON = "fuzztui: "


class EngineProcess:
    """A running engine. Ends are awaited with :meth:`ended`, from the event loop.

    The engine leads a session of its own and is not tied to us: it outlives a
    supervisor that dies, and the next one adopts it by ``process.json``.
    """

    def __init__(
        self, identity: ProcessId, directory: Path, child: subprocess.Popen[bytes] | None
    ) -> None:
        self.identity = identity
        self._directory = directory
        self._child = child
        self._exit: asyncio.Future[None] | None = None

    @classmethod
    def start(cls, launch: Launch, run: Path, directory: Path) -> EngineProcess:
        """Start an engine. Raises OSError with the name of what cannot be executed."""
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
        # A process that is dead by now is a zombie until we wait for it: its pid is ours.
        identity = ProcessId.of(child.pid) or ProcessId(child.pid, -1, "")
        with contextlib.suppress(OSError):  # disk full: it is found by its marker instead
            replace_text(directory / _NAME, json.dumps(identity.to_json()))
        return cls(identity, directory, child)

    @classmethod
    def adopt(cls, directory: Path) -> EngineProcess | None:
        """The engine that an earlier supervisor started here, if that very one still runs."""
        identity = ProcessId.from_json(read_json(directory / _NAME))
        return cls(identity, directory, None) if identity and identity.alive() else None

    @classmethod
    def unsupervised(cls, run: Path) -> list[str]:
        """The instances of a run whose engine is alive: for when no supervisor is."""
        places = ("out", "mutants/slots/*/out")
        files = (file for place in places for file in run.glob(f"{place}/*/{_NAME}"))
        return sorted(file.parent.name for file in files if cls.adopt(file.parent))

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.identity.pid

    async def ended(self) -> int | None:
        """Wait for its end: the exit status, or minus the signal that killed it.

        None for an adopted process: only a parent learns the status.
        """
        if self._exit is None:
            self._exit = asyncio.ensure_future(self._watch())
        await asyncio.shield(self._exit)
        return self._child.wait() if self._child else None

    async def stop(self, grace: float) -> bool:
        """SIGTERM, ``grace`` seconds, then SIGKILL for it and all below it.

        Returns whether it went without being killed.
        """
        self.identity.signal(signal.SIGTERM)
        self.identity.signal(signal.SIGCONT)  # a stopped process takes no SIGTERM
        try:
            async with asyncio.timeout(grace):
                await self.ended()
        except TimeoutError:
            await self.kill()
            return False
        return True

    async def kill(self) -> None:
        """SIGKILL for it and the processes below it."""
        below = await asyncio.to_thread(descendants, self.pid)
        for process in (self.identity, *below):
            process.signal(signal.SIGKILL)
        await self.ended()

    @staticmethod
    async def kill_leftovers(run: Path, instance: str) -> int:
        """Kill what an engine that has ended left behind; returns how many there were."""
        return await asyncio.to_thread(kill_marked, run, instance)

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        except OSError:  # no pidfd in this kernel (or sandbox)
            while self.identity.alive():
                await asyncio.sleep(_POLL_S)
            return
        over = loop.create_future()
        try:
            # Between the look at process.json and now the pid may have gone to another.
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
    """Why an engine could not start: the last ``fuzztui: `` line of its ``worker.log``."""
    text = read_tail(directory / "worker.log", _TAIL)
    reasons = [line for line in text.splitlines() if line.startswith(_REASON)]
    return reasons[-1].removeprefix(_REASON).strip()[:1000] if reasons else ""
