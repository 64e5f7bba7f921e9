"""Details of a finding, as lines of spans. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzztui.features.inputs.screen.lineage import credit_lines, lineage_lines, transferred_text
from fuzztui.features.inputs.screen.side_by_side import side_by_side
from fuzztui.kernel.base.signals import is_by_signal, signal_name
from fuzztui.kernel.model.examples import is_in_tests, takes_examples
from fuzztui.kernel.model.finding_tallies import severity_text
from fuzztui.kernel.model.passive import MUTANT_INPUTS, ORACLE, SEEDS
from fuzztui.kernel.model.state import CommandStatus, Finding, State
from fuzztui.kernel.model.verdicts import given_about, verdict_of
from fuzztui.kernel.wire.finding_kinds import CRASH, DIFFERS
from fuzztui.kernel.wire.severity import ERROR, EXPLOITABLE, PROBABLY_EXPLOITABLE
from fuzztui.kernel.wire.verdicts import FIXED, KNOWN, REGRESSION, WONT_FIX, label
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import gauge
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.source_excerpt import SourceExcerpt
from fuzztui.tui.base.text import plain, plain_lines
from fuzztui.tui.labels.details import (
    MEMBERS,
    excerpt_lines,
    finding_title,
    listed,
    pair,
    repro_command,
)
from fuzztui.tui.labels.lineage import Lineage, parents_text
from fuzztui.tui.labels.report import report_lines
from fuzztui.tui.labels.run_files import examples_command, on_host, place_of, shown

SHORT = 8
"""Lines of an input that comes before the report of a finding."""

FIRST_ROWS = 6
"""Rows of a minimised input, including its heading, that come before the finding's details."""

VERDICT_STYLES = {KNOWN: "pending", FIXED: "valid", WONT_FIX: "muted", REGRESSION: "crash"}
"""Colours of verdicts; a new group has none."""

SEVERITY_STYLES = {EXPLOITABLE: "crash", PROBABLY_EXPLOITABLE: "hang"}
"""Colours of severities; the others are muted."""


def finding_lines(
    finding: Finding,
    state: State,
    lineage: Lineage,
    run: Path | None,
    *,
    minimising: CommandStatus | None = None,
    moved: str = "",
    smaller: Sequence[Line] = (),
    source: SourceExcerpt | None = None,
    content: Sequence[Line] = (),
    width: int = 0,
) -> list[Line]:
    """Return the details of a crash or hang, with the state of its minimising.

    ``smaller``: the lines of the minimised input. Its first rows come directly below the title:
    a result that the user requested must be visible in a low pane, too.

    ``source``: the lines around the crash. ``content``: the input; a short one comes before the
    report.

    ``moved``: the current path of the finding's file, if known to differ from the recorded path.
    ``width``: cells; two outputs of an oracle are side by side if they have room.
    """
    style = finding.category
    name = finding_title(finding)
    lines: list[Line] = [[TextSpan(part, f"bold {style}")] for part in plain_lines(name, 3)]
    if finding.place:
        lines.append([TextSpan("at ", "muted"), TextSpan(plain(finding.place), "bold")])
    if finding.severity != ERROR and (text := severity_text(finding)):
        lines.append([TextSpan(plain(text), SEVERITY_STYLES.get(finding.severity, "muted"))])
    lines += verdict_lines(finding, state)
    lines += _for_pytest(finding, run)  # in a low pane, too
    if minimising is not None:  # the result, too: a low pane has no more lines in view
        lines.append(minimising_line(minimising))
    whole = len(smaller) <= FIRST_ROWS + 1
    lines += smaller if whole else smaller[:FIRST_ROWS]
    lines.append([] if whole else [TextSpan("… continued below", "muted")])
    short = 0 < len(content) <= SHORT
    lines += [*content[1:], []] if short else []  # without the blank line above its title
    lines += [*excerpt_lines(source), []] if source is not None and source.lines else []
    beside = None
    if finding.category == DIFFERS.category:
        beside = side_by_side(finding.detail, width)
    if beside is not None:
        lines += beside
    elif finding.detail:
        lines += report_lines(finding.detail, finding.place, style)
    elif is_by_signal(finding.signature):
        words = "one signal may have many causes; not run: Copy repro has the command"
        lines.append([TextSpan(words, "muted")])
    elif not finding.signature:
        words = "not described yet" if run is not None else "not run: Copy repro has the command"
        lines.append([TextSpan(words, "muted")])
    lines += [] if whole else smaller
    lines += [] if short else content
    if finding.input and not content:
        lines += [[], pair("input", finding.input)]
    lines.append([])
    by = f"by {finding.instance}"
    if finding.instance == MUTANT_INPUTS:
        by = "when a mutant's corpus was run on the target"
    if finding.instance == ORACLE:
        by = "by the commands of [oracle]"
    if finding.instance == SEEDS:
        by = "by running the seeds before the start"
    lines.append(pair("found", f"{format.clock(finding.t)} {by}"))
    if finding.signature:
        lines.append(pair("signature", finding.signature))
    if finding.plain_place != finding.place:  # a rule skips frames
        lines.append(pair("failed at", finding.plain_place))
    if finding.execs:
        lines.append(pair("execs", f"{finding.execs:,}"))
    if finding.sig:
        lines.append(pair("signal", f"{finding.sig} {signal_name(finding.sig)}"))
    if finding.instance == ORACLE:
        lines += [pair("entry", f"#{i} of {finding.sync}") for i in finding.src]
    elif finding.sync:
        lines.append(pair("made by", transferred_text(finding)))
    elif finding.op or finding.src:
        parent = lineage.parent(finding)
        of = "" if parent is None else f" of {parents_text(finding, parent)}"
        lines.append(pair("made by", f"{finding.op or '?'}{of}"))
    lines += credit_lines(finding, lineage)
    where = place_of(finding, state, run)
    file = _from_run(moved, run) if moved else shown(finding, state, run)
    lines.append(pair("file", f"{file}  ({format.size(finding.size)})", "muted"))
    if there := on_host(finding, state):
        lines.append(pair("on host", there, "muted"))
    if run is not None and where is not None:
        now = Path(moved) if moved else where.path
        lines.append(pair("reproduce", repro_command(run, now), "valid"))
    return lines + _members(finding, state) + lineage_lines(finding, lineage, state)


