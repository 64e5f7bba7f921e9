"""Tables of the campaign file that features add: their class, and all of them by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import tomli_w

from fuzztui.engines.keys import Key, ValueType
from fuzztui.engines.kinds import EngineKind
from fuzztui.kernel.base.plugins import PluginError
from fuzztui.kernel.model.feature import Feature, features, list_of, own_features
from fuzztui.run.campaign.model import Campaign
from fuzztui.run.campaign.values import TYPES

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")

BASE_TABLES = ("campaign", "stop", "target", "engine")
HOSTS = "hosts"
"""The table whose keys are the addresses of hosts."""


class CampaignLoad(Protocol):
    """The load of one campaign file, for :meth:`CampaignTable.fill_in`."""

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
    """The table ``[NAME]``. A subclass adds what keys alone cannot express: checks across tables.

    :meth:`Campaign.table` returns the checked values; {} if the campaign does not have the table.
    """

    name: str
    title: str
    """What the table is for, in docs/campaign.md."""
    keys: Sequence[Key]
    of_hub: bool = False
    """Whether hosts of the campaign do not get the table."""
    by_name: bool = False
    """Whether it is written ``[[NAME]]``, once for each object that it describes. ``name`` is one
    of its keys, by which :meth:`Campaign.table` and the frozen copy have the tables."""

    def keys_for(self, kind: EngineKind | None) -> Sequence[Key] | None:
        """Return the keys for an engine kind (None: AFL++); None: the kind has no such table."""
        return self.keys

    def reason_against(self, kind: str) -> str:
        """Return why an engine kind does not take the table, for the message; may be empty."""
        return ""

    def is_implied(self, kind: str) -> bool:
        """Whether a campaign of that engine kind has the table, also if its file does not."""
        return False

    def fill_in(self, campaign: Campaign, frozen: dict[str, Any], load: CampaignLoad) -> None:
        """Fill in what depends on other tables, in ``campaign`` and in the run's frozen copy.

        Called for campaigns that have the table. ``load.problem`` is for values that cannot be
        filled in; what contradicts other keys is for :meth:`problems`.
        """

    def problems(self, campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
        """Yield a dotted key and a message for each contradiction in a campaign with the table.

        ``of_run``: the campaign is a run's frozen copy. Contradictions that matter for the first
        start only are then not yielded, because the run must open.
        """
        yield from ()

    def without_effect(self, campaign: Campaign) -> Iterator[tuple[str, str]]:
        """Yield a dotted key and a message for each key without effect, given or not.

        Not called for a run's frozen copy.
        """
        yield from ()

    def notes(self, campaign: Campaign, given: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield a dotted key and a message for ``check`` about each value that was guessed.

        ``given``: the dotted keys that the user has set.
        """
        yield from ()


@dataclass(frozen=True, slots=True)
class _PackageTable(CampaignTable):
    """The table of a package's feature. All methods raise PluginError, which names the feature."""

    feature: Feature | None = None
    table: CampaignTable | None = None

    def keys_for(self, kind: EngineKind | None) -> Sequence[Key] | None:
        return self._made("keys_for", self._guarded_keys, kind)

    def reason_against(self, kind: str) -> str:
        return self._made("reason_against", str, kind)

    def is_implied(self, kind: str) -> bool:
        return self._made("is_implied", bool, kind)

    def fill_in(self, campaign: Campaign, frozen: dict[str, Any], load: CampaignLoad) -> None:
        keys = {*frozen}

        def check(_: object) -> None:
            tomli_w.dumps(frozen)
            if more := frozen.keys() - keys:
                raise ValueError(f"{more.pop()!r} is no key of the file")

        self._made("fill_in", check, campaign, frozen, load)

    def problems(self, campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
        yield from self._made("problems", _pairs, campaign, of_run=of_run)

    def without_effect(self, campaign: Campaign) -> Iterator[tuple[str, str]]:
        yield from self._made("without_effect", _pairs, campaign)

    def notes(self, campaign: Campaign, given: Collection[str]) -> Iterator[tuple[str, str]]:
        yield from self._made("notes", _pairs, campaign, given)

    def _made(self, method: str, check: Callable[[Any], T], *args: Any, **options: Any) -> T:
        try:
            return check(getattr(self.table, method)(*args, **options))
        except (Exception, SystemExit) as e:
            raise self._fault(method, e) from e

    def _fault(self, place: str, error: BaseException) -> PluginError:
        assert self.feature is not None
        return PluginError(self.feature.fault(f"[{self.name}]: {place}", error))

    def _guarded_keys(self, made: Any) -> Sequence[Key] | None:
        return None if made is None else [self._guarded(key) for key in list_of(Key, made)]

    def _guarded(self, key: Key) -> Key:
        """Return the key with a type whose errors name the feature. Raises ValueError."""
        if not all(isinstance(text, str) for text in (key.name, key.help)):
            raise ValueError(f"the key {key.name!r} needs a name and a help, both texts")
        if not isinstance(key.type, ValueType):
            if problem := type_problem(key):
                raise ValueError(problem)
            return key
        own = key.type

        def check(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
            try:
                kept, used = own.check(key, value, base)
            except (ValueError, OSError):
                raise
            except Exception as e:
                raise self._fault(f"the check of {key.name}", e) from e
            return kept, used

        def schema() -> Mapping[str, Any]:
            try:
                return dict(own.schema() if callable(own.schema) else own.schema)
            except Exception as e:
                raise self._fault(f"the schema of {key.name}", e) from e

        return replace(key, type=ValueType(own.help, check, schema))


def type_problem(key: Key) -> str:
    """Return what is wrong with the type of a package's key; "" if nothing is."""
    known = isinstance(key.type, ValueType) or key.type in TYPES
    if known or (key.type == "choice" and key.choices):
        return ""
    return f"the key {key.name} has the unknown type {key.type!r}"


def _pairs(made: Any) -> list[tuple[str, str]]:
    return [(str(key), str(text)) for key, text in made]


@cache
def feature_tables() -> dict[str, CampaignTable]:
    """Return the tables that features add, by name, in the order of the features.

    Raises :class:`~fuzztui.kernel.base.plugins.PluginError` if a table is wrong, or its name taken.
    """
    found: dict[str, CampaignTable] = {}
    for feature in features():
        if not feature.table:
            continue
        table = feature.load(feature.table)
        if not isinstance(table, CampaignTable):
            raise PluginError(feature.fault(feature.table, TypeError("is no CampaignTable")))
        if not isinstance(table.name, str) or not _NAME.fullmatch(table.name):
            name = ValueError(f"{table.name!r} is no name of a table")
            raise PluginError(feature.fault(feature.table, name))
        if table.name in (*found, *BASE_TABLES, HOSTS):
            exists = ValueError(f"there is a table [{table.name}] already")
            raise PluginError(feature.fault(feature.table, exists))
        if feature not in own_features():
            its = table.name, table.title, table.keys, table.of_hub, table.by_name
            table = _PackageTable(*its, feature, table)
        found[table.name] = table
    return found
