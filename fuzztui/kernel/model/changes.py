"""Collect the rows that a batch of records touches while it is folded."""

from __future__ import annotations

from fuzztui.kernel.model.state import Changes, Instance, State


class ChangesBuilder:
    """Builds a :class:`~fuzztui.kernel.model.state.Changes`."""

    __slots__ = (
        "campaign", "commands", "entries", "findings", "instances", "mutants", "reset", "source",
    )  # fmt: skip

    def __init__(self) -> None:
        self.campaign = False
        self.instances: set[str] = set()
        self.entries: set[str] = set()
        self.findings: set[str] = set()
        self.mutants: set[str] = set()
        self.commands: set[str] = set()
        self.source = False
        self.reset = False
        """Whether rows are gone."""

    def changes(self, records: int, reset: bool) -> Changes:
        """Return the changes by ``records`` records; ``reset``: whether these were the first."""
        reset |= self.reset
        return Changes(
            campaign=self.campaign or reset,
            instances=frozenset(self.instances),
            entries=frozenset(self.entries),
            findings=frozenset(self.findings),
            mutants=frozenset(self.mutants),
            commands=frozenset(self.commands),
            source=self.source or reset,
            records=records,
            reset=reset,
        )


def instance(state: State, name: str, touched: ChangesBuilder) -> Instance:
    """Return the instance ``name``, added if it is new, and mark it as touched."""
    found = state.instances.get(name)
    if found is None:
        found = state.instances[name] = Instance(name)
    touched.instances.add(name)
    return found
