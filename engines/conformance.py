"""What every engine must do, as a test for engines of any package.

``violations("toy", directory)`` runs the engine of that kind on a small target and returns what it
does otherwise than the supervisor relies on; an empty list: it conforms. Call it in a test.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import fuzztui
from fuzztui.engines.kinds import KINDS, EngineKind, kind_named
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import SkipEntry

TARGET: Final = """
from fuzztui.generators import Source, generator

@generator
def gen_line(r: Source) -> str:
    return "".join(r.choose("ab(7 ") for _ in r.more(0, 40))

def parse(data: str) -> int:
    depth = 0
    for c in data:
        if c == "(":
            depth += 1
        elif c.isdigit():
            depth += 2
    if depth > 3:
        raise KeyError(depth)
    if data.startswith("("):
        raise ValueError("expected")
    return depth
"""
"""A target that accepts inputs, rejects some (ValueError) and fails on others (KeyError)."""

TRIALS: Final = 400
TIMEOUT_S: Final = 60.0


@dataclass
class Conformance:
    """Runs one engine in instance directories below ``directory`` and collects violations.

    ``engine``: keys of the table ``[engine]`` that this kind needs.
    """

    kind: str
    directory: Path
    python: str = sys.executable
    engine: Mapping[str, Any] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)

    def check(self) -> list[str]:
        """Run all checks. Returns the violations, one sentence each."""
        row = kind_named(self.kind)
        (self.directory / "conform_target.py").write_text(TARGET)
        first, second = self._run("a", row), self._run("b", row)
        self._check_start(first, row)
        self._check_work(first)
        self._expect(_comparable(first) == _comparable(second), "is not repeatable by its seed")
        before = _stat(first, "execs_done")
        self._run("a", row, trials=2 * TRIALS)
        self._expect(_stat(first, "execs_done") > before, "does not continue in its directory")
        self._check_commands(row)
        return self.found

    def _expect(self, holds: bool, text: str) -> None:
        if not holds:
            self.found.append(text)

    def _check_start(self, directory: Path, row: EngineKind) -> None:
        hello = next(_events(directory, "instance_hello"), {})
        self._expect(hello.get("engine") == self.kind, "does not report its kind")
        known = set(hello.get("capabilities", ()))
        self._expect(known == set(row.capabilities), "reports other commands than its row has")

    def _check_work(self, directory: Path) -> None:
        self._expect(_stat(directory, "execs_done") >= TRIALS, "ends before its budget of trials")
        names = [p.name for p in (directory / "queue").iterdir() if p.is_file()]
        self._expect(bool(names), "saves no entry")
        self._expect(all(n.startswith("id:") for n in names), "names entries unlike AFL")
        crashes = list((directory / "crashes").glob("id:*"))
        self._expect(bool(crashes), "does not save the target's failure as a crash")
        described = {e.get("id") for e in _events(directory, "entry_described")}
        self._expect(described == set(range(len(names))), "does not describe each entry")

    def _check_commands(self, row: EngineKind) -> None:
        spec = self._spec("c", row, 0)
        engine = self._start(spec)
        try:
            self._expect(
                _within(lambda: any(_events(spec.parent, "entry_described"))), "finds no entry"
            )
            entry = next(_events(spec.parent, "entry_described"), {}).get("id", 0)
            skip = encode_command(SkipEntry(entry))
            with (spec.parent / "control.jsonl").open("a") as file:
                for number, command in (("k1", skip), ("k2", {"c": "no-such-command"})):
                    file.write(json.dumps({"id": number, "command": command}) + "\n")
            answers = ("command_applied", "command_rejected")

            def answered() -> set[Any]:
                return {e.get("id") for kind in answers for e in _events(spec.parent, kind)}

            self._expect(_within(lambda: "k2" in answered()), "does not answer commands")
            engine.send_signal(signal.SIGTERM)
            self._expect(engine.wait(TIMEOUT_S) == 0, "does not exit with 0 when it is stopped")
        finally:
            if engine.poll() is None:
                os.killpg(engine.pid, signal.SIGKILL)
                engine.wait()

    # --------------------------------------------------------------------- running

    def _run(self, instance: str, row: EngineKind, trials: int = TRIALS) -> Path:
        spec = self._spec(instance, row, trials)
        status = self._start(spec).wait(TIMEOUT_S)
        log = spec.parent / "worker.log"
        self._expect(status == 0, f"exits with {status}: {log.read_text(errors='replace')[-500:]}")
        return spec.parent

    def _spec(self, instance: str, row: EngineKind, trials: int) -> Path:
        directory = self.directory / instance / "main"  # the name is part of its random seed
        directory.mkdir(parents=True, exist_ok=True)
        options = {option.name: option.default for option in row.options}
        target = {
            "function": "conform_target:parse",
            "path": [str(self.directory)],
            "input": "text",
        }
        if row.analysis:
            target["generator"] = "conform_target:gen_line"
        spec = {
            "proto": 1, "instance": "main", "dir": str(directory), "seed": 7,
            "sync_dir": str(directory.parent), "budget_trials": trials,
            "engine": {"kind": self.kind, **options, **self.engine},
            "target": target | {"expected": ["ValueError"]},
        }  # fmt: skip
        if self.kind not in KINDS:
            spec["plugin"] = {"module": row.module, "commands": list(row.commands)}
        file = directory / "spec.json"
        file.write_text(json.dumps(spec))
        return file

    def _start(self, spec: Path) -> subprocess.Popen[bytes]:
        package = Path(fuzztui.__file__).parent.parent
        path = os.pathsep.join([str(package), *filter(None, sys.path)])
        with (spec.parent / "worker.log").open("ab") as log:
            return subprocess.Popen(
                [self.python, "-P", "-m", "fuzztui.engines", str(spec)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path, "FUZZTUI_RUN": str(self.directory)},
                start_new_session=True,
            )


def violations(kind: str, directory: Path, **engine: Any) -> list[str]:
    """What the engine of this kind does wrong, one sentence each; ``engine``: its own keys."""
    return Conformance(kind, directory, engine=engine).check()


def _events(directory: Path, kind: str) -> Iterator[dict[str, Any]]:
    try:
        lines = (directory / "events.jsonl").read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue  # it is being written
        if event.get("k") == kind:
            yield event


def _comparable(directory: Path) -> list[tuple[Any, ...]]:
    """The entries in their order, without times."""
    described = [
        (e.get("id"), e.get("edges"), e.get("outcome"))
        for e in _events(directory, "entry_described")
    ]
    files = sorted((directory / "queue").glob("id:*"))
    return [*described, *((p.name.partition(",time:")[0], p.read_bytes()) for p in files)]


def _stat(directory: Path, key: str) -> int:
    for line in (directory / "fuzzer_stats").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return int(value)
    return -1


def _within(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + TIMEOUT_S
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
