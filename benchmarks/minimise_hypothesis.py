"""Minimising failing examples of ``@given`` tests: calls and results, against Hypothesis' shrinker.

Ten tests with planted bugs (lab/planted.py), each from failing examples found with random choices.
Both start from the same example. Counted are the calls of the test function, of fuzztui with those
that check the finding first. The results are compared by Hypothesis' own order (fewer draws, then
simpler ones), in which both results are the draws of Hypothesis' strategies.

    python benchmarks/minimise_hypothesis.py [--starts 5] [--tests NAME...] [--tries 20000]
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.database import InMemoryExampleDatabase, choices_to_bytes
from hypothesis.internal.reflection import function_digest
from lab import planted
from lab.options import parse
from lab.rows import Rows

from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.strategies.given import GivenTest

_SIZE: Final = 2_000
"""Random bytes of an example; most are not drawn."""


def given_test(name: str) -> GivenTest:
    return GivenTest(name, getattr(planted, name), None)


def run(test: GivenTest, data: bytes) -> tuple[bool, Any, bytes]:
    """Whether the test fails, Hypothesis' data of the example, and the drawn bytes."""
    source = Source(data, 1 << 16, bytes)
    try:
        pending = test.make(source)
        pending.run()
    except Rejected:
        return False, None, b""
    except AssertionError:
        return True, pending.case._data, source.drawn()
    return False, None, b""


def failing(test: GivenTest, starts: int) -> Iterator[bytes]:
    rng = random.Random(test.name)
    while starts:
        failed, _, drawn = run(test, rng.randbytes(_SIZE))
        if failed:
            starts -= 1
            yield drawn


def by_hypothesis(test: GivenTest, data: bytes) -> tuple[int, Any, Any]:
    """Calls, the key of the result, and its values."""
    database = InMemoryExampleDatabase()
    choices = run(test, data)[1].choices
    # An example under the primary key counts as shrunk before.
    key = function_digest(test.function) + b".secondary"
    database.save(key, choices_to_bytes(choices))
    shrinks = settings(
        database=database, deadline=None, phases=[Phase.reuse, Phase.shrink],
        suppress_health_check=list(HealthCheck), print_blob=False, report_multiple_bugs=False,
    )  # fmt: skip
    planted.reset()
    try:
        shrinks(given(**test._strategies)(test.function))()
    except AssertionError:
        return planted.calls(), *planted.smallest
    raise SystemExit(f"{test.name}: Hypothesis did not run the example again")


def by_fuzztui(test: GivenTest, data: bytes, tries: int) -> tuple[int, int, Any, Any]:
    """Calls, runs of any input, the key of the result, and its values."""
    with tempfile.TemporaryDirectory() as place:
        calls, file, spec = (Path(place) / name for name in ("calls", "input", "spec.json"))
        calls.write_bytes(bytes(8))
        file.write_bytes(data)
        target = {"function": f"planted:{test.name}", "path": [str(Path(planted.__file__).parent)]}
        engine = {"kind": "zest"}
        made = {"instance": "main", "dir": place, "target": target, "engine": engine}
        spec.write_text(json.dumps(made))
        argv = [sys.executable, "-P", "-m", "fuzztui.engines", str(spec)]
        argv += ["--minimise", str(file), "--tries", str(tries)]
        env = {**os.environ, "PYTHONHASHSEED": "0", "PLANTED_CALLS": str(calls)}
        done = subprocess.run(argv, env=env, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{test.name}: {done.stderr}")
        best = data
        for line in map(json.loads, done.stdout.splitlines()):
            if "best" in line:
                best = base64.b64decode(line["best"])
        planted.reset()
        failed, _, _ = run(test, best)
        assert failed, test.name
        return int.from_bytes(calls.read_bytes(), "big"), line["tries"], *planted.smallest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--tests", nargs="+", default=list(planted.TESTS), choices=planted.TESTS)
    parser.add_argument("--tries", type=int, default=20_000, help="most runs of fuzztui")
    smoke: dict[str, Any] = {"starts": 1, "tests": ["test_threshold", "test_related"], "tries": 300}
    args = parse(parser, "minimise_hypothesis", **smoke)
    rows = Rows("minimise_hypothesis", args.results)
    print(f"{'':16} {'Hypothesis':>21} {'fuzztui':>21} {'ratio':>21}   worse better  runs")
    print(f"{'test':16}" + 3 * f" {'median (spread)':>21}")
    medians, worse = [], 0
    for name in args.tests:
        test = given_test(name)
        theirs, ours, ratios, runs, results = [], [], [], [], []
        for number, data in enumerate(failing(test, args.starts)):
            their_calls, their_key, their_values = by_hypothesis(test, data)
            our_calls, our_runs, our_key, our_values = by_fuzztui(test, data, args.tries)
            result = (our_key > their_key) - (our_key < their_key)
            rows.add(
                test=name, start=number, hypothesis=their_calls, fuzztui=our_calls, runs=our_runs,
                result=result, hypothesis_values=repr(their_values), values=repr(our_values),
            )  # fmt: skip
            theirs.append(their_calls)
            ours.append(our_calls)
            ratios.append(our_calls / their_calls)
            runs.append(our_runs)
            results.append(result)
            if result > 0:
                print(f"    worse: {our_values!r:.70}, Hypothesis: {their_values!r:.70}")
        medians.append(statistics.median(ratios))
        worse += results.count(1)
        print(
            f"{name:16} {_spread(theirs)} {_spread(ours)} {_spread(ratios, '.2f')}"
            f"  {results.count(1):6} {results.count(-1):6} {statistics.median(runs):5.0f}"
        )
    print(
        f"median of the tests' medians: {statistics.median(medians):.2f} times Hypothesis' calls;"
        f" {worse} of {len(args.tests) * args.starts} results worse"
    )


def _spread(values: list[Any], form: str = ".0f") -> str:
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{f'{middle:{form}} ({low:{form}} to {high:{form}})':>21}"


if __name__ == "__main__":
    main()
