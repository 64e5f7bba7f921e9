"""From a command to its being applied: a real campaign, its supervisor, its control socket.

Commands for mutants are sent one after another at random moments of a running campaign of
the slowest subject, half of them for one mutant, half for many; the time from sending to the
engine's answer is taken.

    python benchmarks/mu2_steering.py --commands 100

Goal: 95% within 200 ms.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lab.figures import percentile, table
from lab.options import parse
from lab.rows import Rows
from lab.subjects import Subject, choose

from fuzztui.kernel.remote.client import ControlClient, RemoteError
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire.commands import Command, PromoteMutants, RequeueMutants, SkipMutants

GOAL_MS = 200


def campaign(subject: Subject, folder: Path, instances: int) -> Path:
    """A campaign file of the subject."""
    target, engine = subject.target(), subject.engine("mu2", instances=instances)
    file = folder / "steering.toml"
    keys = {
        "campaign": {"name": "steering", "output": str(folder / "run"), "seed": 1},
        "target": {
            k: target[k] for k in ("function", "include", "expected", "generator") if target[k]
        },
        "engine": {k: v for k, v in engine.items() if v},
    }
    lines = []
    for name, values in keys.items():
        lines += [f"[{name}]", *(f"{k} = {json.dumps(v)}" for k, v in values.items()), ""]
    file.write_text("\n".join(lines))
    return file


def selections(run: Path, wait_s: float) -> list[str]:
    """Ids of mutants, as the engine tells them; waits for them."""
    events = run / "out" / "main" / "events.jsonl"
    until = time.monotonic() + wait_s
    while time.monotonic() < until:
        if events.exists():
            lines = [json.loads(x) for x in events.read_text().splitlines() if x.endswith("}")]
            found = [m["id"] for e in lines if e["k"] == "mutants_found" for m in e["mutants"]]
            if found and any(e["k"] == "mutation_stats" for e in lines):
                return found
        time.sleep(0.2)
    raise SystemExit(f"{events}: no mutants within {wait_s:g} s")


def command(rng: random.Random, ids: list[str]) -> Command:
    """One for a mutant, or for all of an operator or function."""
    one = rng.choice(ids)
    select = rng.choice([one, one, f"function={one.split(':')[1]}", "operator=math"])
    return rng.choice([SkipMutants, PromoteMutants, RequeueMutants])(select)


def fuzztui(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "fuzztui", *words], check=False)
    if done.returncode:
        raise SystemExit(f"fuzztui {' '.join(words)}: exit status {done.returncode}")


def measure(subject: Subject, args: argparse.Namespace) -> tuple[list[float], int]:
    """Milliseconds for each command, and how many had nothing to do (the dead stay dead)."""
    rng = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="mu2-steering-") as name:
        folder = Path(name).resolve()
        run = folder / "run"
        fuzztui(str(campaign(subject, folder, args.instances)), "--detach")
        spent, refused = [], 0
        try:
            ids = selections(run, 120)
            time.sleep(args.warm)
            client = ControlClient(run, "benchmark")
            for _ in range(args.commands):
                time.sleep(rng.uniform(0.05, 0.4))
                began = time.perf_counter()
                result = client.send(command(rng, ids), timeout=30)
                spent.append(1000 * (time.perf_counter() - began))
                refused += not result.ok
                if result.pending:
                    raise SystemExit(f"no answer within 30 s: {result.detail}")
            client.close()
        except RemoteError as e:
            raise SystemExit(str(e)) from None
        finally:
            fuzztui("ctl", str(run), "stop")
            while running(run):  # it still writes in the directory that is removed next
                time.sleep(0.05)
    return spent, refused


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--subjects", default="sqlglot")
    parser.add_argument("--commands", type=int, default=100)
    parser.add_argument("--instances", type=int, default=1)
    parser.add_argument("--warm", type=float, default=5, help="seconds before the first command")
    args = parse(parser, "mu2_steering", subjects="tomllib", commands=3, warm=0.5)
    kept = Rows("mu2_steering", args.results)
    rows, met = [], True
    for subject in choose(args.subjects):
        spent, refused = measure(subject, args)
        p50, p95 = percentile(spent, 0.5), percentile(spent, 0.95)
        met = met and p95 < GOAL_MS
        kept.add(subject=subject.name, commands=len(spent), p50_ms=p50, p95_ms=p95)
        rows.append([subject.name, len(spent), refused, f"{p50:.0f}", f"{p95:.0f}",
                     f"{max(spent):.0f}"])  # fmt: skip
    print("From a command to the engine's answer, in ms")
    print(table(["subject", "commands", "of them refused", "p50", "p95", "longest"], rows))
    print(f"the goal (p95 < {GOAL_MS} ms) is {'met' if met else 'not met'}")
    sys.exit(0 if met or args.smoke else 1)


if __name__ == "__main__":
    main()
