"""Details of entries, findings and log records, as lines of spans. Pure."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from fuzztui.kernel.base.signals import is_by_signal, signal_name
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.fuzzfirst import MUTANT_INPUTS
from fuzztui.kernel.model.hosts import host_of
from fuzztui.kernel.model.oracle import ORACLE
from fuzztui.kernel.model.properties import is_in_tests, takes_examples
from fuzztui.kernel.model.state import CommandStatus, Entry, Finding, State
from fuzztui.kernel.model.verdicts import given_about, verdict_of
from fuzztui.kernel.wire.codec import encode_record
from fuzztui.kernel.wire.events import Record
from fuzztui.kernel.wire.finding_kinds import CRASH, DIFFERS
from fuzztui.kernel.wire.verdicts import FIXED, KNOWN, REGRESSION, WONT_FIX, label
from fuzztui.tui.base import format
from fuzztui.tui.base.braille import gauge
from fuzztui.tui.base.canvas import Line, OneLine, TextSpan
from fuzztui.tui.base.source_excerpt import SourceExcerpt
from fuzztui.tui.base.text import plain, plain_lines
from fuzztui.tui.labels.events import Described
from fuzztui.tui.labels.lineage import Lineage, ParentEntry, origin_of, parents_text
from fuzztui.tui.labels.mutants import brief_change, place
from fuzztui.tui.labels.report import report_lines
from fuzztui.tui.labels.run_commands import examples_command, run_command
from fuzztui.tui.labels.run_files import on_host, place_of, shown
from fuzztui.tui.labels.side_by_side import side_by_side

LABEL = 10
"""Cells for the names of properties."""

LINEAGE = 12
"""Maximal number of listed ancestors."""

SHORT = 8
"""Lines of an input that comes before the report of a finding."""

MAX_CHILDREN = 12
"""Maximal number of listed children of an entry."""

_MAX_INDENT = 8
"""Levels of the tree of ancestors that are indented."""

MEMBERS = 20
"""Maximal number of listed files of one signature, or mutants of one killer."""


VERDICT_STYLES = {KNOWN: "pending", FIXED: "valid", WONT_FIX: "muted", REGRESSION: "crash"}
"""Colours of verdicts; a new group has none."""

FIRST_ROWS = 6
"""Rows of a minimised input, including its heading, that come before the finding's details."""


def repro_command(run: Path, file: Path) -> str:
    """Return the command line that reproduces a finding."""
    return run_command(run, ["fuzztui", "repro", str(run), str(file)])


def finding_title(finding: Finding) -> str:
    """Return one line for users; without a description: the signal, and the mutator.

    A finding without AFL's file name format is called by its file name.
    """
    if finding.title:
        return finding.title
    op = finding.op.split(",", 1)[0]
    if finding.id < 0 or not (finding.sig or op):
        return finding.file
    what = signal_name(finding.sig) if finding.sig > 0 else finding.category
    return f"{what}, found by {op}" if op else what


def entry_lines(
    entry: Entry,
    state: State,
    lineage: Lineage,
    run: Path | None,
    *,
    pending: Sequence[str] = (),
    content: Sequence[Line] = (),
) -> list[Line]:
    """Return the details of an entry: its name, ``content`` (the input), properties, relatives."""
    lines: list[Line] = [[TextSpan(plain(entry.key), "bold corpus"), *_marks(entry, pending)]]
    lines += [*content, []] if content else []
    at = f", at {entry.execs:,} execs" if entry.execs else ""  # an imported file's name has none
    lines.append(pair("found", format.clock(entry.t) + at))
    if entry.reasons:
        lines.append(pair("kept for", " ".join(entry.reasons), "valid"))
    if entry.kills:
        lines.append(pair("kills", f"{several(entry.kills, 'mutant')} first", "killed"))
    if entry.outcome:
        lines.append(pair("outcome", entry.outcome))
    if entry.edges >= 0:
        lines.append(pair("edges", f"{entry.edges:,}", "edge"))
    lines.append(pair("made by", _origin(entry, lineage.parent(entry))))
    if entry.compared_at:
        lines.append(pair("comparison", f"{entry.compared_at}, operand {entry.operand}"))
    lines += _credit(entry, lineage)
    if entry.file:
        file = f"{shown(entry, state, run)}  ({format.size(entry.size)})"
        lines.append(pair("file", file, "muted"))
    if there := on_host(entry, state):
        lines.append(pair("on host", there, "muted"))
    return lines + _killed(entry, state) + _lineage(entry, lineage, state)


