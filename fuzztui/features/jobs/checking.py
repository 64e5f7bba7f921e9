"""What a cluster would be used for jobs, and what is wrong with it: ``fuzztui cluster check``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fuzztui import __version__
from fuzztui.features.jobs.opening import check_workers, open_place
from fuzztui.features.jobs.places import Place
from fuzztui.features.jobs.tls import days_left, tls_for
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.run.campaign.cluster import ClusterConfig, ClusterError

_SOON_DAYS = 14


@dataclass(slots=True)
class Checked:
    """What was found; texts are for the user."""

    place: str = ""
    tls: str = "off: nothing listens"
    slots: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    workers: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def check_cluster(config: ClusterConfig, slots: int, say: Callable[[str], None]) -> Checked:
    """Open the place, ask its workers, and close it."""
    found = Checked(place="unknown")
    try:
        if not config.local:
            tls = tls_for(config.tls, config.scheduler)
            days = days_left(tls)
            found.tls = f"on, certificates of {Path(tls.ca).parent}, valid for {days} days"
            if days < _SOON_DAYS:
                found.problems.append(
                    f"the certificates end in {days} days; make new ones: fuzztui cluster init DIR"
                )
        place = open_place(config, slots, say)
    except ClusterError as e:
        found.problems.append(str(e))
        return found
    try:
        _ask(place, found)
    except ClusterError as e:
        found.problems.append(str(e))
    finally:
        place.close()
    return found


def _ask(place: Place, found: Checked) -> None:
    found.place = place.describe()
    facts = place.facts()
    found.slots, found.workers = facts.slots, [*facts.workers]
    found.versions = {**facts.versions, "fuzztui": __version__}
    # Only whether the workers see the same files at all: a command checks its own directory.
    with temporary_directory(place=Path.cwd()) as shared:
        found.problems += check_workers(place, [], Path(shared))
