"""The commands about mutants, which change the table and the backlog."""

from __future__ import annotations

from fuzztui.engines.loop.corpus import SteerError
from fuzztui.engines.mu2.backlog import Backlog
from fuzztui.engines.mu2.table import ALIVE, KILLED, PENDING, MutantRecord, MutantTable
from fuzztui.kernel.base.text import several
from fuzztui.kernel.wire.commands import (
    Command,
    ExactPass,
    MarkEquivalent,
    MoveMutants,
    PromoteMutants,
    RequeueMutants,
    RestoreMutants,
    SkipMutants,
)


class MutantSteering:
    """Executes commands between trials; the table reports each change, so restarts keep it."""

    def __init__(self, table: MutantTable, backlog: Backlog) -> None:
        self._table, self._backlog = table, backlog

    def execute(self, command: Command) -> str:
        """Execute a command. Returns the answer. Raises :class:`SteerError` if it is rejected."""
        if isinstance(command, ExactPass):
            self._backlog.begin_exact()
            return f"exact pass: {several(len(self._backlog), 'input')} to analyse"
        rows = self._table.select(getattr(command, "select", ""))
        self._table.report_all_runs(rows)
        match command:
            case SkipMutants():
                rows = _living(rows)
                self._table.set_verdict(rows, "skipped")
                return f"{_mutants(rows)} skipped"
            case MarkEquivalent():
                rows = _living(rows)
                self._table.set_verdict(rows, "equivalent", command.because)
                because = f", because {command.because}" if command.because else ""
                return f"{_mutants(rows)} marked equivalent{because}"
            case PromoteMutants():
                rows = _living(rows)
                self._table.promote(rows)
            case MoveMutants():
                if command.to not in ("first", "last"):
                    raise SteerError(f"move to {command.to!r} is unknown; choose first or last")
                rows = _living(rows)
                self._table.move(rows, command.to)
                return f"{_mutants(rows)} moved to run {command.to}"
            case RequeueMutants():
                self._backlog.credit([row.killer for row in rows if row.killer], -1)
                self._table.requeue(rows)
            case RestoreMutants():
                return self._restore(rows, command)
            case _:
                raise SteerError(f"this engine does not support the command {command.name}")
        self._backlog.reopen(row.mutant.index for row in rows)
        done = "promoted" if isinstance(command, PromoteMutants) else "queued again"
        return f"{_mutants(rows)} {done}"

    def _restore(self, rows: list[MutantRecord], earlier: RestoreMutants) -> str:
        """Restore, and run the mutants on the entries that they have missed."""
        dead = {row.id for row in rows if row.base == KILLED}
        rested = [row for row in rows if row.verdict]
        self._table.restore(rows, earlier)
        self._backlog.credit([row.killer for row in rows if row.killer and row.id not in dead], 1)
        again = [row.mutant.index for row in rested if self._table.alive(row.mutant.index)]
        if again:
            self._backlog.reopen(again)
        return f"{_mutants(rows)} as before"


def _living(rows: list[MutantRecord]) -> list[MutantRecord]:
    """The mutants that are neither killed nor invalid. Raises :class:`SteerError` if none."""
    living = [row for row in rows if row.base in (PENDING, ALIVE)]
    if not living:
        what = "is" if len(rows) == 1 else "are all"
        raise SteerError(f"{_mutants(rows)} {what} killed or invalid; requeue to try again")
    return living


def _mutants(rows: list[MutantRecord]) -> str:
    return f"{len(rows)} mutant{'s' if len(rows) != 1 else ''}"
