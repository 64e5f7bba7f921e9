"""The table ``[[siblings]]``: the directories of other fuzzers of the same target."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from fuzztui.engines.keys import Key
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.table import CampaignTable

KEYS = (
    Key(
        "name",
        "name",
        "The name of the other fuzzer on screens, and of the instance with its inputs.",
        required=True,
    ),
    Key("corpus", "later", "Its corpus: new files in there are imported.", required=True),
    Key(
        "crashes",
        "later",
        "Where it saves inputs that fail: they run on this target, too, and are findings.",
        default="",
    ),
    Key(
        "export",
        "boolean",
        "Whether new entries of the campaign become files in `corpus`, named by their SHA-1.",
        default=True,
    ),
)


class SiblingsTable(CampaignTable):
    """``[[siblings]]``, for all engines whose inputs are bytes or text."""

    def problems(self, campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
        """Yield what does not fit: the target, names and directories."""
        if maker := next(filter(campaign.target.get, ("generator", "suite")), ""):
            yield self.name, f"have inputs of bytes, which mean nothing to a {maker}; remove them"
        if campaign.hosts:
            yield self.name, "are for one machine; remove [hosts] or --host, or [[siblings]]"
        for name, sibling in campaign.table(self.name).items():
            if name in campaign.own_names:
                yield f"siblings.{name}.name", "is the name of an instance; choose another name"
            if Path(sibling["corpus"]).is_relative_to(campaign.output):
                text = "is in the run of this campaign; name the directory of the other fuzzer"
                yield f"siblings.{name}.corpus", text

    def notes(self, campaign: Campaign, given: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield which directories are not there yet."""
        for name, sibling in campaign.table(self.name).items():
            for key in ("corpus", "crashes"):
                if sibling[key] and not Path(sibling[key]).is_dir():
                    text = f"{sibling[key]} is not there yet; the campaign waits for it"
                    yield f"siblings.{name}.{key}", text


TABLE = SiblingsTable(
    "siblings", "other fuzzers of the same target (docs/afl.md)", KEYS, by_name=True
)
