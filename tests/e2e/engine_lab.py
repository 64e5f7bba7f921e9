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

    def run(self, spec: Path, timeout: float = 90, **popen: Any) -> int:
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

    def run_until(self, what: Callable[[], object], spec: Path, timeout: float = 300) -> None:
        """Start, and end it as soon as ``what()`` holds, if it has not come to its end before."""
        engine = self.start(spec)
        wait_until(lambda: engine.poll() is not None or what(), timeout)
        if engine.poll() is None:
            engine.terminate()
        assert engine.wait(DEADLINE_S) == 0

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
