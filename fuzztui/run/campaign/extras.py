"""Packages that only some campaigns need: the extras of fuzztui's installation (pyproject.toml)."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Final

from fuzztui.run.campaign.model import Campaign, CampaignError, FrozenCampaign, Problem

MODULES: Final = {
    "first": {
        "numpy": "numpy>=1.26",
        "rapidfuzz": "rapidfuzz>=3.6",
        "Levenshtein": "python-Levenshtein>=0.27",
    },
    "spoton": {"mypy": "mypy>=2.0,<2.5"},
    "text": {"ast_grep_py": "ast-grep-py>=0.51,<1"},
    "cluster": {"distributed": "distributed>=2026.8", "cryptography": "cryptography>=42"},
    "web": {"textual_serve": "textual-serve>=1.1.3,<1.2"},
}
"""The modules of each extra that its users need, with their requirements.

Without those of ``text``, an engine mutates text by lines and brackets, and reports so. Commands
that install an extra name these requirements, not ``fuzztui[EXTRA]``: no package index has that
name yet, and a host's copy of fuzztui is no installation that could be extended.
"""


class MissingPackages(CampaignError):
    """The campaign needs packages that are not installed."""

    code = 1


def absent_modules(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [name for name in MODULES[extra] if find_spec(name) is None]


def install_command(extra: str, absent: list[str]) -> str:
    """Return the command that installs these modules of an extra beside fuzztui."""
    wanted = " ".join(repr(MODULES[extra][name]) for name in absent)
    return f"python3 -m pip --python {sys.executable} install {wanted}"


def missing_extra(extra: str) -> str:
    """Return which module of an extra is not installed, and how to install it; "" if all are."""
    if not (absent := absent_modules(extra)):
        return ""
    verb = "is" if len(absent) == 1 else "are"
    return (
        f"{', '.join(absent)} {verb} not installed (the extra {extra}); run "
        f"{install_command(extra, absent)}"
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
