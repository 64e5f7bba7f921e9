"""Actions that open a screen of the campaign."""

from __future__ import annotations

from fuzztui.tui.frame.action import Action, always
from fuzztui.tui.frame.action_context import (
    why_not_show_mutators,
    why_not_show_properties,
    why_not_show_types,
)

SCREENS = tuple(
    Action(f"view.{tab}", (key,), label, text, "Screens", check=check, run="view", args=(tab,))
    for tab, key, label, text, check in (
        ("overview", "1", "Overview", "Totals, charts, instances, events", always),
        ("corpus", "2", "Corpus", "Every queue entry, its lineage and bytes", always),
        ("findings", "3", "Findings", "Crashes and hangs by signature", always),
        ("mutants", "4", "Mutants", "Mutants, their score, their killers", always),
        ("log", "5", "Log", "Every event of the campaign", always),
        ("mutators", "6", "Mutators", "Text mutators: what each one found, and the mixture",
         why_not_show_mutators),
        ("types", "7", "Types", "Type targeting: the types and the uncovered goals",
         why_not_show_types),
        ("properties", "0", "Properties", "A suite's tests: their shares, corpora and findings",
         why_not_show_properties),
        ("source", "8", "Source", "The target's files: what is covered, mutants, findings by line",
         always),
    )
)  # fmt: skip
