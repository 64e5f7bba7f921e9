"""Keys of ``[engine]`` that only mu2 has."""

from __future__ import annotations

from fuzztui.engines.kinds import Key
from fuzztui.run.campaign.schema.engines import SHARD

OPERATORS = ("boundary", "increments", "negatives", "math", "negate", "returns", "void-call")
"""The names of all mutation operators, as in ``engines/mutants/operators.py``."""

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
        default=[name for name in OPERATORS if name != "void-call"],
    ),
    Key(
        "mutate",
        "strings",
        "Packages, modules, functions or classes (`package.module:Class.method`) to mutate. "
        "Default: all instrumented modules.",
        default=[],
    ),
    SHARD,
    Key(
        "exact",
        "boolean",
        "At the end, run every surviving mutant on the whole corpus, so that the score is exact.",
        default=True,
    ),
    Key(
        "exact_budget",
        "budget",
        "What an exact pass of one instance may use: time, or trials, which are runs of "
        "mutants here; 0: no limit. If it is used up, the score is a lower bound. Default: a "
        "quarter of campaign.budget, at least 60s, but at most half of it; if that is in "
        "trials, a quarter of these, at least 50,000.",
        minimum=0,
    ),
)
