"""A table of the campaign file that a feature adds, and which there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from fuzztui.engines.keys import Key
from fuzztui.engines.kinds import EngineKind
from fuzztui.kernel.base.plugins import PluginError
from fuzztui.kernel.model.feature import Feature, features, list_of, own_features
from fuzztui.run.campaign.model import Campaign

T = TypeVar("T")

RESERVED = ("campaign", "stop", "target", "engine", "hosts")
"""Tables that no feature adds."""


class Loading(Protocol):
    """The load of one campaign file, for :meth:`CampaignTable.complete`."""

    run: Path | None
    """The run of which the file is the frozen copy; None for any other file."""

    def given(self, dotted: str) -> bool:
        """Whether a key is in the file, or given with ``--set``."""

    def base(self, dotted: str) -> Path:
        """Return the directory to which a path in a key's value is relative."""

    def problem(self, dotted: str, text: str) -> None:
        """Note what is wrong with a key: the campaign is refused."""


@dataclass(frozen=True, slots=True)
class CampaignTable:
    """The table ``[NAME]``: a subclass says what keys alone cannot.

    :meth:`Campaign.table` returns its checked values, {} for a campaign without the table.
    """

    name: str
    title: str
    """What the table is for, in docs/campaign.md and in error messages."""
    keys: Sequence[Key]
    """Its keys for Python targets, and for others unless :meth:`of` says otherwise."""

    def of(self, kind: EngineKind | None) -> Sequence[Key]:
        """Return the keys for an engine kind, none if it does not take the table; None: AFL++."""
        return self.keys

    def refusal(self, kind: str) -> str:
        """Return what to add to the message that an engine kind does not take the table."""
        return ""

    def always(self, kind: str) -> bool:
        """Whether a campaign without the table has its defaults."""
        return False

    def complete(self, campaign: Campaign, frozen: dict[str, Any], load: Loading) -> None:
        """Fill in what depends on other tables: in ``campaign``, and in the run's frozen copy.

        Called for campaigns that have the table.
        """

    def problems(self, campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
        """Yield contradictions of a campaign with the table: a dotted key and a message each.

        ``of_run``: the campaign is the frozen copy of a run, which must open.
        """
        yield from ()

    def idle(self, campaign: Campaign) -> Iterator[tuple[str, str]]:
        """Yield dotted keys that have no effect beside others, given or not; not asked of runs."""
        yield from ()


@dataclass(frozen=True, slots=True)
class _OfPackage(CampaignTable):
    """The table of a package's feature. All methods raise PluginError, which names the feature."""

    feature: Feature
    table: CampaignTable

    def of(self, kind: EngineKind | None) -> Sequence[Key]:
        return self._made("of", partial(list_of, Key), kind)

    def refusal(self, kind: str) -> str:
        return self._made("refusal", str, kind)

    def always(self, kind: str) -> bool:
        return self._made("always", bool, kind)

    def complete(self, campaign: Campaign, frozen: dict[str, Any], load: Loading) -> None:
        self._made("complete", bool, campaign, frozen, load)

    def problems(self, campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
        yield from self._made("problems", _pairs, campaign, of_run=of_run)

    def idle(self, campaign: Campaign) -> Iterator[tuple[str, str]]:
        yield from self._made("idle", _pairs, campaign)

    def _made(self, method: str, check: Callable[[Any], T], *args: Any, **options: Any) -> T:
        try:
            return check(getattr(self.table, method)(*args, **options))
        except Exception as e:
            raise PluginError(self.feature.fault(f"[{self.name}]: {method}", e)) from e


def _pairs(made: Any) -> list[tuple[str, str]]:
    return [(str(key), str(text)) for key, text in made]


@cache
def feature_tables() -> dict[str, CampaignTable]:
    """Return the tables that features add, by name, in the order of the features.

    Raises :class:`~fuzztui.kernel.base.plugins.PluginError` for what a package adds wrongly.
    """
    found: dict[str, CampaignTable] = {}
    for feature in features():
        if not feature.table:
            continue
        table = feature.load(feature.table)
        if not isinstance(table, CampaignTable):
            raise PluginError(feature.fault(feature.table, TypeError("is no CampaignTable")))
        if table.name in (*found, *RESERVED):
            exists = ValueError(f"there is a table [{table.name}] already")
            raise PluginError(feature.fault(feature.table, exists))
        is_own = feature in own_features()
        found[table.name] = (
            table if is_own else _OfPackage(table.name, table.title, table.keys, feature, table)
        )
    return found
