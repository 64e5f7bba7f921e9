"""What a job is: a command, and what it needs; and its answer, checked on our side."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fuzztui.features.jobs.queue import MAX_RESULT
from fuzztui.kernel.base.bounds import loads

_MAX_WHY: Final = 500
_MAX_PROGRESS: Final = 64 << 10
_SIGNALLED: Final = 128
"""Exit statuses from here on: a signal ended the command, or the guard itself."""


@functools.cache
def guard_source() -> str:
    """The text of the guard, which is run with ``python -c``."""
    return Path(__file__).with_name("guard.py").read_text(encoding="utf-8")


def request_of(
    argv: Sequence[str],
    *,
    files: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    python: str = "",
) -> dict[str, Any]:
    """Return a request for :func:`fuzztui.features.jobs.carry.carry_out`: plain data."""
    return {
        "argv": list(argv),
        "files": dict(files or {}),
        "env": dict(env or {}),
        "python": python,
        "guard": guard_source(),
        "max_result": MAX_RESULT,
    }


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How an attempt ended: with a ``result``, or why it has none.

    ``lost``: the attempt may succeed elsewhere. ``blameless``: the loss is not the job's fault.
    """

    result: dict[str, Any] | None = None
    why: str = ""
    lost: bool = False
    blameless: bool = False
    cancelled: bool = False


def outcome_of(answer: object) -> JobOutcome:
    """Check what a worker has answered: it is data, and may contain anything."""
    match answer:
        case {"how": "stopped", "why": str(why)}:
            return JobOutcome(why=why[:_MAX_WHY], lost=True, blameless=True)
        case {"how": "unable", "why": str(why)}:
            return JobOutcome(why=why[:_MAX_WHY])
        case {"how": "ended", "status": int(status), "result": str(line), "stderr": str(stderr)}:
            return _ended(status, line, stderr)
    return JobOutcome(why="its worker's answer is damaged")


def _ended(status: int, line: str, stderr: str) -> JobOutcome:
    last = _last_message(stderr)
    if status:
        killed = status < 0 or status > _SIGNALLED
        how = f"signal {abs(status) % _SIGNALLED}" if killed else f"exit status {status}"
        return JobOutcome(why=f"its process ended with {how}{last}", lost=killed)
    if not line:
        return JobOutcome(why=f"its process ended without a result{last}")
    try:
        data = loads(line)
    except ValueError as e:
        return JobOutcome(why=f"its result is damaged: {e}"[:_MAX_WHY])
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(result, dict):
        return JobOutcome(why="its result is not an object")
    return JobOutcome(result)


def _last_message(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("fuzztui: ")]
    last = (ours or lines or [""])[-1].removeprefix("fuzztui: ")
    return f": {last[:_MAX_WHY]}" if last else ""


def progress_of(line: object) -> dict[str, Any] | None:
    """The object in a progress line; None if it is none."""
    if not isinstance(line, str) or len(line) > _MAX_PROGRESS:
        return None
    try:
        data = loads(line)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
