"""Every key that a campaign file may hold: one table, from which checks and docs come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from fuzztui.campaign.units import BUDGET_HELP, DURATION_HELP, SIZE_HELP
from fuzztui.engines.kinds import KINDS, EngineKind, Option, kind_named, plugin_names

Kind = Literal[
    "string", "integer", "boolean", "duration", "size", "budget", "strings", "operators", "table",
    "aliases", "directory", "file", "paths", "files", "directories", "callable", "python", "output",
    "choice", "command", "program", "arguments", "options", "part", "weights", "sources",
    "templates", "edits", "pattern", "seeds",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    """One key: what it may hold, its default, and a sentence for the person who writes it."""

    name: str
    kind: Kind
    doc: str
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    without: str = ""
    """What is done without it, for whom none of the choices fits."""
    once: bool = False
    """Only a first start reads it: a run continues when what it names is gone."""


KIND_HELP: dict[str, str] = {
    "string": "a string",
    "integer": "a whole number",
    "boolean": "true or false",
    "duration": DURATION_HELP,
    "size": SIZE_HELP,
    "budget": BUDGET_HELP,
    "strings": "a list of strings",
    "table": 'a table of strings such as { NAME = "value" }',
    "aliases": 'a table of names, or lists of names, such as { "a.A" = ["b.B", "c.C"] }',
    "directory": "a directory that exists",
    "file": "a file that exists",
    "operators": "a list of mutation operators",
    "paths": "a list of files or directories that exist",
    "seeds": 'a list of files or directories that exist, or "$BUILD/NAME"',
    "files": "a list of files that exist",
    "directories": "a list of directories that exist",
    "callable": '"module:function" or "file.py:function"',
    "python": "a Python interpreter: a path or a command on PATH",
    "output": "a path; it is created",
    "choice": "one of a few words",
    "command": "a list of strings, or one string that is split as a shell would",
    "program": "a program: a path or a command on PATH",
    "arguments": "a list of strings",
    "part": "a number from 0 to 1",
    "weights": "a table of numbers such as { edit = 5.0, line = 0 }",
    "sources": 'a list of files, each "FILE" or "FILE:LINES" such as "parse.c:12,40-60"',
    "edits": "a list of text operators",
    "pattern": "a regular expression, as Python's",
    "options": 'a table of lists such as { s1 = ["-p", "rare"] }, by instance',
}

CAMPAIGN = (
    Key("name", "string", "Shown on the screen and in status. Default: the file's name."),
    Key(
        "output",
        "output",
        "The run directory. Default: `runs/NAME` where the command is given.",
    ),
    Key("budget", "budget", "When to finish: running time, or trials over all instances."),
    Key("seed", "integer", "Makes a run repeatable by trial count.", default=0, minimum=0),
)

STOP = (
    Key("crashes", "integer", "Finish after this many crash files.", default=0, minimum=0),
    Key("idle", "duration", "Finish when nothing new was found for this long.", default=0.0),
    Key("edges", "duration", "Finish when no new edge was covered for this long.", default=0.0),
)

PYTHON_TARGET = (
    Key(
        "function",
        "callable",
        "What to fuzz. It is called with one argument, the input. A file's function "
        "may be left out; it is then `target`.",
        required=True,
    ),
    Key(
        "include",
        "strings",
        "Packages or modules that make up the application: these are instrumented, and their "
        "coverage guides the fuzzer. Default: the package of `function`; a harness file needs it.",
        default=[],
    ),
    Key("exclude", "strings", "Modules in `include` to leave alone.", default=[]),
    Key(
        "path",
        "directories",
        "Directories put before sys.path (PYTHONPATH does not count). Default: the campaign "
        "file's own.",
        default=["."],
    ),
    Key(
        "input",
        "choice",
        "Bytes, or text (UTF-8). auto goes by the argument's annotation.",
        default="auto",
        choices=("auto", "bytes", "text"),
    ),
    Key(
        "generator",
        "callable",
        "A function from a Source of choices to the input, a Hypothesis strategy or a type (a "
        "dataclass, a pydantic model, ...): fuzzing then mutates its choices. None for a function "
        "that is a Hypothesis test: its strategies make the input.",
        default="",
    ),
    Key(
        "expected",
        "strings",
        "Exceptions that mean INVALID input rather than a failure, such as "
        '"ValueError" or "package.module.ParseError".',
        default=[],
    ),
    Key("timeout", "duration", "A trial that takes longer is a hang.", default="1s"),
    Key("memory", "size", "Address space limit of the worker; 0 is none.", default="2GiB"),
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
        "What the target prints: thrown away, or kept in the instance's target.log.",
        default="discard",
        choices=("discard", "log"),
    ),
)

TEXT_TARGET = tuple(key for key in PYTHON_TARGET if key.name != "generator")
"""Text operators are for inputs that are text, not for a generator's choices."""

