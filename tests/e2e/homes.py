"""A user's directory with one real campaign in it, and the installed command to drive it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
from waiting import DEADLINE_S, wait_until

from fuzztui.cli.runs import standing
from fuzztui.cli.status import status_object
from fuzztui.features.source.fold import LineCoverage
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire.events import Event

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


AFL_ENV = {
    "AFL_NO_UI": "1", "AFL_SKIP_CPUFREQ": "1", "AFL_NO_AFFINITY": "1",
    "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1",
}  # fmt: skip
"""What lets an afl-fuzz that a test starts by itself run on any machine."""


def write_seeds(directory: Path, *inputs: str | bytes, **named: str | bytes) -> list[str]:
    """Write inputs, numbered or named, into the folder "seeds". Returns ``engine.seeds``."""
    folder = directory / "seeds"
    folder.mkdir(exist_ok=True)
    for name, data in ({str(n): data for n, data in enumerate(inputs)} | named).items():
        (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return [str(folder)]


def compiled(
    directory: Path, source: str, *flags: str, compiler: str = "afl-cc", name: str = "t", **env: str
) -> Path:
    """Compile a program in C below ``directory``. Returns its path."""
    (directory / f"{name}.c").write_text(source)
    argv = [compiler, *flags, "-o", name, f"{name}.c"]
    subprocess.run(
        argv, cwd=directory, env=os.environ | env, check=True, capture_output=True,
        timeout=DEADLINE_S,
    )  # fmt: skip
    return directory / name


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


def logged(run: Path, kind: type[Event] = Event) -> list[Any]:
    """The events of a kind in a run's log."""
    return [r.event for r in LogReader(run).records() if isinstance(r.event, kind)]


def covered(run: Path) -> tuple[State, LineCoverage]:
    """The state at the end of a run's log, and the lines that it has as covered."""
    state, lines = State(), LineCoverage()
    apply(state, LogReader(run).records())
    lines.take(state)
    return state, lines


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
        self, *args: str, code: int | None = 0, timeout: float = DEADLINE_S, at: Path | None = None
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

    def popen(self, *args: str, **streams: Any) -> subprocess.Popen[str]:
        """Start ``fuzztui args``, with its output as text in pipes."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([FUZZTUI, *args], cwd=self.path, env=self.env, **pipes | streams)

    def headless(self, budget: str, *args: str, code: int | None = 0) -> str:
        """Run the campaign until its budget is used up."""
        budget = f"campaign.budget={budget}"
        return self(str(self.file), "--headless", "--set", budget, *args, code=code)

    def stop(self) -> None:
        """Stop the campaign, and wait until its supervisor has ended."""
        self("ctl", str(self.run), "stop")
        wait_until(lambda: self.status_pid() is None)

    def fuzzes(self, program: str, kind: str, *inputs: bytes, **named: bytes) -> None:
        """Make ``parse`` of a module ``prog`` the target of an engine, with these seeds."""
        (self.path / "prog.py").write_text(program)
        text = self.file.read_text().replace('"tomllib:loads"', '"prog:parse"\ninclude = ["prog"]')
        text = text.replace("tomllib.TOMLDecodeError", "ValueError").replace('"zest"', f'"{kind}"')
        if inputs or named:
            write_seeds(self.path, *inputs, **named)
            text += 'seeds = ["seeds"]\n'
        self.file.write_text(text)

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
