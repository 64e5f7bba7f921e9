"""Which mutants a command is to mean: the one under the cursor, or more of its kind. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from fuzztui.model.state import Mutant
from fuzztui.wire.selection import KEYS, Selection, SelectionError, parse_selection

__all__ = ["Filter", "MutantGroup", "one", "parse_filter", "scopes"]


@dataclass(frozen=True, slots=True)
class MutantGroup:
    """A selection in words, and whom it means as of now. ``select`` is what is sent."""

    title: str
    select: str
    states: Counter[str] = field(default_factory=Counter)
    """How many of the mutants that it means are in each state."""

    @property
    def count(self) -> int:
        """How many mutants it means."""
        return self.states.total()


def one(mutant: Mutant) -> MutantGroup | None:
    """The mutant alone; None when its id (from a hostile log) would select something else."""
    try:
        alone = parse_selection(mutant.id) == Selection(id=mutant.id)
    except SelectionError:
        alone = False
    return MutantGroup("this mutant", mutant.id, Counter([mutant.state])) if alone else None


def scopes(mutant: Mutant, mutants: Iterable[Mutant], narrowed: str = "") -> list[MutantGroup]:
    """What a user may mean by pointing at ``mutant``, from one to many.

    ``narrowed`` is the selection that the table is narrowed to, if it is one. Every
    count is the selection's own: what is shown is what would be steered.
    """
    file, function, operator = (
        _literally(text) for text in (mutant.file, mutant.function, mutant.operator)
    )
    wanted: list[tuple[str, Sequence[tuple[str, str]]]] = [
        (
            f"{mutant.operator} in {mutant.function}",
            (("file", file), ("function", function), ("operator", operator)),
        ),
        (f"all in {mutant.function}", (("file", file), ("function", function))),
        (f"{mutant.operator} in {mutant.file}", (("file", file), ("operator", operator))),
        (f"all in {mutant.file}", (("file", file),)),
        (f"{mutant.operator} everywhere", (("operator", operator),)),
    ]
    found = [
        MutantGroup(title, ",".join(f"{key}={value}" for key, value in conditions))
        for title, conditions in wanted
        if all(value for _, value in conditions)
    ]
    if narrowed:
        found.append(MutantGroup("all that the table shows", narrowed))
    chosen = [(scope, parse_selection(scope.select)) for scope in found]
    for row in mutants:
        for scope, selection in chosen:
            if selection.matches(row):
                scope.states[row.state] += 1
    single = one(mutant)
    return [*([single] if single is not None else []), *found]


def _literally(text: str) -> str:
    """``text`` as a selection's value that means it and nothing shorter or longer.

    What would end a value, or means something in a pattern, is matched by a pattern
    of its own; the blanks at its ends would be stripped.
    """
    out = "".join(f"[{ch}]" if ch in "*?[" else "?" if ch == "," else ch for ch in text)
    for end in (0, -1):
        if out and out[end].isspace():
            out = "?" + out[1:] if end == 0 else out[:-1] + "?"
    return out


# -------------------------------------------------------------------- filter


@dataclass(frozen=True, slots=True)
class Filter:
    """What the filter line says: ``words`` that a row must hold, and a selection."""

    words: str = ""
    selection: Selection | None = None

    def accepts(self, state: str) -> Callable[[Mutant], bool] | None:
        """A test for rows of that state ("" for any); None when it would accept all."""
        selection = self.selection
        if selection is None and not state:
            return None
        return lambda m: (
            (not state or m.state == state) and (selection is None or selection.matches(m))
        )

    def as_selection(self, state: str) -> str:
        """The same as a selection's text; "" when words cannot be said as one, or all is meant."""
        if self.words:
            return ""
        conditions = list(self.selection.conditions) if self.selection is not None else []
        conditions += [("state", state)] if state else []
        return ",".join(f"{key}={value}" for key, value in conditions)


def parse_filter(text: str) -> Filter:
    """Words, and conditions such as ``operator=math,state=alive`` among them.

    A condition that is still being typed (``operator=``) narrows nothing.
    """
    words: list[str] = []
    conditions: list[tuple[str, str]] = []
    for word in text.split():
        key, equals, _ = word.partition("=")
        if not equals or key not in KEYS:
            words.append(word)
            continue
        for part in word.split(","):
            with suppress(SelectionError):
                conditions += parse_selection(part).conditions
    return Filter(" ".join(words), Selection(conditions=tuple(conditions)) if conditions else None)
