"""A user's verdicts about survivors of a campaign that has ended.

The log and the directories of the instances get what they would contain if the command had been
executed by the running campaign. So replay, `score`, and a campaign that is resumed know it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from fuzztui.base.text import several
from fuzztui.campaign.rundir import RunDir, SupervisorError
from fuzztui.model.selectors import ENDED
from fuzztui.model.state import Mutant, State
from fuzztui.remote.lock import LockHeld, RunLock
from fuzztui.supervise.campaign_log import CampaignLog
from fuzztui.supervise.command_router import append, append_lines
from fuzztui.wire.codec import encode_command, encode_event
from fuzztui.wire.commands import MarkEquivalent, SkipMutants
from fuzztui.wire.events import CommandApplied, CommandIssued, Event, MutantState
from fuzztui.wire.selection import parse_selection

Verdict = MarkEquivalent | SkipMutants

_OPEN = ("pending", "alive", "skipped", "equivalent")
"""States of mutants that a user can judge."""


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
    rows = [m for m in rows if m.state in _OPEN]
    names = [i.id for i in state.instances.values() if command.name in i.capabilities]
    if command.instance:
        names = [name for name in names if name == command.instance]
    if not rows or not names:
        what = "no such instance" if rows else "all selected mutants are killed or invalid"
        raise SupervisorError(f"{run_dir.path}: {what}")
    id_ = f"c{state.seq + 1}"
    log.record(*log.repairs, CommandIssued(id_, encode_command(command), by))
    done = f"{several(len(rows), 'mutant')} skipped"
    if isinstance(command, MarkEquivalent):
        because = f", because {command.because}" if command.because else ""
        done = f"{several(len(rows), 'mutant')} marked equivalent{because}"
    reported = {
        name: [*_verdicts(rows, command, name), CommandApplied(id_, name, -1, done)]
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


def _verdicts(rows: Sequence[Mutant], command: Verdict, instance: str) -> list[Event]:
    if isinstance(command, MarkEquivalent):
        return [MutantState(instance, m.id, "equivalent", reason=command.because) for m in rows]
    return [MutantState(instance, m.id, "skipped") for m in rows]
