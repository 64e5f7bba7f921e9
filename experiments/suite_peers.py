"""A project's Hypothesis tests: cells covered by ``fuzztui test``, by pytest and by HypoFuzz.

pytest runs each test with ten times its examples. The CPU time that this takes, loading included,
is the budget of fuzztui and of HypoFuzz (with ``--cpu`` another one). All of them count the cells
of fuzztui's instrumentation, from the end of the collection on. HypoFuzz (licence: non-commercial)
must be installed for ``--python``; without it, it is left out.

    python experiments/suite_peers.py --python venv/bin/python --repeat 5 \\
        attrs-26.1.0:tests:attr,attrs cattrs-26.2.1:tests:cattrs hpack-4.2.0:tests:hpack

Each project is DIRECTORY:TESTS:PACKAGES, an unpacked source package. Goal: no fewer cells than
either on any project (medians).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
from lab.options import parse
from lab.rows import Rows

import fuzztui
from fuzztui.features.targeting.run_constants import keep_constants
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir

LAB = Path(__file__).resolve().parent / "lab"
PACKAGE = Path(fuzztui.__file__).resolve().parent

TOOLS = ("pytest", "fuzztui", "hypofuzz")

SAMPLE = """\
from hypothesis import given, settings
from hypothesis import strategies as st
import suite_sample


@settings(max_examples=10)
@given(st.text())
def test_sample(text):
    suite_sample.parse(text)
"""
SAMPLE_MODULE = """\
def parse(text):
    if len(text) > 3:
        if text.startswith("(") and text.endswith(")"):
            return text[1:-1]
    return text
"""


@dataclass(frozen=True)
class Project:
    """An unpacked source package."""

    root: Path
    tests: str
    include: str

    @classmethod
    def parse(cls, text: str) -> Project:
        """Read DIRECTORY:TESTS:PACKAGES."""
        root, tests, include = text.split(":")
        return cls(Path(root).absolute(), tests, include)

    @property
    def path(self) -> list[str]:
        """Where its packages are."""
        return [str(p) for p in (self.root / "src", self.root) if p.is_dir()]


class Bench:
    """Runs one tool on one project."""

    def __init__(self, python: str, work: Path) -> None:
        self._python, self._work = python, work
        (work / "fuzztui").symlink_to(PACKAGE)

    def run(self, tool: str, project: Project, seed: int, cpu_s: float) -> dict[str, Any]:
        """The figures of one run. ``cpu_s``: 0: as long as the tool takes."""
        place = self._work / f"{project.root.name}-{tool}-{seed}"
        place.mkdir()
        if tool == "fuzztui":
            return self._fuzztui(place, project, seed, cpu_s)
        out = place / "cells.json"
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self._work), str(LAB), *project.path]),
            "SUITE_INCLUDE": project.include,
            "SUITE_OUT": str(out),
            "SUITE_CPU_S": str(cpu_s if tool == "hypofuzz" else 0),
            "SUITE_TIMES": "10" if tool == "pytest" else "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(place / "hypothesis"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        plugin = ["-p", "suite_probe", "-p", "no:cacheprovider", "-o", "addopts="]
        tests = str(project.root / project.tests)
        if tool == "pytest":
            command = ["-m", "pytest", "-q", *plugin, f"--hypothesis-seed={seed}", tests]
        else:
            words = ["fuzz", "-n", "1", "--no-dashboard", "--", *plugin, tests]
            command = ["-c", "from hypothesis.extra.cli import main; main()", *words]
        log = place / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [self._python, *command], cwd=project.root, env=env, stdin=subprocess.DEVNULL,
                stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip
        # HypoFuzz does not end by itself when its worker has ended.
        while process.poll() is None and not list(place.glob("*.done")):
            time.sleep(0.5)
            if tool == "hypofuzz" and b"\nProcess Process-" in log.read_bytes():
                break  # its worker has died of an exception; the hub waits for ever
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not (found := list(place.glob("*.done"))):
            if tool == "hypofuzz":
                why = log.read_text().strip().rpartition("\n")[2]
                print(f"{project.root.name}: HypoFuzz has ended: {why}", flush=True)
                return {"edges": 0, "cpu_s": 0.0, "failed": [], "error": why}
            raise SystemExit(f"{tool}, {project.root.name}: {log.read_text()}")
        return dict(json.loads(found[0].read_text()))

    def _fuzztui(self, place: Path, project: Project, seed: int, cpu_s: float) -> dict[str, Any]:
        main = place / "out" / "main"
        main.mkdir(parents=True)
        spec = {
            "proto": 1, "instance": "main", "dir": str(main), "sync_dir": str(main.parent),
            "seed": seed, "budget_trials": 0, "budget_s": 0, "budget_cpu_s": cpu_s,
            "engine": {"kind": "zest"},
            "target": {
                "function": project.tests, "suite": [str(project.root / project.tests)],
                "include": project.include.split(","), "path": project.path,
                "cwd": str(project.root),
            },
        }  # fmt: skip
        self._constants(place, spec)
        (main / "spec.json").write_text(json.dumps(spec))
        log = main / "worker.log"
        with log.open("wb") as file:
            subprocess.run(
                [self._python, "-P", "-m", "fuzztui.engines", str(main / "spec.json")],
                env={**os.environ, "PYTHONPATH": str(self._work)}, stdin=subprocess.DEVNULL,
                stdout=file, stderr=file, check=False,
            )  # fmt: skip
        try:
            text = (main / "fuzzer_stats").read_text()
        except OSError:
            raise SystemExit(f"fuzztui, {project.root.name}: {log.read_text()}") from None
        pairs = (line.partition(":") for line in text.splitlines())
        stats = {name.strip(): value.strip() for name, _, value in pairs}
        found = [json.loads(line) for line in (main / "events.jsonl").read_text().splitlines()]
        failed = {e["property"] for e in found if e["k"] == "finding_described" and "property" in e}
        return {
            "edges": int(stats["edges_found"]),
            "cpu_s": cpu_s,
            "failed": sorted(failed),
            "execs": int(stats["execs_done"]),
        }

    def _constants(self, place: Path, spec: dict[str, Any]) -> None:
        """Have the application's constants read, as a campaign does."""
        text = tomli_w.dumps(
            {
                "target": {
                    "function": spec["target"]["suite"],
                    **{key: spec["target"][key] for key in ("include", "path", "cwd")},
                    "python": self._python,
                },
                "engine": {"kind": "zest"},
            }
        )
        campaign = load(place / "campaign.toml", text=text).campaign
        run = RunDir(place)
        keep_constants(campaign, run, lambda words: None)
        spec["engine"]["constants_file"] = str(run.constants)


