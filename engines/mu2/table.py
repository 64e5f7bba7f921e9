"""The table of mutants: state, verdict, order and counters of each.

It contains the set KILLED of Algorithm 2 and a user's settings. Every change is reported as an
event; a restart restores the table from these events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from fuzztui.engines.directory import journal as j
from fuzztui.engines.directory.events import EventLog, ReportedEvents
from fuzztui.engines.directory.journal import TrialJournal
from fuzztui.engines.loop.corpus import SteerError
from fuzztui.engines.mu2.kill_criterion import KillEvidence
from fuzztui.engines.mutants.program import PythonMutant
from fuzztui.kernel.wire.commands import RestoreMutants
from fuzztui.kernel.wire.events import MutantRuns, MutantsFound, MutantState
from fuzztui.kernel.wire.selection import SelectionError, parse_selection
from fuzztui.kernel.wire.verdicts import is_same_change

PENDING: Final = "pending"
ALIVE: Final = "alive"
KILLED: Final = "killed"
INVALID: Final = "invalid"
_SKIPPED: Final = "skipped"
_EQUIVALENT: Final = "equivalent"

_FOUND_A_LINE: Final = 200
_RUNS_A_LINE: Final = 500
_MAX_ENERGY_GRANTS: Final = 4

REACHED: Final = "reached"
INFECTED: Final = "infected"
RAN: Final = "ran"
_NEARNESS: Final = ("", REACHED, INFECTED, RAN)
"""How near an input came to killing a survivor, from far to near."""


class MutantRecord:
    """The row of one mutant, with the attributes that :mod:`fuzztui.kernel.wire.selection` uses."""

    __slots__ = (
        "base", "detail", "energy_grants", "infected", "isolated", "killer", "mutant", "near",
        "nearness", "oracle", "order", "promoted", "reached", "reason", "reported_near",
        "reported_runs", "runs", "trial", "verdict",
    )  # fmt: skip

    def __init__(self, mutant: PythonMutant) -> None:
        self.mutant = mutant
        self.base = PENDING
        """pending, alive, killed or invalid: the result of running it."""
        self.verdict = ""
        """The user's verdict: "", skipped or equivalent."""
        self.reason = ""
        self.promoted = False
        self.order = 0
        """Mutants with a lower number are run first; 0 unless a user moved the mutant."""
        self.isolated = mutant.static
        """Whether the mutant must run in a child process."""
        self.killer = self.oracle = self.detail = ""
        self.trial = -1
        self.reached = self.infected = self.runs = 0
        self.reported_runs = 0
        self.near = ""
        """The first entry that came as near to a kill as any ("main/12")."""
        self.nearness = self.reported_near = 0
        """How near it came, as an index of :data:`_NEARNESS`; and the last reported value."""
        self.energy_grants = 0

    @property
    def id(self) -> str:
        """The id of the mutant."""
        return self.mutant.id

    @property
    def file(self) -> str:
        """The file as shown to users."""
        return self.mutant.file

    @property
    def function(self) -> str:
        """The qualified name of the mutated function."""
        return self.mutant.function

    @property
    def operator(self) -> str:
        """The name of the mutation operator."""
        return self.mutant.operator

    @property
    def line(self) -> int:
        """The line in the file."""
        return self.mutant.line

    @property
    def state(self) -> str:
        """The reported state: the user's verdict, else :attr:`base`."""
        return self.verdict or self.base

    @property
    def steer(self) -> str:
        """promoted, first, last or an empty string."""
        if self.promoted:
            return "promoted"
        return "first" if self.order < 0 else "last" if self.order > 0 else ""


