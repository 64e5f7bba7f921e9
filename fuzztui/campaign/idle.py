"""Keys of a campaign file that have no effect because of other keys.

A new run rejects such keys. A run that was started with one continues: the key changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fuzztui.campaign.errors import CampaignError, Problem
from fuzztui.campaign.frozen import FrozenCampaign, run_of


def refuse_idle_keys(loaded: FrozenCampaign) -> None:
    """Raise :class:`CampaignError` with every key of the file that would have no effect.

    The frozen copy of a run is accepted as it is.
    """
    if run_of(loaded.campaign.file):
        return
    found = [(key, text) for key, text in _idle(loaded) if key in loaded.given]
    if found:
        raise CampaignError([Problem(loaded.origin(key), key, text) for key, text in found])


def _idle(loaded: FrozenCampaign) -> Iterator[tuple[str, str]]:
    """Yield dotted keys without effect, given or not: the reason and what to do."""
    campaign = loaded.campaign
    target, engine, mutants = campaign.target, campaign.engine, campaign.mutants
    # spoton draws constants as choices of a generator; other engines use them in bytes and text.
    if campaign.kind != "spoton" and target.get("generator") and engine.get("constants"):
        yield (
            "engine.constants",
            "makes a dictionary for byte and text inputs, but target.generator makes the input "
            'from choices; remove it, or use engine.kind = "spoton", which draws constants',
        )
    if mutants and mutants["weights"] and mutants["order"] != "fpf":
        yield (
            "mutants.weights",
            f'is for mutants.order = "fpf", not "{mutants["order"]}"; remove one of them',
        )
    if mutants and mutants["returns"] and mutants["use"] == "parallel":
        yield (
            "mutants.returns",
            'is for mutants.use = "sequential"; with "parallel" each mutant starts from the seeds '
            "alone. Remove one of them",
        )
    if "source" in target and not target["build"] and not _uses(campaign.oracle, target["source"]):
        yield (
            "target.source",
            "is the source for target.build, which is not set; add target.build, or "
            "remove target.source",
        )


def _uses(oracle: Mapping[str, Any], source: str) -> bool:
    """Whether a command of ``[oracle]`` contains a path in ``source`` ($SOURCE is replaced)."""
    words = [*(oracle.get("run") or ()), *(oracle.get("against") or ())]
    return any(word.startswith(f"{source}/") for word in words)
