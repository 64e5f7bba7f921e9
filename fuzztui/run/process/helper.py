"""Keep a helper process of the supervisor running, and read its output.

The process is ``python -P -m MODULE RUN ...``. It prints JSON lines: ``{"problem": text}`` is
recorded in the log, each text once; ``{"figures": {...}}`` replaces :attr:`HelperProcess.stats`.
The process itself keeps a :class:`DeathJournal`, so that an entry that kills it is not tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import mmap
import os
import re
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.base.files import closing_fd, read_if_regular
from fuzztui.kernel.base.text import visible
from fuzztui.kernel.wire.events import Event, Message
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.process.execute import ProcessMark, ProcessResult, execute
from fuzztui.run.process.service import Service

CANNOT: Final = 3
"""Exit status of a helper process that must not be started again."""

FIRST_DELAY_S, MAX_DELAY_S, HEALTHY_S = 1.0, 300.0, 60.0
MAX_PROBLEMS = 20
_LIMIT_S = 7 * 86400.0
_MAX_PROBLEM = 500


class HelperProcess(Service):
    """A service with a process of its own.

    :param module: the module to run, with the run's path and ``arguments``.
    :param label: marks the process (:class:`ProcessMark`).
    :param undone: the work that is not done while the process does not run, for messages.
    """

    again_s = math.inf
    LONGEST_LINE: ClassVar[int] = 1 << 16
    """Bytes of a line that the process may print."""

    def __init__(
        self,
        run_dir: RunDir,
        record: Callable[[Event], object],
        module: str,
        arguments: Sequence[str],
        *,
        label: str,
        undone: str,
    ) -> None:
        self._run_dir, self._record = run_dir, record
        self._argv = [sys.executable, "-P", "-m", module, str(run_dir.path), *arguments]
        self._label, self._undone = label, undone
        self._rest = b""
        self._pid = 0
        self._ending = False
        self._over = asyncio.Event()
        """Set when :meth:`run` has returned."""
        self._problems: set[str] = set()
        self.stats: Mapping[str, Any] = {}
        """The numbers that the process printed last."""

    async def run(self) -> None:
        """Keep the process running until cancelled, until :meth:`end`, or status ``CANNOT``."""
        try:
            await self._keep_running()
        finally:
            self._over.set()

    async def _keep_running(self) -> None:
        delay = FIRST_DELAY_S
        while not self._ending:
            started = time.monotonic()
            outcome = await self._once()
            if self._ending or (outcome and outcome.status == CANNOT):
                return
            if time.monotonic() - started >= HEALTHY_S:
                delay = FIRST_DELAY_S
            # Reported only if repeated: a single hostile entry is left out the next time.
            if outcome and delay >= FIRST_DELAY_S * 4:
                self._report(f"{self._undone}: {_why(outcome)}; again in {delay:g} s")
            await asyncio.sleep(delay)
            delay = min(2 * delay, MAX_DELAY_S)

    def end(self) -> None:
        """Send SIGTERM, so that the process finishes its work; a second call ends it at once."""
        self._ending = True
        if self._pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)

    async def _once(self) -> ProcessResult | None:
        """Run the process once. None if it could not be started, which is reported."""
        self._rest = b""
        try:
            return await execute(
                self._argv,
                ProcessMark(self._run_dir.path, self._label),
                cwd=self._run_dir.path,
                limit=_LIMIT_S,
                stdout=True,
                on_output=self._take,
                meanwhile=self._runs,
            )
        except OSError as e:
            self._report(f"{self._undone}: {e.filename or self._argv[0]}: {e.strerror}")
            return None
        finally:
            self._pid = 0

    def _runs(self, pid: int) -> None:
        if self._pid != pid:
            self._pid = pid
            if self._ending:
                self.end()

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data)[-self.LONGEST_LINE :].split(b"\n")
        for line in lines:
            try:
                printed = loads(line)
            except (ValueError, RecursionError):
                continue
            match printed:
                case {"problem": str(text)}:
                    self._report(text)
                case {"figures": dict(stats)}:
                    self.stats = stats
                    self._on_stats()
                case _:
                    self._on_line(printed)

    def _on_line(self, printed: Any) -> None:
        """Called with each other JSON line that the process has printed."""

    def _on_stats(self) -> None:
        """Called when the process has printed new numbers."""

    def _report(self, text: str) -> None:
        """Record a problem, each text once, because the process may be started many times."""
        text = visible(text)[:_MAX_PROBLEM]
        if text not in self._problems and len(self._problems) < MAX_PROBLEMS:
            self._problems.add(text)
            self._record(Message("warning", text))


def _why(outcome: ProcessResult) -> str:
    lines = outcome.output.decode(errors="replace").strip().splitlines()
    last = next((line for line in reversed(lines) if line and not line.startswith("{")), "")
    if outcome.signal:
        how = f"killed by {signal.Signals(outcome.signal).name}"
    else:
        how = f"exit status {outcome.status}"
    return f"{how} {last}".strip()


# ------------------------------------------------------- in the helper process


def begin(nice: int) -> None:
    """Give this process a low priority; it leaves no core file, and :class:`DeathJournal` ends it.

    ``nice``: the increment of its niceness.
    """
    with contextlib.suppress(OSError, ValueError):
        os.nice(nice)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)


def say(word: str, value: object) -> None:
    """Print one JSON line for the supervisor."""
    print(json.dumps({word: value}), flush=True)


_MAX_DEATHS: Final = 10_000
_KEY: Final = struct.Struct("<Q")
_DEATHS: Final = re.compile(rb"^([0-9a-f]{16}) ([1-9])$", re.MULTILINE)


class DeathJournal:
    """The key of the entry being processed, and the keys of entries that killed the process.

    An entry that was being processed at two deaths is rejected; one death may be chance (the end of
    the campaign).
    """

    def __init__(self, directory: Path, name: str, cpu_s: float) -> None:
        """Open ``NAME.at`` and ``NAME.died`` in ``directory``. Raises OSError.

        ``cpu_s``: seconds of CPU time that one entry may take.
        """
        self._cpu_s = cpu_s
        self._file = directory / f"{name}.died"
        text = read_if_regular(self._file, 19 * _MAX_DEATHS) or b""
        self._deaths = {int(key, 16): int(n) for key, n in _DEATHS.findall(text)}
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with closing_fd(os.open(directory / f"{name}.at", flags, 0o600)) as fd:
            os.ftruncate(fd, _KEY.size)
            self._now = mmap.mmap(fd, _KEY.size)
        if killer := _KEY.unpack_from(self._now)[0]:
            self._deaths[killer] = min(9, self._deaths.get(killer, 0) + 1)
            lines = [f"{key:016x} {n}\n" for key, n in self._deaths.items()]
            with contextlib.suppress(OSError):
                replace_text(self._file, "".join(lines[-_MAX_DEATHS:]))
            _KEY.pack_into(self._now, 0, 0)

    @property
    def rejected(self) -> set[int]:
        """Keys of the entries that must not be processed again."""
        return {key for key, n in self._deaths.items() if n > 1}

    @contextlib.contextmanager
    def at(self, key: int) -> Iterator[None]:
        """Context manager for processing one entry; SIGPROF kills the process after ``cpu_s``."""
        _KEY.pack_into(self._now, 0, key)
        signal.setitimer(signal.ITIMER_PROF, self._cpu_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            _KEY.pack_into(self._now, 0, 0)
