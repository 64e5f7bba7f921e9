"""The mutants that a command selects: one, or a group of similar ones. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.wire import conditions
from fuzztui.kernel.wire.conditions import FilterKey, exactly
from fuzztui.kernel.wire.selection import KEYS, Selection, SelectionError, of_ids, parse_selection


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
        exactly(text) for text in (mutant.file, mutant.function, mutant.operator)
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
    chosen = [(scope, parse_selection(scope.select).test()) for scope in found]
    for row in mutants:
        for scope, test in chosen:
            if test(row):
                scope.states[row.state] += 1
    single = one(mutant)
    return [*([single] if single is not None else []), *found]


def selection_text(file: str, function: str = "", *, alone: bool = False) -> str:
    """Return the selection of all mutants of a file, or of one function of it; "" if unknown.

    It is also one word of a filter. ``alone``: not also of files and functions whose last part has
    the same name.
    """
    values = [exactly(v) for v in (file, function)]
    if alone:  # a pattern is compared with whole names only
        values = [f"[{v[0]}]{v[1:]}" if v and v[0] not in "[?" else v for v in values]
    pairs = zip(("file", "function"), values, strict=True)
    return ",".join(f"{key}={value}" for key, value in pairs if value)


def marked(mutants: Sequence[Mutant]) -> list[MutantGroup]:
    """Return groups that together contain exactly these mutants: one, unless there are thousands.

    So many ids do not fit into one command.
    """
    by_id = {m.id: m for m in mutants if m.id}  # a hostile log may have one without
    found = []
    for select in of_ids(by_id):
        ids = parse_selection(select).named or []
        states = Counter(by_id[id].state for id in ids)
        found.append(MutantGroup(f"{len(ids):,} marked mutants", select, states))
    return found


# -------------------------------------------------------------------- filter


@dataclass(frozen=True, slots=True)
class Filter:
    """The content of the filter line: ``words`` that a row must contain, and conditions."""

    words: tuple[str, ...] = ()
    selection: Selection | None = None
    problem: str = ""
    """What is wrong with a condition, which is not applied; an empty string if nothing is."""
    passes: Callable[[Mutant], bool] | None = None
    """The test of all conditions; None: there are none."""

    def accepts(
        self, state: str, of: Callable[[Mutant], str] = attrgetter("state")
    ) -> Callable[[Mutant], bool] | None:
        """Return a test for mutants in ``state`` ("" for any); None if all would pass.

        ``of`` returns a mutant's state.
        """
        passes = self.passes
        if not state:
            return passes
        return lambda m: of(m) == state and (passes is None or passes(m))

    def as_selection(self, state: str) -> str:
        """Return the filter as a selection's text; "" if no command can say it, or it selects all.

        A command cannot say words, nor what only a screen or only the log knows.
        """
        chosen = self.selection.conditions if self.selection is not None else ()
        if self.words or any(c.key not in KEYS for c in chosen) or Selection("", chosen).of_log:
            return ""
        parts = [str(c) for c in chosen]
        return ",".join([*parts, f"state={state}"] if state else parts)


def parse_filter(text: str, more: Mapping[str, FilterKey[Mutant]] | None = None) -> Filter:
    """Parse words and conditions; ``more``: keys in addition to those of selections."""
    found = conditions.parse_filter(text, {**KEYS, **(more or {})})
    if not found.conditions:
        return Filter(found.words, problem=found.problem)
    selection = Selection(conditions=found.conditions)
    return Filter(found.words, selection, found.problem, found.passes)