def _killed(entry: Entry, state: State) -> list[Line]:
    """The mutants that the entry was the first to kill."""
    victims = [m for m in list(state.mutants.values()) if m.killer == entry.key]
    if not victims:
        return []
    lines: list[Line] = [[], title("killed")]
    for mutant in victims[:MEMBERS]:
        lines.append(
            [
                TextSpan("✓ ", "killed"),
                TextSpan(plain(place(mutant)) + "  ", "muted"),
                TextSpan(plain(brief_change(mutant.before, mutant.after))),
            ]
        )
    if len(victims) > MEMBERS:
        lines.append([TextSpan(f"  … {len(victims) - MEMBERS:,} more", "muted")])
    return lines


def _credit(row: Entry | Finding, lineage: Lineage) -> list[Line]:
    """The mutant credited for a row of the target."""
    mutant = lineage.mutant_behind(row)
    if mutant is None:
        return []
    words = f"{place(mutant)}  {brief_change(mutant.before, mutant.after)}"
    if not lineage.of_target(row):
        return [pair("of mutant", words, "killed")]
    slot = f"  ({plain(mutant.slot)})" if mutant.slot else ""
    return [[*pair("via mutant", words, "killed"), TextSpan(slot, "muted")]]


_SEED = "seed:"
"""Prefix, instead of a key, of the name of a seed with which mutants started."""


def _lineage(row: Entry | Finding, lineage: Lineage, state: State) -> list[Line]:
    """A tree: the ancestors, the oldest first, the row itself, and its children."""
    steps = lineage.line(row, LINEAGE)
    children = lineage.children(row.key) if isinstance(row, Entry) else ()
    if not steps and not children:
        return []
    lines: list[Line] = [[], title("lineage")]
    for depth, step in enumerate(reversed(steps)):
        entry = step.entry
        seed = step.key.startswith(_SEED)
        origin = "of the campaign" if seed else "not in the log"
        if entry is not None:
            origin = _origin(entry, lineage.parent(entry))
        name = step.key.replace(_SEED, "seed ", 1) if seed else step.key
        lines.append(_branch(depth, "└", name, origin))
    lines.append(_branch(len(steps), "▸", row.key, ""))
    for n, key in enumerate(islice(children, MAX_CHILDREN)):
        last = n == len(children) - 1
        child = state.entries.get(key)
        origin = "" if child is None else child.op or "seed"
        grown = len(lineage.children(key))
        origin += f", {several(grown, 'child', 'children')}" if grown else ""
        lines.append(_branch(len(steps) + 1, "└" if last else "├", key, origin))
    if len(children) > MAX_CHILDREN:
        more = f"{several(len(children) - MAX_CHILDREN, 'child', 'children')} more"
        lines.append(_branch(len(steps) + 1, "└", more, ""))
    return lines


def _branch(depth: int, sign: str, name: str, origin: str) -> Line:
    """A line of the tree; the roots have no sign."""
    lead = " " + "  " * min(depth, _MAX_INDENT) + (f"{sign} " if depth or sign == "▸" else "")
    here = sign == "▸"
    return OneLine(
        [
            TextSpan(lead, "bold" if here else "rule"),
            TextSpan(plain(name), "bold corpus" if here else "corpus"),
            TextSpan("  " + plain(origin) if origin else "", "muted"),
        ]
    )


