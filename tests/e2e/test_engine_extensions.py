"""Extension modules with counters as targets: coverage leads to crashes, which are kept."""

import base64
import json
import subprocess
from pathlib import Path

import pytest
from compiled_extension import COUNTERS, counters, extension
from engine_lab import Lab, events, names, reason, stats, timeless
from waiting import DEADLINE_S

pytestmark = pytest.mark.slow

TRIALS = 100_000
SEGFAULT, ABORT = "was killed by SIGSEGV", "was killed by SIGABRT"

MIXED = """
from ext_mixed import parse

def target(data: bytes):
    if data.startswith(b"+"):
        return parse(data[1:])
    return parse(data) > 4
"""


def spec(lab: Lab, name: str, flags: str = COUNTERS, **keys: object) -> Path:
    """A campaign whose target is an extension module."""
    extension(lab.src, name, flags)
    target = {"input": "bytes", "include": [name], "extensions": [name], "counters": counters()}
    keys = {"budget_trials": TRIALS, "engine": {"max_size": 64}, **keys}
    return lab.spec(f"{name}:parse", target=target, **keys)


def test_coverage_leads_to_crashes_and_each_place_is_one_finding(lab: Lab) -> None:
    directory = lab.finish(spec(lab, "ext_found"))
    found = lab.findings(directory)
    assert {signature.partition("+")[0] for signature in found} == {
        f"{SEGFAULT} @ ext_found.so", f"{ABORT} @ ext_found.so",
    }  # fmt: skip
    files = {
        (directory / "crashes" / name).read_bytes()[:3] for name in names(directory, "crashes")
    }
    assert files == {b"FUZ", b"BUG"}
    assert lab.counted(directory) == TRIALS
    assert int(stats(directory)["edges_found"]) > 10
    blind = lab.spec(
        "ext_found:parse",
        "blind",
        target={"input": "bytes", "include": ["textwrap"]},
        budget_trials=TRIALS,
    )
    extension(lab.src, "ext_found")
    assert not names(lab.finish(blind), "crashes")
    (warning,) = lab.messages(blind.parent, "warning")
    assert "ext_found" in warning and "clang" in warning
    assert 'target.extensions = ["ext_found"]' in warning


SIGNATURE = """
import sys
from pathlib import Path
from fuzztui.engines.base.spec import read_spec
from fuzztui.engines.process.input_runner import InputRunner
spec = read_spec(Path(sys.argv[1]))
runner = InputRunner(spec, spec.dir)
Path(sys.argv[2]).write_text(runner.run(b"").signature + runner.run(b"FUZ+").signature)
"""


def test_a_finding_recurs_and_is_made_smaller(lab: Lab) -> None:
    file = spec(lab, "ext_smaller", "-fsanitize-coverage=trace-pc-guard")
    directory = lab.finish(file)
    status, said = lab.repro(file, b"FUZ+++++")
    assert status and "SIGSEGV" in said
    done = lab.ask(file, "--minimise", lab.root / "input")
    best = [
        answer["best"] for answer in map(json.loads, done.stdout.splitlines()) if "best" in answer
    ]
    assert base64.b64decode(best[-1]) == b"FUZ"
    argv = [lab.python, "-c", SIGNATURE, str(file), str(lab.root / "signature")]
    subprocess.run(argv, env=lab.env, check=True, timeout=DEADLINE_S)
    (segfault,) = (found for found in lab.findings(directory) if SEGFAULT in found)
    assert (lab.root / "signature").read_text() == segfault


@pytest.mark.parametrize("kind", ["zest", "text", "mu2"])
def test_engines_repeat_a_run_and_continue_it(lab: Lab, kind: str) -> None:
    lab.write("mixed.py", MIXED)
    extension(lab.src, "ext_mixed", COUNTERS)
    target = {
        "include": ["mixed", "ext_mixed"],
        "extensions": ["ext_mixed"],
        "counters": counters(),
    }
    engine = {"kind": kind, "max_size": 64}

    def run(instance: str, trials: int) -> Path:
        keys = {"budget_trials": trials, "sync_dir": str(lab.root / instance)}
        file = lab.spec("mixed", instance, target=target, engine=engine, **keys)
        data = json.loads(file.read_text())
        data["instance"] = "main"  # which decides about trials
        file.write_text(json.dumps(data))
        return lab.finish(file)

    first = run("one", 3_000)
    assert len(timeless(first)) > 5
    assert timeless(run("two", 3_000)) == timeless(first)
    edges = (first / "edges.json").read_bytes()
    shown = {e["id"]: e["edges"] for e in events(first, "entry_described")}
    run("one", 4_000)
    assert (first / "edges.json").read_bytes() == edges
    again = {e["id"]: e["edges"] for e in events(first, "entry_described")}
    assert again.items() >= shown.items()


def test_an_extension_with_counters_that_is_not_named_says_so(lab: Lab) -> None:
    extension(lab.src, "ext_unnamed", COUNTERS)
    file = lab.spec("ext_unnamed:parse", target={"include": ["ext_unnamed"]}, budget_trials=1)
    assert lab.run(file) == 3
    assert "name it in target.extensions" in reason(file.parent)
