"""What a mutant costs: fuzztui's exact score against mutmut 3 and cosmic-ray.

All three mutate the same package (tomli, pure Python) and run the same ``--inputs`` documents
on every mutant, until one kills it. For the peers the documents are the package's test suite:
one test that compares what is parsed with what was parsed before. CPU time of everything that
is started, by the number of mutants that were tried; each alone, one worker.

    python -m pip install -e '.[bench]'
    python experiments/mu2_peers.py --inputs 60

The peers are those of ``--python``; one that is not installed there is skipped.
Goal: at least 50 times cheaper a mutant than mutmut.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.figures import table
from lab.options import parse
from lab.peers import installed
from lab.rows import Rows
from lab.runs import Instance, queue_of, score
from lab.subjects import Subject, choose
from lab.tomllib_harness import document

from fuzztui.engines.inputs.inputs import GeneratedInput

MODULES = {"mutmut": "mutmut", "cosmic-ray": "cosmic_ray"}
GOAL = 50

TEST = """
import json, pathlib
import pytest
import tomli
HERE = pathlib.Path(__file__).parent
CASES = json.loads((HERE / "cases.json").read_text())
def outcome(text):
    try:
        return repr(tomli.loads(text))
    except tomli.TOMLDecodeError as e:
        return "TOMLDecodeError"
def test_all():
    for text, expected in CASES:
        assert outcome(text) == expected
"""
EXPECT = """
import json, sys
import tomli
def outcome(text):
    try:
        return repr(tomli.loads(text))
    except tomli.TOMLDecodeError as e:
        return "TOMLDecodeError"
