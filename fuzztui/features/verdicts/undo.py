"""What sets a verdict back: about a group of findings, or about mutants. Pure."""

from __future__ import annotations

from dataclasses import replace

from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.inverses import Inverse, UndoError, Undos
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.verdicts import given_about
from fuzztui.kernel.wire.commands import AcceptMutants, Command, JudgeFinding, UnacceptMutants
from fuzztui.kernel.wire.selection import SelectionError, of_ids, parse_selection
from fuzztui.kernel.wire.verdicts import MAX_NOTE, NEW

MUTANTS_A_COMMAND = 200
"""Mutants that one command names: requests to the supervisor have at most 64 KB."""


def _verdict(command: JudgeFinding, before: State, now: State) -> Inverse:
    """Give the group its earlier verdict, if it still has that of the command."""
    key = f"{command.instance}/{command.file}" if command.instance else ""
    finding = now.findings.get(key)
    signature = command.file if finding is None else finding.signature
    old, new = given_about(before, signature), given_about(now, signature)
    verdict, note = (NEW, "") if old is None else (old.verdict, old.note)
    if new is None or (new.verdict, new.note) != (command.verdict, command.note):
        same = new is None and command.verdict == NEW and verdict != NEW
        if not same:
            return Inverse()
    if (verdict, note) == (command.verdict, command.note):
        return Inverse()
    return Inverse((replace(command, verdict=verdict, note=note),))


def _accepted(command: AcceptMutants | UnacceptMutants, before: State, now: State) -> Inverse:
    """Give mutants their earlier verdict, if they still have that of the command."""
    try:
        selection = parse_selection(command.select)
    except SelectionError as e:
        raise UndoError(str(e)) from None
    # The file has the reason in this shortened form.
    wanted = brief(command.because, MAX_NOTE) if isinstance(command, AcceptMutants) else None
    restored: dict[str | None, list[str]] = {}
    kept = 0
    for m in selection.of(before.mutants.values()):
        old, new = before.accepted_mutants.get(m.id), now.accepted_mutants.get(m.id)
        was, is_ = (None if row is None else row["because"] for row in (old, new))
        if was == is_:
            continue
        if is_ == wanted:
            restored.setdefault(was, []).append(m.id)
        else:
            kept += 1
    commands: list[Command] = []
    for because, ids in restored.items():
        for at in range(0, len(ids), MUTANTS_A_COMMAND):
            for select in of_ids(ids[at : at + MUTANTS_A_COMMAND]):
                back = UnacceptMutants(select)
                commands.append(back if because is None else AcceptMutants(select, because))
    note = f"{several(kept, 'mutant')} changed since then: left alone" if kept else ""
    return Inverse(tuple(commands), note)


UNDO: Undos = {JudgeFinding: _verdict, AcceptMutants: _accepted, UnacceptMutants: _accepted}