AFL = "afl"
"""The kind of engine that is not in-process: afl-fuzz."""

ENGINE = (
    Key(
        "kind",
        "choice",
        "Which engine.",
        required=True,
        choices=(*KINDS, AFL),
    ),
    Key(
        "instances",
        "integer",
        "How many processes; they share what they find.",
        default=1,
        minimum=1,
        maximum=1000,
    ),
)

PYTHON_ENGINE = (
    Key("seeds", "paths", "Files, or directories of files, to start from.", default=[]),
    Key(
        "max_size",
        "size",
        "Longest input, or choice sequence, in bytes; 1 GiB at most.",
        default=10240,
        minimum=1,
        maximum=1 << 30,
    ),
    Key(
        "max_findings",
        "integer",
        "Distinct findings that an instance saves within a million executions; further ones are "
        "counted, not saved. Twice as many if the exception's class and place are rare, 50 times "
        "as many in all. 0: no limit.",
        default=100,
        minimum=0,
    ),
    Key("dictionary", "files", "AFL dictionaries of tokens.", default=[]),
    Key(
        "constants",
        "boolean",
        "Use the strings, bytes and numbers in the application's code as a dictionary for byte and "
        "text inputs; of a generator's choices only spoton makes constants.",
        default=True,
    ),
    Key(
        "coverage",
        "choice",
        "What counts as new: an edge, or also how often it is taken (AFL's buckets).",
        default="edges",
        choices=("edges", "counts"),
    ),
)

THIRD_PARTY = Key(
    "third_party",
    "boolean",
    "Count, beside the application's coverage, which lines of libraries are ever executed "
    "(`edges_third_party` in fuzzer_stats; it saves no input). Python 3.11 counts functions "
    "entered in every 128th trial.",
    default=False,
)

SPOTON_TARGET = tuple(key for key in PYTHON_TARGET if key.name != "input")
"""Without a generator there are no choices that make things of types: there is one, or a test."""

SPOTON_ENGINE = (
    *(key for key in PYTHON_ENGINE if key.name not in ("dictionary", "constants")),
    replace(THIRD_PARTY, default=True),
    Key(
        "constants",
        "boolean",
        "Half of the texts, blocks of bytes and integers that a generator draws are constants in "
        "the application's code, where one fits.",
        default=True,
    ),
    Key(
        "targeted",
        "part",
        "The part of all mutations that aim at a type which decides about an uncovered branch.",
        default=0.5,
    ),
    Key(
        "fresh",
        "part",
        "The part of all inputs that are made from nothing, not from another one.",
        default=0.05,
    ),
    Key(
        "distances",
        "choice",
        "Types of which branches: frontier, those that were reached and of which another arm "
        "is covered; global, all that are not covered, as in the paper.",
        default="frontier",
        choices=("frontier", "global"),
    ),
    Key(
        "aliases",
        "aliases",
        "What generators make for a type of the application's, where neither is derived from "
        'the other: { "botocore.response.StreamingBody" = "fuzztui.generators.S3Object" }; '
        "of several, in a list, any will do. `fuzztui check` tells of those that come to nothing, "
        "and so does the log when the campaign has started.",
        default={},
    ),
)

OPERATORS = ("boundary", "increments", "negatives", "math", "negate", "returns", "void-call")
"""Every mutation operator that there is, as engines/mutants/operators.py names them."""

MU2_TARGET = (
    *PYTHON_TARGET,
    Key(
        "compare",
        "callable",
        "A function of two results that says whether they are equal: how a mutant's result is "
        "told from the program's. Default: equal by structure.",
        default="",
    ),
)

