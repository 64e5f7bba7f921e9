"""The function that Dask runs on a worker for one attempt.

Pickled by value, with :mod:`~fuzztui.features.jobs.carry`: a worker needs Dask, but not fuzztui,
for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
import time
import uuid
from typing import Any

import distributed

from fuzztui.features.jobs.carry import carry_out

LEASE_S = 30.0
"""Seconds after which a worker that hears nothing of the scheduler ends its jobs: the scheduler
has started them elsewhere."""
_ASK_S = 5.0
_GONE = ("cancelled", "resumed", "released", "forgotten")


def carry_out_on_worker(request: dict[str, Any], channel: dict[str, Any]) -> dict[str, Any]:
    """Carry a job out. Returns as :func:`~fuzztui.features.jobs.carry.carry_out`.

    ``channel``: ``topic`` of the progress messages, which contain ``ticket``; ``event``, the name
    of the Event that cancels the job; ``lease_s``, as :data:`LEASE_S`.
    """
    worker = distributed.get_worker()
    key = worker.get_current_task()
    run, lines = uuid.uuid4().hex[:12], 0
    lease = {"heard": time.monotonic(), "cancelled": 0.0}
    over = threading.Event()

    def say(line: str) -> None:
        nonlocal lines
        lines += 1
        message = {"ticket": channel["ticket"], "run": run, "n": lines, "line": line}
        with contextlib.suppress(Exception):  # progress of a worker that is cut off
            worker.log_event(channel["topic"], message)

    def keep_lease() -> None:
        """Wait at the scheduler for the event that cancels the job: each answer is a sign."""
        loop = getattr(worker.loop, "asyncio_loop")  # noqa: B009
        while not over.is_set():
            try:
                wait = worker.scheduler.event_wait(name=channel["event"], timeout=_ASK_S)
                found = asyncio.run_coroutine_threadsafe(wait, loop).result(3 * _ASK_S)
            except Exception:
                over.wait(1.0)
                continue
            lease["heard"] = time.monotonic()
            if found:
                lease["cancelled"] = 1.0
                return

    def stopped() -> str:
        if lease["cancelled"]:
            return "cancelled"
        silent = time.monotonic() - lease["heard"]
        if silent > channel["lease_s"]:
            return f"its worker heard nothing of the scheduler for {silent:.0f} s"
        # Not public, but sooner: the client has gone, or the scheduler runs the task elsewhere.
        with contextlib.suppress(AttributeError):
            task = worker.state.tasks.get(key)
            if task is None or task.state in _GONE:
                return "released by the scheduler"
        if getattr(worker.status, "name", "") in ("closing", "closed", "failed"):
            return "its worker ends"
        return ""

    thread = threading.Thread(target=keep_lease, daemon=True)
    thread.start()
    try:
        message = {"ticket": channel["ticket"], "run": run, "n": 0}
        with contextlib.suppress(Exception):
            worker.log_event(
                channel["topic"], {**message, "where": f"{socket.gethostname()}:{os.getpid()}"}
            )
        return carry_out(request, say, stopped)
    finally:
        over.set()


def probe(question: dict[str, Any]) -> dict[str, Any]:
    """Return what a worker can do.

    ``question``: ``python``, the interpreter to try ("": the worker's own); ``paths`` that must
    exist; ``nonce``, path and text of a new file, which a shared file system has.
    """
    import pathlib
    import subprocess
    import sys

    python = question["python"] or sys.executable
    code = "import sys, fuzztui; print(fuzztui.__version__, sys.version.split()[0])"
    answer = {"host": socket.gethostname(), "python": python, "fuzztui": "", "why": ""}
    try:
        done = subprocess.run(
            [python, "-P", "-c", code],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
            cwd="/",
        )
        answer["fuzztui"] = done.stdout.strip()[:100]
        answer["why"] = "" if done.returncode == 0 else done.stderr.strip()[-300:]
    except (OSError, subprocess.SubprocessError) as e:
        answer["why"] = str(e)[:300]
    missing = [path for path in question["paths"] if not pathlib.Path(path).exists()]
    shares = True
    if question["nonce"]:
        try:
            shares = pathlib.Path(question["nonce"][0]).read_text() == question["nonce"][1]
        except (OSError, ValueError):
            shares = False
    return {**answer, "missing": missing, "shares": shares}
