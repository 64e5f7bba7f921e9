"""The event of a campaign of several targets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzztui.kernel.wire.events.base import Event


@dataclass(frozen=True, slots=True)
class TargetShares(Event, kind="target_shares"):
    """Which targets have a turn from now on, and the share of each in the time of the cores.

    ``targets``, by name: ``{"share": 0 to 1, "weight", "runs": whether the target has a turn,
    "core_s": seconds of its instances' turns so far, "edges": its edges then,
    "lately_s", "lately_edges": of these what its yield is made of}``.
    """

    targets: dict[str, Any] = field(default_factory=dict)
