"""A user's verdicts about survivors of a campaign that has ended, and taking them back.

The log and the directories of the instances get what they would contain if the command had been
executed by the running campaign. So replay, `score`, and a campaign that is resumed know it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from fuzztui.base.text import several
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.engines.directory.events import read_reported
from fuzztui.model.selectors import ENDED
from fuzztui.model.state import RECENT_COMMANDS, Mutant, State
from fuzztui.remote.lock import LockHeld, RunLock
from fuzztui.supervise.campaign_log import CampaignLog
from fuzztui.supervise.command_router import append, append_lines
from fuzztui.wire.codec import encode_command, encode_event
from fuzztui.wire.commands import MarkEquivalent, RequeueMutants, SkipMutants, Verdict
from fuzztui.wire.events import CommandApplied, CommandIssued, Event, MutantState
from fuzztui.wire.selection import parse_selection

_OPEN = ("pending", "alive", "skipped", "equivalent")
"""States of mutants that a user can judge."""
_EXCLUDED = ("skipped", "equivalent")
"""Verdicts of a user, which ``requeue-mutants`` takes back."""
_NAMES = (SkipMutants.name, MarkEquivalent.name)
"""The commands that set them."""


def can_judge(state: State) -> bool:
    """Whether the campaign has ended, and its engine keeps verdicts about mutants."""
    return state.state in ENDED and state.engine == "mu2"


def judge(run: Path, command: Verdict, by: str) -> str:
    """Execute the command. Returns what was done. Raises :class:`SupervisorError`."""
    run_dir = RunDir(run.resolve())
    try:
        lock = RunLock(run_dir.path)
    except LockHeld as e:
        raise SupervisorError(str(e)) from None
    except OSError as e:
        raise SupervisorError(f"{run}: cannot be locked: {e.strerror or e}") from None
    try:
        with closing(CampaignLog(run_dir, lambda event: None, lambda trouble: None)) as log:
            log.clock.start()  # at the last record: the time of the campaign is over
            log.clock.stop()
            return _judge(run_dir, log, command, by)
    except OSError as e:
        file = e.filename or run_dir.path
        raise SupervisorError(f"{file}: cannot be written: {e.strerror or e}") from None
    finally:
        lock.release()


def _judge(run_dir: RunDir, log: CampaignLog, command: Verdict, by: str) -> str:
    state = log.state
    if not can_judge(state):
        raise SupervisorError(f"{run_dir.path}: the campaign has not ended")
    rows = parse_selection(command.select).of(state.mutants.values())
    undo = isinstance(command, RequeueMutants)
    rows = [m for m in rows if m.state in (_EXCLUDED if undo else _OPEN)]
    names = [i.id for i in state.instances.values() if command.name in i.capabilities]
    if command.instance:
        names = [name for name in names if name == command.instance]
    if not names:
        raise SupervisorError(f"{run_dir.path}: no such instance")
    if not rows:
        none = "all selected mutants are killed or invalid"
        if undo:
            none = (
                "no selected mutant is skipped or marked equivalent; results of other mutants are"
                " discarded only while the campaign runs"
            )
        raise SupervisorError(f"{run_dir.path}: {none}")
    id_ = f"c{state.seq + 1}"
    log.record(*log.repairs, CommandIssued(id_, encode_command(command), by))
    done = _done(command, len(rows))
    reported = {
        name: [
            *_verdicts(run_dir, rows, command, name),
            *(_unsettled(state, len(rows), name) if undo else ()),
            CommandApplied(id_, name, -1, done),
        ]
        for name in names
    }
    log.record(*(event for events in reported.values() for event in events))
    if not log.flush():
        raise SupervisorError(f"{run_dir.log}: the campaign log cannot be written (disk full?)")
    for name, events in reported.items():
        append(run_dir.out / name / "control.jsonl", id_, command)
        lines = b"".join(encode_event(event).encode() + b"\n" for event in events)
        append_lines(run_dir.out / name / "events.jsonl", lines)
    return done


def _done(command: Verdict, count: int) -> str:
    mutants = several(count, "mutant")
    match command:
        case RequeueMutants():
            return f"verdict of {mutants} taken back"
        case MarkEquivalent():
            because = f", because {command.because}" if command.because else ""
            return f"{mutants} marked equivalent{because}"
        case SkipMutants():
            return f"{mutants} skipped"


def _verdicts(
    run_dir: RunDir, rows: Sequence[Mutant], command: Verdict, instance: str
) -> list[Event]:
    match command:
        case MarkEquivalent():
            return [MutantState(instance, m.id, "equivalent", reason=command.because) for m in rows]
        case SkipMutants():
            return [MutantState(instance, m.id, "skipped") for m in rows]
        case RequeueMutants():
            reported = read_reported(run_dir.out / instance / "events.jsonl")
            return [
                reported.killed.get(m.id) or MutantState(instance, m.id, _before(m, instance))
                for m in rows
            ]


def _before(mutant: Mutant, instance: str) -> str:
    """The state that a mutant had in an instance, which has not killed it, before the verdict."""
    *_, runs = mutant.counts.get(instance, [0])
    return "alive" if runs else "pending"


def _unsettled(state: State, mutants: int, instance: str) -> list[Event]:
    """Statistics with the pairs that an exact pass may have left out because of the verdicts.

    Empty if all verdicts are of after the end: the pass was made without them.
    """
    every = list(state.commands.values())
    verdicts = [c for c in every if c.command.get("c") in _NAMES and c.t < state.t]
    complete = len(every) < RECENT_COMMANDS and not state.lost
    known = state.mutation.get(instance)
    if known is None or known.unsettled < 0 or (complete and not verdicts):
        return []
    pairs = mutants * state.instances[instance].corpus
    return [replace(known, unsettled=known.unsettled + pairs)]
