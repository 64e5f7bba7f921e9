"""Run ``notify.command`` once: a JSON object on its stdin, one line in its environment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.signals import signal_name
from fuzztui.kernel.base.text import brief
from fuzztui.run.process.execute import ProcessMark, execute

LIMIT_S: Final = 30.0
"""Seconds after which the command is killed."""

NEWS_VARIABLE: Final = "FUZZTUI_NEWS"

_MARK: Final = "notify"


async def run_command(command: Sequence[str], data: dict[str, Any], run: Path) -> str:
    """Run the command. Returns why it failed, as a text; an empty string if it succeeded.

    ``data``: the object, with the line as ``text``; also kept in the run, as
    ``supervisor/notification.json``. ``run``: the run directory, in which the command is run.
    Everything that it leaves is killed. May be cancelled.
    """
    file = run / "supervisor" / "notification.json"
    try:
        await asyncio.to_thread(replace_text, file, json.dumps(data) + "\n")
        result = await execute(
            command,
            ProcessMark(run, _MARK),
            cwd=run,
            limit=LIMIT_S,
            stdin=file,
            env={NEWS_VARIABLE: data["text"]},
            stdout=True,
        )
    except OSError as e:
        return f"{e.filename or command[0]}: {e.strerror or e}"
    if result.status == 0:
        return ""
    how = f"was killed after {LIMIT_S:.0f} s" if result.status is None else ""
    if result.stopped:
        how = f"was stopped by {result.stopped}"
    elif result.signal:
        how = f"died of {signal_name(result.signal)}"
    last = result.output.decode(errors="replace").strip().rpartition("\n")[2]
    how = how or f"exit status {result.status}"
    return brief(f"{Path(command[0]).name}: {how}{f': {last}' if last else ''}")
