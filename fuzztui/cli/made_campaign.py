"""Campaigns that a command makes of its arguments, and errors that name these and not a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fuzztui.cli.output import UsageError
from fuzztui.run.campaign import CampaignError, FrozenCampaign, load


@dataclass(frozen=True, slots=True)
class MadeCampaign:
    """A campaign that a command makes of its arguments, without a file."""

    text: str
    """What the file would contain."""
    command: str
    arguments: Mapping[str, str]
    """The argument of the command line from which a key has its value, by the dotted key."""

    def origin(self, key: str) -> str:
        """Return the argument or command that a key is from; errors name it instead of a file."""
        return self.arguments.get(key, self.command)


def load_made(
    file: Path, made: MadeCampaign, overrides: Sequence[str], hosts: Sequence[str]
) -> FrozenCampaign:
    """Load the campaign. ``file``: where it would be. Raises :class:`CliError`."""

    def is_of_file(origin: str) -> bool:
        return origin == str(file) or origin.startswith(f"{file}:")

    try:
        loaded = load(file, overrides, hosts=hosts, text=made.text)
    except CampaignError as e:
        problems = [
            replace(p, origin=made.origin(p.key)) if is_of_file(p.origin) else p for p in e.problems
        ]
        raise UsageError(str(CampaignError(problems))) from None

    def origin(key: str) -> str:
        found = loaded.origin(key)
        return made.origin(key) if is_of_file(found) else found

    return replace(loaded, origin=origin)
