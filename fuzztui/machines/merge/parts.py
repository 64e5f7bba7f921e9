"""The runs that are merged: what they are called, and whether they are of one campaign."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fuzztui.kernel.base.files import read_json
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.model.state import State
from fuzztui.machines.merge.renaming import Renamer
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.inprocess.constants import constants_of

PARTS: Final = "merged.json"
"""The file of a merged run with what it is made of; a run without it is no merged one."""

_UNFIT: Final = re.compile(r"[^A-Za-z0-9-]+")
_MAX_NAME: Final = 24
_ENGINE_KEYS: Final = ("operators", "mutate", "oracle")
"""Keys of ``[engine]`` on which the meaning of mutants' states depends."""
_MUTANT_KEYS: Final = ("sources", "functions", "covered")


class MergeError(Exception):
    """A message for the user: these cannot be merged."""


@dataclass(slots=True)
class RunPart:
    """One run that is merged."""

    run: RunDir
    campaign: Campaign
    state: State
    problems: Sequence[str] = ()
    """Messages about damage of the run's log."""
    name: str = ""
    """Start of the names of its instances in the merged run; set by :func:`name_parts`."""
    inner: list[dict[str, Any]] = field(default_factory=list)
    """If it is a merged run: what it is made of."""

    @property
    def identity(self) -> str:
        """An id of the run, equal for copies; of a run with a damaged log, its path."""
        if not self.state.started_wall:  # a damaged log
            return str(self.run.path.resolve())
        identity = [self.state.started_wall, self.state.seed, *(self.state.host, self.state.name)]
        return hashlib.sha256(repr(identity).encode()).hexdigest()[:16]

    @property
    def renamer(self) -> Renamer:
        """Gives instances the names of the merged run; those of a merged run are unique already."""
        return Renamer("" if self.inner else self.name)

    def rows(self) -> list[dict[str, Any]]:
        """The rows about the part in ``merged.json``."""
        if self.inner:
            return self.inner
        shard = self.state
        return [
            {
                "name": self.name,
                "run": str(self.run.path),
                "identity": self.identity,
                "records": self.state.seq,
                "shard": [shard.shard, shard.shards] if shard.shard else None,
            }
        ]


def inner_parts(run: RunDir) -> list[dict[str, Any]]:
    """Return what a merged run is made of; an empty list for any other run."""
    rows = (read_json(run.path / PARTS) or {}).get("parts")
    rows = rows if isinstance(rows, list) else []
    good = [r for r in rows if isinstance(r, dict) and isinstance(r.get("name"), str)]
    return [r for r in good if isinstance(r.get("identity"), str)]


def without_copies(parts: Sequence[RunPart]) -> tuple[list[RunPart], list[str]]:
    """Leave out runs that are there already: copies of others, or parts of a merged run.

    Of copies the longest stays. Returns messages about what is left out. Raises
    :class:`MergeError` if a part of a merged run has grown since.
    """
    notes: list[str] = []
    inside = {row["identity"]: (row, part) for part in parts for row in part.inner}
    kept: dict[str, RunPart] = {}
    for part in parts:
        if not part.inner and part.identity in inside:
            row, merged = inside[part.identity]
            records = row.get("records")
            if not isinstance(records, int) or part.state.seq > records:
                raise MergeError(
                    f"{part.run.path}: is a part of {merged.run.path}, and has gone on since that "
                    "was merged; merge the runs that it is made of again"
                )
            notes.append(f"{part.run.path}: left out, because {merged.run.path} contains it")
            continue
        before = kept.get(part.identity)
        if before is None:
            kept[part.identity] = part
            continue
        longer, shorter = (part, before) if part.state.seq > before.state.seq else (before, part)
        kept[part.identity] = longer
        if longer.run.path.resolve() != shorter.run.path.resolve():
            notes.append(f"{shorter.run.path}: left out, a copy of {longer.run.path}")
    return list(kept.values()), notes


