"""The mutants that a command selects: one, or a group of similar ones. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from fuzztui.model.state import Mutant
from fuzztui.wire.selection import KEYS, Selection, SelectionError, parse_selection


@dataclass(frozen=True, slots=True)
class MutantGroup:
    """A selection with a title and its current mutants. ``select`` is sent to the supervisor."""

    title: str
    select: str
    states: Counter[str] = field(default_factory=Counter)
    """Number of selected mutants in each state."""

    @property
    def count(self) -> int:
        """Number of selected mutants."""
        return self.states.total()


def one(mutant: Mutant) -> MutantGroup | None:
    """Return the mutant alone; None if its id (in a hostile log) would select other mutants."""
    try:
        alone = parse_selection(mutant.id) == Selection(id=mutant.id)
    except SelectionError:
        alone = False
    return MutantGroup("this mutant", mutant.id, Counter([mutant.state])) if alone else None


def scopes(mutant: Mutant, mutants: Iterable[Mutant], narrowed: str = "") -> list[MutantGroup]:
    """Return the groups that contain ``mutant``, from one to many.

    ``narrowed`` is the selection of the table's filter; an empty string if it is not one. The
    counts are computed from the selections, so that they match what a command changes.
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
    """``text`` as a value of a selection that matches exactly ``text``.

    A character with a meaning in selections or patterns is replaced by a pattern for it; so are
    blanks at the ends, which would be stripped.
    """
    out = "".join(f"[{ch}]" if ch in "*?[" else "?" if ch == "," else ch for ch in text)
    for end in (0, -1):
        if out and out[end].isspace():
            out = "?" + out[1:] if end == 0 else out[:-1] + "?"
    return out


# -------------------------------------------------------------------- filter


@dataclass(frozen=True, slots=True)
class Filter:
    """The content of the filter line: ``words`` that a row must contain, and a selection."""

    words: str = ""
    selection: Selection | None = None

    def accepts(self, state: str) -> Callable[[Mutant], bool] | None:
        """Return a test for mutants in ``state`` ("" for any); None if all would pass."""
        selection = self.selection
        if selection is None and not state:
            return None
        return lambda m: (
            (not state or m.state == state) and (selection is None or selection.matches(m))
        )

    def as_selection(self, state: str) -> str:
        """Return the filter as a selection's text; "" if it has words, or selects all."""
        if self.words:
            return ""
        conditions = list(self.selection.conditions) if self.selection is not None else []
        conditions += [("state", state)] if state else []
        return ",".join(f"{key}={value}" for key, value in conditions)


def parse_filter(text: str) -> Filter:
    """Parse words, and conditions such as ``operator=math,state=alive`` among them.

    An incomplete condition (``operator=``) is ignored.
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
