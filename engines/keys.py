"""Keys of a campaign file, and those of ``[engine]`` that single in-process engines have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ValueType:
    """A type of values: what a value is, for users, its check, and its JSON Schema."""

    help: str
    check: ValueCheck
    schema: Mapping[str, Any] | Callable[[], Mapping[str, Any]]
    """The JSON Schema, or a function that returns it, if making it takes time."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a campaign file: the type of its value, its default, a description for users.

    ``type`` is one of :data:`fuzztui.run.campaign.values.TYPES`, or ``choice``: boolean, integer,
    string, size, duration, paths, ...; or a type that only one table has.
    """

    name: str
    type: str | ValueType
    help: str
    default: Any = None
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    required: bool = False
    without: str = ""
    """Advice for users whom none of ``choices`` fits: what happens without the key."""
    once: bool = False
    """Whether only the first start reads the key: a run continues if the named file is gone."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of ``choices``, for suggestions in error messages."""


ValueCheck = Callable[[Key, Any, Path], tuple[Any, Any]]
"""Called with a key, its value, and the directory to which paths are relative. Returns the value
for the frozen campaign file, and the value for use (seconds, bytes, absolute paths). Raises
ValueError, OSError."""


THIRD_PARTY = Key(
    "third_party",
    "boolean",
    "Count also which lines of libraries were executed (`edges_third_party` in fuzzer_stats); "
    "no input is saved for new ones. Under Python 3.11: which functions were entered, in every "
    "128th trial.",
    default=False,
)

SHARD = Key(
    "shard",
    "shard",
    "Only this part of the mutants: `fuzztui FILE --shard 2/5` sets it. The parts depend on "
    "the mutants' ids only; `fuzztui merge` joins the runs. Default: all mutants.",
)
"""A key of mu2 and of fuzz-first."""

OPERATORS = ("boundary", "increments", "negatives", "math", "negate", "returns", "void-call")
"""The names of all mutation operators, as in ``engines/mutants/operators.py``."""

MU2_KEYS = (
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

SPOTON_KEYS = (
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
        "The share of mutations that are targeted at a type which decides an uncovered branch. If "
        "missing, it follows from what targeted and other mutations bring.",
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
