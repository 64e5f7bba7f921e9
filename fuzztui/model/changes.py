"""What a batch of records touches while it is folded."""

from __future__ import annotations

from fuzztui.model.state import Changes, Instance, State

__all__ = ["ChangesBuilder", "instance"]


class ChangesBuilder:
    """The mutable makings of a :class:`~fuzztui.model.state.Changes`."""

    __slots__ = ("campaign", "commands", "entries", "findings", "instances", "mutants")

    def __init__(self) -> None:
        self.campaign = False
        self.instances: set[str] = set()
        self.entries: set[str] = set()
        self.findings: set[str] = set()
        self.mutants: set[str] = set()
        self.commands: set[str] = set()

    def changes(self, records: int, reset: bool) -> Changes:
        """What was touched by so many records; ``reset`` when they were the very first."""
        return Changes(
            campaign=self.campaign or reset,
            instances=frozenset(self.instances),
            entries=frozenset(self.entries),
            findings=frozenset(self.findings),
            mutants=frozenset(self.mutants),
            commands=frozenset(self.commands),
            records=records,
            reset=reset,
        )


def instance(state: State, name: str, touched: ChangesBuilder) -> Instance:
    """The instance of that name, made when it is first heard of; it counts as touched."""
    found = state.instances.get(name)
    if found is None:
        found = state.instances[name] = Instance(name)
    touched.instances.add(name)
    return found