print(json.dumps([[text, outcome(text)] for text in json.load(sys.stdin)]))
"""
MUTMUT = """[tool.mutmut]
source_paths = ["tomli/"]
only_mutate = {only}
pytest_add_cli_args_test_selection = ["tests/"]
"""
COSMIC = """[cosmic-ray]
module-path = "{module}"
timeout = 10.0
excluded-modules = []
test-command = "{python} -m pytest -x -q -p no:cacheprovider tests"
[cosmic-ray.distributor]
name = "local"
"""


@dataclass(frozen=True)
class Cost:
    """CPU seconds for so many mutants, and how many of them died."""

    name: str
    cpu_s: float
    mutants: int
    killed: int

    @property
    def ms(self) -> float:
        return 1000 * self.cpu_s / max(1, self.mutants)


def cpu_of(argv: list[str], folder: Path, limit_s: float) -> tuple[float, str]:
    """CPU seconds of a command and all that it waited for; what it printed.

    Raises SystemExit when it fails; a time limit only ends it (SIGINT: the peers keep what
    they have).
    """
    before = os.times()
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "", "CI": "1"}
    done = subprocess.run(
        ["timeout", "-s", "INT", "-k", "20", str(limit_s), *argv],
        cwd=folder, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    after = os.times()
    text = done.stdout + done.stderr
    if done.returncode not in (0, 124, 130, 137):
        raise SystemExit(f"{' '.join(argv)}: exit status {done.returncode}\n{text[-3000:]}")
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system, text


def project(python: Path, folder: Path, inputs: list[str], module: str) -> None:
    """tomli's sources without its compiled twin, and the inputs as a test suite.

    ``module``: the one that is mutated; an empty string: all of them.
    """
    code = "import tomli, pathlib; print(pathlib.Path(tomli.__file__).parent)"
    found = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    (folder / "tomli").mkdir(parents=True)
    for file in Path(found.stdout.strip()).glob("*.py"):
        shutil.copy(file, folder / "tomli")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_tomli.py").write_text(TEST)
    expected = subprocess.run([python, "-c", EXPECT], input=json.dumps(inputs), cwd=folder,
                              check=True, capture_output=True, text=True)  # fmt: skip
    (folder / "tests" / "cases.json").write_text(expected.stdout)
    one = f"tomli/{module}.py" if module else ""
    (folder / "pyproject.toml").write_text(MUTMUT.format(only=[one] if one else []))
    (folder / "cosmic.toml").write_text(COSMIC.format(python=python, module=one or "tomli"))
    (folder / "conftest.py").write_text("")


def mutmut(python: Path, folder: Path, limit_s: float) -> Cost:
    spent, text = cpu_of(
        [str(python), "-m", "mutmut", "run", "--max-children", "1"], folder, limit_s
    )
    marks = re.findall(r"(\d+)/(\d+)\s+\S+ (\d+)", text)
    if not marks:
        raise SystemExit(f"mutmut said nothing of mutants:\n{text[-3000:]}")
    done, _, killed = map(int, marks[-1])
    return Cost("mutmut", spent, done, killed)


def cosmic_ray(python: Path, folder: Path, limit_s: float) -> Cost:
    tool = str(python.parent / "cosmic-ray")
    first, _ = cpu_of([tool, "init", "cosmic.toml", "session.sqlite"], folder, 600)
    spent, _ = cpu_of([tool, "exec", "cosmic.toml", "session.sqlite"], folder, limit_s)
    _, dump = cpu_of([tool, "dump", "session.sqlite"], folder, 600)
    results = [json.loads(line)[1] for line in dump.splitlines() if line.startswith("[")]
    done = [r for r in results if r]
    return Cost("cosmic-ray", first + spent, len(done), sum("killed" in str(r) for r in done))


def ours(python: Path, folder: Path, inputs: list[str], module: str) -> Cost:
    """The exact score of a folder of the inputs, as ``fuzztui score`` makes it."""
    corpus = folder / "corpus"
    corpus.mkdir()
    for n, text in enumerate(inputs):
        (corpus / f"{n:04}").write_text(text, newline="")
    subject = Subject("tomli", "Gson", "tomli:loads", ("tomli",), ("tomli.TOMLDecodeError",),
                      path=(str(folder),),
                      mutate=(f"tomli.{module}",) if module else ())  # fmt: skip
    instance = Instance(subject, "mu2", folder, python=str(python))
    instance.spec()
    before = os.times()
    found = score(instance, corpus)
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    return Cost("fuzztui", spent, found.total - found.invalid, len(found.killed))


def documents(count: int) -> list[str]:
    """Distinct TOML documents: a queue of zest, and fresh ones if it is too short."""
    rng = random.Random(1)
    form = GeneratedInput(document, 10240, rng.randbytes)
    queue = queue_of(choose("tomllib")[0], 2000)
    texts = {str(form.build(data)): None for data in [*queue, *[b""] * 2 * count]}
    return [text.encode("utf-8", "replace").decode() for text in texts][:count]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="the peers' interpreter")
    parser.add_argument("--inputs", type=int, default=60)
    parser.add_argument("--module", default="", help="mutate this one only: _re, _parser, _types")
    parser.add_argument("--limit", type=float, default=600, help="wall seconds for each peer")
    parser.add_argument("--cosmic-limit", type=float, help="of cosmic-ray (default: --limit)")
    parser.add_argument("--only", default="", help="peers whose name contains this")
    args = parse(parser, "mu2_peers", inputs=3, limit=60, cosmic_limit=5, module="_re")
    kept = Rows("mu2_peers", args.results)
    python = Path(args.python).absolute()
    peers = installed(args.python, {k: v for k, v in MODULES.items() if args.only in k})
    inputs = documents(args.inputs)
    with tempfile.TemporaryDirectory(prefix="mu2-peers-") as directory:
        root = Path(directory).resolve()
        project(python, root / "ours", inputs, args.module)
        costs = [ours(python, root / "ours", inputs, args.module)]
        kept.add(inputs=len(inputs), **asdict(costs[0]))
        for name, peer in (("mutmut", mutmut), ("cosmic-ray", cosmic_ray)):
            if name in peers:
                folder = root / name
                project(python, folder, inputs, args.module)
                own = args.cosmic_limit if peer is cosmic_ray else None
                costs.append(peer(python, folder, own or args.limit))
                kept.add(inputs=len(inputs), **asdict(costs[-1]))
                print(f"{name} done", file=sys.stderr)
    base = costs[0].ms
    print(f"tomli, {len(inputs)} inputs, one worker each")
    rows = [
        [c.name, c.mutants, c.killed, f"{c.cpu_s:.1f}", f"{c.ms:.2f}", f"{c.ms / base:.0f}x"]
        for c in costs
    ]
    print(table(["", "mutants", "killed", "CPU s", "ms a mutant", "to fuzztui"], rows))
    times = next((c.ms / base for c in costs if c.name == "mutmut"), 0.0)
    print(f"the goal (mutmut >= {GOAL}x) is {'met' if times >= GOAL else 'not met'}")
    sys.exit(0 if times >= GOAL or args.smoke else 1)


if __name__ == "__main__":
    main()
