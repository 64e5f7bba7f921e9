"""What ``notify.command`` reports: a text of one line, and a JSON object. Pure.

docs/notify.md describes the object.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base import versions
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.finding_tallies import tallies
from fuzztui.kernel.model.measured import unmeasured
from fuzztui.kernel.model.mutants import mutants_summary
from fuzztui.kernel.model.selectors import totals, wall_time
from fuzztui.kernel.model.stall import advice
from fuzztui.kernel.model.state import Finding, State
from fuzztui.kernel.model.story import story, story_dicts
from fuzztui.kernel.model.verdicts import verdict_of
from fuzztui.kernel.wire.events import END, NEW_FINDINGS, STALL
from fuzztui.kernel.wire.finding_kinds import kind_of
from fuzztui.kernel.wire.verdicts import REGRESSION

TEST: Final = "test"
"""The kind of a notification by ``fuzztui check --notify``."""

MAX_LISTED: Final = 20
"""Groups that one object describes; the others are counted."""

MAX_TEXT: Final = 200
"""Characters of the line, and of each text that comes from the target."""


@dataclass(frozen=True, slots=True)
class News:
    """One notification. ``kind``: findings, stall, end or test."""

    kind: str
    text: str
    """One line of printable characters."""
    facts: dict[str, Any] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    """The keys of the first findings of the new groups that are reported."""


def findings_news(state: State, found: Sequence[Finding], run: Path) -> News:
    """Return the news of groups that are new or regressions.

    ``found``: the first finding of each, at least one.
    """
    first = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    place = f" at {first.place}" if first.place else ""
    regression = verdict_of(state, first.signature) == REGRESSION
    what = "regression" if regression else f"new {kind_of(first.category).noun}"
    text = f"{what}: {title_of(first)}{place}{more}"
    facts = {
        "count": len(found),
        "new": [_finding(f, state, run) for f in found[:MAX_LISTED]],
    }
    return News(NEW_FINDINGS, _line(state, text), facts, tuple(f.key for f in found))


def stall_news(state: State, quiet_s: float) -> News:
    """Return the news that nothing new was found for ``quiet_s`` seconds of running time."""
    why = advice(state)
    text = f"nothing new for {_span(quiet_s)}: {why}"
    return News(STALL, _line(state, text), {"quiet_s": round(quiet_s, 1), "advice": why})


def end_news(state: State, end: str, reason: str) -> News:
    """Return the news that the campaign has ended. ``end``: finished, stopped or failed."""
    counts = [
        f"{several(of.groups, 'group')} of {kind_of(category).plural}"
        + (f", {of.unexamined:,} not examined" if of.unexamined else "")
        for category, of in tallies(state).items()
        if of.groups or of.unexamined
    ]
    because = f": {reason}" if reason else ""
    text = f"{end}{because}; {', '.join(counts) or 'no finding'}"
    if state.mutants:
        text += f"; {mutants_summary(state).killed} of {len(state.mutants)} mutants killed"
    ended = copy(state)  # the log's last record, the end, comes after its news
    ended.state, ended.reason = end, reason
    if why := unmeasured(ended):
        text = f"{end}{because}; measured nothing: {why}"
    facts = {"end": end, "reason": reason, "unmeasured": why or None}
    return News(END, _line(state, text), {**facts, "story": story_dicts(story(ended))})


def test_news(name: str) -> News:
    """Return the news by which a user tries the command. ``name``: of the campaign."""
    return News(TEST, brief(f"{name}: a test of notify.command", MAX_TEXT))


def news_object(state: State, news: News, run: Path, now: float) -> dict[str, Any]:
    """Return the JSON object of the command's stdin. ``now``: campaign time in seconds."""
    sums = totals(state)
    at = wall_time(state, now)
    data = {
        "news": news.kind,
        "text": news.text,
        "campaign": state.name,
        "engine": state.engine,
        "target": state.target,
        "host": state.host,
        "run": str(run),
        "attach": shlex.join(["fuzztui", "attach", str(run)]),
        "campaign_s": round(now, 3),
        "time": datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") if at else None,
        "execs": sums.stats.execs,
        "corpus": sums.stats.corpus,
        "edges": sums.stats.edges,
        "groups": {category: of.groups for category, of in tallies(state).items()},
        **news.facts,
    }
    return versions.versioned("notify", data)


def title_of(finding: Finding) -> str:
    """Return a finding's title; of one that is not described yet its file name."""
    return finding.title or finding.signature or Path(finding.file).name


def _finding(f: Finding, state: State, run: Path) -> dict[str, Any]:
    file = run / "out" / f.instance / f.file
    return {
        "kind": f.category,
        "title": brief(title_of(f), MAX_TEXT),
        "place": brief(f.place, MAX_TEXT),
        "signature": f.signature or None,
        "severity": f.severity or None,
        "regression": verdict_of(state, f.signature) == REGRESSION,
        "finding": f.key,
        "file": str(file),
        "reproduce": shlex.join(["fuzztui", "repro", str(run), str(file)]),
        "found_s": f.t,
    }


def _line(state: State, text: str) -> str:
    return brief(f"{state.name}: {text}", MAX_TEXT)


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
