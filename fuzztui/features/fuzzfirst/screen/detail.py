"""The details of a mutant in the worklist: change, turn, verdict, gains, costs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fuzztui.features.fuzzfirst.fold import WAIT, file_of, same_program
from fuzztui.features.fuzzfirst.screen.mutant_details import commands_about, head_line, killed_text
from fuzztui.features.fuzzfirst.screen.worklist import progress_glyph, progress_label
from fuzztui.features.fuzzfirst.screen.worklist_text import (
    earlier_text,
    roadblock_text,
    transferred_text,
    verdict,
)
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.model.progress import AT_WORK, phase
from fuzztui.kernel.model.state import Finding, Mutant, State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.source_excerpt import AROUND, SourceExcerpt
from fuzztui.tui.base.text import plain, plain_lines
from fuzztui.tui.labels.commands import since_lines
from fuzztui.tui.labels.details import (
    MEMBERS,
    NUMBER,
    finding_title,
    listed,
    number_span,
    pair,
    side_style,
)
from fuzztui.tui.labels.mutants import brief_change, place, sides
from fuzztui.tui.labels.states import finding_sign

MAX_ADDED = 8
"""Maximal number of lines that replace one line."""

REASONS = 12
"""Maximal number of lines of a compiler's message."""

COSTS = (
    ("build", "build"),
    ("prune", "prune"),
    ("start", "start"),
    ("handover", "transfer"),
    ("kills", "kills"),
)
"""Costs of a turn in seconds, in chronological order: key and label."""


@dataclass(frozen=True, slots=True)
class TurnDetail:
    """What the details need in addition to the state."""

    words: str = ""
    number: int = 0
    """The mutant's position among the waiting ones, from 1; 0: not waiting."""
    within: bool = True
    """Whether the budget allows its turn."""
    can_run: bool = True
    """Whether waiting mutants can still have a turn."""
    pending: Sequence[str] = ()
    findings: Sequence[Finding] = ()
    """Findings of the target that are credited to the mutant."""


def worklist_mutant_lines(
    mutant: Mutant,
    state: State,
    source: SourceExcerpt | None,
    turn: TurnDetail,
    *,
    tight: bool = False,
) -> list[Line]:
    """Return the details of a mutant; ``tight``: only some lines have room."""
    sign = progress_glyph(mutant, mutants_phase=turn.can_run)
    head = head_line(mutant, sign, progress_label(sign.state), turn.pending)
    gap: list[Line] = [] if tight else [[]]
    lines = [head, *since_lines(state, mutant.id), *gap]
    lines += [*change_of_line(mutant, source, 1 if tight else AROUND), *gap]
    lines += [pair("hides", text) for text in [roadblock_text(mutant)] if text]
    lines += _turn(mutant, turn, state)
    lines += _why(mutant, state)
    lines += _slot(mutant, state)
    lines += _gains(mutant)
    lines += _costs(mutant)
    lines += _names(mutant, state)
    lines.append(pair("id", mutant.id, "muted"))
    return lines + _findings(turn.findings) + commands_about(mutant, state)


# -------------------------------------------------------------------- change


def change_of_line(
    mutant: Mutant, source: SourceExcerpt | None, around: int = AROUND
) -> list[Line]:
    """Return the old and the new line, with their neighbours if the source is available."""
    if not mutant.before and not mutant.after:
        return [[TextSpan("the log does not contain the change", "muted")]]
    before, after = mutant.before.expandtabs(4), mutant.after.expandtabs(4)
    near = {mutant.line: before}
    if source is not None:
        near |= {
            number: text.expandtabs(4)
            for number, text in enumerate(source.lines, source.first)
            if number != mutant.line and abs(number - mutant.line) <= around
        }
    indents = [len(t) - len(t.lstrip()) for t in (*near.values(), after) if t.strip()]
    indent = min(indents, default=0)
    left, old, new, right = sides(before[indent:], after[indent:])
    lines: list[Line] = []
    for number in sorted(near):
        if number != mutant.line:
            text = plain(near[number][indent:])
            lines.append([number_span(" ", number, "muted"), TextSpan(text, "muted")])
            continue
        lines += _side("-", number, (left, old, right), "removed")
        lines += _side("+", number, (left, new, right), "added")
    if source is not None and source.problem:
        lines.append([TextSpan(f"  (source not shown: {plain(source.problem)})", "muted")])
    return lines


def _side(mark: str, number: int, parts: tuple[str, str, str], style: str) -> list[Line]:
    """One side of the change, which may be several lines; the middle of ``parts`` differs."""
    styles = ("", side_style(style), "")
    lines: list[Line] = [[number_span(mark, number, style)]]
    for part, words in zip(parts, styles, strict=True):
        first, *more = part.split("\n")
        lines[-1] = [*lines[-1], TextSpan(plain(first), words)]
        for text in more[:MAX_ADDED]:
            lines.append(
                [TextSpan(f"{mark}{' ' * (NUMBER + 1)} │ ", style), TextSpan(plain(text), words)]
            )
    return lines


# ---------------------------------------------------------------------- turn


def _turn(mutant: Mutant, turn: TurnDetail, state: State) -> list[Line]:
    if mutant.stage in AT_WORK:
        return [pair("fuzzed", turn.words, "running")]
    if turn.number and turn.within:
        return [pair("turn", f"{turn.words} (number {turn.number:,})")]
    if turn.number and not turn.can_run:
        return [pair("turn", "none: the turns of mutants are over", "muted")]
    if turn.number:
        words = f"number {turn.number:,}: the mutants' budget ends before its turn"
        return [pair("turn", words, "pending")]
    if mutant.fuzzed_s > 0:
        return [pair("fuzzed", format.span(mutant.fuzzed_s))]
    return []


