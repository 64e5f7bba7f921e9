"""Events about findings, and about verdicts of users, as text."""

from __future__ import annotations

from fuzztui.kernel.wire.events import (
    ExampleSaved,
    FindingDescribed,
    FindingSaved,
    SkippedFrames,
    VerdictsChanged,
)
from fuzztui.tui.labels.events.base import COMMANDS, SAVED, STATS, Described, describe


@describe.register
def _saved(event: FindingSaved) -> Described:
    return Described(event.category, event.file, event.category, event.instance, SAVED)


@describe.register
def _described(event: FindingDescribed) -> Described:
    place = f"  at {event.place}" if event.place else ""
    text = f"{event.title or event.signature or event.file}{place}"
    return Described(event.category, text, event.category, event.instance, STATS)


@describe.register
def _example(event: ExampleSaved) -> Described:
    return Described("example", f"{event.file} for pytest", "muted", event.instance, STATS)


@describe.register
def _verdicts(event: VerdictsChanged) -> Described:
    rows = [f"{row.get('verdict')} {row.get('signature')}" for row in event.findings[:3]]
    rows = rows or [
        f"{row.get('verdict') or 'not accepted'} {row.get('id')}" for row in event.mutants[:3]
    ]
    more = max(len(event.findings), len(event.mutants)) - len(rows)
    text = ", ".join(rows) + (f" and {more:,} more" if more > 0 else "")
    return Described("verdict", text, "muted", "", COMMANDS)


@describe.register
def _frames(event: SkippedFrames) -> Described:
    text = f"not counted: {', '.join(event.rules)}" if event.rules else "all frames count"
    return Described("frames", text, "muted", "", COMMANDS)
