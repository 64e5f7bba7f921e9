"""The options that all benchmarks have: ``--smoke`` and ``--results``.

args = parse(parser, "zest_cost", rounds=1)
rows = Rows("zest_cost", args.results)
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROWS = Path("runs/benchmarks")
"""Where rows are kept unless ``--results`` names another file."""


def parse(
    parser: argparse.ArgumentParser,
    name: str,
    argv: Sequence[str] | None = None,
    **smoke: Any,
) -> argparse.Namespace:
    """Parse the arguments of the benchmark ``name``, with ``--smoke`` and ``--results`` added.

    ``smoke``: defaults in smoke mode, the smallest budgets that take the benchmark's whole path
    within seconds. Options that are given explicitly win over them. A smoke run's figures are
    worth nothing: it keeps no rows unless ``--results`` is given.
    """
    argv = sys.argv[1:] if argv is None else argv
    words = "tiny budgets: does it run? Its figures are worth nothing"
    parser.add_argument("--smoke", action="store_true", help=words)
    if "results" not in {action.dest for action in parser._actions}:
        words = "rows are added here as they come (default: %(default)s)"
        parser.add_argument("--results", type=Path, default=ROWS / f"{name}.jsonl", help=words)
    known = {action.dest for action in parser._actions}
    if unknown := smoke.keys() - known:
        raise ValueError(f"{name}: smoke mode sets {', '.join(unknown)}, which is no option")
    if "--smoke" in argv:
        parser.set_defaults(**{"results": Path(os.devnull), **smoke})
    args = parser.parse_args(argv)
    if args.results:
        args.results = args.results.absolute()  # some benchmarks change the working directory
    return args
