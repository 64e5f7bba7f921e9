"""Actions that every screen of a campaign has: to open another one, help, leaving."""

from __future__ import annotations

from functools import partial

from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import why_not_show

OPTIONAL = frozenset({"mutators", "types", "properties"})
"""Screens that not every campaign has."""

SCREENS = tuple(
    Action(
        f"view.{tab}", (key,), label, text, "Screens",
        check=why_not_show(tab), run="view", args=(tab,),
    )
    for tab, key, label, text in (
        ("overview", "1", "Overview", "Totals, charts, instances, events"),
        ("corpus", "2", "Corpus", "Every queue entry, its lineage and bytes"),
        ("findings", "3", "Findings", "Crashes and hangs by signature"),
        ("mutants", "4", "Mutants", "Mutants, their score, their killers"),
        ("log", "5", "Log", "Every event of the campaign"),
        ("mutators", "6", "Mutators", "Text mutators: what each one found, and the mixture"),
        ("types", "7", "Types", "Type targeting: the types and the uncovered goals"),
        ("properties", "0", "Properties", "A suite's tests: their shares, corpora and findings"),
        ("source", "8", "Source", "The target's files: what is covered, mutants, findings by line"),
    )
)  # fmt: skip

_action = partial(Action, group="Fuzztui", scope="always")

GENERAL = (
    Action("focus.next", ("tab",), "Next pane",
        "Move between table and details; on the Overview to the charts", "Screens"),
    _action("app.help", ("question_mark",), "Help", "Show every key, and why a key is grey",
        footer=30),
    _action("app.palette", ("ctrl+p",), "Commands", "Search all actions by name", footer=31),
    _action("app.theme", ("T",), "Theme", "Choose a theme, with a preview"),
    _action("app.quit", ("q", "ctrl+q"), "Leave", "Close the screens; the campaign continues",
        footer=29),
)  # fmt: skip
