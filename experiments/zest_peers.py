"""zest against atheris and HypoFuzz: equal time, same target, same seeds, same interpreter.

Every engine runs alone, one process, for ``--seconds``; then every corpus is replayed
under *our* instrumentation and the branches that it covers are counted. Repeated with
``--repeat`` seeds; medians are shown.

    python -m pip install -e '.[bench]'
    python experiments/zest_peers.py --seconds 30

The peers are those of ``--python``; one that is not installed there is skipped.

Goal: at least the branches of atheris at equal time on the majority of targets.

atheris runs with its own instrumentation of the same packages; exceptions are caught
in its harness, so that it continues after a failure as zest does. HypoFuzz keeps no
corpus of inputs that could be read, so its harness notes every input that it runs
(a cost of about 2 us on its more than 300). It does not run explicit examples either,
so the seeds, given as ``@example``, do not reach it: its column starts from nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from lab.options import parse
from lab.peers import installed
from lab.rows import Rows
from lab.zest_targets import TARGETS, Target

REPOSITORY = Path(__file__).resolve().parent.parent

ATHERIS = """
import sys, atheris
with atheris.instrument_imports(include={include!r}):
    import bench_target
def one(data):
    try:
        bench_target.target(data.decode("utf-8", "replace"))
    except Exception:
        pass
atheris.Setup(sys.argv, one)
atheris.Fuzz()
"""

HYPOFUZZ = """
import struct
from hypothesis import example, given, settings, strategies as st
import bench_target
noted = open({noted!r}, "ab", buffering=0)
@settings(deadline=None)
@given(st.text())
{examples}
def test_target(text):
    data = text.encode("utf-8", "replace")
    noted.write(struct.pack("<I", len(data)) + data)
    try:
        bench_target.target(text)
    except Exception:
        pass
"""

REPLAY = """
import json, os, random, signal, struct, sys
from pathlib import Path
from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.execute.executor import Executor
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.inputs.inputs import TextInput
import importlib
include = json.loads(sys.argv[1])
coverage, guard, table = CoverageMap(), Guard(5.0), EdgeTable()
application = Application(include, (), table, coverage, guard)
application.install()
target = importlib.import_module("bench_target").target
executor = Executor(target, TextInput(), (Exception,), coverage=coverage, guard=guard,
                    fixture=Fixture(Path.cwd()))
guard.arm()
def covered(inputs):
    seen = 0
    for data in inputs:
        seen |= executor.run(data).observed
    return coverage.count(seen)
def files(folder):
    return (p.read_bytes() for p in Path(folder).rglob("*") if p.is_file())
def noted(file):
    data, at = Path(file).read_bytes(), 0
    while at + 4 <= len(data):
        (n,) = struct.unpack_from("<I", data, at)
        yield data[at + 4 : at + 4 + n]
        at += 4 + n
out = {}
for name, kind, path in json.loads(sys.argv[2]):
    out[name] = covered(files(path) if kind == "files" else noted(path))
