"""``fuzztui targets``: the code targets of a campaign, and the types that influence them."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from fuzztui.campaign import CampaignError, load
from fuzztui.cli.figures import cut, percent
from fuzztui.cli.progress import Counter
from fuzztui.cli.runs import is_run, sample
from fuzztui.cli.words import DONE, NOT_RUNNING, USAGE, Failure, at_terminal, say
from fuzztui.supervise.ready import unknown_aliases
from fuzztui.targets import Document, Request, Target, TargetsError, find_targets
from fuzztui.wire.text import several, visible

__all__ = ["summary", "table", "targets"]

_LEAST_TYPES = 20
"""Columns for the types of a target, however long its location is."""

_MOST_LOCATION = 44


def targets(options: argparse.Namespace) -> int:
    """The table, or the document as JSON."""
    path: Path = options.path
    file = path / "campaign.toml" if path.is_dir() and is_run(path) else sample(path)
    if not file.exists():
        raise Failure(f"{path}: there is no such campaign file or run directory", NOT_RUNNING)
    try:
        campaign = load(file, options.overrides).campaign
    except CampaignError as e:
        raise Failure(str(e), USAGE) from None
    counter = Counter()
    try:
        observed = str(options.observed.absolute()) if options.observed else ""
        engine = campaign.engine if options.run else None
        request = Request.of_target(campaign.target, observed=observed, engine=engine)
        document = find_targets(request, counter.words)
    except TargetsError as e:
        counter.clear()
        raise Failure(f"{file}: {e}", USAGE) from None
    counter.clear()
    if options.json:
        print(json.dumps(document.to_json(), indent=1))
        return DONE
    width = shutil.get_terminal_size().columns if at_terminal() else 0
    for line in table(document, width):
        print(line)
    print(summary(document))
    for note in document.notes:
        say(note)
    known = [influence.name for influence in document.types]
    for name, words in unknown_aliases(campaign.engine.get("aliases", {}), known).items():
        say(f'engine.aliases: "{name}": {words}')
    return DONE


def table(document: Document, width: int = 0) -> Iterator[str]:
    """A target a line: where it is, and its types with their distances, the nearest first.

    Lines fit ``width`` columns (0: they are as long as they are).
    """
    rows = [(visible(t.location), t) for t in document.targets]
    longest = max((len(place) for place, _ in rows), default=0)
    of_place = longest if not width else min(longest, max(_MOST_LOCATION, width - 60))
    for place, target in rows:
        shown = place if len(place) <= of_place else "…" + place[len(place) - of_place + 1 :]
        room = max(width - of_place - 2, _LEAST_TYPES) if width else 1 << 30
        yield f"{shown:<{of_place}}  {cut(_types(target), room)}"


def _types(target: Target) -> str:
    if target.never:
        return "(never taken, as mypy proves)"
    return ", ".join(f"{visible(t.name)} {t.distance}" for t in target.types) or "-"


def summary(document: Document) -> str:
    """How many targets there are that may be taken, with and without a type; how many types."""
    taken = [t for t in document.targets if not t.never]
    total, typed = len(taken), sum(1 for t in taken if t.types)
    share = f" ({percent(typed / total)})" if total else ""
    return (
        f"{several(total, 'target')}: {typed:,} with a type{share}, {total - typed:,} without;"
        f" {several(len(document.types), 'type')}"
    )