class MutantTable:
    """The rows by index of :attr:`Program.mutants`, and the sets that the pipeline needs.

    ``survivors`` are the indices of mutants that are worth running in this process: not killed,
    invalid, skipped, equivalent or isolated. ``isolated`` are those worth running in a child.
    """

    def __init__(
        self,
        log: EventLog,
        journal: TrialJournal,
        reported: ReportedEvents,
        equivalent: Mapping[str, Any] | None = None,
    ) -> None:
        """``equivalent``: verdicts of the verdicts file, see ``Spec.equivalent``."""
        self._equivalent = equivalent or {}
        self._log, self._words, self._reported = log, journal.counters, reported
        self.rows: list[MutantRecord] = []
        self._by_id: dict[str, MutantRecord] = {}
        self.survivors: set[int] = set()
        self.isolated: set[int] = set()
        self.isolates = False
        """Whether any mutant runs, or has run, in a child process."""
        self.promoted: set[int] = set()
        self.mask = 0
        """``survivors`` as bits."""
        self.dead = 0
        """Number of killed mutants."""
        self.property_of: Callable[[str], str] = lambda killer: ""
        """Returns the name of the property of an entry ("main/12"); empty without a suite."""
        self.changes = 0
        """Grows with every change of ``survivors``, for callers that cache sets of them."""
        self._changed_runs: set[int] = set()

    # ----------------------------------------------------------------- the rows

    def add(self, mutants: Sequence[PythonMutant], stale: set[str]) -> None:
        """Add mutants and restore their state from the events of earlier workers.

        ``stale``: ids of mutants whose function has changed, so that earlier events do not apply.
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
                self._reported.near.pop(mutant.id, None)
                self._is_filed_equivalent(row)
                fresh.append(row)
            else:
                self._restore(row)
                if self._is_filed_equivalent(row):
                    fresh.append(row)
            self._place(row)
        self.announce(mutants)
        for row in fresh:
            self._report(row)  # else the log would continue to show the former state

    def _is_filed_equivalent(self, row: MutantRecord) -> bool:
        """Mark a mutant as the verdicts file does, unless this run has reported its state."""
        if row.id in self._reported.mutants:
            return False
        match self._equivalent.get(row.id):
            case [str(because), str(change)] if is_same_change(
                change, row.mutant.before, row.mutant.after
            ):
                row.verdict, row.reason = _EQUIVALENT, because
                return True
        return False

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
        near, how = self._reported.near.get(row.id, ("", ""))
        if near and how in _NEARNESS:
            row.near, row.nearness = near, _NEARNESS.index(how)
            row.reported_near = row.nearness
        if last is None:
            return
        if last.state in (_SKIPPED, _EQUIVALENT):
            row.verdict, row.reason = last.state, last.reason
        elif last.state in (ALIVE, INVALID) and kill is None:
            row.base, row.reason = last.state, last.reason
        row.promoted = last.steer == "promoted"
        row.order = {"first": -1, "last": 1}.get(last.steer, 0)

    def announce(self, mutants: Sequence[PythonMutant]) -> None:
        """Report the mutants that no earlier worker has reported in the same form."""
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
        """Update the sets of indices after a change of the row."""
        at = row.mutant.index
        self.isolates |= row.isolated
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
                self.property_of(row.killer) if row.base == KILLED else "",
            )
            for row in rows
        )

    # --------------------------------------------------------- what running shows

    def ran(self, at: int) -> None:
        """Count a run of the mutant on an input."""
        row = self.rows[at]
        row.runs += 1
        if row.base == PENDING:
            row.base = ALIVE
            self._report(row)
        if row.runs >= 2 * row.reported_runs:
            self._changed_runs.add(at)

    def seen(self, reached: Iterable[int], infected: Iterable[int]) -> None:
        """Count an input that reaches or infects these mutants."""
        for at in reached:
            row = self.rows[at]
            row.reached += 1
            if row.reached == 1:  # a survivor that never runs is reported once, too
                self._changed_runs.add(at)
        for at in infected:
            row = self.rows[at]
            row.infected += 1
            if row.infected == 1:
                self._changed_runs.add(at)

    def came_near(self, mutants: Iterable[int], how: str, entry: int) -> None:
        """Note that an entry of this instance reached or infected the mutants, or that they ran on
        it and made no difference.
        """
        nearness = _NEARNESS.index(how)
        for at in mutants:
            row = self.rows[at]
            if row.nearness < nearness:
                row.near, row.nearness = f"{self._log.instance}/{entry}", nearness
                self._changed_runs.add(at)

    def kill(self, at: int, verdict: KillEvidence, killer: str) -> None:
        """Record that the entry ``killer`` ("main/12") has killed the mutant."""
        row = self.rows[at]
        self.dead += row.base != KILLED
        row.base, row.killer, row.trial = KILLED, killer, self._words[j.TRIAL]
        row.oracle, row.detail = verdict.oracle, verdict.detail
        self._place(row)
        self._changed_runs.add(at)
        self._report(row)

    def kills_of(self, entry: int) -> tuple[int, int]:
        """The number of mutants that an entry of this instance has killed, and of those that ran in
        child processes.
        """
        name = f"{self._log.instance}/{entry}"
        killed = [row for row in self.rows if row.killer == name]
        return len(killed), sum(row.isolated for row in killed)

    def invalidate(self, at: int, why: str) -> None:
        """Record that the mutant cannot be built or run."""
        row = self.rows[at]
        row.base, row.reason = INVALID, why
        self._place(row)
        self._report(row)

    def isolate(self, ids: Iterable[str]) -> None:
        """Run these mutants in child processes from now on."""
        for id_ in ids:
            row = self._by_id.get(id_)
            if row is not None:
                row.isolated = True
                self._place(row)

    def report_runs(self) -> None:
        """Report the counters of mutants whose runs have about doubled since their last report."""
        if not self._changed_runs:
            return
        changed = sorted(self._changed_runs)
        self._changed_runs.clear()
        for start in range(0, len(changed), _RUNS_A_LINE):
            figures, near = {}, {}
            for at in changed[start : start + _RUNS_A_LINE]:
                row = self.rows[at]
                row.reported_runs = max(1, row.runs)
                figures[row.id] = [row.reached, row.infected, row.runs]
                if row.nearness > row.reported_near and row.base != KILLED:
                    row.reported_near = row.nearness
                    near[row.id] = [row.near, _NEARNESS[row.nearness]]
            self._log.write(MutantRuns(self._log.instance, figures, near))

    def report_all_runs(self, rows: Iterable[MutantRecord]) -> None:
        """Report the exact counters of these mutants, which a command is about."""
        self._changed_runs |= {r.mutant.index for r in rows if r.runs > r.reported_runs}
        self.report_runs()

    # ---------------------------------------------------------- user commands

    def alive(self, at: int) -> bool:
        """Whether the mutant is still to be killed."""
        return at in self.survivors or at in self.isolated

    def grant_energy(self, at: int) -> bool:
        """Count an input that infects this promoted mutant. Returns whether the input gets more
        energy for this, which only the first ones do.
        """
        row = self.rows[at]
        row.energy_grants += 1
        return row.energy_grants <= _MAX_ENERGY_GRANTS

    def select(self, text: str) -> list[MutantRecord]:
        """The rows of a selection. Raises :class:`SteerError` if no mutant matches."""
        try:
            selection = parse_selection(text)
        except SelectionError as e:
            raise SteerError(str(e)) from None
        if selection.of_log:
            raise SteerError("an engine cannot decide it: give the ids of the mutants (id=A|B)")
        rows = selection.of(self.rows)
        if not rows:
            raise SteerError(f"no mutant matches {text!r}")
        return rows

    def set_verdict(self, rows: Sequence[MutantRecord], verdict: str, reason: str = "") -> None:
        """Set the user's verdict: skipped or equivalent."""
        for row in rows:
            row.verdict, row.reason, row.promoted = verdict, reason, False
            self._place(row)
        self._report(*rows)

    def promote(self, rows: Sequence[MutantRecord]) -> None:
        """Run these mutants on every input that infects them; undoes a skip or verdict."""
        for row in rows:
            row.verdict = row.reason = ""
            row.promoted, row.order, row.energy_grants = True, 0, 0
            self._place(row)
        self._report(*rows)

    def move(self, rows: Sequence[MutantRecord], to: str) -> None:
        """Run these mutants first or last; undoes a promotion."""
        for row in rows:
            row.order = -1 if to == "first" else 1
            row.promoted = False
            self._place(row)
        self._report(*rows)

    def restore(self, rows: Sequence[MutantRecord], earlier: RestoreMutants) -> None:
        """Set these mutants back to an earlier state. Counters, and kills since then, stay."""
        for row in rows:
            kill = earlier.kills.get(row.id)
            match earlier.state, kill:
                case "killed", [str(killer), str(oracle), int(trial), str(detail)]:
                    self.dead += row.base != KILLED
                    row.base, row.killer, row.oracle = KILLED, killer, oracle
                    row.trial, row.detail = trial, detail
                case ("alive", _) if row.base == PENDING:
                    row.base = ALIVE
                case ("invalid", _) if row.base in (PENDING, ALIVE):
                    row.base = INVALID
                case _:
                    pass
            judged = earlier.state in (_SKIPPED, _EQUIVALENT) and row.base != KILLED
            row.verdict = earlier.state if judged else ""
            row.reason = earlier.because
            row.promoted, row.energy_grants = earlier.steer == "promoted", 0
            row.order = {"first": -1, "last": 1}.get(earlier.steer, 0)
            self._place(row)
        self._report(*rows)

    def requeue(self, rows: Sequence[MutantRecord]) -> None:
        """Reset the mutants to pending, without any results or settings."""
        for row in rows:
            self.dead -= row.base == KILLED
            row.verdict = row.reason = row.killer = row.oracle = row.detail = ""
            row.base, row.trial, row.promoted, row.order = PENDING, -1, False, 0
            row.reached = row.infected = row.runs = row.reported_runs = 0
            row.near, row.nearness, row.reported_near = "", 0, 0
            self._place(row)
        self._report(*rows)


def _described(m: PythonMutant) -> dict[str, object]:
    reported: dict[str, object] = {"id": m.id, **m.described}
    if m.static:
        reported["static"] = True
    if m.excluded:
        reported["excluded"] = m.excluded
    return reported