def has_hypofuzz(python: str) -> bool:
    """Whether HypoFuzz is installed for an interpreter."""
    done = subprocess.run([python, "-c", "import hypofuzz"], capture_output=True, check=False)
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("projects", nargs="*", help="DIRECTORY:TESTS:PACKAGES")
    parser.add_argument("--python", default=sys.executable, help="has pytest and the projects")
    parser.add_argument("--repeat", type=int, default=3, help="random seeds")
    parser.add_argument("--cpu", type=float, default=0.0, help="seconds; 0: as pytest takes")
    parser.add_argument("--tools", default=",".join(TOOLS), help="default: %(default)s")
    args = parse(parser, "suite_peers", repeat=1, cpu=4.0)
    rows = Rows("suite_peers", args.results)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        bench = Bench(str(Path(args.python).absolute()), work)
        projects = [Project.parse(text) for text in args.projects]
        if not projects:
            root = work / "sample"
            (root / "tests").mkdir(parents=True)
            (root / "tests" / "test_sample.py").write_text(SAMPLE)
            (root / "suite_sample.py").write_text(SAMPLE_MODULE)
            projects = [Project(root, "tests", "suite_sample")]
        tools = [tool for tool in TOOLS if tool in args.tools.split(",")]
        if "hypofuzz" in tools and not has_hypofuzz(args.python):
            tools.remove("hypofuzz")
            print(f"HypoFuzz is not installed for {args.python}: left out")
        if tools[:1] != ["pytest"] and not args.cpu:
            parser.error("--cpu is needed without pytest")
        for project in projects:
            found: dict[str, list[dict[str, Any]]] = {tool: [] for tool in tools}
            for seed in range(args.repeat):
                budget = args.cpu
                for tool in tools:
                    row = bench.run(tool, project, seed, budget)
                    budget = budget or row["cpu_s"]
                    found[tool].append(row)
                    rows.add(project=project.root.name, tool=tool, seed=seed, **row)
            for tool, of in found.items():
                edges = [row["edges"] for row in of]
                cpu = statistics.median(row["cpu_s"] for row in of)
                failed = statistics.median(len(row["failed"]) for row in of)
                print(
                    f"{project.root.name:<20} {tool:<9} {statistics.median(edges):>7g} cells"
                    f" ({min(edges)}-{max(edges)}) in {cpu:.1f} s, {failed:g} tests failed",
                    flush=True,
                )


if __name__ == "__main__":
    main()
