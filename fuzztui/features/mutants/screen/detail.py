"""The details of one mutant: change, state, statistics, commands. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fuzztui.features.fuzzfirst.screen.mutant_details import commands_about, head_line, killed_text
from fuzztui.kernel.model.mutants import (
    NOT_RUN,
    RAN,
    REACHED,
    UNKNOWN_REACH,
    UNREACHED,
    WAITS,
    Knowledge,
    knowledge,
    nearest,
    survivor_group,
)
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.source_excerpt import AROUND, SourceExcerpt, substitute
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.commands import since_lines
from fuzztui.tui.labels.details import NUMBER, number_span, pair, side_style
from fuzztui.tui.labels.mutants import sign, state_sign


def mutant_lines(
    mutant: Mutant,
    state: State,
    source: SourceExcerpt | None,
    pending: Sequence[str] = (),
    *,
    tight: bool = False,
) -> list[Line]:
    """Return the details of a mutant; ``source`` is None until its file was read.

    ``tight``: only some lines have room.
    """
    known = knowledge(state)
    head = head_line(mutant, *state_sign(mutant, known), pending)
    gap: list[Line] = [] if tight else [[]]
    lines = [head, *since_lines(state, mutant.id), *gap]
    lines += [*change_lines(mutant, source, 1 if tight else AROUND), *gap]
    lines += _accepted(mutant, state)
    lines += _story(mutant, known)
    lines += _figures(mutant)
    if mutant.static:
        lines.append(pair("static", "runs at import: executed in a child that imports again"))
    lines.append(pair("id", mutant.id, "muted"))
    return lines + commands_about(mutant, state)


# -------------------------------------------------------------------- change


def change_lines(mutant: Mutant, source: SourceExcerpt | None, around: int = AROUND) -> list[Line]:
    """Return the change as a small diff, with neighbouring lines if the source is available."""
    before, after = mutant.before, mutant.after
    if not before and not after:
        return [[TextSpan("the log does not contain the change", "muted")]]
    if source is None or not source.lines:
        lines: list[Line] = [_bare("-", before, "removed"), _bare("+", after, "added")]
        if source is not None and source.problem:
            lines.append([TextSpan(f"  (source not shown: {plain(source.problem)})", "muted")])
        return lines
    texts = _dedented(source, around)
    parts = substitute(texts[source.line], before)
    lines = []
    for number, text in texts.items():
        if number != source.line:
            lines.append([number_span(" ", number, "muted"), TextSpan(plain(text), "muted")])
        elif parts is None:
            lines += [
                [number_span("›", number, "bold"), TextSpan(plain(text), "bold")],
                _bare("-", before, "removed"),
                _bare("+", after, "added"),
            ]
        else:
            left, right = (plain(part) for part in parts)
            for mark, core, style in (("-", before, "removed"), ("+", after, "added")):
                changed = TextSpan(plain(core), side_style(style))
                lines.append(
                    [number_span(mark, number, style), TextSpan(left), changed, TextSpan(right)]
                )
    return lines


def _dedented(source: SourceExcerpt, around: int) -> dict[int, str]:
    """The lines near the mutant by number, without their common indentation."""
    near = {
        number: text.expandtabs(4)
        for number, text in enumerate(source.lines, source.first)
        if abs(number - source.line) <= around
    }
    indents = [len(text) - len(text.lstrip()) for text in near.values() if text.strip()]
    return {number: text[min(indents, default=0) :] for number, text in near.items()}


def _bare(mark: str, text: str, style: str) -> Line:
    """One side of the change, if its source line is not available."""
    shown = plain(text) if text else "(nothing)"
    blank = " " * (NUMBER + 1)
    return [TextSpan(f"{mark}{blank} │ ", style), TextSpan(shown, side_style(style))]


# -------------------------------------------------------------------- state


def _accepted(mutant: Mutant, state: State) -> list[Line]:
    """Why a user has accepted that the mutant survives; empty if no user has."""
    accepted = state.accepted_mutants.get(mutant.id)
    if accepted is None or not mutant.accepted:
        return []
    by = " ".join([*([f"by {accepted['author']}"] if accepted["author"] else []),
                   accepted["date"][:10]]).strip()  # fmt: skip
    because = pair("accepted", accepted["because"] or "no reason was given")
    return [[*because, TextSpan(plain(f"  {by}") if by else "", "muted")]]


def _story(mutant: Mutant, known: Knowledge) -> list[Line]:
    """The state of the mutant, as text."""
    match mutant.state:
        case "killed":
            lines = [pair("killed", killed_text(mutant), "killed")]
            if mutant.by_property:
                lines.append(pair("property", plain(mutant.by_property)))
            if mutant.detail:
                lines.append(pair("", mutant.detail))
            return lines
        case "alive":
            runs = f"run ×{mutant.runs:,}" if mutant.runs else "run"
            words = f"{runs}, and made no difference to the result"
            return [pair("alive", words, "alive"), *_near(mutant)]
        case "pending":
            bare = replace(mutant, accepted=False)
            words, (glyph, _) = _PENDING[survivor_group(bare, known)], state_sign(bare, known)
            if mutant.static and not known.over:
                words = "not run yet: each run needs an import"
            return [pair(glyph.state, words, glyph.style), *_near(mutant)]
        case _:
            words = mutant.reason or "no reason was given"
            if mutant.instance:
                words += f"  (by {mutant.instance})"
            return [pair(mutant.state, words, sign(mutant.state).style)]


_PENDING = {
    RAN: "not run since it was requeued",
    WAITS: "infected, and not run yet on that input",
    NOT_RUN: "the budget was used up, or a stop came, before: 'fuzztui score RUN' runs it",
    REACHED: "reached, and never infected: the expression always had the same value",
    UNREACHED: "no input has reached the expression",
    UNKNOWN_REACH: "not run yet on any input of the corpus",
}
"""Text about a mutant that has not run, by its group of survivors."""

_NEAR = {
    "ran": "infected it; the mutant ran, and the infection did not reach the result",
    "infected": "infected it: the expression had another value; the mutant has not run on it",
    "reached": "reached it, and the expression had the same value",
}


def _near(mutant: Mutant) -> list[Line]:
    """The entry that came nearest to killing the mutant."""
    near = nearest(mutant)
    if near is None:
        return []
    entry, how = near
    # A static mutant has no probes: it is imported and run on each input.
    words = "ran the mutant, with the same result" if mutant.static else _NEAR[how]
    return [[*pair("nearest", entry, "corpus"), TextSpan(f"  {words}")]]


def _figures(mutant: Mutant) -> list[Line]:
    """Statistics of each instance."""
    lines: list[Line] = []
    for name, (reached, infected, runs) in mutant.counts.items():
        label = "" if lines else "counts"
        words = f"reached ×{reached:,}  infected ×{infected:,}  run ×{runs:,}"
        lines.append([*pair(label, words), TextSpan(f"  {plain(name)}", "muted")])
    return lines
