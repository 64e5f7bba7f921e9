"""What a key is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Key:
    """One key: the kind of its value, its default, and a description for users."""

    name: str
    kind: str
    """One of :data:`fuzztui.run.campaign.values.KIND_HELP`, or ``choice``."""
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
