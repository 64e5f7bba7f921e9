"""Mutation scores of files and functions, kept up to date with each changed mutant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fuzztui.kernel.model.mutants import (
    NOT_RUN,
    UNREACHED,
    Knowledge,
    outcome,
    score_of,
    survivor_group,
)
from fuzztui.kernel.model.progress import verdict
from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.wire.verdicts import ACCEPTED

_Known = tuple[str, str, str, str, str]
"""What the sums contain of a mutant: file, function, state, group of survivors, verdict."""


@dataclass(slots=True)
class CodeScore:
    """The mutants of one file, or of one function of it. Its numbers change in place."""

    file: str
    function: str = ""
    """The function; an empty string: the row is of the whole file, or of code in no function."""
    is_file: bool = False
    queue: bool = False
    """Whether the campaign has a worklist: the score is of the mutants that had a verdict."""
    states: Counter[str] = field(default_factory=Counter)
    groups: Counter[str] = field(default_factory=Counter)
    """The survivors by group (:data:`~fuzztui.kernel.model.mutants.SURVIVORS`)."""
    verdicts: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """The number of mutants."""
        return self.states.total()

    @property
    def left(self) -> int:
        """The mutants that are still to be killed; without those that a user has accepted."""
        left = sum(self.states[word] for word in ("alive", "pending", UNREACHED, NOT_RUN))
        return left - self.groups[ACCEPTED]

    @property
    def score(self) -> float | None:
        """The mutation score: killed share of the mutants that are not invalid; None: no mutant.

        With a worklist: killed of all that had a verdict.
        """
        if self.queue:
            return score_of(self.verdicts["killed"], self.verdicts.total())
        return score_of(self.states["killed"], self.total - self.states["invalid"])


def file_key(file: str) -> str:
    """Return the key of a file's row."""
    return file


def function_key(file: str, function: str) -> str:
    """Return the key of a function's row."""
    return f"{file}\n{function}"


class CodeScores:
    """The scores by file and function, and the group of each survivor.

    :meth:`note` takes time for the changed mutants only: of 100,000 all take too long for each
    tick.
    """

    def __init__(self) -> None:
        self.rows: dict[str, CodeScore] = {}
        """By :func:`file_key` and :func:`function_key`."""
        self.groups: Counter[str] = Counter()
        """The number of survivors in each group."""
        self._known: dict[str, _Known] = {}

    def note(
        self,
        mutants: Mapping[str, Mutant],
        ids: Iterable[str],
        *,
        reset: bool,
        known: Knowledge,
        queue: bool,
    ) -> set[str]:
        """Update the sums with the mutants ``ids``; ``reset``: first forget all others.

        Returns the keys of the changed rows. A function's position in a table also depends on the
        row of its file.
        """
        if reset:
            self.rows.clear()
            self.groups.clear()
            self._known.clear()
        changes: Counter[_Known] = Counter()
        for id_ in ids:
            m = mutants.get(id_)
            if m is None:
                continue
            group = survivor_group(m, known)
            now = (m.file, m.function, outcome(m, known), group, verdict(m) if queue else "")
            before = self._known.get(id_)
            if now != before:
                self._known[id_] = now
                changes[now] += 1
                if before is not None:
                    changes[before] -= 1
        keys: set[str] = set()
        for same, by in changes.items():  # many mutants have the same
            if by:
                self._count(same, by, queue)
            keys |= {file_key(same[0]), function_key(same[0], same[1])}
        for key in keys:
            row = self.rows.get(key)
            if row is not None and not row.total:
                del self.rows[key]
        return keys

    def _count(self, known: _Known, by: int, queue: bool) -> None:
        file, function, state, group, verdict_ = known
        for key, name in ((file_key(file), ""), (function_key(file, function), function)):
            row = self.rows.get(key)
            if row is None:
                row = self.rows[key] = CodeScore(file, name, "\n" not in key, queue)
            row.states[state] += by
            if group:
                row.groups[group] += by
            if verdict_:
                row.verdicts[verdict_] += by
        if group:
            self.groups[group] += by

    def group_of(self, id_: str) -> str:
        """The group of a survivor; an empty string for other mutants."""
        known = self._known.get(id_)
        return known[3] if known is not None else ""

    @property
    def worst(self) -> CodeScore | None:
        """The function with the most mutants that are left; None if none is left."""
        functions = (row for row in self.rows.values() if not row.is_file and row.left)
        return max(functions, key=lambda row: row.left, default=None)
