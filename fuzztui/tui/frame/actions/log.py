"""Actions of the Log screen."""

from __future__ import annotations

from fuzztui.tui.frame.action import Action

LOG = (
    Action(
        "log.kind", ("f",), "Kind",
        "Show only saved inputs, commands, instances, messages, or all", "Log",
        scope="log", footer=10,
    ),
    Action(
        "log.instance", ("i",), "Instance",
        "Show only the instance or host under the cursor, or all", "Log",
        scope="log", footer=11,
    ),
    Action(
        "log.clock", ("w",), "Clock",
        "Show the time of day, or the time since the campaign started", "Log",
        scope="log", footer=13,
    ),
    Action(
        "log.fields", ("v",), "Fields",
        "Show all fields of the records, by their names in the log", "Log",
        scope="log", footer=12,
    ),
)  # fmt: skip