def _origin(entry: Entry, parent: ParentEntry | None) -> str:
    once = f", found as #{entry.first}" if entry.first not in (-1, entry.id) else ""
    if entry.sync:
        if entry.instance == MUTANT_INPUTS:
            return _handed(entry)
        return f"imported from {origin_of(entry)}{once}"
    if parent is None:
        return (entry.op.replace("orig:", "seed ", 1) or "seed") + once
    return f"{entry.op or '?'} of {parents_text(entry, parent)}{once}"


def _handed(row: Entry | Finding) -> str:
    """Origin of a row that was transferred from a mutant."""
    number = f", its #{row.src[0]}" if row.src else ""
    return f"transferred from a {origin_of(row)}{number}"


def _marks(entry: Entry, pending: Sequence[str]) -> list[TextSpan]:
    spans = []
    if entry.favored:
        spans.append(TextSpan("  ★ favored", "rate"))
    if entry.steer:
        spans.append(TextSpan(f"  {plain(entry.steer)}", entry.steer))
    spans += [TextSpan(f"  {plain(name)}…", "pending") for name in pending]
    return spans


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
    lines += verdict_lines(finding, state)
    lines += _for_pytest(finding, run)  # in a low pane, too
    if minimising is not None and minimising.state == "pending":
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
    lines.append(pair("found", f"{format.clock(finding.t)} {by}"))
    if finding.signature:
        lines.append(pair("signature", finding.signature))
    if finding.plain_place != finding.place:  # by rules about frames
        lines.append(pair("failed at", finding.plain_place))
    if finding.execs:
        lines.append(pair("execs", f"{finding.execs:,}"))
    if finding.sig:
        lines.append(pair("signal", f"{finding.sig} {signal_name(finding.sig)}"))
    if finding.instance == ORACLE:
        lines += [pair("entry", f"#{i} of {finding.sync}") for i in finding.src]
    elif finding.sync:
        lines.append(pair("made by", _handed(finding)))
    elif finding.op or finding.src:
        parent = lineage.parent(finding)
        of = "" if parent is None else f" of {parents_text(finding, parent)}"
        lines.append(pair("made by", f"{finding.op or '?'}{of}"))
    lines += _credit(finding, lineage)
    where = place_of(finding, state, run)
    file = _from_run(moved, run) if moved else shown(finding, state, run)
    lines.append(pair("file", f"{file}  ({format.size(finding.size)})", "muted"))
    if there := on_host(finding, state):
        lines.append(pair("on host", there, "muted"))
    if run is not None and where is not None:
        now = Path(moved) if moved else where.path
        lines.append(pair("reproduce", repro_command(run, now), "valid"))
    if minimising is not None and minimising.state != "pending":
        lines.append(minimising_line(minimising))
    return lines + _members(finding, state) + _lineage(finding, lineage, state)


def _for_pytest(finding: Finding, run: Path | None) -> list[Line]:
    """What plain pytest does with a failed property, and how the finding becomes a test."""
    lines: list[Line] = []
    if is_in_tests(finding):
        return [pair("pytest", "plain pytest fails with it at once: it is an @example of the test")]
    if finding.example:
        words = "plain pytest fails with it at once: the input is saved for Hypothesis"
        lines.append(pair("pytest", words))
    if finding.property and finding.category == CRASH.category and (line := examples_command(run)):
        if takes_examples(finding):
            lines.append(pair("add test", line, "valid"))
        else:
            words = "a stateful test takes no @example: 'fuzztui repro' prints its steps"
            lines.append(pair("add test", words))
    return lines


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


def excerpt_lines(source: SourceExcerpt) -> list[Line]:
    """Return lines of source code with their numbers; the line of the crash is marked."""
    lines: list[Line] = []
    for number, text in enumerate(source.lines, source.first):
        here = number == source.line
        lines.append(
            OneLine(
                [
                    TextSpan(f"{'▸' if here else ' '}{number:>6} ", "bold" if here else "muted"),
                    TextSpan(plain(text.expandtabs(4)), "bold" if here else ""),
                ]
            )
        )
    return lines


