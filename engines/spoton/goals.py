"""Goals: the uncovered branches, and the types that decide them.

The static analysis (``fuzztui/features/targeting/analysis``) writes ``targets.json``;
docs/targets.md describes it. A goal is on the *frontier* if its decision was executed but the
branch never was: an input is most likely to cover such a goal next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

from fuzztui.engines.base.errors import CannotStart
from fuzztui.kernel.base.bounds import LARGEST
from fuzztui.kernel.wire.targeting import analysis_of

_EXCEPT: Final = "except"
"""A branch whose decision is not proved by other covered branches: usually no handler runs."""


_SET: Final = re.compile(rb"[^\0]")


@dataclass(frozen=True, slots=True)
class Goal:
    """A branch of a decision. Cells are indexes in the coverage map; relative to the module's first
    cell while the module is not loaded.
    """

    location: str
    module: str
    decision: int
    """Number of the decision in its module; the branches of one decision share it."""
    branch: str
    """Kind of the branch: then, else, except, ..."""
    cells: tuple[int, ...]
    """The branch is covered if any of these cells is covered."""
    within: tuple[int, ...]
    """The block around the decision was entered if any of these cells is covered."""
    reachable: bool
    """Whether the static analysis found a path from the entry point."""
    types: Mapping[str, int]
    """Distance of each influencing type, in steps of the data flow; 0 is nearest."""
    never: bool = False
    """Whether the branch is proved never to be taken; it is then no goal."""

    def at_base(self, base: int) -> Goal:
        """The same goal in a loaded module whose first cell is ``base``."""
        return replace(
            self,
            cells=tuple(base + cell for cell in self.cells),
            within=tuple(base + cell for cell in self.within),
        )


@dataclass(frozen=True, slots=True)
class AnalysisFile:
    """The content of ``targets.json``."""

    modules: Mapping[str, str]
    """The hash of each module's source at the time of the analysis."""
    goals: tuple[Goal, ...] = ()
    types: frozenset[str] = frozenset()
    """All types that the analysis found, including those of the goals."""
    notes: tuple[str, ...] = ()
    """Remarks of the analysis for users."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The source file of each module as in locations: ``package/module.py``."""

    @property
    def analysis(self) -> str:
        """An identifier that is different for analyses of other programs or other versions."""
        return analysis_of(self.modules)


