"""The kill matrix: which inputs kill which mutants."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fuzztui.features.fuzzfirst.json_lines import JsonLines
from fuzztui.kernel.model.state import Mutant
from fuzztui.kernel.wire.events import MutantState


class KillMatrix:
    """Kills of a run, in an append-only file. Raises :class:`SupervisorError`.

    A killer is an input's digest or origin, with its kill criterion: "crash", "hang" or "output".
    The first criterion of a pair is kept.
    """

    def __init__(self, file: Path) -> None:
        self._ledger = JsonLines(file)
        self._kills: dict[str, dict[str, str]] = {}
        for row in self._ledger.rows:
            mutant, killers = row.get("mutant"), row.get("killers")
            if isinstance(mutant, str) and isinstance(killers, dict):
                known = self._kills.setdefault(mutant, {})
                for killer, oracle in killers.items():
                    known.setdefault(killer, str(oracle))

    def add(self, mutant: str, killers: Mapping[str, str]) -> int:
        """Record the killers of a mutant, with kill criterion; return how many are new."""
        known = self._kills.get(mutant, {})
        fresh = {killer: oracle for killer, oracle in killers.items() if killer not in known}
        if fresh:
            self._ledger.append([{"mutant": mutant, "killers": fresh}])
            self._kills.setdefault(mutant, {}).update(fresh)
        return len(fresh)

    def killers(self, mutant: str) -> Mapping[str, str]:
        """Return a mutant's killers in recorded order, with kill criterion; empty if none."""
        return self._kills.get(mutant, {})

    def verdict(self, mutant: Mutant) -> MutantState | None:
        """Return the event that a mutant is killed, by its first killer; None: it has none."""
        first = next(iter(self.killers(mutant.id).items()), None)
        if first is None:
            return None
        return MutantState("", mutant.id, "killed", *first, steer=mutant.steer)

    def mutants(self) -> tuple[str, ...]:
        """Return the killed mutants, in the order of their first kills."""
        return tuple(self._kills)


def killed_by(on_mutant: Mapping[str, str], on_target: Mapping[str, str]) -> dict[str, str]:
    """Return the inputs (digests) that crash or hang the mutant and are "ok" on the target.

    Inputs that fail on the target too, or were not run on it, kill nothing.
    """
    return {
        digest: outcome
        for digest, outcome in on_mutant.items()
        if outcome in ("crash", "hang") and on_target.get(digest) == "ok"
    }
