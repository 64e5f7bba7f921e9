"""Actions of the Overview's table, of its charts, and of the Log."""

from __future__ import annotations

from functools import partial

from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import why_not_show_hosts

OVERVIEW = (
    Action("overview.hosts", ("t",), "Hosts",
        "Switch between the instances and the hosts with their sums; enter: those of one host",
        "Campaign", scope="overview", check=why_not_show_hosts, footer=11, hosts=True),
    Action("overview.copy_next", ("c",), "Copy command",
        "Copy a command line of the closing card; again: the one after it", "Campaign",
        scope="overview", footer=9, mode="live", ended=True),
)  # fmt: skip

_chart_action = partial(Action, group="Charts", scope="overview")

CHARTS = (
    _chart_action("overview.arrows", ("left", "right"), "Chart cursor",
        "Name the key that goes to the charts: there the arrows move a cursor", mode="live"),
    _chart_action("overview.charts", ("v",), "Charts",
        "Show other charts: findings, corpus, growth per minute, library code", footer=18),
    _chart_action("overview.window", ("w",), "Window",
        "Charts of the last 5 minutes, of the last hour, or of the whole campaign", footer=19),
    *(
        Action(f"chart.{name}", (name,), label, text, "Charts", scope="chart",
               run="chart.move", args=(by,))
        for name, label, text, by in (
            ("left", "Earlier", "With the focus on the charts: the values of an earlier time", -1),
            ("right", "Later", "With the focus on the charts: the values of a later time", 1),
        )
    ),
)  # fmt: skip

_log_action = partial(Action, group="Log", scope="log")

LOG = (
    _log_action("log.kind", ("f",), "Kind",
        "Show only saved inputs, commands, instances, messages, or all", footer=10),
    _log_action("log.instance", ("i",), "Instance",
        "Show only the instance or host under the cursor, or all", footer=11),
    _log_action("log.clock", ("w",), "Clock",
        "Show the time of day, or the time since the campaign started", footer=13),
    _log_action("log.fields", ("v",), "Fields",
        "Show all fields of the records, by their names in the log", footer=12),
)  # fmt: skip