_WHY = {
    "failed": ("failed", "failed"),
    "dropped": ("duplicate", "equivalent"),
}
"""Label and style of a reason; other reasons explain the end of the turn."""


def _why(mutant: Mutant, state: State) -> list[Line]:
    """The verdict, and why the mutant has no turn."""
    lines: list[Line] = []
    words, style = verdict(mutant)
    if style == "killed":
        facts = [killed_text(mutant)]
        if (kills := mutant.turn_results.get("kills", 0)) > 1:
            facts.append(f"{kills:,} inputs kill the mutant")
        lines.append(pair("killed", "; ".join(w for w in facts if w), "killed"))
        if file := file_of(mutant.killer):
            lines.append(pair("by file", f"{file},…", "muted"))
        lines += [pair("", text) for text in plain_lines(mutant.detail, 3) if mutant.detail]
    elif style == "alive":
        lines.append(pair("alive", "no input has killed the mutant", style))
    if phase(mutant) == "equivalent" and mutant.stage == "dropped":
        return [pair("same as", "the original, once compiled", "equivalent")]
    if mutant.state in ("skipped", "equivalent") and mutant.stage != "dropped":
        reason = mutant.reason if mutant.reason != mutant.state else "set by a user during its turn"
        lines.append(pair(mutant.state, reason or "no reason was given", mutant.state))
        return lines
    if (other := same_program(mutant, state.mutants)) is not None:
        words = f"{place(other)}  {brief_change(other.before, other.after)}"
        lines.append(pair("same as", words, "equivalent"))
    elif mutant.stage == "refused":
        aside = mutant.turn_results.get("aside", 0)
        words = mutant.reason or f"the mutant fails on all {several(aside, 'input')}"
        lines.append(pair("rejected", words, "hang"))
    elif mutant.reason:
        label, style = _WHY.get(mutant.stage, ("ended", "muted"))
        for n, text in enumerate(plain_lines(mutant.reason, REASONS)):
            lines.append(pair("" if n else label, text, style))
    return lines


def _slot(mutant: Mutant, state: State) -> list[Line]:
    """The instance that fuzzes the mutant."""
    if not mutant.slot:
        return []
    instance = state.instances.get(mutant.slot)
    if instance is None:
        return [pair("instance", mutant.slot)]
    words = (
        f"{mutant.slot} ({instance.state})  {format.count(instance.stats.execs)} execs  "
        f"corpus {format.count(instance.corpus)}  "
        f"{several(instance.crashes, 'crash', 'crashes')} of the mutant"
    )
    return [pair("instance", words)]


def _gains(mutant: Mutant) -> list[Line]:
    """What the mutant has transferred, and the inputs that were pruned for it."""
    lines: list[Line] = []
    results = mutant.turn_results
    if words := transferred_text(results):
        lines.append(pair("transfer", f"{words} to the target", "valid"))
    elif mutant.stage == "done":
        lines.append(pair("transfer", "nothing new to the target", "muted"))
    if words := earlier_text(mutant):
        lines.append(pair("earlier", words, "muted"))
    kept, aside = results.get("kept", -1), results.get("aside", -1)
    if kept >= 0 or aside >= 0:
        words = f"{several(max(0, kept), 'input')} kept"
        if aside > 0:
            where = f" in mutants/aside/{mutant.slot}" if mutant.slot else ""
            words += f", {aside:,} pruned{where}: the mutant fails on them"
        lines.append(pair("pruned", words))
    return lines


def _costs(mutant: Mutant) -> list[Line]:
    named = {name for name, _ in COSTS}
    spent = [(words, mutant.costs[name]) for name, words in COSTS if name in mutant.costs]
    spent += [(name, s) for name, s in mutant.costs.items() if name not in named]
    if not spent:
        return []
    words = "  ".join(f"{name} {seconds:.2f}s" for name, seconds in spent)
    total = sum(seconds for _, seconds in spent)
    whole = total + mutant.fuzzed_s - mutant.costs.get(WAIT, 0.0)  # the turn's time has the wait
    if mutant.fuzzed_s > 0:
        words += f"  ({format.percent(total, whole)} of its time)"
    return [pair("costs", words)]


def _names(mutant: Mutant, state: State) -> list[Line]:
    """The duplicates of this mutant."""
    if mutant.stage == "dropped":
        return []
    others = [m for m in list(state.mutants.values()) if same_program(m, state.mutants) is mutant]
    lines: list[Line] = []
    for other in others[:MEMBERS]:
        words = f"{place(other)}  {brief_change(other.before, other.after)}"
        lines.append(pair("" if lines else "also", words, "muted"))
    if len(others) > MEMBERS:
        lines.append([TextSpan(f"  … {len(others) - MEMBERS:,} more", "muted")])
    return lines


def _findings(found: Sequence[Finding]) -> list[Line]:
    rows = (
        [
            TextSpan(f"{finding_sign(finding.category)} ", finding.category),
            TextSpan(f"{format.clock(finding.t):>8}  ", "muted"),
            TextSpan(plain(finding_title(finding)), f"bold {finding.category}"),
            TextSpan(f"  {plain(_by(finding.instance))}", "muted"),
        ]
        for finding in found
    )
    return listed("findings of the target via this mutant", rows, len(found), MEMBERS)


def _by(instance: str) -> str:
    """What found a finding: an instance, or the transfer itself."""
    return "in the transfer to the target" if instance == MUTANT_INPUTS else f"by {instance}"