def read_document(file: Path) -> AnalysisFile:
    """Read ``targets.json``. Raises :class:`CannotStart` if the file is missing or malformed."""
    try:
        data = json.loads(file.read_bytes())
        modules = {str(m["name"]): str(m["sha"]) for m in data["modules"]}
        files = {str(m["name"]): _file(str(m["name"]), m.get("file")) for m in data["modules"]}
        goals = tuple(
            Goal(
                location=str(t["location"]),
                module=str(t["module"]),
                decision=int(t["decision"]),
                branch=str(t["arm"]),
                cells=_cells(t["cells"]),
                within=_cells(t.get("within", ())),
                reachable=bool(t.get("reachable", True)),
                types={
                    str(x["name"]): min(LARGEST, max(0, int(x["distance"]))) for x in t["types"]
                },
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
    known = frozenset(types.union(*(t.types for t in goals)))
    return AnalysisFile(modules, goals, known, notes, files)


def _file(module: str, path: object) -> str:
    inside = "/__init__" if str(path).endswith("/__init__.py") else ""
    return f"{module.replace('.', '/')}{inside}.py"


def _cells(numbers: Iterable[object]) -> tuple[int, ...]:
    if not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError(f"{numbers!r:.60} are not cell numbers")
    return tuple(cast("Iterable[int]", numbers))


class Goals:
    """The goals of the loaded modules, numbered, and which of them are covered.

    Branches that are proved never to be taken are not among them.
    """

    def __init__(
        self, document: AnalysisFile, loaded: Callable[[str], tuple[str, int] | None]
    ) -> None:
        """``loaded(module)`` returns the hash of its source and its first cell, or None."""
        self.document, self._loaded = document, loaded
        self._waiting = set(document.modules)
        self.changed: list[str] = []
        """Files that have changed since the analysis; their goals are left out."""
        self.all: list[Goal] = []
        self._goals_of_cell: dict[int, list[int]] = {}
        """By cell: the goals that it covers, and the goals whose decision it shows as executed."""
        self._goals_of_decision: dict[int, list[int]] = {}
        self._seen = 0
        """The covered cells that have been processed."""
        self._decided: set[int] = set()
        """The goals whose decision was executed."""
        self.uncovered: set[int] = set()
        self.frontier: set[int] = set()

    def add_loaded(self) -> list[str]:
        """Add the goals of newly loaded modules. Returns the files that are new in ``changed``."""
        at_base: dict[str, int] = {}
        changed: list[str] = []
        for name in sorted(self._waiting):
            at = self._loaded(name)
            if at is None:
                continue
            self._waiting.discard(name)
            sha, base = at
            if sha == self.document.modules[name]:
                at_base[name] = base
            else:
                changed.append(self.document.files.get(name, name))
        self.changed += changed
        new = [t.at_base(at_base[t.module]) for t in self.document.goals if t.module in at_base]
        cells_of_decision: dict[tuple[str, int], list[int]] = {}
        for goal in new:
            cells_of_decision.setdefault((goal.module, goal.decision), []).extend(goal.cells)
        for goal in (t for t in new if not t.never):
            number = len(self.all)
            self.uncovered.add(number)
            self.all.append(goal)
            beside = cells_of_decision[goal.module, goal.decision]
            alone = goal.branch == _EXCEPT or len(beside) == len(goal.cells)
            for cell in goal.cells:
                self._goals_of_cell.setdefault(cell, []).append(number)
            for cell in {*beside, *goal.within} if alone else set(beside):
                self._goals_of_decision.setdefault(cell, []).append(number)
        if new:
            self._seen = 0  # all covered cells must be processed for the new goals
        return changed

    def cover(self, seen: int) -> bool:
        """Remove covered goals. ``seen``: all cells covered yet, 8 bits each; it only grows.

        Returns whether the uncovered goals or the frontier have changed.
        """
        left, before = len(self.uncovered), self.frontier
        for cell in _numbers(seen & ~self._seen):
            self.uncovered.difference_update(self._goals_of_cell.get(cell, ()))
            self._decided.update(self._goals_of_decision.get(cell, ()))
        self._seen |= seen
        self.frontier = self._decided & self.uncovered
        return len(self.uncovered) != left or self.frontier != before

    def met(self, observed: int) -> list[int]:
        """The goals on the frontier whose decision was executed in this observation."""
        met = {n for cell in _numbers(observed) for n in self._goals_of_decision.get(cell, ())}
        return sorted(met & self.frontier)

    def with_types(self, numbers: Iterable[int]) -> list[Goal]:
        """The goals with these numbers that some type decides, in order of their numbers."""
        return [self.all[n] for n in sorted(numbers) if self.all[n].types]

    def find(self, location: str) -> int | None:
        """The number of the goal with this location; None if no loaded module has it."""
        return next((n for n, t in enumerate(self.all) if t.location == location), None)

    def covered(self) -> set[str]:
        """The locations of the covered goals."""
        return {t.location for n, t in enumerate(self.all) if n not in self.uncovered}

    def is_waiting(self, goal: Goal) -> bool:
        """Whether the goal's module is not loaded yet."""
        return goal.module in self._waiting

    def is_lost(self, location: str) -> bool:
        """Whether no goal has this location, and no module that is loaded later can add one."""
        there = (t for t in self.document.goals if t.location == location)
        return self.find(location) is None and not any(map(self.is_waiting, there))

    def was_analysed(self, location: str) -> bool:
        """Whether the static analysis found a goal at this location."""
        return any(t.location == location and not t.never for t in self.document.goals)


def _numbers(cells: int) -> Iterator[int]:
    """The indexes of the covered cells in an observation."""
    data = cells.to_bytes(cells.bit_length() + 7 >> 3, "little")
    return (cell.start() for cell in _SET.finditer(data))
