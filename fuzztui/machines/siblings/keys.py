"""The table ``[[siblings]]``: the directories of other fuzzers of the same target."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from fuzztui.engines.keys import Key
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.contradictions import OF_TURN
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
        if campaign.blind:
            text = "need an afl-fuzz that imports, which none does with -n (engine.extra_args)"
            yield self.name, f"{text}; remove one of them"
        for name in campaign.table(self.name):
            if name in campaign.own_names:
                yield f"siblings.{name}.name", "is the name of an instance; choose another name"
            elif campaign.table("mutants") and OF_TURN.fullmatch(name):
                text = "is a name of instances that fuzz a mutant ([mutants]); choose another name"
                yield f"siblings.{name}.name", text
        if not of_run:  # links may have changed since; the run must open
            yield from self._directories(campaign)

    def _directories(self, campaign: Campaign) -> Iterator[tuple[str, str]]:
        """Yield which directories are the run's own, or given twice, through links, too."""
        run, seen = os.path.realpath(campaign.output), dict[str, str]()
        for name, sibling in campaign.table(self.name).items():
            for key in filter(sibling.get, ("corpus", "crashes")):
                path, dotted = os.path.realpath(sibling[key]), f"siblings.{name}.{key}"
                if Path(path).is_relative_to(run):
                    text = "is in the run of this campaign; name the directory of the other fuzzer"
                    yield dotted, text
                elif (other := seen.setdefault(path, dotted)) != dotted:
                    yield dotted, f"is the directory of {other}, too; give each directory once"

    def notes(self, campaign: Campaign, given: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield which directories are not there yet."""
        for name, sibling in campaign.table(self.name).items():
            for key in ("corpus", "crashes"):
                if sibling[key] and not Path(sibling[key]).is_dir():
                    text = f"{sibling[key]} is not there yet; it is read as soon as it exists"
                    yield f"siblings.{name}.{key}", text


TABLE = SiblingsTable(
    "siblings", "other fuzzers of the same target (docs/afl.md)", KEYS, by_name=True
)