def name_parts(parts: Sequence[RunPart]) -> None:
    """Name each run: its directory's name without the words with which all of them begin.

    The parts of a merged run keep their names.
    """
    taken = {str(row["name"]) for part in parts for row in part.inner}
    if sum(len(part.inner) for part in parts) > len(taken):
        raise MergeError("two merged runs have parts of the same name; merge the original runs")
    plain = [part.run.path.name for part in parts if not part.inner]
    same = _same_words(plain)
    for part in parts:
        if part.inner:
            continue
        base = _UNFIT.sub("-", part.run.path.name[same:]).strip("-")[:_MAX_NAME] or "run"
        part.name = next(n for n in _numbered(base) if n not in taken)
        taken.add(part.name)


def _same_words(names: Sequence[str]) -> int:
    """Characters of the whole words with which all names begin; 0 for one name."""
    if len(names) < 2:
        return 0
    same = 0
    for at, characters in enumerate(zip(*names, strict=False)):
        if len(set(characters)) > 1:
            break
        if characters[0] in "-_.":
            same = at + 1
    return same


def _numbered(base: str) -> Iterator[str]:
    yield base
    number = 2
    while True:
        yield f"{base}-{number}"
        number += 1


def check_alike(parts: Sequence[RunPart]) -> None:
    """Raise :class:`MergeError`, which names what differs, if runs are not of one campaign."""
    first = parts[0]
    for part in parts[1:]:
        for key, (mine, theirs) in _differences(first, part):
            raise MergeError(
                f"{part.run.path}: is of another campaign than {first.run.path}: {key} is "
                f"{brief(str(theirs), 60)} there, and {brief(str(mine), 60)} here"
            )


def _differences(a: RunPart, b: RunPart) -> Iterator[tuple[str, tuple[object, object]]]:
    one, two = a.campaign, b.campaign
    pairs: dict[str, tuple[object, object]] = {
        "engine.kind": (one.kind, two.kind),
        "the target": (one.subject, two.subject),
        "target.generator": (one.target.get("generator"), two.target.get("generator")),
        "constants.json": (_constants(a), _constants(b)),
    }
    if one.kind == "mu2":
        pairs |= {
            f"engine.{key}": (one.engine.get(key), two.engine.get(key)) for key in _ENGINE_KEYS
        }
    pairs["[mutants]"] = (bool(one.table("mutants")), bool(two.table("mutants")))
    if one.table("mutants") and two.table("mutants"):
        pairs |= {f"mutants.{key}": (_plain(one, key), _plain(two, key)) for key in _MUTANT_KEYS}
    yield from ((key, pair) for key, pair in pairs.items() if pair[0] != pair[1])


def _plain(campaign: Campaign, key: str) -> object:
    """The value of a key of ``[mutants]``; of files only the names: machines have other paths."""
    value = campaign.table("mutants").get(key)
    if isinstance(value, list):
        return [str(item).rpartition("/")[2] for item in value]
    return value


def _constants(part: RunPart) -> str:
    data = constants_of(part.run)
    return "none" if data is None else hashlib.sha256(data).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class MergedShards:
    """The shards that runs, or scores, are together."""

    of: int = 0
    """0: they are no shards."""
    numbers: tuple[int, ...] = ()
    mutants: int = 0
    program: str = ""

    @property
    def missing(self) -> list[int]:
        """The numbers of the shards that are not there."""
        return [n for n in range(1, self.of + 1) if n not in self.numbers]


def shards_of(parts: Sequence[tuple[str, MergedShards]]) -> MergedShards:
    """Join the shards of named parts. Raises :class:`MergeError` if they do not belong together.

    Parts that are no shard have all mutants: the whole is then complete.
    """
    shards = [(name, shard) for name, shard in parts if shard.of]
    if len(shards) < len(parts):
        return MergedShards()
    first_name, first = shards[0]
    for name, shard in shards[1:]:
        if shard.of != first.of:
            raise MergeError(
                f"{name}: is one of {shard.of} shards, {first_name} one of {first.of}; merge "
                "shards of one division"
            )
        if shard.program != first.program:
            raise MergeError(
                f"{name}: is of another program than {first_name}: its {shard.mutants:,} mutants "
                f"are not the same {first.mutants:,} ones"
            )
    numbers = sorted({n for _, shard in shards for n in shard.numbers})
    return MergedShards(first.of, tuple(numbers), first.mutants, first.program)
