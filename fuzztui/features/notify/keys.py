"""The table ``[notify]``: a command that is run when there is news."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fuzztui.engines.keys import Key, ValueType
from fuzztui.kernel.wire.events import NEWS
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.table import CampaignLoad, CampaignTable
from fuzztui.run.campaign.values import check_known, check_strings, one_or_list, program


def _news(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    value = [value] if isinstance(value, str) else value
    check_strings(key, value)
    check_known(value, NEWS, "kind of news")
    if not value:
        raise ValueError("is empty, so nothing would be reported; remove [notify] instead")
    return value, value


KEYS = (
    Key(
        "command",
        "command",
        "The program to run, with arguments; no shell. A path is relative to the campaign "
        "file. Its stdin is one JSON object, FUZZTUI_NEWS one line of text "
        "(docs/notify.md). It is killed after 30 s.",
        required=True,
    ),
    Key(
        "on",
        ValueType('a list of "findings", "stall", "end"', _news, one_or_list({"enum": [*NEWS]})),
        "What to report. findings: the first finding of a new group; stall: nothing new "
        "for `stall`; end: the campaign has ended.",
        default=list(NEWS),
    ),
    Key(
        "stall",
        "duration",
        "Running time without a new entry or finding that is reported, once.",
        default=1200.0,
    ),
    Key(
        "max_per_hour",
        "integer",
        "Most runs of the command within an hour; later groups are reported together.",
        default=20,
        minimum=1,
        maximum=3600,
    ),
)


class NotifyTable(CampaignTable):
    """``[notify]``, for all engines."""

    def fill_in(self, campaign: Campaign, frozen: dict[str, Any], load: CampaignLoad) -> None:
        """Resolve the program. A run continues without it: its notifications then fail."""
        notify = campaign.table(self.name)
        name, *arguments = notify["command"]
        try:
            name = program(name, load.base("notify.command"))
        except ValueError as e:
            if load.run is None:
                load.problem("notify.command", str(e))
        notify["command"] = frozen["command"] = [name, *arguments]


TABLE = NotifyTable("notify", "a command that is run when there is news", KEYS, of_hub=True)
