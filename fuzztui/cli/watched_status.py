"""``status`` of a directory of AFL's: what a watched campaign is now, as text or JSON."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzztui.cli.mutant_lines import found_rows
from fuzztui.cli.output import UsageError, duration, speed
from fuzztui.features.watch.directories import Trees, WatchError
from fuzztui.kernel.base.signals import is_by_signal, signal_name
from fuzztui.kernel.base.text import ago, brief
from fuzztui.kernel.model.figures import titled
from fuzztui.kernel.model.finding_tallies import groups, is_examined
from fuzztui.kernel.model.passive import ADDED
from fuzztui.kernel.model.selectors import Totals, other_text, totals
from fuzztui.kernel.model.state import Finding, State
from fuzztui.kernel.model.watched_targets import (
    WatchedTarget,
    machine_text,
    target_counts,
    watched_targets,
)
from fuzztui.kernel.wire.severity import beside
from fuzztui.run.home.finding import is_run
from fuzztui.tools.status.status import status_dict

if TYPE_CHECKING:
    from fuzztui.features.watch.snapshot import Snapshot

LATEST = 10
"""Maximum number of findings, peers and signals that ``status`` of a watched campaign lists."""


def afl_directories(path: Path | None, *more: Path) -> Trees | None:
    """Return the AFL output directory at ``path``; None for a run of fuzztui or anything else.

    ``more``: shown together with it. Raises :class:`UsageError` if not all are AFL's.
    """
    every = [] if path is None else [path, *more]
    with contextlib.suppress(WatchError):
        if every and not any(is_run(each) or not Trees([each]).places() for each in every):
            return Trees(every)
    if more:
        what = "not all are AFL output directories, of which alone several are shown together"
        raise UsageError(f"{' '.join(map(str, every))}: {what}; name a run alone")
    return None


def watched_object(path: Path, seen: Snapshot) -> dict[str, Any]:
    """Return the object of ``status --json`` for a watched campaign.

    ``age_s`` of an instance is the age of its statistics; None if unknown.
    """
    whole = {**status_dict(seen.state), "run": str(path), "pid": None}
    for row, i in zip(whole["instances"], seen.state.instances.values(), strict=True):
        age = seen.ages.get(i.id, -1.0)
        row["age_s"] = round(age, 1) if age >= 0 else None
        row["version"] = i.version
        row["cpu"] = row["rss"] = None  # processes of a watched campaign are not measured
    if len(whole["targets"]) > 1:  # the most edges of one program are no coverage of another
        whole["coverage"] = dict.fromkeys(whole["coverage"])
    return {**whole, "problems": seen.problems}


def watched_rows(path: Path, seen: Snapshot) -> list[tuple[str, str]]:
    """Return the rows of ``status`` about a watched campaign."""
    state, t = seen.state, totals(seen.state)
    every = list(state.instances.values())
    counts = Counter(i.state for i in every)
    known = [age for age in seen.ages.values() if age >= 0]
    span = dict.fromkeys(ago(age) for age in (min(known), max(known))) if known else ()
    age = f"{' to '.join(span)} old" if known else "none"
    others = sorted({p for i in every for p in i.peers} - {*state.instances, ADDED})
    more = f" and {len(others) - LATEST} more" if len(others) > LATEST else ""
    peers = [("peers", f"also imports from {', '.join(others[:LATEST])}{more}")] if others else []
    reason = f" ({state.reason})" if state.reason else ""
    unknown = "" if t.stats.execs_per_sec >= 0 else " (not measured yet)"
    machine = machine_text(state.machine_load, state.machine_cores, state.disk_free)
    targets = watched_targets(state)
    figures = [
        ("execs", f"{t.stats.execs:,}  at {speed(t.stats.execs_per_sec)}{unknown}"),
        ("corpus", f"{t.stats.corpus:,}"),
        ("coverage", coverage_text(t)),
        *figure_rows(t),
        *found_rows(state),
    ]
    if len(targets) > 1:
        figures = [row for target in targets for row in _target_rows(target, state.t)]
    return [
        ("campaign", f"{state.name}  [afl-fuzz]  {state.target}"),
        ("state", f"{state.state}{reason}"),
        ("instances", ", ".join(f"{n} {word}" for word, n in counts.items())),
        ("figures", age),
        ("elapsed", duration(state.t)),
        *figures,
        *_signals(state, path),
        *peers,
        ("machine", machine),
        *([("directory", str(path))] if len(targets) <= 1 else []),
    ]


def _target_rows(of: WatchedTarget, now: float) -> Iterator[tuple[str, str]]:
    """The rows about one of several targets, which share no figure."""
    yield "target", f"{of.name}  {' '.join(of.directories)}"
    known = (
        f", {speed(of.lifetime_execs_per_sec)} over its lifetime"
        if of.lifetime_execs_per_sec >= 0
        else ""
    )
    yield "", f"{of.running} of {len(of.instances)} running, {speed(of.execs_per_sec)}{known}"
    last = f", last find {ago(now - of.last_find_s)} ago" if of.last_find_s >= 0 else ""
    yield "", f"{target_counts(of)}{last}"
    if of.command_line:
        yield "", of.command_line


def watched_text(path: Path, seen: Snapshot) -> str:
    """Return the text that ``status`` prints about a watched campaign."""
    state, every, rows = seen.state, seen.state.instances.values(), watched_rows(path, seen)
    lines = [f"{name:<9} {brief(text)}" for name, text in rows]
    for i in every:
        age_of = seen.ages.get(i.id, -1.0)
        lines.append(
            f"  {brief(i.id):<9} {brief(i.state):<8} {ago(age_of) if age_of >= 0 else '-':>7} "
            f"{i.stats.execs:>14,} execs {speed(i.execs_per_sec):>10} {i.corpus:>7,} corpus "
            f"{i.crashes:>4,} crashes"
        )
        if i.state == "stalled":
            lines.append(f"    {brief(i.reason)}")
        if i.stats.other:
            lines.append(f"    also reports {other_text(i)}")
    latest = sorted(state.findings.values(), key=lambda f: f.t)[-LATEST:]
    lines += [brief(f"  {f.category}: {finding_line(f)}") for f in reversed(latest)]
    lines += [brief(f"  {problem}") for problem in seen.problems]
    return "\n".join(lines)


def finding_line(finding: Finding) -> str:
    """Return the file of a finding, and what is known of it since it was run."""
    place = f" at {finding.place}" if finding.place else ""
    about = f"  {finding.title}{place}{beside(finding.severity)}" * is_examined(finding)
    return f"{finding.key}{about}"


def _signals(state: State, path: Path) -> Iterator[tuple[str, str]]:
    """The row that counts crashes by the signals in their file names."""
    rows = sorted(groups(state), key=lambda g: -len(g.findings))
    counts = [
        f"{len(g.findings):,} {signal_name(g.first.sig)}" for g in rows if is_by_signal(g.signature)
    ]
    if counts:
        more = f" and {len(counts) - LATEST} more" if len(counts) > LATEST else ""
        found = f"{', '.join(counts[:LATEST])}{more}"
        yield "by signal", f"{found}, from the file names; run one: fuzztui repro {path} FILE"


def figure_rows(t: Totals, least: str = "") -> Iterator[tuple[str, str]]:
    """Rows of the figures with a total. ``least``: text in front of the numbers (``at least ``)."""
    for figure, number in titled(t.stats):
        if figure.total and number >= 0:
            yield figure.title, f"{least}{number:,}"


def coverage_text(t: Totals) -> str:
    """Return the covered edges, with their total and the part if it is known."""
    cover = "-" if t.stats.edges < 0 else f"{t.stats.edges:,}"
    if t.stats.edges >= 0 and t.stats.edges_total > 0:
        cover += f" of {t.stats.edges_total:,}"
    cover += " edges" if t.stats.edges >= 0 else ""
    if t.stats.edges > 0 and t.stats.edges_total > 0:
        cover += f" ({t.stats.edges / t.stats.edges_total:.1%})"
    return ", ".join([cover, *(f"{n:,} {f.title}" for f, n in titled(t.stats, "edges"))])