MU2_ENGINE = (
    *PYTHON_ENGINE,
    Key(
        "schedule",
        "choice",
        "adaptive gives mutants the share of time that pays; full runs every mutant on every "
        "input that could kill it.",
        default="adaptive",
        choices=("adaptive", "full"),
    ),
    Key(
        "oracle",
        "choice",
        "What kills: differential, another result or another exception's class; paper, on "
        "inputs that succeed only; strict, another message too.",
        default="differential",
        choices=("differential", "paper", "strict"),
    ),
    Key(
        "operators",
        "operators",
        "Which mutants to make: " + ", ".join(f"`{name}`" for name in OPERATORS) + ".",
        default=list(OPERATORS[:-1]),
    ),
    Key(
        "mutate",
        "strings",
        "Packages or modules to mutate. Default: all that is instrumented.",
        default=[],
    ),
    Key(
        "exact",
        "boolean",
        "At the end run every living mutant on the whole corpus: the score is then exact.",
        default=True,
    ),
)

AFL_TARGET = (
    Key(
        "command",
        "command",
        "The program to fuzz and its arguments; `@@` stands for the input file, without it the "
        "program reads stdin. The program is relative to the campaign file or, with `build`, to "
        "the directory where that is run; a mere name may also be on PATH.",
        required=True,
    ),
    Key(
        "build",
        "string",
        "A shell command that makes the program. It is run in an empty directory of the run's, "
        "with CC and CXX set to AFL++'s compilers and SOURCE to `source`.",
        default="",
    ),
    Key(
        "source",
        "directory",
        "Where `build` finds what it builds, as $SOURCE. Default: the campaign file's directory.",
        once=True,
    ),
    Key(
        "cmplog",
        "program",
        'The same program, compiled with AFL_LLVM_CMPLOG=1; "0" if `command` is. Found as '
        "`command` is; a third of the secondaries use it, or main if it is alone.",
        default="",
    ),
    Key(
        "timeout",
        "duration",
        "The longest that one execution may take. AFL++ calibrates a shorter limit below it, and "
        "skips slower seeds (its `-t MS+`).",
        default="1s",
    ),
    Key(
        "memory",
        "size",
        "Memory limit of the program; 0 is none, which sanitizers need.",
        default=0,
    ),
    Key("env", "table", "Environment variables for afl-fuzz and the program.", default={}),
    Key("cwd", "directory", "Where the program runs. Default: the campaign file's directory."),
)

AFL_ENGINE = (
    Key(
        "seeds",
        "seeds",
        "Files, or directories of files, to start from; $BUILD/NAME is one that `build` has made. "
        "Default: one small made-up seed.",
        default=[],
        once=True,
    ),
    Key("dictionary", "files", "AFL dictionaries of tokens, four at most.", default=[]),
    Key(
        "extra_args",
        "arguments",
        "More options for every afl-fuzz; they replace fuzztui's own.",
        default=[],
    ),
    Key(
        "options",
        "options",
        "Options for single instances, in place of the spread that fuzztui makes; NAME=VALUE "
        "in front is put into the environment. An empty list: AFL++'s defaults.",
        default={},
    ),
    Key(
        "afl_path",
        "directory",
        "The directory of another AFL++'s programs. Default: those on PATH.",
    ),
)


WEIGHTS = ("edit", "source", "mutant", "file", "line", "span")
"""The terms of the distance between mutants: ``Metric`` of ``fuzzfirst/source_mutants/rank.py``."""

LANGUAGES = (
    "c", "cpp", "fe", "fortran", "func", "go", "java", "javascript", "lisp", "python", "r", "rust",
    "solidity", "swift", "tact", "tolk", "vyper",
)  # fmt: skip
"""universalmutator's languages: ``LANGUAGES`` of ``fuzzfirst/source_mutants/generate.py``."""

