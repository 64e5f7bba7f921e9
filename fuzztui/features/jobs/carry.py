"""Carry one job out in this process: start its command under the guard, and relay what it prints.

Pickled by value to Dask's workers: standard library only, and no names from other modules.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

POLL_S = 0.1
MAX_LINE = 64 << 10
"""Bytes of a progress line; longer ones are dropped."""
MAX_LINES_S = 50
"""Progress lines a second; further ones are dropped."""
_RESULT = b'{"result":'
_END_S = 15.0
_MAX_STDERR = 4096


def carry_out(
    request: dict[str, Any], say: Callable[[str], None], stopped: Callable[[], str]
) -> dict[str, Any]:
    """Run the command of a request to its end. Returns a dictionary of plain data.

    :param request: ``argv``; ``guard``, the source of the guard; ``files``, texts by name, which
        are written to a fresh directory, where the command runs; ``env``, more variables;
        ``max_result``, bytes; ``python``: the interpreter of the guard and, for an ``argv`` that
        begins with "", of the command. Empty: the one of this process.
    :param say: called with each progress line: a JSON object, not checked.
    :param stopped: called ten times a second; returns why the job must stop; "": go on.

    ``how`` in the result is ``ended``, ``stopped`` or ``unable`` (it could not be started), with
    ``status``, ``result`` (a line of JSON), ``why``, and ``stderr``, the end of that.
    """
    python = request.get("python") or sys.executable
    argv = [python, *request["argv"][1:]] if not request["argv"][0] else request["argv"]
    answer = {"how": "unable", "status": -1, "result": "", "why": "", "stderr": ""}
    try:
        folder = Path(tempfile.mkdtemp(prefix="fuzztui-job-"))
    except OSError as e:
        return {**answer, "why": f"no temporary directory: {e.strerror}"}
    process = stderr = None
    try:
        for name, text in request["files"].items():
            (folder / name).write_text(text, encoding="utf-8", errors="surrogateescape")
        stderr = (folder / ".stderr").open("w+b")  # the guard may remove the directory
        process = subprocess.Popen(
            [python, "-I", "-S", "-c", request["guard"], *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=folder,
            env={**os.environ, **request["env"], "FUZZTUI_JOB": str(folder)},
            start_new_session=True,
        )
        how, why, result = _read_output(process, say, stopped, request["max_result"])
        answer.update(how=how, why=why, result=result, status=_end(process))
        size = stderr.seek(0, os.SEEK_END)
        stderr.seek(max(0, size - _MAX_STDERR))
        answer["stderr"] = stderr.read().decode(errors="replace")
    except OSError as e:
        answer["why"] = f"{e.filename or argv[0]}: {e.strerror or e}"
    finally:
        if process is not None:
            _end(process)
            if process.stdout is not None:
                process.stdout.close()
        if stderr is not None:
            stderr.close()
        shutil.rmtree(folder, ignore_errors=True)
    return answer


def _read_output(
    process: subprocess.Popen[bytes],
    say: Callable[[str], None],
    stopped: Callable[[], str],
    max_result: int,
) -> tuple[str, str, str]:
    """Read lines until the end of the output. Returns ``how``, ``why`` and ``result``."""
    assert process.stdout is not None
    fd = process.stdout.fileno()
    buffer, skipping, result = bytearray(), False, ""
    look, window, n_lines = 0.0, 0.0, 0
    while True:
        now = time.monotonic()
        if now >= look:
            look = now + POLL_S
            if why := stopped():
                return "stopped", why, ""
        if now >= window:
            window, n_lines = now + 1.0, 0
        # A descendant that left the guard's tree may hold the pipe open.
        ended = process.poll() is not None
        if not select.select([fd], [], [], 0.0 if ended else POLL_S)[0]:
            if ended:
                return "ended", "", result
            continue
        if not (data := os.read(fd, 1 << 16)):
            process.wait()
            return "ended", "", result
        *lines, rest = data.split(b"\n")
        for part in lines:
            buffer += part
            if not skipping:
                if buffer.startswith(_RESULT):
                    result = buffer.decode(errors="replace")
                elif buffer.startswith(b"{") and len(buffer) <= MAX_LINE and n_lines < MAX_LINES_S:
                    n_lines += 1
                    say(buffer.decode(errors="replace"))
            buffer.clear()
            skipping = False
        buffer += rest
        most = max_result if buffer.startswith(_RESULT) else MAX_LINE
        if len(buffer) > most:
            if buffer.startswith(_RESULT):
                return "unable", f"its result is larger than {max_result:,} bytes", ""
            buffer.clear()
            skipping = True


def _end(process: subprocess.Popen[bytes]) -> int:
    """Close the guard's pipe, and wait for it. Returns its exit status, -N after signal N."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        return process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
