"""A campaign on two real hosts against the same number of instances on one machine.

    python benchmarks/hosts.py [--seconds 120] [--repeat 3] [--commands 50] [--samples SAMPLE...]

Needs root: the hosts are network namespaces of this machine, each with its own sshd and disk
(``tests/helpers/host_lab``), so both sides have the same cores. For each sample and repetition, in
alternating order:

* ``one``: four instances here, under an ordinary supervisor;
* ``two``: two hosts with two instances each, under a hub.

Reported: edges, killed mutants, executions and mutants' turns (of fuzz-first) of ``two`` over
``one``; bytes that passed the links; seconds from an entry of one host's main to its import by the
other's; and seconds from a command to its answer, here and at the hub (median and 95th percentile).
Bytes count after the first third: fuzztui and the campaign are sent before.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lab.options import parse
from lab.rows import Rows

PYTHON = "/usr/bin/python3"
"""The interpreter that hosts use by default: the same one here."""

SAMPLES = ["tomllib-zest", "tomllib-mu2", "slips-fuzzfirst"]

FUZZ_FIRST = (
    "mutants.use=parallel",
    "mutants.per_mutant=5s",
    "mutants.share=0.9",
    "stop.crashes=0",
)
"""Keys for samples of fuzz-first: as many mutants at a time as instances."""

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))


def campaign(
    directory: Path,
    sample: str,
    name: str,
    *,
    seconds: float,
    hosts: list[str],
    env: dict[str, str],
) -> Path:
    """Start a campaign of a sample, four instances in all; return its run directory."""
    argv = [sys.executable, "-m", "fuzztui", f"{sample}.toml", "--detach", "--new"]
    argv += [
        "--set",
        f"campaign.budget={seconds:.0f}s",
        "--set",
        f"campaign.output={directory / name}",
    ]
    if sample.endswith("fuzzfirst"):
        argv += [word for key in FUZZ_FIRST for word in ("--set", key)]
    if hosts:
        for host in hosts:
            argv += ["--host", f"{host}*2"]
    else:
        argv += ["--set", "engine.instances=4", "--set", f"target.python={PYTHON}"]
    subprocess.run(argv, cwd=directory, env=env, check=True, stderr=subprocess.DEVNULL)
    return directory / name


def wait(run: Path, seconds: float) -> Any:
    """Wait for the end; return the state."""
    from fuzztui.kernel.session import state_at_end

    deadline = time.monotonic() + seconds * 3 + 60
    while time.monotonic() < deadline:
        state = state_at_end(run)
        if state.state in ("finished", "stopped", "failed"):
            return state
        time.sleep(0.5)
    raise SystemExit(f"{run}: did not end")


def result(state: Any) -> dict[str, float]:
    """What the campaign has reached."""
    from fuzztui.kernel.model.selectors import totals

    stats = totals(state).stats
    kills = sum(m.state == "killed" for m in state.mutants.values())
    turns = sum(m.stage == "done" for m in state.mutants.values())
    return {"edges": stats.edges, "kills": kills, "execs": stats.execs, "turns": turns}


def travelled(run: Path) -> dict[str, list[float]]:
    """Seconds from an entry of a main in the hub's log to its import by another host's main."""
    from fuzztui.kernel.log.reader import LogReader
    from fuzztui.kernel.wire.events import EntrySaved

    found: dict[tuple[str, int], float] = {}
    imports: list[float] = []
    for record in LogReader(run).records():
        event = record.event
        if not isinstance(event, EntrySaved):
            continue
        if not event.sync:
            found[event.instance, event.id] = record.t
        elif event.instance.endswith("_main") and event.src:
            began = found.get((event.sync, event.src[0]))
            if began is not None:
                imports.append(record.t - began)
    return {"import_s": imports}


def commands(run: Path, count: int, instances: list[str]) -> list[float]:
    """Seconds from a command to its answer, to these instances in turn."""
    from fuzztui.kernel.remote.client import ControlClient
    from fuzztui.kernel.wire.commands import PromoteEntry

    client, took = ControlClient(run, "bench"), []
    for number in range(count):
        began = time.perf_counter()
        client.send(PromoteEntry(1, instances[number % len(instances)]))
        took.append(time.perf_counter() - began)
        time.sleep(0.1)
    client.close()
    return took


def link_bytes() -> int:
    """Bytes that have passed the hosts' links, both ways."""
    total = 0
    for path in Path("/sys/class/net").iterdir():
        if path.name.startswith("fz") and (path / "brport").exists():
            for way in ("rx_bytes", "tx_bytes"):
                total += int((path / "statistics" / way).read_text())
    return total


def quantiles(values: list[float]) -> list[float]:
    """Median and 95th percentile."""
    if len(values) < 2:
        return [*values, *values]
    ordered = sorted(values)
    return [statistics.median(ordered), ordered[int(0.95 * (len(ordered) - 1))]]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--commands", type=int, default=50)
    parser.add_argument("--samples", nargs="+", default=SAMPLES)
    options = parse(parser, "hosts", seconds=20.0, repeat=1, commands=3, samples=["tomllib-zest"])
    os.environ.setdefault("FUZZTUI_TESTS_SHARED", tempfile.mkdtemp())
    from host_lab import Hosts  # type: ignore[import-not-found]

    rows = Rows("hosts", options.results)
    with tempfile.TemporaryDirectory() as tmp, Hosts(2, Path(tmp)) as hosts:
        env = {**os.environ, **hosts.env()}
        work = Path(tmp) / "work"
        shutil.copytree(ROOT / "sample_campaigns", work, symlinks=False)
        for sample in options.samples:
            for turn in range(options.repeat):
                reached: dict[str, dict[str, float]] = {}
                for side in ("one", "two") if turn % 2 == 0 else ("two", "one"):
                    at = [*hosts] if side == "two" else []
                    run = campaign(
                        work,
                        sample,
                        f"{sample}-{side}-{turn}",
                        seconds=options.seconds,
                        hosts=at,
                        env=env,
                    )
                    row: dict[str, Any] = {"sample": sample, "side": side, "turn": turn}
                    time.sleep(options.seconds / 3)
                    before, began = link_bytes(), time.monotonic()
                    names = [f"{host}_main" for host in at] or ["main", "s1"]
                    row["answer_s"] = quantiles(commands(run, options.commands, names))
                    reached[side] = result(wait(run, options.seconds))
                    row |= reached[side]
                    if at:
                        row["link_bytes_h"] = (
                            (link_bytes() - before) / (time.monotonic() - began) * 3600
                        )
                        row["import_s"] = quantiles(travelled(run)["import_s"])
                    rows.add(**row)
                    print(json.dumps(row), flush=True)
                ratios = {
                    key: round(reached["two"][key] / reached["one"][key], 4)
                    for key in ("edges", "kills", "execs", "turns")
                    if reached["one"][key] > 0
                }
                print(
                    json.dumps({"sample": sample, "turn": turn, "two over one": ratios}), flush=True
                )


if __name__ == "__main__":
    main()
