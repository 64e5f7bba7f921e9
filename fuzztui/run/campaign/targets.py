"""Campaigns of several targets: ``[[targets]]``, each an ordinary campaign.

A target has either a campaign file of its own, or the tables of this one, changed by those of its
entry. In the frozen copy each target has all its tables, by its name: ``[targets.NAME.engine]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from fuzztui.kernel.base.suggest import near
from fuzztui.kernel.model.passive import ADDED
from fuzztui.run.campaign.files import is_pyproject
from fuzztui.run.campaign.model import FROZEN, CampaignError, FrozenCampaign, Problem, TargetPart
from fuzztui.run.campaign.schema import HOSTS, TARGET_PART, TARGETS, Key, table_names
from fuzztui.run.campaign.table import CampaignLoad, feature_tables

MAX_TARGETS = 200

_OWN_KEYS = {key.name for key in TARGET_PART}

_OF_CAMPAIGN = ("name", "output", "verdicts", "seed", "group", "group_may_steer")
"""Keys of ``[campaign]`` that all targets have from the campaign of several."""


class LoadOne(Protocol):
    """Loads the campaign of one target; see :func:`fuzztui.run.campaign.load`."""

    def __call__(
        self, path: Path, *, cwd: Path, text: str | None, changes: Mapping[str, Any]
    ) -> FrozenCampaign:
        """Raise :class:`CampaignError` with all problems."""


class Loading(CampaignLoad, Protocol):
    """The load of the file of the whole campaign."""

    path: Path
    cwd: Path
    problems: list[Problem]

    def checked(
        self, name: str, keys: Sequence[Key], table: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the frozen and the resolved values of a table; note what is wrong."""


def own_tables() -> list[str]:
    """Return the tables of a campaign of several targets that are not of its targets."""
    of_hub = (name for name, table in feature_tables().items() if table.of_hub)
    return ["campaign", "stop", *of_hub]


