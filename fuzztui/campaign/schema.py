"""Every key of a campaign file: the table from which checks and docs/campaign.md are made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from fuzztui.base.shards import SHARD_HELP
from fuzztui.campaign.units import BUDGET_HELP, DURATION_HELP, SIZE_HELP
from fuzztui.engines.kinds import KINDS, EngineKind, Option, kind_named
from fuzztui.wire.events import NEWS

Kind = Literal[
    "string", "integer", "boolean", "duration", "size", "budget", "strings", "operators", "table",
    "aliases", "directory", "file", "paths", "files", "directories", "callable", "targets",
    "python", "output",
    "choice", "command", "program", "arguments", "options", "part", "weights", "sources",
    "templates", "edits", "pattern", "seeds", "news",
    "filename", "host-path", "host-python", "shard", "settings",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Key:
    """One key: the kind of its value, its default, and a description for users."""

    name: str
    kind: Kind
    doc: str
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    without: str = ""
    """Advice for users whom none of ``choices`` fits: what happens without the key."""
    once: bool = False
    """Whether only the first start reads the key: a run continues if the named file is gone."""


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
    "targets": '"module:function" or "file.py:function"; or a list of these, of directories, files '
    "and node ids of tests",
    "python": "a Python interpreter: a path or a command on PATH",
    "output": "a path; it is created",
    "filename": "a path of a file; it is created",
    "shard": SHARD_HELP,
    "host-path": 'a path on the host: absolute, or "~/..." below the home directory there',
    "host-python": "a Python interpreter on the host: a path, or a command on PATH there",
    "choice": "one of the allowed names",
    "command": "a list of strings, or one string that is split as in a shell",
    "program": "a program: a path or a command on PATH",
    "arguments": "a list of strings",
    "part": "a number from 0 to 1",
    "weights": "a table of numbers such as { edit = 5.0, line = 0 }",
    "sources": 'a list of files, each "FILE" or "FILE:LINES" such as "parse.c:12,40-60"',
    "edits": "a list of text mutators",
    "pattern": "a regular expression of Python",
    "settings": "a table of strings, whole numbers and lists of strings",
    "news": 'a list of "findings", "stall", "end"',
    "options": 'a table of lists, one for each instance, such as { s1 = ["-p", "rare"] }',
}

CAMPAIGN = (
    Key("name", "string", "Shown on screens and by `status`. Default: the file's name."),
    Key(
        "output",
        "output",
        "The run directory. Default: `runs/NAME` in the current directory.",
    ),
    Key("budget", "budget", "When to finish: running time, or trials of all instances together."),
    Key(
        "verdicts",
        "filename",
        "The file of verdicts about findings (docs/verdicts.md), which `fuzztui ctl RUN judge` and "
        "the key V write. Default: `NAME.verdicts.toml` next to the file `NAME.toml`.",
    ),
    Key(
        "seed",
        "integer",
        "The random seed: two runs with the same seed make the same trials.",
        default=0,
        minimum=0,
    ),
    Key(
        "group",
        "string",
        "A Unix group whose members may look at the run: `attach`, `status` (docs/hosts.md). "
        "Default: only its owner may.",
    ),
    Key(
        "group_may_steer",
        "boolean",
        "Whether members of `group` may also steer the campaign.",
        default=False,
    ),
    Key(
        "host",
        "string",
        "Set by fuzztui in the copy of a campaign that runs on a host (docs/hosts.md): names of "
        "instances begin with it.",
    ),
)

STOP = (
    Key("crashes", "integer", "Finish after this many crash files.", default=0, minimum=0),
    Key("idle", "duration", "Finish after this time without a new entry or finding.", default=0.0),
    Key("edges", "duration", "Finish after this time without a new edge.", default=0.0),
)

NOTIFY = (
    Key(
        "command",
        "command",
        "The program to run, with its arguments; not by a shell. A program with a slash is "
        "relative to the campaign file. Its stdin is one JSON object (docs/notify.md), and the "
        "variable FUZZTUI_NEWS is a text of one line. It is killed after 30 s.",
        required=True,
    ),
    Key(
        "on",
        "news",
        "What to report. findings: the first finding of a new group (no earlier one has its "
        "signature); stall: nothing new for `stall`; end: the campaign has ended.",
        default=list(NEWS),
    ),
    Key(
        "stall",
        "duration",
        "Report once that the campaign has found nothing new in this running time: no entry and no "
        "finding.",
        default=1200.0,
    ),
    Key(
        "max_per_hour",
        "integer",
        "The command is run at most so often within an hour; later groups wait, and are "
        "reported together.",
        default=20,
        minimum=1,
        maximum=3600,
    ),
)
"""The table ``[notify]``: a command that is run when there is news."""

CLUSTER = (
    Key(
        "scheduler",
        "string",
        "The address of a dask.distributed scheduler that runs already: tls://HOST:PORT, or tcp:// "
        "on loopback.",
    ),
    Key(
        "ssh",
        "strings",
        'Machines such as "user@box", as ssh takes them: workers are started there, and a '
        "scheduler on this machine.",
    ),
    Key(
        "slurm",
        "settings",
        "Workers as jobs of SLURM: partition, jobs (how many), cores and memory of each, walltime, "
        "options (of sbatch), logs (a directory for what workers print). A scheduler is started on "
        "this machine.",
    ),
    Key("kubernetes", "settings", "Not supported: use `scheduler`."),
    Key(
        "tls",
        "directory",
        "The directory with the certificates that `fuzztui cluster init` has made; the same path "
        "on all machines.",
    ),
    Key(
        "address",
        "string",
        "The IP address of this machine that workers can reach, for `ssh` and `slurm`.",
    ),
    Key(
        "python",
        "string",
        "The interpreter that has fuzztui on the workers. Default: the path of the one that runs "
        "fuzztui here.",
    ),
    Key(
        "slots",
        "integer",
        "Jobs at a time on each machine of `ssh`, or on this one without any cluster. Default: one "
        "for each CPU.",
        minimum=1,
        maximum=1000,
    ),
)
"""The table ``[cluster]``: where jobs run that can be divided (docs/cluster.md)."""

HOST = (
    Key(
        "instances",
        "integer",
        "The number of fuzzing processes on this host. Default: `engine.instances`.",
        minimum=1,
        maximum=1000,
    ),
    Key(
        "path",
        "host-path",
        "The run directory on the host. Default: one below `~/.local/share/fuzztui/runs`.",
    ),
    Key(
        "python",
        "host-python",
        "The interpreter that runs fuzztui there (3.11 or newer), and the Python target with it: "
        "the target's requirements must be installed for it. Default: `python3`.",
    ),
    Key(
        "keep",
        "size",
        "Space that entries, findings and log of this host may take on the hub's machine. A host "
        "that sends more is given up (docs/hosts.md). 0: no limit.",
        default="20GiB",
    ),
)
"""The keys of one host: ``"user@box" = { instances = 8 }`` in the table ``[hosts]``."""

HOSTS = "hosts"
"""The table whose keys are the addresses of hosts."""

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
)

AFL = "afl"
"""The kind of engine that is not in-process: afl-fuzz."""

MINIMISE_SEEDS = Key(
    "minimise_seeds",
    "boolean",
    "Before the first start run all seeds, and use only those that together cover what all cover: "
    "with AFL++ those that afl-cmin keeps. Seeds on which the target fails are kept. If it is not "
    "possible, all seeds are used; the log says how many of how many are.",
    default=False,
)

ENGINE = (
    Key(
        "kind",
        "choice",
        "The engine.",
        required=True,
        choices=(*KINDS, AFL),
    ),
    Key(
        "instances",
        "integer",
        "The number of fuzzing processes; they import entries from each other.",
        default=1,
        minimum=1,
        maximum=1000,
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

THIRD_PARTY = Key(
    "third_party",
    "boolean",
    "Count also which lines of libraries were executed (`edges_third_party` in fuzzer_stats); "
    "no input is saved for new ones. Under Python 3.11: which functions were entered, in every "
    "128th trial.",
    default=False,
)

SPOTON_ENGINE = (
    replace(THIRD_PARTY, default=True),
    Key(
        "constants",
        "boolean",
        "Half of the strings, bytes and integers that a generator draws are constants from the "
        "application's code, if one fits.",
        default=True,
    ),
    Key(
        "targeted",
        "part",
        "The share of mutations that are targeted at a type which decides an uncovered branch.",
        default=0.5,
    ),
    Key(
        "fresh",
        "part",
        "The share of inputs that are generated from scratch, not mutated from an entry.",
        default=0.05,
    ),
    Key(
        "distances",
        "choice",
        "Which branches are goals: frontier, uncovered branches whose decision has another branch "
        "covered; global, all uncovered branches, as in the paper.",
        default="frontier",
        choices=("frontier", "global"),
    ),
    Key(
        "aliases",
        "aliases",
        "Types that generators make in place of a type of the application, if neither is derived "
        'from the other: { "botocore.response.StreamingBody" = "fuzztui.generators.S3Object" }; '
        "a list names alternatives. `fuzztui check` reports aliases without effect, and so does "
        "the log when the campaign has started.",
        default={},
    ),
)

OPERATORS = ("boundary", "increments", "negatives", "math", "negate", "returns", "void-call")
"""The names of all mutation operators, as in ``engines/mutants/operators.py``."""

MU2_TARGET = (
    Key(
        "compare",
        "callable",
        "A function that returns whether two results are equal; it compares a mutant's result with "
        "the original's. Default: structural equality.",
        default="",
    ),
)

MU2_ENGINE = (
    Key(
        "schedule",
        "choice",
        "adaptive: the share of time for mutants depends on how many they kill; full: every mutant "
        "runs on every input that could kill it.",
        default="adaptive",
        choices=("adaptive", "full"),
    ),
    Key(
        "oracle",
        "choice",
        "What kills a mutant: differential, a different result or exception class; paper, the same "
        "on inputs that succeed only; strict, also a different exception message.",
        default="differential",
        choices=("differential", "paper", "strict"),
    ),
    Key(
        "operators",
        "operators",
        "Mutation operators: " + ", ".join(f"`{name}`" for name in OPERATORS) + ".",
        default=list(OPERATORS[:-1]),
    ),
    Key(
        "mutate",
        "strings",
        "Packages, modules, functions or classes (`package.module:Class.method`) to mutate. "
        "Default: all instrumented modules.",
        default=[],
    ),
    Key(
        "shard",
        "shard",
        "Only this part of the mutants: `fuzztui FILE --shard 2/5` sets it. The parts depend on "
        "the mutants' ids only; `fuzztui merge` joins the runs. Default: all mutants.",
    ),
    Key(
        "exact",
        "boolean",
        "At the end, run every surviving mutant on the whole corpus, so that the score is exact.",
        default=True,
    ),
    Key(
        "exact_budget",
        "budget",
        "What an exact pass of one instance may use: CPU time, or trials, which are runs of "
        "mutants here; 0: no limit. If it is used up, the score is a lower bound. Default: a "
        "quarter of what the instance has used before, at least 60s; if campaign.budget is in "
        "trials, a quarter of these, at least 50,000.",
        minimum=0,
    ),
)

AFL_TARGET = (
    Key(
        "command",
        "command",
        "The program to fuzz and its arguments; `@@` is replaced by the input file. Without `@@` "
        "the program reads stdin. The program's path is relative to the campaign file or, with "
        "`build`, to the build directory; a name without a slash may also be on PATH.",
        required=True,
    ),
    Key(
        "build",
        "string",
        "A shell command that builds the program. It runs in the build directory, which is empty "
        "and belongs to the run, with CC and CXX set to AFL++'s compilers and SOURCE to `source`.",
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
        "Run `build` once more, in the background and in a copy of `source`, with gcc --coverage, "
        "and run each new queue entry in it: which lines are covered when, for the Source screen.",
        default=False,
    ),
    Key(
        "cmplog",
        "program",
        'The same program, compiled with AFL_LLVM_CMPLOG=1; "0" if `command` already is. The path '
        "is resolved like `command`. A third of the secondaries use CmpLog, or main if it is the "
        "only instance.",
        default="",
    ),
    Key(
        "timeout",
        "duration",
        "Time limit of one execution. AFL++ calibrates a shorter limit from the seeds, and skips "
        "seeds above this one (its `-t MS+`).",
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

AFL_ENGINE = (
    Key(
        "seeds",
        "seeds",
        "Files, or directories of files, to start from; $BUILD/NAME is a file made by `build`. "
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
        "Options for single instances, in place of those by which fuzztui makes instances differ. "
        "NAME=VALUE in front sets an environment variable. An empty list: AFL++'s defaults.",
        default={},
    ),
    Key(
        "afl_path",
        "directory",
        "The directory of the AFL++ programs to use. Default: those on PATH.",
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
        "What to mutate. AFL++ targets: files in `target.source`; Python targets: modules, or "
        "their files.",
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
        "The order of the worklist. fpf (furthest point first): each mutant is the least similar "
        "to all before it; universalmutator: the order of its prioritize_mutants; random: by "
        "campaign.seed.",
        default="fpf",
        choices=("fpf", "universalmutator", "random"),
    ),
    Key(
        "weights",
        "weights",
        "Weights of the distance between mutants, for fpf: "
        + ", ".join(f"`{name}`" for name in WEIGHTS)
        + ".",
        default={},
    ),
    Key(
        "language",
        "choice",
        "The programming language of `sources`. Default: by the file's suffix.",
        default="",
        choices=LANGUAGES,
    ),
    Key(
        "listed",
        "integer",
        "The number of mutants to rank and show; more if the budget allows more.",
        default=500,
        minimum=1,
        maximum=100_000,
    ),
    Key(
        "shard",
        "shard",
        "Only this part of the mutants: `fuzztui FILE --shard 2/5` sets it. The parts depend on "
        "the mutants' ids only; `fuzztui merge` joins the runs. Default: all mutants.",
    ),
    Key("share", "part", "The share of campaign.budget that mutants get.", default=0.5),
    Key(
        "per_mutant",
        "budget",
        "The budget of one mutant, in the unit of campaign.budget.",
        default="5m",
    ),
    Key(
        "adaptive",
        "boolean",
        "End a mutant's turn early after a third of its budget without anything new; extend the "
        "turn, up to three times the budget, while the mutant still finds new inputs.",
        default=False,
    ),
    Key(
        "use",
        "choice",
        "sequential: one mutant at a time, fuzzed by all instances, which start from the previous "
        "mutant's corpus. parallel: one mutant for each instance, starting from the seeds.",
        default="sequential",
        choices=("sequential", "parallel"),
    ),
    Key(
        "returns",
        "boolean",
        "With sequential use: inputs that were pruned because they crash a mutant are used again "
        "for the next mutant that they do not crash.",
        default=True,
    ),
    Key(
        "oracle",
        "choice",
        "What kills a mutant. crash: a crash or hang that the original does not have; output: also "
        "a different exit status or standard output, or a different result of a Python function.",
        default="crash",
        choices=("crash", "output"),
    ),
    Key(
        "cwd",
        "choice",
        "Where mutants run: private, in an empty directory inside the run; target, where the "
        "target runs. A mutant may write or delete any file there. Default: target if "
        "`target.cwd` is given.",
        default="",
        choices=("private", "target"),
    ),
    Key(
        "cluster",
        "boolean",
        "With parallel use of a Python target: turns are fuzzed by workers of `cluster.scheduler`; "
        "`engine.instances` is the number of turns at a time (docs/cluster.md).",
        default=False,
    ),
    Key("ahead", "integer", "The number of mutants built in advance.", default=2, minimum=1),
)
"""The table ``[mutants]``, which makes a campaign fuzz mutants of its target, then the target."""


GRAMMARS = (
    "bash", "c", "cpp", "csharp", "css", "dart", "elixir", "go", "haskell", "hcl", "html", "java",
    "javascript", "json", "kotlin", "lua", "markdown", "nix", "php", "python", "ruby", "rust",
    "scala", "solidity", "swift", "tsx", "typescript", "yaml", "zig",
)  # fmt: skip
"""Languages with a grammar: those of :data:`fuzztui.engines.text.syntax.LANGUAGES`."""

ALIASES = {
    "c#": "csharp", "c++": "cpp", "cc": "cpp", "cs": "csharp", "cxx": "cpp", "golang": "go",
    "hs": "haskell", "js": "javascript", "kt": "kotlin", "md": "markdown", "py": "python",
    "python3": "python", "rb": "ruby", "rs": "rust", "sh": "bash", "terraform": "hcl",
    "ts": "typescript", "yml": "yaml",
}  # fmt: skip
"""Other names of :data:`GRAMMARS` and :data:`LANGUAGES`, for suggestions in error messages."""

TEXT = (
    Key(
        "text",
        "part",
        "The probability of text mutators. Default: what `splice` and `havoc` leave of 1; without "
        "`havoc`, three quarters of what `splice` leaves.",
    ),
    Key(
        "splice",
        "part",
        "The probability of splicing: a fragment of another entry replaces one of the same kind. "
        "Default: 0.",
    ),
    Key(
        "havoc",
        "part",
        "The probability of havoc on bytes. Default: what `text` and `splice` leave; the three "
        "must add to 1.",
    ),
    Key(
        "adaptive",
        "boolean",
        "Adapt the three probabilities and those of single mutators to what each found recently.",
        default=False,
    ),
    Key(
        "language",
        "choice",
        "The grammar that splits inputs into fragments. Default: none, only brackets and quotes "
        "are fragments.",
        default="",
        choices=GRAMMARS,
        without="for another language leave the key out: brackets and quotes are spliced then",
    ),
    Key(
        "templates",
        "strings",
        "Your own edit rules: in ast-grep's syntax, such as `if ($A) $B ==> while ($A) $B`, which "
        "needs `language`; or in comby's, such as `if (:[a]) ==> while (:[a])`, which needs comby "
        "on PATH. A rule with `:[` in it is in comby's syntax.",
        default=[],
    ),
    Key(
        "without",
        "edits",
        "Text mutators to leave out; `fuzztui mutate --list` lists all.",
        default=[],
    ),
)
"""The table ``[text]``, which makes an engine mutate inputs as text."""

ORACLE = (
    Key(
        "message",
        "pattern",
        "An exception whose class and message (`package.Class: message`) contain a match is a "
        "failure, even if it is `expected`. The matched text is a part of the signature.",
        default="",
    ),
    Key(
        "against",
        "callable",
        "A second implementation, run on every entry: an input that only one of the two accepts, "
        "or for which they return different values, is a finding.",
        default="",
    ),
    Key(
        "always",
        "boolean",
        "Run `against` in every trial: slower, but also finds differences without new coverage.",
        default=False,
    ),
)
"""The table ``[oracle]`` for Python targets: what is a bug in addition to crashes and hangs."""

AFL_ORACLE = (
    Key(
        "message",
        "pattern",
        "An entry is a finding if the output of `run` contains a match, whatever the exit status. "
        "The matched text is the signature.",
        default="",
    ),
    Key(
        "run",
        "command",
        "The command that is run on every entry, with `@@` as in `target.command`. A program with "
        "a slash is relative to the campaign file or, with `target.build`, to the build directory; "
        "any other must be on PATH. Arguments may begin with $BUILD/ or $SOURCE/. The command runs "
        "in an empty directory inside the run. Default: `target.command` in its own directory.",
    ),
    Key(
        "against",
        "command",
        "A second command, written like `run`: an entry for which only one of the two exits with "
        "status 0, or for which their stdout differs, is a finding.",
    ),
    Key(
        "timeout",
        "duration",
        "Time limit of each command. Default: five times `target.timeout`, at least 2s.",
    ),
)
"""The table ``[oracle]`` for AFL++ targets."""


@dataclass(frozen=True, slots=True)
class EngineSchema:
    """The keys of ``[target]``, ``[engine]`` and ``[oracle]`` for one engine kind."""

    target: tuple[Key, ...]
    engine: tuple[Key, ...]
    oracle: tuple[Key, ...] = ()


_MORE: dict[str, tuple[tuple[Key, ...], tuple[Key, ...]]] = {
    "zest": ((), (THIRD_PARTY,)),
    "spoton": ((), SPOTON_ENGINE),
    "mu2": (MU2_TARGET, MU2_ENGINE),
}
"""By kind: keys of ``[target]`` and ``[engine]`` whose types an :class:`Option` cannot have."""


def _schema_of(row: EngineKind) -> EngineSchema:
    target, engine = _MORE.get(row.name, ((), ()))
    options = (*engine, *map(_key, row.options))
    return EngineSchema(
        _table(row, PYTHON_TARGET, target),
        _table(row, PYTHON_ENGINE, options),
        ORACLE if row.oracle else (),
    )


def _table(row: EngineKind, common: tuple[Key, ...], more: tuple[Key, ...]) -> tuple[Key, ...]:
    """Return the keys of every engine that the kind accepts, and its own; these take precedence."""
    left_out = {*row.without, *(key.name for key in more)}
    return (*(key for key in common if key.name not in left_out), *more)


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

TABLES = (
    *("campaign", "stop", "target", "engine", "mutants", "text", "oracle", "notify", "cluster"),
    HOSTS,
)

TEXTUAL = (AFL, *(row.name for row in KINDS.values() if row.text))
"""Engine kinds that take ``[text]``; ``text`` always mutates inputs as text."""

JUDGED = tuple(kind for kind, schema in ENGINES.items() if schema.oracle)
"""Engine kinds that take ``[oracle]``."""

FIRST = (AFL, *(row.name for row in KINDS.values() if row.mutants_first))
"""Engine kinds that take ``[mutants]``: fuzz-first works with engines without own mutants."""

COMMON: dict[str, tuple[Key, ...]] = {
    "campaign": CAMPAIGN,
    "stop": STOP,
    "notify": NOTIFY,
    "cluster": CLUSTER,
}
"""The tables that are the same for all engine kinds."""


def tables_for(kind: str) -> dict[str, tuple[Key, ...]]:
    """All keys of a campaign of that engine, by table. Raises :class:`UnknownKind`."""
    row = None if kind == AFL else kind_named(kind)
    schema = ENGINES[kind] if row is None or kind in ENGINES else _schema_of(row)
    common = ENGINE
    if kind not in ENGINES:
        common = (replace(ENGINE[0], choices=(*ENGINES, kind)), *ENGINE[1:])
    tables = {**COMMON, "target": schema.target, "engine": common + schema.engine}
    tables |= {"mutants": MUTANTS} if row is None or row.mutants_first else {}
    tables |= {"text": TEXT} if row is None or row.text else {}
    return tables | ({"oracle": schema.oracle} if schema.oracle else {})
