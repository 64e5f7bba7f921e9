"""Keys of ``[target]`` and ``[engine]`` of all in-process engines."""

from __future__ import annotations

from fuzztui.engines.keys import Key
from fuzztui.run.campaign.schema.engines import MINIMISE_SEEDS

PYTHON_TARGET = (
    Key(
        "function",
        "targets",
        "The function to fuzz. It is called with one argument, the input. After a file, the "
        'function may be left out: it is then `target`. A directory (`"tests/"`), a node id '
        '(`"tests/test_a.py::test_b"`) or a list makes a suite of all Hypothesis tests there, and '
        "of the functions in the list (docs/suites.md).",
        required=True,
    ),
    Key(
        "include",
        "strings",
        "Packages or modules of the application: these are instrumented, and their coverage guides "
        "the fuzzer. Default: the package of `function`; required if `function` is in a file.",
        default=[],
    ),
    Key("exclude", "strings", "Modules in `include` not to instrument.", default=[]),
    Key(
        "extensions",
        "strings",
        "Extension modules, such as `package._parser`, that clang has compiled with "
        "`-fsanitize-coverage=inline-8bit-counters,pc-table` (or `trace-pc-guard`): their coverage "
        "guides the fuzzer, too (docs/zest.md).",
        default=[],
    ),
    Key(
        "path",
        "directories",
        "Directories put before sys.path (PYTHONPATH is ignored). Default: the directory of the "
        "campaign file.",
        default=["."],
    ),
    Key(
        "input",
        "choice",
        "The type of the input: bytes, or text (UTF-8). auto: as the argument is annotated.",
        default="auto",
        choices=("auto", "bytes", "text"),
    ),
    Key(
        "generator",
        "callable",
        "A function from a Source of choices to the input, a Hypothesis strategy, or a type (a "
        "dataclass, a pydantic model, ...): fuzzing then mutates its choices. Not for a function "
        "that is a Hypothesis test, whose strategies make the input.",
        default="",
    ),
    Key(
        "compare",
        "callable",
        "A function of one result, such as `mypackage:dumps` or `mypackage:Document.unwrap`: what "
        "it returns is compared in place of the result, and belongs to the target. Or a function "
        "of two that returns whether they are equal. Default: by all that results hold.",
        default="",
    ),
    Key(
        "expected",
        "strings",
        "Exceptions that mean that the input is invalid, not that the target failed, such as "
        '"ValueError" or "package.module.ParseError".',
        default=[],
    ),
    Key(
        "timeout",
        "duration",
        "A trial that uses more CPU time is a hang, if it does so again within a longer limit.",
        default="1s",
    ),
    Key(
        "timeout_wall",
        "integer",
        "How many times `timeout` a trial may take by the clock: it may wait for something, and "
        "the machine may be loaded.",
        default=4,
        minimum=1,
    ),
    Key(
        "timeout_confirm",
        "integer",
        "How many times `timeout` an input has when it runs again, before it is saved as a hang.",
        default=2,
        minimum=1,
    ),
    Key(
        "examples",
        "output",
        "Hypothesis' directory of failing examples, such as `.hypothesis/examples`: findings of a "
        "suite are added, so that pytest fails with them. Default: none.",
        default="",
    ),
    Key("memory", "size", "Address space limit of the worker; 0: no limit.", default="2GiB"),
    Key("env", "table", "Environment variables for the target.", default={}),
    Key("cwd", "directory", "Where the target runs. Default: the campaign file's directory."),
    Key(
        "python",
        "python",
        "The interpreter of the project under test (3.11 to 3.14). Default: fuzztui's own.",
    ),
    Key(
        "output",
        "choice",
        "What the target prints is discarded, or written to the instance's target.log.",
        default="discard",
        choices=("discard", "log"),
    ),
    Key(
        "clock",
        "clock",
        "What the target sees as the present. `real`: the time of the run. `fixed`, which is "
        "2024-06-03 12:00 UTC, or another moment (without an offset it is UTC): each trial begins "
        "at that moment, and with the same random numbers, so that no input is flaky for their "
        "sake (docs/clock.md).",
        default="real",
    ),
)

PYTHON_ENGINE = (
    Key("seeds", "paths", "Files, or directories of files, to start from.", default=[]),
    MINIMISE_SEEDS,
    Key(
        "max_size",
        "size",
        "Maximum size of an input or of a choice sequence, in bytes; at most 1 GiB.",
        default=10240,
        minimum=1,
        maximum=1 << 30,
    ),
    Key(
        "max_findings",
        "integer",
        "Distinct findings that an instance saves within a million executions; further ones are "
        "counted, not saved. The limit is doubled for a rare exception class and location, and "
        "is 50 times as high for the whole run. 0: no limit.",
        default=100,
        minimum=0,
    ),
    Key("dictionary", "files", "AFL dictionaries of tokens.", default=[]),
    Key(
        "constants",
        "boolean",
        "Use the strings, bytes and numbers in the application's code as a dictionary for byte and "
        "text inputs. With `target.generator` the default is false; if it is true, half of the "
        "strings, bytes and integers that the generator draws are constants, if one fits.",
        default=True,
    ),
    Key(
        "comparisons",
        "boolean",
        "Record the operands of the target's comparisons for each new queue entry, and put them "
        "into inputs: each where the input has the other one.",
        default=True,
    ),
    Key(
        "coverage",
        "choice",
        "What counts as new coverage: a new edge, or also a new count of an edge (AFL's buckets).",
        default="edges",
        choices=("edges", "counts"),
    ),
)