out["total"] = table.reachable
print(json.dumps(out))
"""


class Bench:
    """One target in a folder of its own."""

    def __init__(self, target: Target, root: Path, python: str, seconds: float) -> None:
        self.target, self.root, self.python, self.seconds = target, root, python, seconds
        root.mkdir(parents=True)
        (root / "bench_target.py").write_text(target.code)
        seeds = root / "seeds"
        seeds.mkdir()
        for i, seed in enumerate(target.seeds):
            (seeds / str(i)).write_text(seed)
        package = root / "pkg"
        package.mkdir()
        (package / "fuzztui").symlink_to(REPOSITORY / "fuzztui")
        path = os.pathsep.join([str(package), str(root)])
        self.env = os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": "0"}

    def run(self, argv: list[str], log: str, timeout: float = 0) -> str:
        file = self.root / log
        with file.open("wb") as out:
            process = subprocess.Popen(
                argv,
                cwd=self.root,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
            try:
                process.wait(timeout or self.seconds + 120)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # HypoFuzz has children
                process.wait()
        return file.read_text(errors="replace")

    def zest(self, seed: int, coverage: str) -> int:
        directory = self.root / f"zest-{coverage}"
        directory.mkdir()
        spec = {
            "proto": 1, "instance": directory.name, "dir": str(directory),
            "sync_dir": str(directory), "seed": seed, "budget_s": self.seconds,
            "engine": {"kind": "zest", "seeds": [str(self.root / "seeds")], "coverage": coverage},
            "target": {"function": "bench_target:target", "include": list(self.target.include),
                       "input": "text", "expected": list(self.target.expected), "timeout_s": 5},
        }  # fmt: skip
        (directory / "spec.json").write_text(json.dumps(spec))
        argv = [self.python, "-P", "-m", "fuzztui.engines", str(directory / "spec.json")]
        self.run(argv, f"{directory.name}.log")
        stats = (directory / "fuzzer_stats").read_text()
        found = re.search(r"execs_done\s*: (\d+)", stats)
        return int(found[1]) if found else 0

    def atheris(self, seed: int) -> int:
        (self.root / "fuzz_atheris.py").write_text(
            ATHERIS.format(include=list(self.target.include))
        )
        (self.root / "atheris").mkdir()
        argv = [self.python, "fuzz_atheris.py", "atheris", "seeds", "-max_len=10240"]
        argv += [f"-max_total_time={int(self.seconds)}", f"-seed={seed + 1}", "-timeout=5"]
        said = self.run([*argv, "-print_final_stats=1", "-rss_limit_mb=0"], "atheris.log")
        found = re.search(r"number_of_executed_units:\s*(\d+)", said)
        return int(found[1]) if found else 0

    def hypofuzz(self) -> int:
        noted = self.root / "noted"
        noted.touch()
        examples = "\n".join(f"@example({seed!r})" for seed in self.target.seeds)
        (self.root / "test_bench.py").write_text(
            HYPOFUZZ.format(noted=str(noted), examples=examples)
        )
        hypothesis = str(Path(self.python).parent / "hypothesis")
        argv = [hypothesis, "fuzz", "--numprocesses", "1", "--no-dashboard"]
        self.run([*argv, "--", "test_bench.py"], "hypofuzz.log", self.seconds)
        return sum(1 for _ in _frames(noted))

    def branches(self, modes: list[str], peers: list[str]) -> dict[str, int]:
        corpora = [(f"zest-{m}", "files", str(self.root / f"zest-{m}" / "queue")) for m in modes]
        corpora += [("seeds", "files", str(self.root / "seeds"))]
        if "atheris" in peers:
            corpora += [("atheris", "files", str(self.root / "atheris"))]
        if "hypofuzz" in peers:
            corpora += [("hypofuzz", "noted", str(self.root / "noted"))]
        argv = [self.python, "-c", REPLAY, json.dumps(self.target.include), json.dumps(corpora)]
        said = self.run(argv, "replay.log", 600)
        found: dict[str, int] = json.loads(said.splitlines()[-1])
        return found


def _frames(file: Path) -> list[int]:
    data, at, sizes = file.read_bytes(), 0, []
    while at + 4 <= len(data):
        (n,) = struct.unpack_from("<I", data, at)
        sizes.append(n)
        at += 4 + n
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="the peers' interpreter")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--only", default="", help="targets whose name contains this")
    parser.add_argument("--counts", action="store_true", help="also zest with hit counts")
    parser.add_argument("--no-hypofuzz", action="store_true")
    args = parse(parser, "zest_peers", seconds=1.0, only="tomllib")
    rows = Rows("zest_peers", args.results)
    modes = ["edges", "counts"] if args.counts else ["edges"]
    wanted = {"atheris": "atheris"} | ({} if args.no_hypofuzz else {"hypofuzz": "hypofuzz"})
    peers = installed(args.python, wanted)
    engines = [f"zest-{m}" for m in modes] + peers
    print(f"{args.seconds:g} s each, {args.repeat} repetitions: branches (executions per second)")
    print("".join(f"{head:>20}" for head in ["target (of)", "seeds", *engines]))
    wins = 0
    targets = [t for t in TARGETS if args.only in t.name]
    for target in targets:
        found: dict[str, list[int]] = {}
        rates: dict[str, list[float]] = {}
        for seed in range(args.repeat):
            root = Path(tempfile.mkdtemp(prefix="zest-peers-"))
            bench = Bench(target, root / "bench", args.python, args.seconds)
            for mode in modes:
                rates.setdefault(f"zest-{mode}", []).append(bench.zest(seed, mode) / args.seconds)
            if "atheris" in peers:
                rates.setdefault("atheris", []).append(bench.atheris(seed) / args.seconds)
            if "hypofuzz" in peers:
                rates.setdefault("hypofuzz", []).append(bench.hypofuzz() / args.seconds)
            branches = bench.branches(modes, peers)
            for name, count in branches.items():
                found.setdefault(name, []).append(count)
            rows.add(target=target.name, seed=seed, seconds=args.seconds, branches=branches,
                     rates={name: of[-1] for name, of in rates.items()},
                     skipped=[peer for peer in wanted if peer not in peers])  # fmt: skip
            shutil.rmtree(root, ignore_errors=True)
        middle = {name: statistics.median(counts) for name, counts in found.items()}
        cells = [f"{target.name} ({middle['total']:g})", f"{middle['seeds']:g}"]
        cells += [f"{middle[e]:g} ({statistics.median(rates[e]):.0f}/s)" for e in engines]
        print("".join(f"{cell:>20}" for cell in cells), flush=True)
        wins += middle["zest-edges"] >= middle.get("atheris", 0)
    if "atheris" in peers:
        print(f"zest covers at least what atheris does on {wins} of {len(targets)} targets")
    sys.exit(0 if 2 * wins > len(targets) or args.smoke else 1)


if __name__ == "__main__":
    main()
