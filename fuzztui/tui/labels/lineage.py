"""Who was made of whom, under the numbers of now: for every visible row, so it must be cheap.

A resumed afl-fuzz numbers its queue again, and ``src`` continues speaking of the old numbers
(:mod:`fuzztui.model.lineage`). Whose they were is known by first names; looking for a name
in a queue of 50,000 takes 70 ms, so that the names of a resumed campaign are kept here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from fuzztui.model.fuzzfirst import HANDED
from fuzztui.model.lineage import identity, parent_of
from fuzztui.model.selectors import lineage
from fuzztui.model.state import Changes, Entry, Finding, Mutant, State

__all__ = ["Lineage", "ParentEntry", "from_whom", "made_of", "made_of_briefly"]

MAX_STEPS = 1000
"""Ancestors that are looked at for a mutant."""


@dataclass(frozen=True, slots=True)
class ParentEntry:
    """The first parent of a row. ``entry`` is None where the log does not know it.

    ``then``: the row's ``src`` are numbers from before its queue was renumbered.
    """

    key: str
    entry: Entry | None
    then: bool = False


class Lineage:
    """The parents in a campaign; :meth:`take` must be told of all changes."""

    def __init__(self, campaign: Callable[[], State]) -> None:
        self._campaign = campaign
        self._keys: dict[str, str] | None = None
        self._behind: dict[str, str] = {}

    def take(self, changes: Changes) -> None:
        """The campaign changed."""
        entries = self._campaign().entries
        if changes.reset or any(entries[key].first >= 0 for key in changes.entries):
            self._behind.clear()  # others have these numbers now
        if changes.reset:
            self._keys = None
        elif self._keys is not None:
            self._learn(self._keys, (entries[key] for key in changes.entries), entries)

    def parent(self, row: Entry | Finding) -> ParentEntry | None:
        """None if it has none."""
        of = parent_of(row)
        if of is None:
            return None
        state = self._campaign()
        name = state.parents.get(identity(row))
        if name is not None:
            entry = self._named(name, state) if name else None
            return ParentEntry(entry.key if entry is not None else "", entry, True)
        steps = lineage(state, row, 1)
        return ParentEntry(steps[0].key, steps[0].entry) if steps else ParentEntry("", None, True)

    def line(self, row: Entry | Finding, most: int) -> list[ParentEntry]:
        """Its ancestors, nearest first, as far as the log can tell."""
        found: list[ParentEntry] = []
        seen = {row.key}
        parent = self.parent(row)
        while parent is not None and parent.key and parent.key not in seen and len(found) < most:
            seen.add(parent.key)
            found.append(parent)
            parent = None if parent.entry is None else self.parent(parent.entry)
        return found

    def of_target(self, row: Entry | Finding) -> bool:
        """Whether the target, not a mutant of it, is what it is an entry or a finding of."""
        instance = self._campaign().instances.get(row.instance)
        return instance is None or not instance.mutant

    def behind(self, row: Entry | Finding) -> str:
        """The mutant thanks to whose corpus there is ``row``, "" for none.

        As :func:`fuzztui.model.fuzzfirst.mutant_behind`, for every visible row: what was found
        out of an entry, and of all on the way, is kept.
        """
        state = self._campaign()
        if not state.stage:
            return ""
        way: list[str] = []
        found, certain, here = "", True, row
        while len(way) < MAX_STEPS:
            instance = state.instances.get(here.instance)
            if instance is not None and instance.mutant:
                found = instance.mutant
                break
            if here.key in self._behind:
                found = self._behind[here.key]
                break
            way.append(here.key)
            parent = self.parent(here)
            if parent is None:
                break
            if parent.entry is None:
                found, certain = self._mutant_of(parent.key), False
                break
            here = parent.entry
            if here.key in way:
                break
        if certain or found:
            self._behind.update(dict.fromkeys(way, found))
        return found

    def mutant_behind(self, row: Entry | Finding) -> Mutant | None:
        """:meth:`behind` as a row; None for none, or if the log does not tell of it."""
        return self._campaign().mutants.get(self.behind(row))

    def _mutant_of(self, key: str) -> str:
        """Whose entry, of which the log does not know more than its key, it was."""
        instance = self._campaign().instances.get(key.partition("/")[0])
        return "" if instance is None else instance.mutant

    def _named(self, name: str, state: State) -> Entry | None:
        if self._keys is None:
            self._keys = {}
            # A copy: the dict may be growing in the thread that reads the log.
            self._learn(self._keys, list(state.entries.values()), state.entries)
        return _holder(name, self._keys, state.entries)

    @staticmethod
    def _learn(keys: dict[str, str], told: Iterable[Entry], entries: Mapping[str, Entry]) -> None:
        """In the middle of a resume an input has two numbers: the one told last is of now."""
        for entry in told:
            name = identity(entry)
            other = _holder(name, keys, entries)
            if entry.saved and (other is None or other.told <= entry.told):
                keys[name] = entry.key


def _holder(name: str, keys: Mapping[str, str], entries: Mapping[str, Entry]) -> Entry | None:
    """Who is known by ``name``, unless the number is another one's by now."""
    entry = entries.get(keys.get(name, ""))
    return entry if entry is not None and identity(entry) == name else None


def from_whom(row: Entry | Finding) -> str:
    """Whose queue it was taken over from, in a word or two; "" for its own."""
    if row.instance == HANDED:
        return f"mutant in {row.sync}" if row.sync else "mutants"
    return "mutants" if row.sync == HANDED else row.sync


def made_of(row: Entry | Finding, parent: ParentEntry) -> str:
    """The parents' numbers for users: of now, and those of then that the file's name has."""
    named = " + ".join(f"#{i}" for i in row.src)
    if not parent.then:
        return named
    if parent.entry is None:
        return f"(then {named})"
    now = f"#{parent.entry.id}"
    return now if now == named else f"{now} (then {named})"


def made_of_briefly(row: Entry | Finding, parent: ParentEntry) -> str:
    """The same for a column; a number of then is marked."""
    if not parent.then:
        return " ".join(f"#{i}" for i in row.src[:2])
    more = " …" if len(row.src) > 1 else ""
    return f"then #{row.src[0]}" if parent.entry is None else f"#{parent.entry.id}{more}"
