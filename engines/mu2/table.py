"""What is known of each mutant: state, verdicts, place in the queue, counts.

KILLED of Algorithm 2 is here, and everything that a user says about mutants.
Every change is told as an event; those events are what a restart continues from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, ReportedEvents
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.loop.corpus import SteerError
from fuzztui.engines.mu2.kill_criterion import KillEvidence
from fuzztui.engines.mutants.program import PythonMutant
from fuzztui.wire.events import MutantRuns, MutantsFound, MutantState
from fuzztui.wire.selection import SelectionError, parse_selection

__all__ = ["ALIVE", "INVALID", "KILLED", "PENDING", "MutantRecord", "MutantTable"]

PENDING: Final = "pending"
ALIVE: Final = "alive"
KILLED: Final = "killed"
INVALID: Final = "invalid"
_SKIPPED: Final = "skipped"
_EQUIVALENT: Final = "equivalent"

_FOUND_A_LINE: Final = 200
_RUNS_A_LINE: Final = 500
_MAX_ENERGY_GRANTS: Final = 4


class MutantRecord:
    """One mutant's row. Has what :mod:`fuzztui.wire.selection` selects by."""

    __slots__ = (
        "base", "detail", "energy_grants", "infected", "isolated", "killer", "mutant", "oracle",
        "order", "promoted", "reached", "reason", "reported_runs", "runs", "trial", "verdict",
    )  # fmt: skip

    def __init__(self, mutant: PythonMutant) -> None:
        self.mutant = mutant
        self.base = PENDING
        """pending, alive, killed or invalid: what running it has shown."""
        self.verdict = ""
        """What a user said: "", skipped or equivalent."""
        self.reason = ""
        self.promoted = False
        self.order = 0
        """Lower comes first: 0 unless somebody moved it."""
        self.isolated = mutant.static
        """Must it run in a child process?"""
        self.killer = self.oracle = self.detail = ""
        self.trial = -1
        self.reached = self.infected = self.runs = 0
        self.reported_runs = 0
        self.energy_grants = 0

    @property
    def id(self) -> str:
        """The mutant's."""
        return self.mutant.id

    @property
    def file(self) -> str:
        """As shown."""
        return self.mutant.file

    @property
    def function(self) -> str:
        """Its qualified name."""
        return self.mutant.function

    @property
    def operator(self) -> str:
        """The mutation operator's name."""
        return self.mutant.operator

    @property
    def line(self) -> int:
        """In its file."""
        return self.mutant.line

    @property
    def state(self) -> str:
        """The word that is told: a kill or invalidity outranks nothing that a user said."""
        return self.verdict or self.base

    @property
    def steer(self) -> str:
        """promoted, first, last or nothing."""
        if self.promoted:
            return "promoted"
        return "first" if self.order < 0 else "last" if self.order > 0 else ""


