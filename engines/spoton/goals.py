"""Code targets: which arms of branches are left, and which types decide about them.

``targets.json`` is made by the static analysis (``fuzztui/targeting/analysis``; docs/targets.md has
it). What lies on the *frontier*, its decision taken but this arm never, is what an input can
be expected to cover next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

from fuzztui.engines.base.errors import CannotStart
from fuzztui.wire.analysed import analysis_of

__all__ = ["AnalysisFile", "Goal", "Goals", "read_document"]

_HANDLER: Final = "except"
"""An arm that none beside it tells of: most of the time no handler is run at all."""


_SET: Final = re.compile(rb"[^\0]")


@dataclass(frozen=True, slots=True)
class Goal:
    """An arm of a branch. Cells are those of the coverage map, 0 being the module's first one
    as long as it is not loaded.
    """

    location: str
    module: str
    decision: int
    """Those of a module with the same number are the arms of one branch."""
    arm: str
    cells: tuple[int, ...]
    """Any of them tells that it is covered."""
    within: tuple[int, ...]
    """Any of them tells that the block was entered which the branch is in."""
    reachable: bool
    """May it be reached from the entry point, as far as the static analysis can tell?"""
    types: Mapping[str, int]
    """Distance of each influencing type, in steps of the data flow; 0 is nearest."""
    never: bool = False
    """Is it proved that it is not taken? Then it counts as none."""

    def placed(self, base: int) -> Goal:
        """The same where the module's cells begin at ``base``."""
        return replace(
            self,
            cells=tuple(base + cell for cell in self.cells),
            within=tuple(base + cell for cell in self.within),
        )


@dataclass(frozen=True, slots=True)
class AnalysisFile:
    """What ``targets.json`` says."""

    modules: Mapping[str, str]
    """The hash of each module's source when it was analysed."""
    targets: tuple[Goal, ...] = ()
    types: frozenset[str] = frozenset()
    """All that were found, those of the targets among them."""
    notes: tuple[str, ...] = ()
    """What should be known of it, in words."""
    files: Mapping[str, str] = field(default_factory=dict)
    """What people call the source of a module, as locations do: ``package/module.py``."""

    @property
    def analysis(self) -> str:
        """What tells it from documents of other programs."""
        return analysis_of(self.modules)


def read_document(file: Path) -> AnalysisFile:
    """Read ``targets.json``. Raises :class:`CannotStart` with what is wrong."""
    try:
        data = json.loads(file.read_bytes())
        modules = {str(m["name"]): str(m["sha"]) for m in data["modules"]}
        files = {str(m["name"]): _file(str(m["name"]), m.get("file")) for m in data["modules"]}
        targets = tuple(
            Goal(
                location=str(t["location"]),
                module=str(t["module"]),
                decision=int(t["decision"]),
                arm=str(t["arm"]),
                cells=_cells(t["cells"]),
                within=_cells(t.get("within", ())),
                reachable=bool(t.get("reachable", True)),
                types={str(x["name"]): max(0, int(x["distance"])) for x in t["types"]},
                never=bool(t.get("never", False)),
            )
            for t in data["targets"]
        )
        types = {str(x["name"]) for x in data.get("types", ())}
        notes = tuple(map(str, data.get("notes", ())))
    except OSError as e:
        raise CannotStart(f"{file}: {e.strerror or e}") from None
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise CannotStart(f"{file} is not a targets.json: {type(e).__name__}: {e}") from None
    known = frozenset(types.union(*(t.types for t in targets)))
    return AnalysisFile(modules, targets, known, notes, files)


def _file(module: str, path: object) -> str:
    inside = "/__init__" if str(path).endswith("/__init__.py") else ""
    return f"{module.replace('.', '/')}{inside}.py"


def _cells(numbers: Iterable[object]) -> tuple[int, ...]:
    if not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError(f"{numbers!r:.60} are no cells")
    return tuple(cast("Iterable[int]", numbers))


