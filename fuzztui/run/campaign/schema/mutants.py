"""The table ``[mutants]``: fuzz-first."""

from __future__ import annotations

from fuzztui.engines.kinds import Key
from fuzztui.run.campaign.schema.engines import SHARD

WEIGHTS = ("edit", "source", "mutant", "file", "line", "span")
"""The terms of the distance between mutants: ``Metric`` of
``features/fuzzfirst/source_mutants/rank.py``."""

LANGUAGES = ("c", "cpp", "python")
"""Languages with rules: ``LANGUAGES`` of ``features/fuzzfirst/source_mutants/generate.py``."""

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
    SHARD,
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
