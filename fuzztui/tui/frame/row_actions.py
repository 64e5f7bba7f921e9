"""Actions that several tables have for the row under the cursor."""

from __future__ import annotations

from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import why_no_row


def view_input(scope: str, group: str) -> Action:
    """Return the action that shows the input of a row."""
    return Action(
        f"{scope}.view_input", ("i",), "View",
        "Show the input, its bytes, or what changed against its parent", group,
        scope=scope, footer=11, run="input.view",
    )  # fmt: skip


def editor(scope: str, group: str, what: str) -> Action:
    """Return the action that opens ``what`` in the user's editor."""
    return Action(
        f"{scope}.edit", ("e",), "Editor", f"Open {what} in $EDITOR", group,
        scope=scope, check=why_no_row, footer=18, run="row.edit",
    )  # fmt: skip


def source_link(scope: str, group: str, what: str) -> Action:
    """Return the action that opens the Source screen at the line ``what``."""
    return Action(
        f"{scope}.source", ("L",), "Source", f"Open the Source screen at {what}", group,
        scope=scope, check=why_no_row, footer=17, run="row.source",
    )  # fmt: skip