class Goals:
    """The targets of the modules that are loaded, numbered, and what is covered of them.

    Those that are proved never to be taken are none of them.
    """

    def __init__(
        self, document: AnalysisFile, loaded: Callable[[str], tuple[str, int] | None]
    ) -> None:
        """``loaded(module)``: hash of its source and its first cell; None: it is not there."""
        self.document, self._loaded = document, loaded
        self._waiting = set(document.modules)
        self.changed: list[str] = []
        """The files that are not what was analysed: their targets are left out."""
        self.all: list[Goal] = []
        self._taken: dict[int, list[int]] = {}
        """The targets that a cell covers, and those whose decision it tells of."""
        self._met: dict[int, list[int]] = {}
        self._seen = 0
        """The cells that are taken account of."""
        self._reached: set[int] = set()
        """The targets whose decision was seen."""
        self.uncovered: set[int] = set()
        self.frontier: set[int] = set()

    def place(self) -> list[str]:
        """Take notice of modules that were loaded meanwhile; returns what is new of ``changed``."""
        placed: dict[str, int] = {}
        changed: list[str] = []
        for name in sorted(self._waiting):
            at = self._loaded(name)
            if at is None:
                continue
            self._waiting.discard(name)
            sha, base = at
            if sha == self.document.modules[name]:
                placed[name] = base
            else:
                changed.append(self.document.files.get(name, name))
        self.changed += changed
        new = [t.placed(placed[t.module]) for t in self.document.targets if t.module in placed]
        arms: dict[tuple[str, int], list[int]] = {}
        for target in new:
            arms.setdefault((target.module, target.decision), []).extend(target.cells)
        for target in (t for t in new if not t.never):
            number = len(self.all)
            self.uncovered.add(number)
            self.all.append(target)
            beside = arms[target.module, target.decision]
            alone = target.arm == _HANDLER or len(beside) == len(target.cells)
            for cell in target.cells:
                self._taken.setdefault(cell, []).append(number)
            for cell in {*beside, *target.within} if alone else set(beside):
                self._met.setdefault(cell, []).append(number)
        if new:
            self._seen = 0  # of those nothing is known yet
        return changed

    def cover(self, seen: int) -> bool:
        """``seen``: all cells that are covered, 8 bits each; a cell once covered stays covered.

        True: what is left has changed.
        """
        left, before = len(self.uncovered), self.frontier
        for cell in _numbers(seen & ~self._seen):
            self.uncovered.difference_update(self._taken.get(cell, ()))
            self._reached.update(self._met.get(cell, ()))
        self._seen |= seen
        self.frontier = self._reached & self.uncovered
        return len(self.uncovered) != left or self.frontier != before

    def met(self, observed: int) -> list[int]:
        """Targets of the frontier whose decision an input came to."""
        met = {n for cell in _numbers(observed) for n in self._met.get(cell, ())}
        return sorted(met & self.frontier)

    def with_types(self, numbers: Iterable[int]) -> list[Goal]:
        """Those of them that some type decides about, in their order."""
        return [self.all[n] for n in sorted(numbers) if self.all[n].types]

    def find(self, location: str) -> int | None:
        """The number of the target there, if there is one."""
        return next((n for n, t in enumerate(self.all) if t.location == location), None)

    def covered(self) -> set[str]:
        """The locations of those that are covered."""
        return {t.location for n, t in enumerate(self.all) if n not in self.uncovered}

    def waits(self, target: Goal) -> bool:
        """Is its module not loaded yet?"""
        return target.module in self._waiting

    def lost(self, location: str) -> bool:
        """Is there no target, nor can there be one while this document counts?"""
        there = (t for t in self.document.targets if t.location == location)
        return self.find(location) is None and not any(map(self.waits, there))

    def analysed(self, location: str) -> bool:
        """Was there a target when the program was analysed?"""
        return any(t.location == location and not t.never for t in self.document.targets)


def _numbers(cells: int) -> Iterator[int]:
    """The cells that an observation has."""
    data = cells.to_bytes(cells.bit_length() + 7 >> 3, "little")
    return (cell.start() for cell in _SET.finditer(data))
