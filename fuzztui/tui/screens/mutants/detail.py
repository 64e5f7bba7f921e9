"""The details of one mutant as lines of spans: its change, its story, its figures. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fuzztui.model.state import CommandStatus, Mutant, State
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.source_excerpt import AROUND, SourceExcerpt, substitute
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.command_sender import selection_of
from fuzztui.tui.labels.details import pair, title
from fuzztui.tui.labels.events import command_words
from fuzztui.tui.labels.mutants import MutantGlyph, place, sign, steer_words

COMMANDS = 8
"""Commands about the mutant that are listed, the latest."""

ORACLES = {
    "value": "it returns another value",
    "exception": "it ends in another exception",
    "timeout": "it does not come to an end",
    "died": "its process died",
    "crash": "it crashes, and the program does not",
    "hang": "it hangs, and the program does not",
    "output": "its output or its exit status is another one",
}
"""How a mutant that was killed gave itself away."""

NUMBER = 5
"""Cells for line numbers."""


def head_line(mutant: Mutant, of: MutantGlyph, word: str, pending: Sequence[str]) -> Line:
    """What it is, where, made by which operator, and what is asked of it."""
    head = [
        TextSpan(f"{of.glyph} {plain(word)}  ", f"bold {of.style}"),
        TextSpan(plain(place(mutant)), "bold"),
        TextSpan(f" in {plain(mutant.function)}" if mutant.function else ""),
        TextSpan(f"  {plain(mutant.operator)}", "edge"),
    ]
    if mutant.steer:
        head.append(TextSpan(f"  {plain(steer_words(mutant.steer))}", "promoted"))
    return [*head, *(TextSpan(f"  {plain(name)}…", "pending") for name in pending)]


def mutant_lines(
    mutant: Mutant,
    state: State,
    source: SourceExcerpt | None,
    pending: Sequence[str] = (),
    *,
    tight: bool = False,
) -> list[Line]:
    """What is known about a mutant; ``source`` once its file was looked at.

    ``tight``: there is room for some lines only.
    """
    head = head_line(mutant, sign(mutant.state), mutant.state, pending)
    gap: list[Line] = [] if tight else [[]]
    lines = [head, *gap, *change_lines(mutant, source, 1 if tight else AROUND), *gap]
    lines += _story(mutant)
    lines += _figures(mutant)
    if mutant.static:
        lines.append(pair("static", "runs at import: tried in a child that imports again"))
    lines.append(pair("id", mutant.id, "muted"))
    return lines + commands_about(mutant, state)


# -------------------------------------------------------------------- change


def change_lines(mutant: Mutant, source: SourceExcerpt | None, around: int = AROUND) -> list[Line]:
    """The change as a small diff: among the program's lines when they are at hand."""
    before, after = mutant.before, mutant.after
    if not before and not after:
        return [[TextSpan("the log does not say what it changes", "muted")]]
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
    """The lines near the mutant's by number, without the blanks that all of them begin with."""
    near = {
        number: text.expandtabs(4)
        for number, text in enumerate(source.lines, source.first)
        if abs(number - source.line) <= around
    }
    indents = [len(text) - len(text.lstrip()) for text in near.values() if text.strip()]
    return {number: text[min(indents, default=0) :] for number, text in near.items()}


def number_span(mark: str, number: int, style: str) -> TextSpan:
    """What stands before a line of the program."""
    return TextSpan(f"{mark} {number:>{NUMBER}} │ ", style)


def _bare(mark: str, text: str, style: str) -> Line:
    """A side of the change without its surroundings."""
    shown = plain(text) if text else "(nothing)"
    blank = " " * (NUMBER + 1)
    return [TextSpan(f"{mark}{blank} │ ", style), TextSpan(shown, side_style(style))]


def side_style(style: str) -> str:
    """How one side of a change (removed or added) is drawn."""
    # Where there are no colours, the old is struck through and the new is bold.
    return f"strike {style}" if style == "removed" else f"bold {style}"


