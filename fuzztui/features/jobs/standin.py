"""A stand-in: the process here of an engine that runs on a worker of a cluster.

``python -P -m fuzztui.features.jobs.standin DIR/.standin.json``. For the supervisor it is the
engine: it has a pid, outlives the supervisor, is adopted, and ends as the engine ends. A request to
stop becomes the engine's ``stop`` command; when the stand-in is killed, the scheduler releases the
job, and the worker ends all its processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import Empty
from types import FrameType
from typing import Any, Final

from fuzztui.features.jobs.config import ClusterConfig, ClusterError
from fuzztui.features.jobs.opening import connected
from fuzztui.features.jobs.places import Ended, JobTicket, Place
from fuzztui.features.jobs.request import JobOutcome, request_of
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import loads
from fuzztui.kernel.wire.commands import Stop
from fuzztui.run.supervise.command_router import append

FILE: Final = ".standin.json"
LOST: Final = 75
"""Exit status if the job was lost with its worker (EX_TEMPFAIL): the instance starts again."""
GRACE_S: Final = 3.5
"""Seconds for an engine to end by itself; the supervisor kills the stand-in after five."""
_LOOK_S: Final = 0.1


def write_standin(
    directory: Path,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path | None,
    config: ClusterConfig,
) -> list[str]:
    """Write the request of an instance; return the command of its stand-in. Raises OSError."""
    request = {
        "argv": [*argv],
        "env": {**env},
        "cwd": str(cwd or directory),
        "log": str(directory / "worker.log"),
        "scheduler": config.scheduler,
        "tls": config.tls,
        "python": config.python,
    }
    file = directory / FILE
    replace_text(file, json.dumps(request))
    return [sys.executable, "-P", "-m", "fuzztui.features.jobs.standin", str(file)]


class StandIn:
    """Runs one engine on a place."""

    def __init__(self, place: Place, file: Path, request: Mapping[str, Any]) -> None:
        self._place, self._directory = place, file.parent
        marks = {name: value for name, value in os.environ.items() if name.startswith("FUZZTUI_")}
        text = json.dumps({**request, "env": {**request["env"], **marks}})
        argv = ["", "-P", "-m", "fuzztui.features.jobs.engine_job", "request.json"]
        self._request = request_of(argv, files={"request.json": text})
        self._ticket = JobTicket(f"{self._directory.name}-{os.getpid()}", 1)
        self._stop_at = 0.0
        """When the job is cancelled; 0: there was no request to stop."""

    def run(self) -> JobOutcome:
        """Run the engine to its end."""
        self._place.submit(self._ticket, self._request)
        while True:
            with contextlib.suppress(Empty):
                event = self._place.events.get(timeout=_LOOK_S)
                if isinstance(event, Ended):
                    return event.outcome
            if self._stop_at and time.monotonic() >= self._stop_at:
                self._place.cancel(self._ticket)

    def stop(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Ask the engine to end; a signal handler."""
        if self._stop_at:
            return
        self._stop_at = time.monotonic() + GRACE_S
        name = self._directory.name
        with contextlib.suppress(OSError):  # a full disk: the job is cancelled
            append(self._directory / "control.jsonl", f"standin-{os.getpid()}", Stop(name))


def _status_of(outcome: JobOutcome) -> int:
    if outcome.result is not None and type(status := outcome.result.get("status")) is int:
        return status
    if not outcome.cancelled:
        print(f"the engine's job was lost: {outcome.why}", file=sys.stderr, flush=True)
        return LOST
    return 0


def main() -> int:
    """Stand in for an engine; exit as it does."""
    file = Path(sys.argv[1])
    request = loads(file.read_bytes())
    config = ClusterConfig(scheduler=request["scheduler"], tls=request["tls"])
    try:
        place = connected(config, request["python"])
    except ClusterError as e:
        print(str(e), file=sys.stderr)
        return LOST
    stand_in = StandIn(place, file, request)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2):
        signal.signal(number, stand_in.stop)
    try:
        status = _status_of(stand_in.run())
    finally:
        place.close()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL) if -status != signal.SIGKILL else None
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main())