MUTANTS = (
    Key(
        "sources",
        "sources",
        "What to mutate. With `build`: files in `target.source`; of a Python target: modules, or "
        "files of them.",
        required=True,
    ),
    Key(
        "functions",
        "strings",
        "Only mutants in functions with one of these names (`*` and `?` as in a shell).",
        default=[],
    ),
    Key(
        "covered",
        "boolean",
        "Only mutants of lines that the seeds execute.",
        default=False,
    ),
    Key(
        "order",
        "choice",
        "fpf: each next one is the least like all before it; universalmutator: the order of its "
        "prioritize_mutants; random: by campaign.seed.",
        default="fpf",
        choices=("fpf", "universalmutator", "random"),
    ),
    Key(
        "weights",
        "weights",
        "Weights of the distance for fpf: " + ", ".join(f"`{name}`" for name in WEIGHTS) + ".",
        default={},
    ),
    Key(
        "language",
        "choice",
        "The sources' language. Default: by the file's ending.",
        default="",
        choices=LANGUAGES,
    ),
    Key(
        "listed",
        "integer",
        "How many mutants are ranked and shown; at least as many as the budget allows.",
        default=500,
        minimum=1,
        maximum=100_000,
    ),
    Key("share", "part", "The part of campaign.budget that mutants get.", default=0.5),
    Key(
        "per_mutant",
        "budget",
        "The budget of one mutant, in the unit of campaign.budget.",
        default="5m",
    ),
    Key(
        "adaptive",
        "boolean",
        "A mutant that has found nothing for a third of its budget is left early; one that still "
        "finds something at its end continues, three times as long at most.",
        default=False,
    ),
    Key(
        "use",
        "choice",
        "sequential: each mutant starts from the last one's corpus, all instances fuzz it. "
        "parallel: each starts from the seeds, as many at a time as there are instances.",
        default="sequential",
        choices=("sequential", "parallel"),
    ),
    Key(
        "returns",
        "boolean",
        "With sequential use: inputs that were taken out because they crash a mutant come back for "
        "the next that they do not crash.",
        default=True,
    ),
    Key(
        "oracle",
        "choice",
        "What kills a mutant: a crash or hang that the program does not have; output: also "
        "another exit status or standard output, or of a Python function another result.",
        default="crash",
        choices=("crash", "output"),
    ),
    Key(
        "cwd",
        "choice",
        "Where mutants run: private, in an empty directory of the run's, or target, where the "
        "target does. Nobody knows what a mutant writes or deletes. Default: target if "
        "`target.cwd` is given.",
        default="",
        choices=("private", "target"),
    ),
    Key("ahead", "integer", "How many are built before their turn.", default=2, minimum=1),
)
"""The table that makes a campaign fuzz mutants of its target first, then the target."""


GRAMMARS = (
    "bash", "c", "cpp", "csharp", "css", "dart", "elixir", "go", "haskell", "hcl", "html", "java",
    "javascript", "json", "kotlin", "lua", "markdown", "nix", "php", "python", "ruby", "rust",
    "scala", "solidity", "swift", "tsx", "typescript", "yaml", "zig",
)  # fmt: skip
"""Languages with a grammar, as :data:`fuzztui.engines.text.syntax.LANGUAGES` has them."""

ALIASES = {
    "c#": "csharp", "c++": "cpp", "cc": "cpp", "cs": "csharp", "cxx": "cpp", "golang": "go",
    "hs": "haskell", "js": "javascript", "kt": "kotlin", "md": "markdown", "py": "python",
    "python3": "python", "rb": "ruby", "rs": "rust", "sh": "bash", "terraform": "hcl",
    "ts": "typescript", "yml": "yaml",
}  # fmt: skip
"""What some of them are called, too."""

TEXT = (
    Key(
        "text",
        "part",
        "The part of all edits that is made by text operators. Default: three quarters of what "
        "`splice` leaves, or all that `splice` and `havoc` leave.",
    ),
    Key(
        "splice",
        "part",
        "The part that puts a fragment of another entry where one of the same kind stands. "
        "Default: 0.",
    ),
    Key(
        "havoc",
        "part",
        "The part that is plain havoc on bytes. Default: what `text` and `splice` leave; the three "
        "add to 1.",
    ),
    Key(
        "adaptive",
        "boolean",
        "Operators and the three parts are weighed by what they found recently.",
        default=False,
    ),
    Key(
        "language",
        "choice",
        "The grammar by which inputs are taken apart into fragments. Default: none, brackets and "
        "quotes only.",
        default="",
        choices=GRAMMARS,
        without="leave it out for others: brackets and quotes are spliced then",
    ),
    Key(
        "templates",
        "strings",
        "Edits of your own: in ast-grep's syntax, such as `if ($A) $B ==> while ($A) $B`, which "
        "needs `language`; or in comby's, such as `if (:[a]) ==> while (:[a])`, which needs comby "
        "on PATH. What has `:[` in it is comby's.",
        default=[],
    ),
    Key(
        "without",
        "edits",
        "Text operators to leave out; `fuzztui mutate --list` lists them.",
        default=[],
    ),
)
"""The table that makes an engine mutate inputs as text."""

