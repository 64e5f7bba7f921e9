"""A user's directory with one real campaign in it, and the installed command to drive it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
from waiting import DEADLINE_S, wait_until

from fuzztui.cli.runs import standing
from fuzztui.cli.status import status_object
from fuzztui.kernel.remote.lock import running

BIN = Path(sys.executable).parent
FUZZTUI = str(BIN / "fuzztui")

CAMPAIGN = """\
[campaign]
name = "e2e"
output = "run"
seed = 1

[target]
function = "tomllib:loads"
expected = ["tomllib.TOMLDecodeError"]

[engine]
kind = "zest"
"""


def of_trials(
    function: str,
    kind: str,
    trials: int,
    *,
    target: str = "",
    engine: str = "",
    output: str = "run",
) -> str:
    """A campaign file with a budget of trials; ``target`` and ``engine``: more of these tables."""
    return f"""\
[campaign]
output = "{output}"
seed = 1
budget = "{trials} trials"
[target]
function = "{function}"
{target}
[engine]
kind = "{kind}"
{engine}
"""


GENERATED = of_trials(
    "app:check", "{kind}", 3000, target='generator = "gen:make"\npath = ["."]\ninclude = ["app"]'
)
"""A target with a generator, 3,000 trials of an engine of ``kind``."""


def kill_holder(run: Path) -> None:
    """Kill the supervisor of a run, if there is one, and see it gone."""

    def free() -> bool:
        if (pid := running(run)) and pid > 0:  # -1: not readable just now; for os.kill: everybody
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pid

    wait_until(free)


class Home:
    """A directory of a user's with one campaign in it, and the command to drive it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = path / "run"
        self.file = path / "e2e.toml"
        self.file.write_text(CAMPAIGN)
        self.env = {
            **os.environ,
            "XDG_RUNTIME_DIR": str(path / "xdg"),
            "XDG_STATE_HOME": str(path / "state"),
        }
        (path / "xdg").mkdir(mode=0o700)

    def __call__(
        self, *args: str, code: int | None = 0, timeout: float = 120, at: Path | None = None
    ) -> str:
        """Run ``fuzztui args`` (in the directory ``at``); returns stdout; checks the exit code."""
        done = subprocess.run(
            [FUZZTUI, *args],
            cwd=at or self.path, env=self.env, capture_output=True, text=True,
            timeout=timeout, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.stderr = done.stderr
        assert code is None or done.returncode == code, (args, done)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout

    def status(self) -> dict:
        """What ``fuzztui status --json`` prints, without a new Python for each look."""
        return json.loads(json.dumps(status_object(self.run, standing(self.run))))

    def detach(self, *args: str) -> None:
        self(str(self.file), "--detach", *args)

    def processes(self) -> list[psutil.Process]:
        """Every living process that carries this run's marker."""
        found = []
        for process in psutil.process_iter():
            try:
                marked = process.environ().get("FUZZTUI_RUN") == str(self.run)
                if marked and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def supervisor(self) -> int:
        return int(self.status()["pid"] or 0)

    def kill_everything(self) -> None:
        kill_holder(self.run)
        while found := self.processes():  # a nanny may just have started another worker
            for process in found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(found, timeout=DEADLINE_S)

    def status_pid(self) -> int | None:
        return running(self.run)
