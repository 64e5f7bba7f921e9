"""The options of ``fuzztui corpus``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fuzztui.cli.arguments import RUN_HELP, Run, add_jobs, add_set, command


def _export(parser: argparse.ArgumentParser) -> Run:
    from fuzztui.tools.export.corpus import FORMATS

    parser.add_argument("source", metavar="RUN", type=Path, help=RUN_HELP)
    _directory(parser)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=FORMATS[0],
        help="libfuzzer: plain files, named by their hash, which all fuzzers read (default); go: "
        "files of 'go test fuzz v1'",
    )
    parser.add_argument(
        "--text", action="store_true", help="with --format go: string values instead of []byte"
    )
    parser.add_argument("--findings", action="store_true", help="findings too")
    return command("corpus.export_corpus")


def _import(parser: argparse.ArgumentParser) -> Run:
    parser.add_argument(
        "source", metavar="DIR", type=Path, help="the corpus of libFuzzer, Go or another fuzzer"
    )
    _directory(parser)
    return command("corpus.import_corpus")


def _directory(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=Path, help="where to write the files")


def _minimise(parser: argparse.ArgumentParser) -> Run:
    parser.add_argument("run", metavar="RUN", type=Path, help=RUN_HELP)
    parser.add_argument(
        "-o",
        dest="output",
        metavar="DIR",
        type=Path,
        required=True,
        help="the directory to write: a new or an empty one",
    )
    _care(parser)
    return command("corpus_care.minimise")


def _merge(parser: argparse.ArgumentParser) -> Run:
    parser.add_argument(
        "directory",
        metavar="DIR",
        type=Path,
        help="the directory to add to, such as the kept corpus of ci; made if it is missing",
    )
    parser.add_argument(
        "sources",
        metavar="RUN|DIR",
        type=Path,
        nargs="+",
        help="runs, campaign files (the newest of their runs), or directories of inputs",
    )
    parser.add_argument(
        "--run",
        metavar="RUN",
        type=Path,
        help="the run whose target runs the inputs; default: the first RUN",
    )
    _care(parser)
    return command("corpus_care.merge")


def _why(parser: argparse.ArgumentParser) -> Run:
    parser.add_argument("run", metavar="RUN", type=Path, help=RUN_HELP)
    parser.add_argument(
        "entry", metavar="ID", help="a queue entry: 12, INSTANCE/12, or the path of its file"
    )
    add_jobs(parser)
    add_set(parser)
    return command("corpus_why.why")


def _care(parser: argparse.ArgumentParser) -> None:
    from fuzztui.cli.corpus_running import BY

    parser.add_argument(
        "--by",
        choices=BY,
        help="what must be kept: edges, kills of mutants, or both (Python targets; both is the "
        "default for mu2, edges for other engines)",
    )
    add_jobs(parser)
    add_set(parser)


WORDS: dict[str, Callable[[argparse.ArgumentParser], Run]] = {
    "export": _export,
    "import": _import,
    "minimise": _minimise,
    "merge": _merge,
    "why": _why,
}
"""The second words of the command."""