ORACLE = (
    Key(
        "message",
        "pattern",
        "An exception whose class and message (`package.Class: message`) this is found in is a "
        "failure, also where it is `expected`. What was found is a part of its cause.",
        default="",
    ),
    Key(
        "against",
        "callable",
        "A second implementation, run on every input that is saved to the queue: that one accepts "
        "what the other refuses, or that they return different values, is a finding.",
        default="",
    ),
    Key(
        "always",
        "boolean",
        "Run `against` in every trial instead: slower, and it finds what covers nothing new.",
        default=False,
    ),
)
"""The table that says what is a bug beside crashes and hangs, where functions are fuzzed."""

AFL_ORACLE = (
    Key(
        "message",
        "pattern",
        "What `run` prints is a finding if this is found in it, whatever its exit status. What was "
        "found is its cause.",
        default="",
    ),
    Key(
        "run",
        "command",
        "What every queue entry is run through, `@@` as in `target.command`. A program with a "
        "slash in it is relative to the campaign file or, with `target.build`, to where that is "
        "run; another is on PATH; words may begin with $BUILD/ or $SOURCE/. It runs in an empty "
        "directory of the run's. Default: `target.command`, where that runs.",
    ),
    Key(
        "against",
        "command",
        "A second command, given as `run` is: that one exits with status 0 and the other does not, "
        "or that they print different things to stdout, is a finding.",
    ),
    Key(
        "timeout",
        "duration",
        "The longest that either may take. Default: five times `target.timeout`, at least 2s.",
    ),
)
"""The same where programs are fuzzed."""


@dataclass(frozen=True, slots=True)
class EngineSchema:
    """The tables of one engine: its target's keys, its own, and those of ``[oracle]``."""

    target: tuple[Key, ...]
    engine: tuple[Key, ...]
    oracle: tuple[Key, ...] = ()


_OWN: dict[str, tuple[tuple[Key, ...], tuple[Key, ...]]] = {
    "zest": (PYTHON_TARGET, (*PYTHON_ENGINE, THIRD_PARTY)),
    "spoton": (SPOTON_TARGET, SPOTON_ENGINE),
    "mu2": (MU2_TARGET, MU2_ENGINE),
}
"""Kinds whose tables are not those of any in-process engine, plus the options of its row."""


def _schema_of(row: EngineKind) -> EngineSchema:
    target = PYTHON_TARGET if row.generator else TEXT_TARGET
    target, engine = _OWN.get(row.name, (target, PYTHON_ENGINE))
    return EngineSchema(target, (*engine, *map(_key, row.options)), ORACLE if row.oracle else ())


def _key(option: Option) -> Key:
    return Key(
        option.name,
        cast(Kind, option.type),
        option.help,
        option.default,
        choices=option.choices,
        minimum=option.minimum,
        maximum=option.maximum,
    )


ENGINES: dict[str, EngineSchema] = {
    **{name: _schema_of(row) for name, row in KINDS.items()},
    AFL: EngineSchema(AFL_TARGET, AFL_ENGINE, AFL_ORACLE),
}
"""Engines that come with fuzztui, by kind."""

TABLES = ("campaign", "stop", "target", "engine", "mutants", "text", "oracle")

TEXTUAL = (AFL, *(row.name for row in KINDS.values() if row.text))
"""Engines that can mutate inputs as text; ``text`` always does."""

JUDGED = tuple(kind for kind, schema in ENGINES.items() if schema.oracle)
"""Engines that take ``[oracle]``."""

FIRST = (AFL, *(row.name for row in KINDS.values() if row.mutants_first))
"""Engines that can fuzz mutants of the target first: those that know nothing of mutants."""

COMMON: dict[str, tuple[Key, ...]] = {"campaign": CAMPAIGN, "stop": STOP}
"""The tables that are the same for every engine."""


def tables_for(kind: str) -> dict[str, tuple[Key, ...]]:
    """All keys of a campaign of that engine, by table. Raises :class:`UnknownKind`."""
    row = None if kind == AFL else kind_named(kind)
    schema = ENGINES[kind] if row is None or kind in ENGINES else _schema_of(row)
    common = (replace(ENGINE[0], choices=(*ENGINES, *plugin_names())), *ENGINE[1:])
    tables = {**COMMON, "target": schema.target, "engine": (*common, *schema.engine)}
    tables |= {"mutants": MUTANTS} if row is None or row.mutants_first else {}
    tables |= {"text": TEXT} if row is None or row.text else {}
    return tables | ({"oracle": schema.oracle} if schema.oracle else {})