class MutantTable:
    """The rows by index of :attr:`Program.mutants`, and the sets that the pipeline needs.

    ``survivors`` are the indices worth running in this process: neither dead nor
    invalid nor skipped nor equivalent nor bound to a child process; ``outside`` the
    same for those.
    """

    def __init__(self, log: EventLog, journal: TrialJournal, reported: ReportedEvents) -> None:
        self._log, self._words, self._reported = log, journal.words, reported
        self.rows: list[MutantRecord] = []
        self._by_id: dict[str, MutantRecord] = {}
        self.survivors: set[int] = set()
        self.isolated: set[int] = set()
        self.promoted: set[int] = set()
        self.mask = 0
        """``survivors`` as bits."""
        self.dead = 0
        """How many are killed."""
        self.changes = 0
        """Grows whenever a survivor joined or left: who caches sets of them compares it."""
        self._changed_runs: set[int] = set()

    # ----------------------------------------------------------------- the rows

    def add(self, mutants: Sequence[PythonMutant], stale: set[str]) -> None:
        """New mutants of the program; what was told of them before is taken up again.

        ``stale``: ids whose function has changed since: what was told is about another.
        """
        fresh = []
        for mutant in mutants:
            row = MutantRecord(mutant)
            self.rows.append(row)
            self._by_id[mutant.id] = row
            if mutant.id in stale:
                self._reported.mutants.pop(mutant.id, None)
                self._reported.killed.pop(mutant.id, None)
                self._reported.runs.pop(mutant.id, None)
                fresh.append(row)
            else:
                self._restore(row)
            self._place(row)
        self._announce(mutants)
        for row in fresh:
            self._report(row)  # else its former state would go on standing in the log

    def _restore(self, row: MutantRecord) -> None:
        last, kill = self._reported.mutants.get(row.id), self._reported.killed.get(row.id)
        if kill is not None:
            row.base, row.killer, row.oracle = KILLED, kill.killer, kill.oracle
            row.trial, row.detail = kill.trial, kill.detail
            self.dead += 1
        counts = self._reported.runs.get(row.id, [])
        if len(counts) == 3 and all(type(n) is int for n in counts):
            row.reached, row.infected, row.runs = counts
            row.reported_runs = row.runs
        if last is None:
            return
        if last.state in (_SKIPPED, _EQUIVALENT):
            row.verdict, row.reason = last.state, last.reason
        elif last.state in (ALIVE, INVALID) and kill is None:
            row.base, row.reason = last.state, last.reason
        row.promoted = last.steer == "promoted"
        row.order = {"first": -1, "last": 1}.get(last.steer, 0)

    def _announce(self, mutants: Sequence[PythonMutant]) -> None:
        """Tell of them, unless a worker before has told the same."""
        by_module: dict[str, list[PythonMutant]] = {}
        for mutant in mutants:
            if self._reported.found.get(mutant.id) == _described(mutant):
                continue
            by_module.setdefault(mutant.module, []).append(mutant)
        for module, those in by_module.items():
            for at in range(0, len(those), _FOUND_A_LINE):
                part = those[at : at + _FOUND_A_LINE]
                self._log.write(
                    MutantsFound(
                        self._log.instance,
                        module,
                        part[0].file,
                        part[0].path,
                        [_described(m) for m in part],
                    )
                )

    def _place(self, row: MutantRecord) -> None:
        """Put the row into the sets where it belongs."""
        at = row.mutant.index
        lives = not row.verdict and row.base in (PENDING, ALIVE)
        before = at in self.survivors
        for members, member in (
            (self.survivors, lives and not row.isolated),
            (self.isolated, lives and row.isolated),
            (self.promoted, lives and row.promoted),
        ):
            (members.add if member else members.discard)(at)
        now = at in self.survivors
        if before != now:
            self.changes += 1
            self.mask ^= 1 << at

    def _report(self, *rows: MutantRecord) -> None:
        self._log.write_all(
            MutantState(
                self._log.instance,
                row.id,
                row.state,
                row.killer if row.base == KILLED else "",
                row.oracle if row.base == KILLED else "",
                row.trial if row.base == KILLED else -1,
                row.detail if row.base == KILLED else "",
                row.reason,
                row.steer,
            )
            for row in rows
        )

    # --------------------------------------------------------- what running shows

    def ran(self, at: int) -> None:
        """The mutant was run on an input."""
        row = self.rows[at]
        row.runs += 1
        if row.base == PENDING:
            row.base = ALIVE
            self._report(row)
        if row.runs >= 2 * row.reported_runs:
            self._changed_runs.add(at)

    def kill(self, at: int, verdict: KillEvidence, killer: str) -> None:
        """The input saved as ``killer`` ("main/12") has killed it."""
        row = self.rows[at]
        self.dead += row.base != KILLED
        row.base, row.killer, row.trial = KILLED, killer, self._words[j.TRIAL]
        row.oracle, row.detail = verdict.oracle, verdict.detail
        self._place(row)
        self._changed_runs.add(at)
        self._report(row)

    def kills_of(self, entry: int) -> int:
        """How many mutants this instance's entry has killed."""
        name = f"{self._log.instance}/{entry}"
        return sum(row.killer == name for row in self.rows)

    def invalidate(self, at: int, why: str) -> None:
        """It cannot be made or run."""
        row = self.rows[at]
        row.base, row.reason = INVALID, why
        self._place(row)
        self._report(row)

    def isolate(self, ids: Iterable[str]) -> None:
        """These run in child processes from now on."""
        for id_ in ids:
            row = self._by_id.get(id_)
            if row is not None:
                row.isolated = True
                self._place(row)

    def report_runs(self) -> None:
        """Tell the counts that have about doubled."""
        if not self._changed_runs:
            return
        changed = sorted(self._changed_runs)
        self._changed_runs.clear()
        for start in range(0, len(changed), _RUNS_A_LINE):
            figures = {}
            for at in changed[start : start + _RUNS_A_LINE]:
                row = self.rows[at]
                row.reported_runs = max(1, row.runs)
                figures[row.id] = [row.reached, row.infected, row.runs]
            self._log.write(MutantRuns(self._log.instance, figures))

    # ---------------------------------------------------------- what a user says

    def alive(self, at: int) -> bool:
        """Is it still worth a kill?"""
        return at in self.survivors or at in self.isolated

    def grant_energy(self, at: int) -> bool:
        """May one more input that infects this promoted mutant get energy for that?"""
        row = self.rows[at]
        row.energy_grants += 1
        return row.energy_grants <= _MAX_ENERGY_GRANTS

    def select(self, text: str) -> list[MutantRecord]:
        """The rows of a selection. Raises :class:`SteerError` when it names none."""
        try:
            rows = parse_selection(text).of(self.rows)
        except SelectionError as e:
            raise SteerError(str(e)) from None
        if not rows:
            raise SteerError(f"no mutant is named by {text!r}")
        return rows

    def set_verdict(self, rows: Sequence[MutantRecord], verdict: str, reason: str = "") -> None:
        """skipped or equivalent."""
        for row in rows:
            row.verdict, row.reason, row.promoted = verdict, reason, False
            self._place(row)
        self._report(*rows)

    def promote(self, rows: Sequence[MutantRecord]) -> None:
        """Their turn is now, and always; undoes a skip or a verdict."""
        for row in rows:
            row.verdict = row.reason = ""
            row.promoted, row.order, row.energy_grants = True, 0, 0
            self._place(row)
        self._report(*rows)

    def move(self, rows: Sequence[MutantRecord], to: str) -> None:
        """first or last among those that wait."""
        for row in rows:
            row.order = -1 if to == "first" else 1
            row.promoted = False
            self._place(row)
        self._report(*rows)

    def requeue(self, rows: Sequence[MutantRecord]) -> None:
        """As if it had never been run or judged."""
        for row in rows:
            self.dead -= row.base == KILLED
            row.verdict = row.reason = row.killer = row.oracle = row.detail = ""
            row.base, row.trial, row.promoted, row.order = PENDING, -1, False, 0
            row.reached = row.infected = row.runs = row.reported_runs = 0
            self._place(row)
        self._report(*rows)


def _described(m: PythonMutant) -> dict[str, object]:
    reported: dict[str, object] = {
        "id": m.id,
        "line": m.line,
        "function": m.function,
        "operator": m.operator,
        "before": m.before,
        "after": m.after,
    }
    if m.static:
        reported["static"] = True
    return reported
