"""A user's verdicts about a campaign that has ended: about findings and survivors.

The log and the directories of the instances get what they would contain if the command had been
executed by the running campaign. So replay, `score`, and a campaign that is resumed know it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fuzztui.engines.directory.events import read_reported
from fuzztui.features.verdicts.equivalents import equivalents, file_equivalents
from fuzztui.features.verdicts.file import VerdictsError
from fuzztui.features.verdicts.judging import (
    accept_mutants,
    change_frames,
    judge_finding,
    share_rules,
    verdicts_file,
)
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import RECENT_COMMANDS, Mutant, State
from fuzztui.kernel.wire.codec import encode_command, encode_event
from fuzztui.kernel.wire.commands import (
    AcceptMutants,
    Command,
    JudgeFinding,
    MarkEquivalent,
    OfVerdictsFile,
    RequeueMutants,
    SkipMutants,
    UnacceptMutants,
    Verdict,
)
from fuzztui.kernel.wire.events import CommandApplied, CommandIssued, Event, MutantState
from fuzztui.kernel.wire.selection import parse_selection
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.supervise.campaign_log import CampaignLog
from fuzztui.run.supervise.command_router import append, append_lines
from fuzztui.run.supervise.ended_log import ended_log

_OPEN = ("pending", "alive", "skipped", "equivalent")
"""States of mutants that a user can judge."""
_EXCLUDED = ("skipped", "equivalent")
"""Verdicts of a user, which ``requeue-mutants`` takes back."""
_NAMES = (SkipMutants.name, MarkEquivalent.name)
"""Names of the commands that set these verdicts."""


Judgement = Verdict | OfVerdictsFile
"""The commands that a user can give about a campaign that has ended."""


def can_judge(state: State, command: Judgement) -> bool:
    """Whether the campaign has ended; a ``Verdict`` about mutants also needs the engine mu2."""
    return state.state in ENDED and (not isinstance(command, Verdict) or state.engine == "mu2")


def judge(run: Path, command: Judgement, by: str, undoes: Sequence[str] = ()) -> str:
    """Execute the command. Returns what was done. Raises :class:`SupervisorError`.

    ``undoes``: as in :class:`~fuzztui.kernel.wire.events.CommandIssued`.
    """
    try:
        with ended_log(run) as (run_dir, log):
            return _judge(run_dir, log, command, by, undoes)
    except OSError as e:
        raise SupervisorError(
            f"{e.filename or run}: cannot be written: {e.strerror or e}"
        ) from None


def _judge(
    run_dir: RunDir, log: CampaignLog, command: Judgement, by: str, undoes: Sequence[str]
) -> str:
    state = log.state
    if not can_judge(state, command):
        raise SupervisorError(f"{run_dir.path}: the campaign has not ended")
    if isinstance(command, Verdict):
        return _judge_mutants(run_dir, log, command, by)
    file = verdicts_file(run_dir)
    match command:
        case JudgeFinding():
            events, done = judge_finding(state, file, command, by)
        case AcceptMutants() | UnacceptMutants():
            events, done = accept_mutants(state, file, command, by)
        case _:
            events, done = change_frames(state, file, command)
    events_of = lambda id_: [*events, CommandApplied(id_, "", -1, done)]  # noqa: E731
    _log(run_dir, log, command, by, events_of, undoes=undoes)
    share_rules(run_dir.out, state.skipped_frames)
    return done


def _log(
    run_dir: RunDir,
    log: CampaignLog,
    command: Command,
    by: str,
    events_of: Callable[[str], Iterable[Event]],
    *,
    undoes: Sequence[str] = (),
) -> str:
    """Log a command and its events. Returns the command's id."""
    id_ = f"c{log.state.seq + 1}"
    issued = CommandIssued(id_, encode_command(command), by, list(undoes))
    log.record(*log.repairs, issued, *events_of(id_))
    if not log.flush():
        raise SupervisorError(f"{run_dir.log}: the campaign log cannot be written (disk full?)")
    return id_


def _judge_mutants(run_dir: RunDir, log: CampaignLog, command: Verdict, by: str) -> str:
    state = log.state
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
    done = _done(command, len(rows))
    reported: dict[str, list[Event]] = {}

    def events_of(id_: str) -> Iterator[Event]:
        for name in names:
            reported[name] = [
                *_verdicts(run_dir, rows, command, name),
                *(_unsettled(state, len(rows), name) if undo else ()),
                CommandApplied(id_, name, -1, done),
            ]
            yield from reported[name]

    before = equivalents(state)
    id_ = _log(run_dir, log, command, by, events_of)
    for name, events in reported.items():
        append(run_dir.out / name / "control.jsonl", id_, command)
        lines = b"".join(encode_event(event).encode() + b"\n" for event in events)
        append_lines(run_dir.out / name / "events.jsonl", lines)
    try:
        file_equivalents(verdicts_file(run_dir), state, before, equivalents(state))
    except VerdictsError as e:
        return f"{done}, but not for later runs: {e}"
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
    """The mutant's state in an instance that has not killed it, without the verdict."""
    *_, runs = mutant.counts.get(instance, [0])
    return "alive" if runs else "pending"


def _unsettled(state: State, mutants: int, instance: str) -> list[Event]:
    """Return statistics with the pairs that an exact pass may have skipped due to the verdicts.

    No event if all verdicts were given after the end: the pass was made without them.
    """
    every = list(state.commands.values())
    verdicts = [c for c in every if c.command.get("c") in _NAMES and c.t < state.t]
    complete = len(every) < RECENT_COMMANDS and not state.lost
    known = state.mutation.get(instance)
    if known is None or known.unsettled < 0 or (complete and not verdicts):
        return []
    pairs = mutants * state.instances[instance].corpus
    return [replace(known, unsettled=known.unsettled + pairs)]