def _for_pytest(finding: Finding, run: Path | None) -> Iterator[Line]:
    """What plain pytest does with a failed property, and how the finding becomes a test."""
    if is_in_tests(finding):
        yield pair("pytest", "plain pytest fails with it at once: it is an @example of the test")
        return
    if finding.example:
        words = "plain pytest fails with it at once: the input is saved for Hypothesis"
        yield pair("pytest", words)
    if finding.property and finding.category == CRASH.category and (line := examples_command(run)):
        if takes_examples(finding):
            yield pair("add test", line, "valid")
        else:
            words = "a stateful test takes no @example: 'fuzztui repro' prints its steps"
            yield pair("add test", words)


def verdict_lines(finding: Finding, state: State) -> list[Line]:
    """Return the verdict about a finding's group, with note, author and date; empty if none."""
    given = given_about(state, finding.signature)
    if given is None:
        return []
    name = verdict_of(state, finding.signature)
    head = "regression: it was marked as fixed" if name == REGRESSION else label(name)
    by = " ".join([*([f"by {given.author}"] if given.author else []), given.date[:10]]).strip()
    return [
        [
            TextSpan(plain(head), f"bold {VERDICT_STYLES.get(name, '')}".strip()),
            TextSpan(plain(f"  {by}") if by else "", "muted"),
        ],
        *([TextSpan(text)] for text in plain_lines(given.note) if given.note),
    ]


def _from_run(path: str, run: Path | None) -> str:
    """Return a path relative to the run, as :func:`~fuzztui.tui.labels.run_files.shown` does."""
    return path if run is None else path.removeprefix(f"{run}{os.sep}")


def _members(finding: Finding, state: State) -> list[Line]:
    keys = state.groups.get(finding.signature, []) if finding.signature else []
    if len(keys) < 2:
        return []
    of = "with this signal" if is_by_signal(finding.signature) else "with this signature"

    def member(key: str) -> Line:
        there = state.findings.get(key)
        at = format.clock(there.t) if there is not None else ""
        sign = TextSpan("▸ " if key == finding.key else "  ", "bold")
        return [sign, TextSpan(f"{at:>8}  ", "muted"), TextSpan(plain(key))]

    return listed(f"{len(keys):,} files {of}", map(member, keys), len(keys), MEMBERS)


def minimising_line(command: CommandStatus) -> Line:
    """Return the progress of a minimising command, or its result."""
    if command.state != "pending":
        done = command.state == "applied"
        words = command.text or ("done" if done else "rejected")
        return pair("minimised", words if done else f"no: {words}", "valid" if done else "hang")
    line = [*pair("minimising", "")]
    if command.part >= 0:
        full, rest = gauge(command.part, 16)
        percent = format.percent(min(command.part, 1.0), 1.0)
        line += [
            TextSpan(full, "primary"),
            TextSpan(rest, "gauge"),
            TextSpan(f" {percent}", "bold"),
        ]
    words = command.text or ("" if command.part >= 0 else "starting…")
    return [*line, TextSpan(f" {plain(words)}" if words else "", "pending")]


def no_findings_lines(*, over: bool) -> list[Line]:
    """Return what a finding is, for a campaign without one. ``over``: the campaign has ended."""
    return [
        [TextSpan(f"No input has failed{'' if over else ' yet'}.", "bold")],
        [],
        [TextSpan("An input that crashes or hangs the target is shown here, with its stack.")],
        [],
        pair("not listed", "exceptions that [target] expected names: the target may raise these"),
        pair("also listed", "with [oracle] in the campaign file: other bugs, such as differences"),
    ]