# --------------------------------------------------------------------- story


def _story(mutant: Mutant) -> list[Line]:
    """What became of it, in words."""
    match mutant.state:
        case "killed":
            lines = [pair("killed", killed_words(mutant), "killed")]
            if mutant.detail:
                lines.append(pair("", mutant.detail))
            return lines
        case "alive":
            met = f"run ×{mutant.runs:,}" if mutant.runs else "tried"
            words = f"{met}, and no input tells it from the program"
            return [pair("alive", words, "alive")]
        case "pending":
            return [pair("pending", "not run yet on any input of the corpus", "pending")]
        case _:
            words = mutant.reason or "no reason was given"
            if mutant.instance:
                words += f"  (says {mutant.instance})"
            return [pair(mutant.state, words, sign(mutant.state).style)]


def killed_words(mutant: Mutant) -> str:
    """When, by whom and how."""
    words = format.clock(mutant.killed_t) if mutant.killed_t >= 0 else ""
    if mutant.trial >= 0:
        words += f" at trial {mutant.trial:,}"
    words += f" by {mutant.killer}" if mutant.killer else ""
    return f"{words}: {ORACLES.get(mutant.oracle, mutant.oracle)}" if mutant.oracle else words


def _figures(mutant: Mutant) -> list[Line]:
    """How often each instance met it."""
    lines: list[Line] = []
    for name, (reached, infected, runs) in mutant.counts.items():
        label = "" if lines else "met"
        words = f"reached ×{reached:,}  infected ×{infected:,}  run ×{runs:,}"
        lines.append([*pair(label, words), TextSpan(f"  {plain(name)}", "muted")])
    return lines


def commands_about(mutant: Mutant, state: State) -> list[Line]:
    """What people asked for it, the latest first."""
    about = [c for c in list(state.commands.values()) if _concerns(c, mutant)]
    if not about:
        return []
    lines: list[Line] = [[], title("steering")]
    for command in reversed(about[-COMMANDS:]):
        answer = f"{command.state} {command.text}".strip()
        style = {"applied": "running", "rejected": "failed"}.get(command.state, "pending")
        lines.append(
            [
                TextSpan(f"{format.clock(command.t):>8}  ", "muted"),
                TextSpan(plain(command_words(command.command))),
                TextSpan(f"  by {plain(command.by)}" if command.by else "", "muted"),
                TextSpan(f"  {plain(answer)}", style),
            ]
        )
    return lines


def _concerns(command: CommandStatus, mutant: Mutant) -> bool:
    selection = selection_of(command.command)
    if selection is None:
        return False
    # Its state may have been another one when that was asked.
    kept = tuple(c for c in selection.conditions if c[0] != "state")
    return replace(selection, conditions=kept).matches(mutant)


def no_mutants_lines(engine: str, *, first: bool = False) -> list[Line]:
    """What to say where there are no mutants, and how to get some.

    ``first``: mutants are to be fuzzed one by one, before the target.
    """
    if first:
        return [[TextSpan("The mutants are being made and ranked.", "muted")]]
    if engine == "mu2":
        return [[TextSpan("The engine tells its mutants when it has loaded the program.", "muted")]]
    steps = (
        ("live", 'kind = "mu2" under [engine] in the campaign file of a Python target'),
        ("first", "a [mutants] table in it: fuzz mutants one by one, then the target"),
        ("afterwards", "fuzztui score RUN: the mutation score of what was found here"),
        ("beforehand", "fuzztui mutants list campaign.toml: what would be mutated"),
    )
    why = f"This campaign makes no mutants: its engine is {plain(engine or 'unknown')}."
    what = "Mutation analysis tells whether the inputs check the program, not only reach it."
    lines: list[Line] = [[TextSpan(why, "bold")], [], [TextSpan(what)], []]
    return [*lines, *(pair(name, words) for name, words in steps)]
