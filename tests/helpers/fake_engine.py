"""An engine that only pretends to fuzz, but keeps engines/README.md's engine contract.

``python fake_engine.py SPEC.json``. It runs as a real process, so that supervising can
be tested without waiting for coverage. What it does is in ``target.env.FAKE``, a JSON
object (see :class:`Plan`); what it has done it keeps in its directory, so that it goes
on from there when it is started again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Plan:
    tick: float = 0.02
    trials_per_tick: int = 10
    entry_every: int = 1
    """Ticks between two queue entries; 0 is never."""
    entries: int = 1_000_000
    crash_at: list[int] = field(default_factory=list)
    """Numbers of ticks at which a crash is found."""
    exit_at: int = 0
    """Tick at which it exits with ``status``; again and again if ``each_life``."""
    status: int = 1
    stillborn: bool = False
    """Exits with ``status`` before it says hello."""
    refuse: str = ""
    ignore_term: bool = False
    leave_child: bool = False
    capabilities: list[str] = field(
        default_factory=lambda: ["pause", "resume", "skip", "promote", "reset"]
    )
    deaf: bool = False
    stall_at: int = 0
    gate_at: int = 0
    """Tick at which it waits until there is a file ``go`` in its directory."""
    hello: bool = True
    mutants: int = 0
    """So many mutants m0, m1, ...; it kills one in each tick."""
    killed_by: str = "*"
    """The instance that does."""
    operators: bool = False
    """Whether it has a block of text mutators, and a mixture."""
    finish_s: float = 0.0
    """How long it continues after SIGUSR2."""


class Engine:
    def __init__(self, spec_file: Path) -> None:
        self.spec = json.loads(spec_file.read_text())
        self.dir = Path(self.spec["dir"])
        self.plan = Plan(**json.loads(self.spec["target"]["env"].get("FAKE", "{}")))
        for name in ("queue", "crashes", "hangs"):
            (self.dir / name).mkdir(exist_ok=True)
        done = self.dir / "fake.json"
        self.done = json.loads(done.read_text()) if done.exists() else {"ticks": 0, "answered": 0}
        # What was found and not yet noted when it was killed counts too.
        self.entries = len(list((self.dir / "queue").iterdir()))
        self.crashes = len(list((self.dir / "crashes").iterdir()))
        self.block = self.open_block() if self.plan.operators else None
        self.paused = False
        self.stopping = False
        self.finish_by = 0.0
        self.started = time.time()

    def run(self) -> int:
        plan = self.plan
        if plan.refuse:
            print("some traceback\nfuzztui: an older word", file=sys.stderr)
            print(f"fuzztui: {plan.refuse}", file=sys.stderr)
            return 3
        if plan.stillborn:
            return plan.status
        handler = signal.SIG_IGN if plan.ignore_term else self._told
        signal.signal(signal.SIGTERM, handler)
        signal.signal(signal.SIGUSR2, self._told_to_finish)
        if plan.leave_child:
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
        if plan.hello:
            self.emit(
                k="instance_hello",
                instance="a lie",
                engine="fake",
                version="1",
                pid=os.getpid(),
                capabilities=plan.capabilities,
            )
        if plan.mutants:
            found = [{"id": f"m{n}", "line": n + 1, "file": "m.py"} for n in range(plan.mutants)]
            self.emit(k="mutants_found", instance="x", module="m", file="m.py", mutants=found)
        budget = self.spec["budget_trials"]
        while not self.stopping:
            if self.finish_by:
                self.emit(k="mutation_stats", instance="x", phase="exact")
                if time.time() >= self.finish_by:
                    self.emit(k="message", instance="x", level="info", text="exact pass done")
                    break
                time.sleep(plan.tick)
                continue
            if plan.hello and not plan.deaf:
                self.obey()
            stalled = plan.stall_at and self.done["ticks"] >= plan.stall_at
            if plan.gate_at and self.done["ticks"] >= plan.gate_at:
                stalled = stalled or not (self.dir / "go").exists()
            if not self.paused and not stalled:
                self.work(budget)
                if budget and self.trials() >= budget:
                    break
            time.sleep(plan.tick)
            if plan.exit_at and self.done["ticks"] == plan.exit_at:
                if plan.status < 0:
                    os.kill(os.getpid(), -plan.status)
                return plan.status
        self.write_stats()
        return 0

    def open_block(self) -> Any:
        # Of the package that is under test: the supervisor has put it on the path.
        from fuzztui.engines.text.block import BLOCK, StatsBlock, Writer

        return Writer(self.dir / BLOCK, StatsBlock(0.25, 0.75, 0.0))

    def trials(self) -> int:
        trials = self.done["ticks"] * self.plan.trials_per_tick
        budget = self.spec["budget_trials"]
        return min(trials, budget) if budget else trials

    def work(self, budget: int) -> None:
        self.done["ticks"] += 1
        ticks = self.done["ticks"]
        plan = self.plan
        if self.block:
            block = self.block.block
            block.trials = self.trials()
            arm = block.arms[ticks % len(block.arms)]
            arm.tried, arm.applied, arm.found = arm.tried + 10, arm.applied + 7, arm.found + 1
            self.block.publish()
        if plan.entry_every and ticks % plan.entry_every == 0 and self.entries < plan.entries:
            name = f"id:{self.entries:06d},src:000000,time:{ticks},execs:{self.trials()},op:havoc"
            self.save("queue", name)
            self.emit(k="entry_described", instance="x", id=self.entries, edges=self.entries)
            self.entries += 1
        if ticks in plan.crash_at:
            name = f"id:{self.crashes:06d},src:000000,time:{ticks},execs:{self.trials()},op:havoc"
            self.save("crashes", name)
            self.emit(
                k="finding_described",
                instance="x",
                category="crash",
                file=f"crashes/{name}",
                signature=f"sig{self.crashes}",
                title="[/x] \x1b[31mboom",
            )
            self.crashes += 1
        if ticks <= plan.mutants and plan.killed_by in ("*", self.spec["instance"]):
            self.judge(f"m{ticks - 1}", "killed")
        self.write("fake.json", json.dumps(self.done))
        if ticks % 5 == 0:
            self.write_stats()

    def judge(self, mutant: str, state: str) -> None:
        self.emit(k="mutant_state", instance="x", id=mutant, state=state)

    def save(self, directory: str, name: str) -> None:
        temporary = self.dir / "saving"
        temporary.write_bytes(b"input " + name.encode())
        temporary.rename(self.dir / directory / name)

    def write(self, name: str, text: str) -> None:
        temporary = self.dir / (name + ".tmp")
        temporary.write_text(text)
        temporary.rename(self.dir / name)

    def write_stats(self) -> None:
        figures = {
            "fuzzer_pid": os.getpid(),
            "execs_done": self.trials(),
            "execs_per_sec": "inf" if self.done["ticks"] < 10 else "500.0",
            "corpus_count": self.entries,
            "saved_crashes": self.crashes,
            "saved_hangs": 0,
            "edges_found": self.entries,
            "total_edges": 1000,
            "stability": "100.00%",
        }
        self.write("fuzzer_stats", "".join(f"{k:<18}: {v}\n" for k, v in figures.items()))

    def emit(self, **event: object) -> None:
        line = json.dumps(event).encode() + b"\n"
        fd = os.open(self.dir / "events.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, line)
        os.close(fd)

    def obey(self) -> None:
        control = self.dir / "control.jsonl"
        lines = control.read_bytes().split(b"\n")[:-1] if control.exists() else []
        for number, line in enumerate(lines):
            try:
                message = json.loads(line)
            except ValueError:
                continue  # torn
            command = message["command"]
            if command["c"] in ("pause", "resume"):
                self.paused = command["c"] == "pause"
            if number < self.done["answered"]:
                continue
            self.done["answered"] = number + 1
            self.write("fake.json", json.dumps(self.done))
            if command["c"] == "skip-mutants" and command["select"] != "absent":
                self.judge(command["select"], "skipped")
                self.answer(message["id"], "1 mutant skipped")
            elif command["c"] == "mixture":
                self.mix(command)
                self.answer(message["id"], "as you like")
            elif command.get("entry", 0) > 999_999 or command.get("select") == "absent":
                self.emit(
                    k="command_rejected", id=message["id"], instance="", reason="no such entry"
                )
            else:
                self.answer(message["id"])

    def mix(self, command: dict[str, Any]) -> None:
        block = self.block.block
        block.havoc, block.text, block.splice = (command[c] for c in ("havoc", "text", "splice"))
        block.adaptive = command.get("adaptive", False)
        self.block.publish(settings=True)

    def answer(self, command_id: str, detail: str = "") -> None:
        self.emit(
            k="command_applied", id=command_id, instance="", trial=self.trials(), detail=detail
        )

    def _told_to_finish(self, *_: object) -> None:
        self.finish_by = self.finish_by or time.time() + self.plan.finish_s

    def _told(self, *_: object) -> None:
        self.stopping = True


if __name__ == "__main__":
    sys.exit(Engine(Path(sys.argv[1])).run())