def finding_text(finding: Finding, files: int) -> str:
    """Return title, location, and the number of files of its group if it has several."""
    place = f"  at {finding.place}" if finding.place else ""
    times = f"  ×{files:,}" if files > 1 else ""
    return f"{finding_title(finding)}{place}{times}"


def _from_run(path: str, run: Path | None) -> str:
    """As :func:`~fuzztui.tui.labels.run_files.shown` formats it."""
    return path if run is None else path.removeprefix(f"{run}{os.sep}")


def _members(finding: Finding, state: State) -> list[Line]:
    keys = state.groups.get(finding.signature, []) if finding.signature else []
    if len(keys) < 2:
        return []
    of = "with this signal" if is_by_signal(finding.signature) else "with this signature"
    lines: list[Line] = [[], title(f"{len(keys):,} files {of}")]
    for key in keys[:MEMBERS]:
        member = state.findings.get(key)
        at = format.clock(member.t) if member is not None else ""
        sign = "▸ " if key == finding.key else "  "
        lines.append(
            [TextSpan(sign, style="bold"), TextSpan(f"{at:>8}  ", "muted"), TextSpan(plain(key))]
        )
    if len(keys) > MEMBERS:
        lines.append([TextSpan(f"  … {len(keys) - MEMBERS:,} more", "muted")])
    return lines


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


def record_lines(record: Record, described: Described, wall: float, *, raw: bool) -> list[Line]:
    """Return a log record: as the screens describe it, and its fields if ``raw``.

    ``wall``: its Unix time; 0: unknown.
    """
    lines: list[Line] = [
        [TextSpan(plain(described.label), f"bold {described.style}".strip())],
        *([TextSpan(text)] for text in plain_lines(described.text)),
        [],
        pair("time", format.clock(record.t)),
    ]
    if wall:
        lines.append(pair("clock", format.wall_clock(wall, "%Y-%m-%d %H:%M:%S")))
    if described.instance and described.instance != host_of(record):
        lines.append(pair("instance", described.instance))
    if host_of(record):
        lines.append(pair("host", host_of(record)))
    lines.append(pair("record", f"{record.seq:,}"))
    if record.host:
        there = f"record {record.host_seq:,} at {format.clock(record.host_t)} of its own log"
        lines.append(pair("there", there))
    if not raw:
        return [*lines, [], [TextSpan("v shows all fields", "muted")]]
    return [*lines, [], title("fields"), *_fields(record)]


def _fields(record: Record) -> list[Line]:
    """All fields of a record, by their names in the log."""
    try:
        data = json.loads(encode_record(record))
    except ValueError:  # NaN, from a log that another program wrote
        return [[TextSpan("this record cannot be shown", "hang")]]
    lines: list[Line] = []
    for key, value in data.items():
        if isinstance(value, str) and "\n" in value:
            lines.append(pair(key, ""))
            lines += [[TextSpan("  "), TextSpan(text)] for text in plain_lines(value)]
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            lines.append(pair(key, text))
    return lines


def no_findings_lines() -> list[Line]:
    """Return what a finding is, for a campaign without one."""
    return [
        [TextSpan("No input has failed yet.", "bold")],
        [],
        [TextSpan("An input that crashes or hangs the target is shown here, with its stack.")],
        [],
        pair("not listed", "exceptions that [target] expected names: the target may raise these"),
        pair("also listed", "with [oracle] in the campaign file: other bugs, such as differences"),
    ]


def no_corpus_lines() -> list[Line]:
    """Return what an entry is, for a campaign without one."""
    return [
        [TextSpan("The corpus is empty.", "bold")],
        [],
        [TextSpan("Entries are the seeds, and inputs that cover something new or kill a mutant.")],
    ]


def pair(name: str, value: str, style: str = "") -> Line:
    """Return a property's line; neither text needs to be plain yet."""
    return [TextSpan(plain(name).ljust(LABEL) + " ", "muted"), TextSpan(plain(value), style)]


def title(text: str) -> Line:
    """Return a heading."""
    return OneLine([TextSpan(f"── {plain(text)} ", "muted"), TextSpan("─" * 12, "rule")])
