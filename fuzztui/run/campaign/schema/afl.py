"""Keys of ``[target]`` and ``[engine]`` of AFL++ campaigns."""

from __future__ import annotations

from fuzztui.engines.keys import Key
from fuzztui.run.campaign.schema.binaries import BINARIES
from fuzztui.run.campaign.schema.engines import MINIMISE_SEEDS

AFL_TARGET = (
    Key(
        "command",
        "command",
        "The program to fuzz and its arguments; `@@` is replaced by the input file. "
        "Without `@@` the program reads stdin. The path is relative to the campaign file "
        "or, with `build`, to the build directory; a name without a slash may be on PATH.",
        required=True,
    ),
    Key(
        "build",
        "string",
        "A shell command that builds the program in an empty directory of the run, with "
        "CC and CXX set to AFL++'s compilers and SOURCE to `source`.",
        default="",
    ),
    Key(
        "source",
        "directory",
        "The source directory, $SOURCE in `build`. Default: the campaign file's directory.",
        once=True,
    ),
    Key(
        "coverage",
        "boolean",
        "Build once more for gcov or llvm-cov, and run each new queue entry there: "
        "covered lines for the Source screen.",
        default=False,
    ),
    Key(
        "coverage_tool",
        "choice",
        "What measures lines. auto: llvm-cov if afl-cc is clang and llvm-profdata has its "
        "version, else gcov.",
        default="auto",
        choices=("auto", "gcov", "llvm-cov"),
    ),
    Key(
        "cmplog",
        "program",
        'The same program, compiled with AFL_LLVM_CMPLOG=1; "0" if `command` already is. '
        "A third of the secondaries use CmpLog, or main if it is the only instance.",
        default="",
    ),
    BINARIES,
    Key(
        "timeout",
        "duration",
        "Time limit of one execution. AFL++ calibrates a shorter limit from the seeds, "
        "and skips slower seeds.",
        default="1s",
    ),
    Key(
        "memory",
        "size",
        "Memory limit of the program; 0: no limit, which sanitizers need.",
        default=0,
    ),
    Key("env", "table", "Environment variables for afl-fuzz and the program.", default={}),
    Key("cwd", "directory", "Where the program runs. Default: the campaign file's directory."),
)

FOR_AFL = {
    "target.clock": "of a program, libfaketime stops the clock (package faketime): target.env = "
    '{ AFL_PRELOAD = "/path/to/libfaketime.so.1", FAKETIME = "2024-06-03 12:00:00" }',
}
"""What to do with AFL++ in place of a key of Python targets."""

AFL_ENGINE = (
    Key(
        "seeds",
        "seeds",
        "Files or directories to start from; $BUILD/NAME is a file made by `build`. "
        "Default: one small made-up seed.",
        default=[],
        once=True,
    ),
    MINIMISE_SEEDS,
    Key("dictionary", "files", "AFL dictionaries of tokens, at most four.", default=[]),
    Key(
        "extra_args",
        "arguments",
        "More options for all instances of afl-fuzz; they replace fuzztui's own.",
        default=[],
    ),
    Key(
        "options",
        "options",
        "Options of single instances, in place of fuzztui's. NAME=VALUE in front sets an "
        "environment variable. An empty list: AFL++'s defaults.",
        default={},
    ),
    Key(
        "names",
        "names",
        "Names of the instances, the first of which is `-M`. Default: main, s1, s2, ...",
        default=[],
    ),
    Key(
        "pin",
        "boolean",
        "Bind each instance to a core of its own, while one is free (AFL_TRY_AFFINITY).",
        default=False,
    ),
    Key(
        "max_speed",
        "integer",
        "Most executions per second of each instance; 0: no limit. For busy machines and "
        "limited services. Not with MOpt (`-L`).",
        default=0,
        minimum=0,
    ),
    Key(
        "afl_path",
        "directory",
        "The directory of the AFL++ programs to use. Default: those on PATH.",
    ),
)
