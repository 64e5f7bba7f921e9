"""The options of ``fuzztui corpus``."""

from __future__ import annotations

from collections.abc import Callable

from fuzztui.cli.arguments import CommandParser, Run, add_jobs, add_set, command


def _export(parser: CommandParser) -> Run:
    from fuzztui.tools.export.corpus import FORMATS

    parser.run(name="source")
    parser.path("directory", "DIR", "where to write the files")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default=FORMATS[0],
        help="libfuzzer: plain files, named by their hash, which all fuzzers read (default); go: "
        "files of 'go test fuzz v1'",
    )
    parser.flag("--text", "with --format go: string values instead of []byte")
    parser.flag("--findings", "findings too")
    parser.time(
        "--every",
        "again and again, after this time each: a fuzzer beside reads DIR while the campaign runs; "
        "a signal ends it",
    )
    return command("corpus.export_corpus")


def _import(parser: CommandParser) -> Run:
    parser.path("source", "DIR", "the corpus of libFuzzer, Go or another fuzzer")
    parser.path("directory", "DIR", "where to write the files")
    return command("corpus.import_corpus")


def _minimise(parser: CommandParser) -> Run:
    parser.run()
    what = "the directory to write: a new or an empty one"
    parser.path("-o", "DIR", what, dest="output", required=True)
    _care(parser)
    return command("corpus_care.minimise")


def _merge(parser: CommandParser) -> Run:
    parser.path(
        "directory",
        "DIR",
        "the directory to add to, such as the kept corpus of ci; made if it is missing",
    )
    parser.path(
        "sources",
        "RUN|DIR",
        "runs, campaign files (the newest of their runs), or directories of inputs",
        nargs="+",
    )
    parser.path("--run", "RUN", "the run whose target runs the inputs; default: the first RUN")
    _care(parser)
    return command("corpus_care.merge")


def _why(parser: CommandParser) -> Run:
    parser.run()
    parser.text("entry", "ID", "a queue entry: 12, INSTANCE/12, or the path of its file")
    add_jobs(parser)
    add_set(parser)
    return command("corpus_why.why")


def add_by(parser: CommandParser, what: str) -> None:
    """Add ``--by``; ``what``: what it says, for the help."""
    from fuzztui.cli.corpus_running import BY

    parser.add_argument(
        "--by",
        choices=BY,
        help=f"{what}: edges, kills of mutants, or both (Python targets; both is the default for "
        "mu2, edges for other engines)",
    )


def _care(parser: CommandParser) -> None:
    add_by(parser, "what must be kept")
    add_jobs(parser)
    add_set(parser)


WORDS: dict[str, Callable[[CommandParser], Run]] = {
    "export": _export,
    "import": _import,
    "minimise": _minimise,
    "merge": _merge,
    "why": _why,
}
"""The second words of the command."""
