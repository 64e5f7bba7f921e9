"""Keys of ``[engine]`` that engines of different kinds have in common."""

from __future__ import annotations

from fuzztui.engines.keys import Key
from fuzztui.engines.kinds import KINDS

AFL = "afl"
"""The kind of engine that is not in-process: afl-fuzz."""

MINIMISE_SEEDS = Key(
    "minimise_seeds",
    "boolean",
    "Before the first start, use only seeds that together cover what all cover "
    "(AFL++: those that afl-cmin keeps; mu2: also those that kill mutants). Seeds on "
    "which the target fails are kept.",
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
