"""Packages that only some campaigns need: the extras of fuzztui's installation (pyproject.toml)."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Final

from fuzztui.kernel.base.installation import is_shipped
from fuzztui.run.campaign.model import Campaign, CampaignError, FrozenCampaign, Problem

MODULES: Final = {
    "first": {
        "numpy": "numpy>=1.26",
        "rapidfuzz": "rapidfuzz>=3.6",
        "Levenshtein": "python-Levenshtein>=0.27",
    },
    "spoton": {"mypy": "mypy>=2.0,<2.5"},
    "cluster": {"distributed": "distributed>=2026.8", "cryptography": "cryptography>=42"},
    "web": {"textual_serve": "textual-serve>=1.1.3,<1.2"},
}
"""The modules of each extra that a campaign cannot do without, with their requirements.

Without those of ``text``, an engine mutates text by lines and brackets, and reports so.
"""


class MissingPackages(CampaignError):
    """The campaign needs packages that are not installed."""

    code = 1


def missing_extra(extra: str) -> str:
    """Return which module of an extra is not installed, and how to install it; "" if all are."""
    absent = [name for name in MODULES[extra] if find_spec(name) is None]
    if not absent:
        return ""
    wanted = [f"fuzztui[{extra}]"]
    if is_shipped():  # a host has no installation that could be extended
        wanted = [MODULES[extra][name] for name in absent]
    return (
        f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed; run "
        f"python3 -m pip --python {sys.executable} install {' '.join(map(repr, wanted))}"
    )


def refuse_missing_extras(loaded: FrozenCampaign) -> None:
    """Raise :class:`MissingPackages` if the campaign needs an extra that is not installed."""
    if (needed := _needed(loaded.campaign)) is None:
        return
    key, needs, extra = needed
    if missing := missing_extra(extra):
        raise MissingPackages([Problem(loaded.origin(key), key, f"{needs}; {missing}")])


def _needed(campaign: Campaign) -> tuple[str, str, str] | None:
    """Return the key that needs an extra, a reason, and the extra's name; None: none is needed."""
    if campaign.table("mutants"):
        return "mutants", "needs packages that put the mutants in order", "first"
    if campaign.kind == "spoton":
        return "engine.kind", "spoton needs mypy, which finds the types", "spoton"
    return None
