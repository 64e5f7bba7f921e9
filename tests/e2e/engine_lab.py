"""A bench for engine tests: writes targets and spec.json, runs engines, reads what they leave."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from homes import write_seeds
from shared import HOME
from waiting import DEADLINE_S, wait_until

import fuzztui
from fuzztui.run.process.identity import kill_marked

_PACKAGE = Path(fuzztui.__file__).resolve().parent


class Lab:
    """One sync dir with targets; ``python`` is the interpreter under which engines run."""

    def __init__(self, root: Path, python: str = sys.executable) -> None:
        self.root, self.python = root, python
        self.out = root / "out"
        self.src = root / "src"
        self.src.mkdir(parents=True)
        package = root / "pkg"
        package.mkdir()
        (package / "fuzztui").symlink_to(_PACKAGE)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        self.env |= {"PYTHONPATH": str(package), "FUZZTUI_RUN": str(root)}
        # Hypothesis' tables of characters take it a second: made once, for all.
        self.env["XDG_CACHE_HOME"] = str(Path(os.environ[HOME]) / "cache")
        # Which other tests of this process may have set.
        self.env.pop("HYPOTHESIS_STORAGE_DIRECTORY", None)
        self.running: list[subprocess.Popen[bytes]] = []

    def write(self, name: str, text: str) -> Path:
        path = self.src / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def spec(self, function: str, instance: str = "main", **keys: Any) -> Path:
        """Write spec.json. ``engine`` and ``target`` update those tables, the rest the top."""
        engine = {"kind": "zest", "instances": 1, "seeds": [], "max_size": 10240,
                  "dictionary": [], "constants": True, "coverage": "edges"}  # fmt: skip
        target = {"function": function, "path": [str(self.src)], "include": [], "exclude": [],
                  "input": "auto", "generator": "", "expected": [], "timeout_s": 1.0,
                  "memory_bytes": 0, "env": {}, "cwd": "", "output": "discard",
                  "python": self.python}  # fmt: skip
        engine |= keys.pop("engine", {})
        target |= keys.pop("target", {})
        directory = self.out / instance
        directory.mkdir(parents=True, exist_ok=True)
        data = {"proto": 1, "instance": instance, "dir": str(directory), "sync_dir": str(self.out),
                "seed": 7, "budget_trials": 0, "budget_s": 0,
                "engine": engine, "target": target, **keys}  # fmt: skip
        file = directory / "spec.json"
        file.write_text(json.dumps(data))
        return file

    def start(
        self, spec: Path, *, log: Path | None = None, **popen: Any
    ) -> subprocess.Popen[bytes]:
        """As the supervisor starts it."""
        out = (log or spec.parent / "worker.log").open("ab")
        process = subprocess.Popen(
            [self.python, "-P", "-m", "fuzztui.engines", str(spec)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=self.env,
            start_new_session=True,
            **popen,
        )
        out.close()
        self.running.append(process)
        return process

    def run(self, spec: Path, timeout: float = DEADLINE_S, **popen: Any) -> int:
        """Start and wait; returns the exit status. AssertionError if it does not end in time."""
        engine = self.start(spec, **popen)
        try:
            return engine.wait(timeout)
        except subprocess.TimeoutExpired:
            self.close()
            log = (spec.parent / "worker.log").read_text(errors="replace")[-2000:]
            raise AssertionError(
                f"the engine did not end within {timeout:g} s, after {execs(spec.parent)} trials,"
                f" {len(events(spec.parent))} events\n{log}"
            ) from None

    def finish(self, spec: Path, timeout: float = DEADLINE_S, **popen: Any) -> Path:
        """Run an engine to its end, without an error. Returns its directory."""
        status = self.run(spec, timeout, **popen)
        assert status == 0, (spec.parent / "worker.log").read_text(errors="replace")[-2000:]
        return spec.parent

    def campaign(
        self, function: str, instance: str = "main", timeout: float = DEADLINE_S, **keys: Any
    ) -> Path:
        """:meth:`finish` of a new :meth:`spec`."""
        return self.finish(self.spec(function, instance, **keys), timeout)

    def seeds(self, *inputs: str | bytes, **named: str | bytes) -> list[str]:
        return write_seeds(self.root, *inputs, **named)

    def ask(self, spec: Path, *words: object) -> subprocess.CompletedProcess[str]:
        """Run ``python -m fuzztui.engines SPEC words``, which does not fuzz."""
        argv = [self.python, "-P", "-m", "fuzztui.engines", str(spec), *map(str, words)]
        return subprocess.run(
            argv, cwd=self.root, env=self.env, capture_output=True, text=True, check=False,
            timeout=DEADLINE_S,
        )  # fmt: skip

    def repro(self, spec: Path, data: Path | bytes) -> tuple[int, str]:
        """Run one input again. Returns the exit status and what was printed."""
        if isinstance(data, bytes):
            (self.root / "input").write_bytes(data)
            data = self.root / "input"
        done = self.ask(spec, "--repro", data)
        return done.returncode, done.stdout + done.stderr

    def run_until(self, what: Callable[[], object], spec: Path) -> None:
        """Start, and end it as soon as ``what()`` holds, if it has not come to its end before."""
        engine = self.start(spec)
        wait_until(lambda: engine.poll() is not None or what())
        self.end(engine)

    @staticmethod
    def end(engine: subprocess.Popen[bytes], number: int = signal.SIGTERM) -> None:
        """Stop an engine, unless it has ended by itself; it does so without an error."""
        engine.send_signal(number)
        assert engine.wait(DEADLINE_S) == 0

    @staticmethod
    def goes_on(directory: Path, trials: int = 0) -> None:
        """Wait until it has executed more than so many trials from now on."""
        before = execs(directory)
        wait_until(lambda: execs(directory) > before + trials)

    @staticmethod
    def messages(directory: Path, level: str = "") -> list[str]:
        """The texts of its messages, of one level if it is given."""
        return [e["text"] for e in events(directory, "message") if not level or e["level"] == level]

    @staticmethod
    def findings(directory: Path) -> dict[str, dict[str, Any]]:
        """The last description of each finding, by its signature."""
        return {e["signature"]: e for e in events(directory, "finding_described")}

    @staticmethod
    def counted(directory: Path) -> int:
        """Trials, each with one outcome; and the files of findings are as many as it says."""
        figures = {key: int(value) for key, value in stats(directory).items() if value.isdecimal()}
        outcomes = ("valid_inputs", "invalid_inputs", "failed_inputs", "total_tmout")
        assert sum(figures[key] for key in outcomes) == figures["execs_done"]
        assert figures["saved_crashes"] == len(names(directory, "crashes"))
        assert figures["saved_hangs"] == len(names(directory, "hangs"))
        return figures["execs_done"]

    def close(self) -> None:
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()
                kill_marked(self.root)  # a stopped worker, children that outlive it


def events(directory: Path, kind: str = "") -> list[dict[str, Any]]:
    try:
        lines = (directory / "events.jsonl").read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    found = [json.loads(line) for line in lines[:-1]]  # the last one may be half-written
    return [e for e in found if not kind or e["k"] == kind]


def stats(directory: Path) -> dict[str, str]:
    try:
        text = (directory / "fuzzer_stats").read_text()
    except FileNotFoundError:
        return {}
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def execs(directory: Path) -> int:
    return int(stats(directory).get("execs_done", 0))


def names(directory: Path, folder: str) -> list[str]:
    return sorted(p.name for p in (directory / folder).glob("id:*"))


def timeless(directory: Path, folder: str = "queue") -> dict[str, bytes]:
    """Files by name without the time, which is the one thing that differs between runs."""
    return {
        re.sub(r"time:\d+", "time:_", name): (directory / folder / name).read_bytes()
        for name in names(directory, folder)
    }


def worker_of(nanny: subprocess.Popen[bytes]) -> int:
    """The pid of its worker, 0 if there is none just now."""
    try:
        children = Path(f"/proc/{nanny.pid}/task/{nanny.pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):  # gone; or while we read
        return 0
    return int(children[0]) if children else 0


def reason(directory: Path) -> str:
    """The last line that says why the engine cannot start."""
    lines = (directory / "worker.log").read_text().splitlines()
    said = [line for line in lines if line.startswith("fuzztui: ")]
    return said[-1] if said else ""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # gone; or while we read
        return False


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Signal one process; 0 (no process) is nobody, not our own group."""
    if pid > 0:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
