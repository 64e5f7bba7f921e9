"""Send a request to an engine outside of a campaign: list the mutants, measure a corpus.

The engine runs under the target's interpreter, as in a campaign, and prints JSON lines.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from fuzztui.base.bounds import loads
from fuzztui.base.files import read_tail
from fuzztui.base.temporary import temporary_directory
from fuzztui.campaign import Campaign
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.engines.execute.overseer import Overseer
from fuzztui.inprocess.spec import write_spec
from fuzztui.process.identity import MARK_INSTANCE, MARK_RUN, kill_marked

_MAX_STDERR = 64 * 1024


class NoAnswer(SupervisorError):
    """The engine could not answer; the text is the reason."""


def ask(
    campaign: Campaign,
    request: Sequence[str],
    directory: Path | None = None,
    *,
    limit_s: float = 0.0,
) -> Generator[dict[str, Any], None, None]:
    """Run the campaign's engine with ``request`` as arguments; yields the objects it prints.

    ``directory``: an instance's directory, whose state is then used; None: no state. ``limit_s``:
    seconds after which the engine is ended; 0: no limit. Raises :class:`NoAnswer` with the
    engine's reason. Closing the iterator ends the engine and all its processes.
    """
    with temporary_directory() as temporary:
        run_dir = RunDir(Path(temporary))
        run_dir.supervisor.mkdir()
        spec = run_dir.path / "spec.json"
        try:
            write_spec(spec, campaign, directory or run_dir.instance("main"))
            process = _start(campaign, run_dir, [str(spec), *request])
        except OSError as e:
            raise NoAnswer(f"{e.filename}: {e.strerror}") from None
        overseer = Overseer(process.pid, lambda: kill_marked(run_dir.path), limit_s)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if answer := _answer(line):
                    yield answer
            if process.wait() and overseer.why:
                raise NoAnswer(overseer.why)
            if process.returncode:
                raise NoAnswer(_reason(run_dir.stderr, process.returncode))
        finally:
            overseer.close()
            kill_marked(run_dir.path)
            process.wait()


def _start(campaign: Campaign, run_dir: RunDir, arguments: list[str]) -> subprocess.Popen[bytes]:
    python: str = campaign.target["python"]
    env = {
        **os.environ,
        "PYTHONHASHSEED": "0",  # as in a campaign
        **campaign.target["env"],
        "PYTHONPATH": str(run_dir.expose_package(campaign.kind)),
        MARK_RUN: str(run_dir.path),
        MARK_INSTANCE: "main",
    }
    with run_dir.stderr.open("wb") as stderr:
        return subprocess.Popen(
            [python, "-P", "-m", "fuzztui.engines", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=run_dir.path,
            env=env,
            start_new_session=True,
        )


def _answer(line: bytes) -> dict[str, Any] | None:
    """The object in a line; None for a line that the target printed."""
    try:
        answer = loads(line)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _reason(stderr: Path, status: int) -> str:
    """The engine's last message for the user; if there is none, the last line of ``stderr``."""
    lines = read_tail(stderr, _MAX_STDERR).splitlines()
    messages = [line for line in lines if line.startswith("fuzztui: ")]
    if messages:
        return messages[-1].removeprefix("fuzztui: ")
    last = next((line for line in reversed(lines) if line.strip()), "nothing was printed")
    return f"the engine ended with exit status {status}: {last}"
