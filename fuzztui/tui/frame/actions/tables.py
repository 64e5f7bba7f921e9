"""Actions of all tables: moving, sorting, marking, filtering."""

from __future__ import annotations

from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import why_no_row

TABLE = tuple(
    Action(
        f"table.{name}", keys, label, text, "Tables", scope="table",
        run=f"table.{run}" if run else "", args=tuple(args),
    )
    for name, keys, label, text, run, *args in (
        ("down", ("down", "j"), "Down", "Go to the next row", "rows", 1),
        ("up", ("up", "k"), "Up", "Go to the previous row", "rows", -1),
        ("page_down", ("pagedown", "ctrl+f"), "Page down", "Scroll one page down", "pages", 1),
        ("page_up", ("pageup", "ctrl+b"), "Page up", "Scroll one page up", "pages", -1),
        ("first", ("home", "g"), "First", "Go to the first row", ""),
        ("last", ("end", "G"), "Last", "Go to the last row; the log then follows the campaign", ""),
        ("left", ("shift+left", "h"), "Scroll left", "Show columns further left", "columns", -8),
        ("right", ("shift+right", "l"), "Scroll right", "Show columns further right", "columns", 8),
        ("select", ("enter",), "Open", "Open the row, or move to its details", ""),
    )
)  # fmt: skip

SORTING = (
    # Works from the details pane too.
    Action("table.sort", ("s",), "Sort", "Choose the column to sort by (or click on its title)",
        "Tables", scope="sorting", footer=21),
    Action("table.reverse", ("S",), "Reverse", "Reverse the order", "Tables", scope="sorting"),
)  # fmt: skip

MARKING = (
    Action("table.mark", ("space",), "Mark", "Mark the row: commands act on all marked rows",
        "Tables", scope="marking", check=why_no_row, footer=19, mode="live"),
    Action("table.mark_range", ("M",), "Mark range",
        "Mark all rows from the last marked one to this one", "Tables", scope="marking",
        check=why_no_row, mode="live"),
)  # fmt: skip

LISTING = (
    Action("table.filter", ("slash",), "Filter", "Show only rows that contain these words",
        "Tables", scope="listing", footer=20),
    Action("table.unfilter", ("escape",), "Show all",
        "Unmark all rows, or show all; from the details, back to the table", "Tables",
        scope="listing"),
)  # fmt: skip
