"""Keys of ``[engine]`` that only spoton has."""

from __future__ import annotations

from dataclasses import replace

from fuzztui.engines.kinds import Key
from fuzztui.run.campaign.schema.python import THIRD_PARTY

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
