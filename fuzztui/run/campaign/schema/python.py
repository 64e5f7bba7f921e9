"""Keys of ``[target]`` and ``[engine]`` of all in-process engines."""

from __future__ import annotations

from fuzztui.engines.keys import Key
from fuzztui.run.campaign.schema.engines import MINIMISE_SEEDS

PYTHON_TARGET = (
    Key(
        "function",
        "targets",
        "The function to fuzz, called with one argument, the input. A file alone means "
        'its function `target`. A directory (`"tests/"`), a node id '
        '(`"tests/test_a.py::test_b"`) or a list makes a suite of all Hypothesis tests '
        "there, and of the functions in the list (docs/suites.md).",
        required=True,
    ),
    Key(
        "include",
        "strings",
        "Packages or modules to instrument: their coverage guides the fuzzer. Default: "
        "the package of `function`; required if `function` is in a file.",
        default=[],
    ),
    Key("exclude", "strings", "Modules in `include` not to instrument.", default=[]),
    Key(
        "extensions",
        "strings",
        "Extension modules, such as `package._parser`, compiled by clang with coverage "
        "counters, which guide the fuzzer, too (docs/zest.md).",
        default=[],
    ),
    Key(
        "path",
        "directories",
        "Directories put before sys.path (PYTHONPATH is ignored). Default: that of the "
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
        "A function from a Source of choices to the input, a Hypothesis strategy, or a "
        "type (a dataclass, a pydantic model, ...): fuzzing mutates its choices. Not for "
        "Hypothesis tests.",
        default="",
    ),
    Key(
        "compare",
        "callable",
        "What is compared in place of results: a function of one result, such as "
        "`mypackage:dumps`, or of two that returns whether they are equal. Default: by "
        "all that results hold.",
        default="",
    ),
    Key(
        "expected",
        "strings",
        'Exceptions that mean an invalid input, not a failure, such as "ValueError" or '
        '"package.module.ParseError".',
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
        "How many times `timeout` a trial may take by the clock.",
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
        "Hypothesis' directory of failing examples, such as `.hypothesis/examples`, which "
        "gets the findings of a suite, for pytest. Default: none.",
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
        "The present, as the target sees it. `real`: the time of the run. `fixed` "
        "(2024-06-03 12:00 UTC) or another moment (UTC without an offset): each trial "
        "begins then, with the same random numbers (docs/clock.md).",
        default="real",
    ),
)

PYTHON_ENGINE = (
    Key("seeds", "paths", "Files or directories to start from.", default=[]),
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
        "Findings with different signatures that an instance saves within a million executions "
        "(an exception class at a place that is rare: twice as many; the whole run: 50 times as "
        "many). Further ones are counted, not saved. 0: no limit.",
        default=100,
        minimum=0,
    ),
    Key("dictionary", "files", "AFL dictionaries of tokens.", default=[]),
    Key(
        "constants",
        "boolean",
        "Use constants of the application's code as a dictionary for bytes and text. With "
        "`target.generator`, where the default is false: for half of the strings, bytes "
        "and integers that it draws.",
        default=True,
    ),
    Key(
        "comparisons",
        "boolean",
        "Put operands of the target's comparisons into inputs.",
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
