"""The table ``[[targets]]``: several targets in one campaign."""

from __future__ import annotations

from fuzztui.engines.keys import Key
from fuzztui.kernel.model.selectors import SEVERAL_TARGETS

TARGETS = SEVERAL_TARGETS
"""The name of the table, and the kind of engine of a campaign that has it."""

TARGET_PART = (
    Key(
        "name",
        "name",
        "The name of the target on screens and in commands.",
        required=True,
    ),
    Key(
        "file",
        "string",
        "The target's own campaign file. Default: the tables of this file.",
    ),
    Key(
        "weight",
        "weight",
        "Multiplies the share of time that the target's finds imply; 0: none.",
        default=1.0,
    ),
)
"""The keys of one target; its other keys are tables, such as ``target`` and ``engine``."""
