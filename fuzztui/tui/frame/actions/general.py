"""Actions that every screen has."""

from __future__ import annotations

from fuzztui.tui.frame.action import Action

GENERAL = (
    Action(
        "focus.next", ("tab",), "Next pane",
        "Move between table and details; on the Overview to the charts", "Screens",
    ),
    Action(
        "app.help", ("question_mark",), "Help",
        "Show every key, and why a key is grey", "Fuzztui", scope="always", footer=30,
    ),
    Action(
        "app.palette", ("ctrl+p",), "Commands",
        "Search all actions by name", "Fuzztui", scope="always", footer=31,
    ),
    Action(
        "app.theme", ("T",), "Theme", "Choose a theme, with a preview", "Fuzztui", scope="always",
    ),
    Action(
        "app.quit", ("q", "ctrl+q"), "Leave",
        "Close the screens; the campaign continues", "Fuzztui", scope="always", footer=29,
    ),
)  # fmt: skip
