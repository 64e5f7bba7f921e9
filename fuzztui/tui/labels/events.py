"""One line of text for each kind of event: for the event list and the log screen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fuzztui.base.text import several
from fuzztui.model.fuzzfirst import MUTANT_INPUTS
from fuzztui.model.host_summary import CLOCK_S
from fuzztui.model.stats import finite
from fuzztui.tui.base import format
from fuzztui.tui.base.themes import SEMANTIC
from fuzztui.tui.labels.worklist_text import transferred_text
from fuzztui.wire import events as ev
from fuzztui.wire.codec import CodecError, decode_command
from fuzztui.wire.mixture import CLASSES, Mixture

SAVED = "saved"
COMMANDS = "commands"
INSTANCES = "instances"
MUTANTS = "mutants"
MESSAGES = "messages"
STATS = "stats"
KINDS = (SAVED, MUTANTS, COMMANDS, INSTANCES, MESSAGES, STATS)
"""The groups of events to which the log screen can be filtered."""


@dataclass(frozen=True, slots=True)
class Described:
    """An event as text. The text is not safe to draw: see ``tui.base.text.plain``.

    ``label`` is a short word for the kind of event, ``style`` the name of its colour, ``group`` one
    of :data:`KINDS`.
    """

    label: str
    text: str
    style: str = ""
    instance: str = ""
    group: str = MESSAGES


def command_text(command: dict[str, Any]) -> str:
    """Return an encoded command as text: ``promote main/12``; of an invalid one the name."""
    try:
        decoded = decode_command(command)
    except CodecError:
        return str(command.get("c", "?"))
    return decoded.name if decoded.problem else decoded.summary


def engine_text(engine: str, version: str) -> str:
    """Return name and version; AFL++ writes ``++4.04c`` in some places, 4.04c in others."""
    return f"{engine} {version.removeprefix('++')}".strip()


def at_host(described: Described, record: ev.Record) -> Described:
    """Return the text of a record's event; of one about a host as a whole with the host's name.

    The name is in place of the instance's.
    """
    if described.instance or not record.host:
        return described
    return replace(described, instance=record.host)


def describe_record(record: ev.Record) -> Described:
    """Return the event of a record as text."""
    return at_host(describe(record.event), record)


def describe(event: ev.Event) -> Described:
    """Return an event as text."""
    match event:
        case ev.EntrySaved():
            sync = "mutants" if event.sync == MUTANT_INPUTS else event.sync
            origin = f"from {sync}" if sync else event.op or "seed"
            parents = f" of {'+'.join(map(str, event.src))}" if event.src else ""
            new = "  +cov" if event.cov else ""
            text = f"#{event.id}  {origin}{parents}{new}  {format.size(event.size)}"
            style = "imported" if event.sync else "corpus"
            return Described("entry", text, style, event.instance, SAVED)
        case ev.EntryDescribed():
            words = [*event.reasons, event.outcome, event.steer]
            text = f"#{event.id}  {' '.join(w for w in words if w)}"
            group = SAVED if event.steer else STATS  # else an echo of a new entry
            return Described("entry", text, "muted", event.instance, group)
        case ev.InputShown():
            text = f"#{event.row}  {event.form} of {several(event.length, 'character')}"
            return Described("input", text, "muted", event.instance, STATS)
        case ev.FindingSaved():
            return Described(event.category, event.file, event.category, event.instance, SAVED)
        case ev.FindingDescribed():
            place = f"  at {event.place}" if event.place else ""
            text = f"{event.title or event.signature or event.file}{place}"
            return Described(event.category, text, event.category, event.instance, STATS)
        case ev.ExampleSaved():
            return Described("example", f"{event.file} for pytest", "muted", event.instance, STATS)
        case ev.VerdictsChanged():
            rows = [f"{row.get('verdict')} {row.get('signature')}" for row in event.findings[:3]]
            rows = rows or [
                f"{row.get('verdict') or 'not accepted'} {row.get('id')}"
                for row in event.mutants[:3]
            ]
            more = max(len(event.findings), len(event.mutants)) - len(rows)
            text = ", ".join(rows) + (f" and {more:,} more" if more > 0 else "")
            return Described("verdict", text, "muted", "", COMMANDS)
        case ev.SkippedFrames():
            text = f"not counted: {', '.join(event.rules)}" if event.rules else "all frames count"
            return Described("frames", text, "muted", "", COMMANDS)
        case ev.CommandIssued():
            by = f"  by {event.by}" if event.by else ""
            text = f"undo of {event.undoes[0]}" if event.undoes else command_text(event.command)
            return Described("command", f"{text}{by}", "pending", "", COMMANDS)
        case ev.CommandApplied():
            at = f"  at trial {event.trial:,}" if event.trial >= 0 else ""
            text = f"{event.id}  {event.detail}{at}"
            return Described("done", text, "running", event.instance, COMMANDS)
        case ev.CommandRejected():
            text = f"{event.id}  {event.reason}"
            return Described("rejected", text, "failed", event.instance, COMMANDS)
        case ev.CommandProgress():
            part = f"  {format.percent(event.part, 1.0)}" if event.part >= 0 else ""
            return Described("progress", f"{event.id}  {event.text}{part}", "pending", "", COMMANDS)
        case ev.InstanceState():
            text = _because(event.state, event.reason)
            if event.restarts:
                text += f"  (restart {event.restarts})"
            return Described("instance", text, state_style(event.state), event.instance, INSTANCES)
        case ev.InstanceHello():
            words = [engine_text(event.engine, event.version)]
            words += [f"python {event.python}"] if event.python else []
            words += [f"pid {event.pid}"] if event.pid else []
            text = "  ".join(w for w in words if w)
            return Described("hello", text, "muted", event.instance, INSTANCES)
        case ev.ComparisonsReported():
            brought = (
                several(len(event.entries), "entry", "entries"),
                several(len(event.tokens), "token"),
            )
            text = f"comparisons have brought {' and '.join(brought)}"
            return Described("compare", text, "muted", event.instance, STATS)
        case ev.Message():
            style = {"error": "failed", "warning": "hang"}.get(event.level, "")
            return Described(event.level, event.text, style, event.instance)
        case ev.Stats():
            text = (
                f"{several(event.execs, 'exec')}  {format.rate(event.execs_per_sec)}/s  "
                f"corpus {event.corpus:,}  edges {format.count(event.edges)}"
            )
            return Described("stats", text, "muted", event.instance, STATS)
        case ev.Synced():
            # The next id that will be imported: ids count from 0.
            words = [f"{next_id} of {peer}" for peer, next_id in event.peers.items()]
            text = f"{', '.join(words)} imported"
            return Described("imports", text, "muted", event.instance, STATS)
        case ev.PassiveInstance():
            entries = several(event.entries, "entry", "entries")
            text = f"{entries} to import, from {event.source or 'elsewhere'}"
            return Described("passive", text, "imported", event.instance, STATS)
        case ev.Resources():
            memory = format.size(event.rss)
            processes = several(event.processes, "process", "processes")
            text = f"cpu {event.cpu:.2f}  memory {memory}  {processes}"
            return Described("usage", text, "muted", event.instance, STATS)
        case ev.EntriesSeeded():
            text = f"starts with {several(len(event.origins), 'input')} of other instances"
            return Described("seeds", text, "muted", event.instance, STATS)
        case ev.MutantsFound() | ev.MutantState() | ev.MutantRuns() | ev.MutationStats():
            return _mutants(event)
        case ev.MutatorStats():
            mode = "adaptive" if event.adaptive else "fixed"
            parts = (finite(getattr(event, name)) for name in CLASSES)
            trials = f"{format.count(event.trials)} trial{'s' * (event.trials != 1)}"
            text = f"{trials}  {Mixture(*parts)}  {mode}"
            return Described("mixture", text, "muted", event.instance, STATS)
        case ev.TargetingStats():
            text = f"{event.uncovered:,} of {several(event.targets, 'goal')} uncovered"
            text += f", {event.frontier:,} on the frontier"
            text += f"  {several(len(event.names), 'type')}"
            text += f"  {format.share(min(1.0, finite(event.targeted)))} targeted"
            text += f"  pinned {event.pinned}" if event.pinned else ""
            text += f"  {len(event.ignored):,} ignored" if event.ignored else ""
            return Described("types", text, "muted", event.instance, STATS)
        case ev.PropertiesFound():
            out = sum(bool(reason) for reason in event.reasons.values())
            text = several(len(event.reasons) - out, "property", "properties")
            text += f"  {out:,} not run" if out else ""
            return Described("suite", text, "muted", event.instance, INSTANCES)
        case ev.PropertyFigures():
            text = f"figures of {several(len(event.figures), 'property', 'properties')}"
            return Described("suite", text, "muted", event.instance, STATS)
        case ev.GoalsUncovered():
            text = f"{len(event.left):,} reported" + (
                f"  {len(event.gone):,} covered" * bool(event.gone)
            )
            return Described("goals", text, "muted", event.instance, STATS)
        case ev.SourceFile():
            text = f"{event.path}  {several(len(event.functions), 'function')}"
            return Described("source", text, "muted", event.instance, STATS)
        case ev.LinesCovered():
            where = f"#{event.entry}" if event.entry >= 0 else "on import"
            texts = [f"{path.rpartition('/')[2]}:{lines}" for path, lines in event.lines.items()]
            new = "  ".join(texts) or "branches only"
            return Described("lines", f"{where}  {new}", "muted", event.instance, STATS)
        case ev.CoverageBuild():
            style = "failed" if event.state == "failed" else "muted"
            text = _because(event.state, event.reason)
            return Described("coverage", text, style, "", MESSAGES)
        case ev.MutantProgress():
            return _turn(event)
        case ev.MutantPositions():
            text = f"{several(len(event.places), 'mutant')} moved in the worklist"
            return Described("worklist", text, "muted", "", MUTANTS)
        case _:
            return _campaign(event)


def _mutants(
    event: ev.MutantsFound | ev.MutantState | ev.MutantRuns | ev.MutationStats,
) -> Described:
    match event:
        case ev.MutantsFound():
            text = f"{len(event.mutants):,} in {event.file or event.module}"
            return Described("mutants", text, "muted", event.instance, MUTANTS)
        case ev.MutantState():
            return _mutant(event)
        case ev.MutantRuns():
            text = f"runs of {several(len(event.runs), 'mutant')}"
            return Described("mutants", text, "muted", event.instance, STATS)
        case ev.MutationStats():
            text = (
                f"{several(event.runs, 'run')}  program {event.original_s:.1f}s  mutants "
                f"{event.mutants_s:.1f}s  compiling {event.compile_s:.1f}s  "
                f"rest {event.rest_s:.1f}s"
            )
            return Described("analysis", text, "muted", event.instance, STATS)


def _mutant(event: ev.MutantState) -> Described:
    text = event.id
    if event.state == "killed":
        text += f"  by {event.killer}" if event.killer else ""
        text += f"  ({event.oracle})" if event.oracle else ""
        text += f"  {event.detail}" if event.detail else ""
    else:
        text += f"  {event.state}" + (f": {event.reason}" if event.reason else "")
        text += f"  {event.steer}" if event.steer else ""
    style = event.state if event.state in SEMANTIC else "muted"
    label = "kill" if event.state == "killed" else "mutant"
    return Described(label, text, style, event.instance, MUTANTS)


TURNS = {
    "queued": "waits for its turn",
    "building": "is being built",
    "built": "is built and waits for its turn",
    "pruning": "starts its turn: inputs on which it fails are pruned",
    "fuzzing": "is being fuzzed",
    "collecting": "has ended its turn: its inputs are being transferred",
    "done": "is done",
    "failed": "does not build",
    "dropped": "is a duplicate",
    "refused": "is rejected",
}
"""Text for each progress of a mutant."""

_TURN_STYLES = {
    "fuzzing": "running", "done": "finished", "failed": "failed", "refused": "hang",
}  # fmt: skip


def _turn(event: ev.MutantProgress) -> Described:
    return Described(
        "mutant", f"{event.id}  {progress_text(event)}", _TURN_STYLES.get(event.stage, "muted"),
        event.slot, MUTANTS,
    )  # fmt: skip


def progress_text(event: ev.MutantProgress) -> str:
    """Return the progress of a mutant, as text that follows its id."""
    text = TURNS.get(event.stage, event.stage)
    if event.stage == "done":
        reported = {k: v for k, v in event.brought.items() if type(v) is int}
        text += f": {transferred_text(reported) or 'nothing new'} for the target"
        text += f", {several(reported['kills'], 'kill')}" if reported.get("kills", 0) > 0 else ""
    elif event.reason:
        text += f": {event.reason.strip().partition(chr(10))[0]}"
    return text


def _plan(plan: dict[str, Any]) -> str:
    """What the budget allows, as far as the plan contains it."""
    known = {name: finite(n) for name, n in plan.items() if type(n) in (int, float)}
    words = []
    if "count" in known:
        words.append(f"the budget allows about {several(int(known['count']), 'mutant')}")
    if "listed" in known and "made" in known:
        words.append(f"{int(known['listed']):,} of {int(known['made']):,} are listed")
    return "; ".join(words)


def _campaign(event: ev.Event) -> Described:
    match event:
        case ev.PhaseStarted():
            text, why = "the target is being fuzzed", event.reason
            if event.stage == "mutants":
                text, why = "mutants are being fuzzed", event.reason or _plan(event.plan)
            text += f": {why}" if why else ""
            return Described("phase", text, "running")
        case ev.CampaignStarted():
            text = f"{event.name}  {event.engine}  {event.target}  seed {event.seed}"
            return Described("campaign", text, "running")
        case ev.CampaignState() | ev.CampaignEnded():
            text = _because(event.state, event.reason)
            return Described("campaign", text, state_style(event.state))
        case ev.BudgetSet():
            parts = [format.span(event.budget_s)] if event.budget_s else []
            parts += [several(event.budget_trials, "trial")] if event.budget_trials else []
            return Described("budget", " or ".join(parts) or "none", "muted")
        case ev.HostState():
            return _host(event)
        case ev.SupervisorStarted():
            text = f"process {event.pid} on {event.host or 'this host'}"
            for word, ids in (("adopted", event.adopted), ("resumed", event.resumed)):
                if ids:
                    text += f"  {word} {', '.join(ids)}"
            return Described("started", text, "muted")
        case ev.Notified():
            failed = f"  failed: {event.problem}" if event.problem else ""
            style = "failed" if event.problem else "muted"
            return Described("notified", f"{event.text}{failed}", style)
        case ev.RecordsLost():
            text = f"since record {event.first}: {event.reason}"
            return Described("lost", text, "failed")
        case ev.Unknown():
            return Described(event.name, "(an event of a newer version)", "muted")
        case _:
            return Described(event.kind, "", "muted")


def clock_text(seconds: float) -> str:
    """Return by how much the clock of a host differs from this machine's; empty if it hardly does.

    ``seconds``: by how many it is ahead.
    """
    if not CLOCK_S < abs(seconds) < _LONGEST_S:
        return ""
    return f"clock {format.span(abs(seconds))} {'ahead' if seconds > 0 else 'behind'}"


_LONGEST_S = 1e12


def _host(event: ev.HostState) -> Described:
    parts = [_because(event.state, event.reason)]
    where = f"{event.address}:{event.run}" if event.address and event.run else event.run
    parts += [where] if where else []
    parts += [clock] if (clock := clock_text(event.clock_ms / 1000)) else []
    text = "  ".join(parts)
    return Described("host", text, state_style(event.state), event.host, INSTANCES)


def _because(state: str, reason: str) -> str:
    return f"{state}: {reason}" if reason else state


_STATE_STYLES = {
    "starting": "pending",
    "restarting": "stalled",
    "stopping": "pending",
    "stopped": "finished",
    "waiting": "muted",
    "passive": "imported",
    "empty": "muted",
    "connecting": "pending",
    "preparing": "pending",
    "connected": "running",
    "lost": "failed",
    "ended": "finished",
}

_STATE_SIGNS = {
    "running": "●",
    "passive": "⇄",
    "paused": "‖",
    "stalled": "▲",
    "starting": "◌",
    "restarting": "↻",
    "stopping": "◍",
    "stopped": "■",
    "finished": "✓",
    "failed": "✗",
    "connecting": "◌",
    "preparing": "◌",
    "connected": "●",
    "lost": "▲",
    "ended": "✓",
}


def state_style(state: str) -> str:
    """Return the colour of the state of a campaign, an instance, or the connection to a host."""
    return _STATE_STYLES.get(state) or (state if state in SEMANTIC else "muted")


def state_sign(state: str) -> str:
    """Return a glyph for a state that is distinguishable without colour."""
    return _STATE_SIGNS.get(state, "○")