class TargetParts:
    """Makes the targets of one campaign."""

    def __init__(self, load: Loading, load_one: LoadOne) -> None:
        self._load, self._load_one = load, load_one

    def make(
        self, tables: Mapping[str, Any], campaign: Mapping[str, Any], output: Path
    ) -> tuple[tuple[TargetPart, ...], dict[str, Any]]:
        """Return the targets, and their table in the frozen copy; note what is wrong.

        ``campaign``: the frozen table of the whole campaign, whose run is ``output``.
        """
        found = tables[TARGETS]
        is_table = isinstance(found, dict) and all(isinstance(e, dict) for e in found.values())
        if not is_table or not 0 < len(found) <= MAX_TARGETS:
            self._load.problem(
                TARGETS,
                f"has from 1 to {MAX_TARGETS} entries, each with a header [[targets]] and a name",
            )
            return (), {}
        parts: dict[str, TargetPart] = {}
        frozen: dict[str, Any] = {}
        base = {n: t for n, t in tables.items() if n not in (*own_tables(), TARGETS)}
        for name, entry in found.items():
            noted = len(self._load.problems)
            is_old = name == ADDED and self._load.run is not None  # runs may have one of this name
            table = {k: v for k, v in entry.items() if k in _OWN_KEYS}
            table["name"] = TARGETS if is_old else name
            own, values = self._load.checked(f"{TARGETS}.{name}", TARGET_PART, table)
            changes = {k: v for k, v in entry.items() if k not in _OWN_KEYS}
            if len(self._load.problems) > noted or not self._are_tables(name, changes):
                continue
            shared = {k: campaign[k] for k in _OF_CAMPAIGN if k in campaign}
            shared |= {"name": name, "output": str(output / TARGETS / name)}
            if (one := self._one(name, values, base, changes, shared)) is None:
                continue
            parts[name] = TargetPart(name, values["weight"], one)
            kept = {k: v for k, v in one.frozen["campaign"].items() if k not in _OF_CAMPAIGN}
            weight = {"weight": own["weight"]} if "weight" in own else {}
            frozen[name] = {**weight, **one.frozen, "campaign": kept}
        is_whole = len(parts) == len(found)  # the others have problems of their own
        if self._load.run is None and is_whole and not any(p.weight for p in parts.values()):
            self._load.problem(TARGETS, "all have the weight 0, so that none would run; raise one")
        return tuple(parts.values()), frozen

    def _are_tables(self, name: str, changes: Mapping[str, Any]) -> bool:
        """Whether an entry's other keys are tables that a target may have; note what is wrong."""
        noted = len(self._load.problems)
        given = changes.get("campaign")
        of_whole = {*_OF_CAMPAIGN, "cores"}.intersection(given if isinstance(given, dict) else ())
        for key in sorted(of_whole) if self._load.run is None else ():
            text = "is of the whole campaign; move it to [campaign] of the file"
            self._note(name, f"campaign.{key}", text)
        for key, value in changes.items():
            if key not in _part_tables():
                self._note(name, key, _unknown(key))
            elif not isinstance(value, dict | list):  # the target's own load refuses a list
                self._note(name, key, f"{value!r} is not a table; write [{TARGETS}.{key}]")
        return len(self._load.problems) == noted

    def _one(
        self,
        name: str,
        values: Mapping[str, Any],
        base: Mapping[str, Any],
        changes: Mapping[str, Any],
        shared: Mapping[str, Any],
    ) -> FrozenCampaign | None:
        """Load one target; note what is wrong with it."""
        text: str | None = ""
        tables = changes
        if self._load.run is not None:  # paths are absolute, the first start has read files
            file = Path(shared["output"]) / FROZEN
        elif named := values["file"]:
            try:
                file = self._load.path.absolute().parent / Path(named).expanduser()
                is_this = file.samefile(self._load.path)
            except RuntimeError:
                self._note(name, "file", f"{named!r}: there is no such user")
                return None
            except FileNotFoundError:
                self._note(name, "file", f"{named!r}: there is no such file; name a campaign file")
                return None
            except OSError:  # which its load reports
                is_this = False
            if is_this:
                self._note(name, "file", "is this file; name the target's own campaign file")
                return None
            text = None
        else:
            file = self._load.path.absolute()
            file = file.with_name(FROZEN) if is_pyproject(file) else file
            tables = merged(base, changes)
        tables = {**tables, "campaign": {**tables.get("campaign", {}), **shared}}
        try:
            one = self._load_one(file, cwd=self._load.cwd, text=text, changes=tables)
        except CampaignError as e:
            for problem in e.problems:
                if text is None and problem.origin.startswith(str(file)):
                    self._load.problems.append(problem)  # its line is of the target's own file
                else:
                    self._note(name, problem.key, problem.text)
            return None
        if HOSTS in one.frozen:
            self._note(name, HOSTS, "remove [hosts]: several targets run on one machine")
        return one

    def _note(self, name: str, key: str, text: str) -> None:
        """Note what is wrong with an entry, at the line of the key, or where the entry begins."""
        self._load.problem(f"{TARGETS}.{name}.{key}", text)


def merged(*tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables with the keys of all; those of the last one count."""
    found: dict[str, Any] = {}
    for more in tables:
        for name, table in more.items():
            both = isinstance(table, dict) and isinstance(found.get(name), dict)
            found[name] = {**found[name], **table} if both else table
    return found


def _part_tables() -> set[str]:
    """The tables that a target may have: those of a campaign, but those of the whole."""
    return {*table_names(), "campaign", "stop"} - {*own_tables()[2:], HOSTS}


def _unknown(key: str) -> str:
    known = sorted({*_OWN_KEYS, *_part_tables()})
    close = near(key, known)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"is no key of [[{TARGETS}]]{hint or '.'} It takes {', '.join(known)}"


def all_parts(loaded: FrozenCampaign) -> Iterator[tuple[str, FrozenCampaign]]:
    """Yield the name and the campaign of each target; of a campaign with one target: itself."""
    if not loaded.campaign.targets:
        yield "", loaded
    for part in loaded.campaign.targets:
        yield part.name, part.loaded
