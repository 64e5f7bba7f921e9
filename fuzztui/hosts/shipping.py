"""What a campaign needs on a host. (Only the text of the campaign until shipping is merged.)"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from fuzztui.campaign import FrozenCampaign
from fuzztui.hosts.place import HostPlace


@dataclass(frozen=True, slots=True)
class Shipment:
    """The run directory on a host, and the text of its campaign."""

    run: str
    campaign_text: str


def shipment(loaded: FrozenCampaign, place: HostPlace, index: int, run: Path) -> Shipment:
    """Return what a host gets. ``index``: the number of the host; ``run``: the hub's run."""
    where = place.path or f"/tmp/fuzztui-{run.name}-{place.name}"
    tables = {n: dict(t) for n, t in loaded.frozen.items() if n not in ("hosts", "notify")}
    seed = loaded.campaign.seed + 1009 * index
    tables["campaign"] |= {"output": where, "host": place.name, "seed": seed}
    tables["campaign"].pop("verdicts", None)
    tables["engine"]["instances"] = place.instances
    if place.address and "function" in tables["target"]:
        tables["target"]["python"] = "/usr/bin/python3"
    return Shipment(where, tomli_w.dumps({n: t for n, t in tables.items() if t}))


async def ship(
    cargo: Shipment,
    ask: Callable[..., Awaitable[dict[str, Any]]],
    progress: Callable[[str], None],
) -> None:
    """Send what is missing over there."""
