"""Parents of entries and findings under their current numbers. Must be fast: used per row.

A resumed afl-fuzz renumbers its queue, while ``src`` still contains the old numbers
(:mod:`fuzztui.kernel.model.saved`). The entries are identified by their first names; searching a
queue of 50,000 for a name takes 70 ms, so that a resumed campaign's names are cached here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fuzztui.kernel.model.lineage import children, lineage
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.model.saved import identity, parent_of
from fuzztui.kernel.model.state import Changes, Entry, Finding, Mutant, State

MAX_STEPS = 1000
"""Maximal number of ancestors that are searched for a mutant."""


@dataclass(frozen=True, slots=True)
class ParentEntry:
    """The first parent of a row. ``entry`` is None if the log does not contain it.

    ``then``: the numbers in the row's ``src`` are older than the renumbering of its queue.
    """

    key: str
    entry: Entry | None
    then: bool = False


class Lineage:
    """The parents in a campaign; :meth:`take` must get all changes."""

    def __init__(self, campaign: Callable[[], State]) -> None:
        self._campaign = campaign
        self._keys: dict[str, str] | None = None
        self._behind: dict[str, str] = {}

    def take(self, changes: Changes) -> None:
        """Take changes of the campaign."""
        entries = self._campaign().entries
        if changes.reset or any(entries[key].first >= 0 for key in changes.entries):
            self._behind.clear()  # these numbers belong to other entries now
        if changes.reset:
            self._keys = None
        elif self._keys is not None:
            self._learn(self._keys, (entries[key] for key in changes.entries), entries)

    def parent(self, row: Entry | Finding) -> ParentEntry | None:
        """Return the row's first parent; None if it has none."""
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
        """Return the row's ancestors, nearest first, as far as the log contains them."""
        found: list[ParentEntry] = []
        seen = {row.key}
        parent = self.parent(row)
        while parent is not None and parent.key and parent.key not in seen and len(found) < most:
            seen.add(parent.key)
            found.append(parent)
            parent = None if parent.entry is None else self.parent(parent.entry)
        return found

    def children(self, key: str) -> Sequence[str]:
        """Return the keys of the entries whose first parent is the entry with ``key``."""
        state = self._campaign()
        entry = state.entries.get(key)
        rows = [] if entry is None else children(state, identity(entry))
        return [row.key for row in rows if isinstance(row, Entry)]

    def of_target(self, row: Entry | Finding) -> bool:
        """Return whether the row belongs to the target rather than to a mutant."""
        instance = self._campaign().instances.get(row.instance)
        return instance is None or not instance.mutant

    def behind(self, row: Entry | Finding) -> str:
        """Return the id of the mutant credited for ``row``; an empty string if there is none.

        The same as :func:`fuzztui.features.fuzzfirst.fold.mutant_behind`, but fast enough for every
        visible row: the result for an entry and its ancestors is cached.
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
        """Return the mutant of :meth:`behind`; None if there is none, or the log lacks it."""
        return self._campaign().mutants.get(self.behind(row))

    def _mutant_of(self, key: str) -> str:
        """The mutant that the instance of ``key`` fuzzes; for an entry that is not in the log."""
        instance = self._campaign().instances.get(key.partition("/")[0])
        return "" if instance is None else instance.mutant

    def _named(self, name: str, state: State) -> Entry | None:
        if self._keys is None:
            self._keys = {}
            # A copy: the thread that reads the log may be adding entries.
            self._learn(self._keys, list(state.entries.values()), state.entries)
        return _holder(name, self._keys, state.entries)

    @staticmethod
    def _learn(keys: dict[str, str], found: Iterable[Entry], entries: Mapping[str, Entry]) -> None:
        """Map first names to the current keys of entries: the key that was recorded last.

        During a resume of afl-fuzz an input has two numbers.
        """
        for entry in found:
            name = identity(entry)
            other = _holder(name, keys, entries)
            if entry.saved and (other is None or other.reported_seq <= entry.reported_seq):
                keys[name] = entry.key


def _holder(name: str, keys: Mapping[str, str], entries: Mapping[str, Entry]) -> Entry | None:
    """The entry with this first name, unless its number belongs to another entry now."""
    entry = entries.get(keys.get(name, ""))
    return entry if entry is not None and identity(entry) == name else None


def origin_of(row: Entry | Finding) -> str:
    """Return whose queue the row was imported from; an empty string if from none."""
    if row.instance == MUTANT_INPUTS:
        return f"mutant in {row.sync}" if row.sync else "mutants"
    return "mutants" if row.sync == MUTANT_INPUTS else row.sync


def parents_text(row: Entry | Finding, parent: ParentEntry) -> str:
    """Return the parents' numbers for users: current ones, and older ones of the file's name."""
    named = " + ".join(f"#{i}" for i in row.src)
    if not parent.then:
        return named
    if parent.entry is None:
        return f"(then {named})"
    now = f"#{parent.entry.id}"
    return now if now == named else f"{now} (then {named})"


def parents_brief(row: Entry | Finding, parent: ParentEntry) -> str:
    """Return the parents' current numbers for a column; an older one is marked with "then"."""
    if not parent.then:
        return " ".join(f"#{i}" for i in row.src[:2])
    more = " …" if len(row.src) > 1 else ""
    return f"then #{row.src[0]}" if parent.entry is None else f"#{parent.entry.id}{more}"
