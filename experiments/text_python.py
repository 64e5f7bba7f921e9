"""The text engine against zest, in process: edges, and inputs that the parser accepts.

Each engine gets the same real programs as seeds and ``--seconds`` of CPU time, ``--repeat``
times with other random seeds; medians are shown with the least and the most, and the p of
Mann-Whitney against zest. Edges are those that the corpus covers, counted by the engine: all
have the same instrumentation. Trials are shown, because the engines do not do equally many.

    python experiments/text_python.py --repeat 5 --seconds 30 --jobs 2

Goal: more edges than zest on the majority of targets.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab.figures import table
from lab.options import parse
from lab.rows import Rows
from lab.runs import Instance, stop
from lab.subjects import Subject

from fuzztui.run.process.library import text_library
from fuzztui.tools.report.two_samples import mann_whitney

SAMPLES = Path(__file__).resolve().parent.parent / "sample_campaigns"


@dataclass(frozen=True)
class Language:
    """A program that reads programs, and the language of these."""

    subject: Subject
    language: str


TARGETS = (
    Language(
        Subject(
            "pycparser",
            "a compiler's front end",
            f"{SAMPLES}/pycparser_harness.py:parse",
            ("pycparser",),
            ("pycparser.c_parser.ParseError",),
            seeds=f"{SAMPLES}/seeds/c",
        ),
        "c",
    ),
    Language(
        Subject(
            "pyflakes",
            "a checker",
            f"{SAMPLES}/pyflakes_harness.py:check",
            ("pyflakes.checker", "pyflakes.messages"),
            ("SyntaxError", "ValueError"),
            seeds=f"{SAMPLES}/seeds/python",
        ),
        "python",
    ),
)

SPLICING = {"havoc": 0.25, "text": 0.5, "splice": 0.25, "roll": "step"}
VARIANTS: dict[str, dict[str, Any] | None] = {
    "zest": None,
    "text 75%": {"havoc": 0.25, "text": 0.75, "splice": 0.0, "roll": "step"},
    "text + delimiters": SPLICING,
    "text + fragments": {**SPLICING, "language": True},
    "adaptive": {**SPLICING, "language": True, "adaptive": True},
    "default": {**SPLICING, "language": True, "adaptive": True, "roll": "input"},
}
"""By what they are called: the table ``[text]``; None is zest. Those of the published figures draw
the class for each step, as fuzztui did then."""


@dataclass(frozen=True)
class Result:
    edges: int
    edges_valid: int
    trials: int
    valid: int
    corpus: int
    crashes: int

    @property
    def share(self) -> float:
        return 100 * self.valid / max(1, self.trials)


def one(target: Language, name: str, seed: int, args: argparse.Namespace, root: Path) -> Result:
    text = VARIANTS[name]
    instance = Instance(target.subject, "zest" if text is None else "text", root / name, seed)
    tables: dict[str, Any] = {}
    if text is not None:
        language = target.language if text.get("language") else ""
        tables["text"] = {**text, "language": language, "library": args.library}
    budget = {"budget_cpu_s": args.seconds} if args.seconds else {"budget_trials": args.trials}
    spec = instance.spec(**budget, **tables)
    instance.run(spec, limit_s=60 + 20 * args.seconds + args.trials)
    s = instance.stats()
    return Result(
        int(s["edges_found"]),
        int(s["edges_valid"]),
        int(s["execs_done"]),
        int(s["valid_inputs"]),
        int(s["corpus_count"]),
        int(s["saved_crashes"]),
    )


def shown(numbers: Sequence[float]) -> str:
    return f"{statistics.median(numbers):g} ({min(numbers):g}-{max(numbers):g})"


def report(target: Language, found: dict[str, list[Result]]) -> None:
    print(f"\n{target.subject.name}")
    base = [r.edges for r in found.get("zest", [])]
    rows = []
    for name, results in found.items():
        edges = [r.edges for r in results]
        p = "" if name == "zest" or not base else f"{mann_whitney(edges, base):.3f}"
        rows.append(
            [
                name,
                shown(edges),
                p,
                shown([r.edges_valid for r in results]),
                shown([round(r.share, 1) for r in results]),
                f"{statistics.median([r.trials for r in results]):g}",
                f"{statistics.median([r.corpus for r in results]):g}",
                sum(r.crashes for r in results),
            ]
        )
    heads = ["", "edges", "p", "edges of valid", "valid %", "trials", "corpus", "crashes"]
    print(table(heads, rows), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=30, help="of CPU time, each")
    parser.add_argument("--trials", type=int, default=0, help="equal trials instead of time")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--targets", nargs="*", default=[t.subject.name for t in TARGETS])
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS))
    args = parse(parser, "text_python", seconds=0.5, repeat=1)
    rows = Rows("text_python", args.results)
    if args.trials:
        args.seconds = 0
    library, why = text_library()
    args.library = str(library or "")
    print(f"library: {args.library or why}")
    with tempfile.TemporaryDirectory(prefix="text-bench-") as folder:
        for target in TARGETS:
            if target.subject.name not in args.targets:
                continue
            with ThreadPoolExecutor(args.jobs) as pool:
                # By seed first: what disturbs the machine for a while disturbs all of them.
                asked = [
                    (name, pool.submit(one, target, name, seed, args, Path(folder)))
                    for seed in range(args.first_seed, args.first_seed + args.repeat)
                    for name in args.variants
                ]
                found: dict[str, list[Result]] = {name: [] for name in args.variants}
                for name, result in asked:
                    found[name].append(result.result())
                    rows.add(target=target.subject.name, variant=name, seconds=args.seconds,
                             **asdict(found[name][-1]))  # fmt: skip
            report(target, found)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        stop()
        raise
