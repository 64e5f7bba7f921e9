"""The details of one text mutator. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fuzztui.features.mutators.fold import FEW, FEW_USES, MutatorRow, shares
from fuzztui.features.mutators.screen.columns import rate_text
from fuzztui.features.mutators.screen.labels import SIGNS, effect_of
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import Entry, Finding, State
from fuzztui.kernel.model.yields import Yields, rate_words
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.commands import commands_naming
from fuzztui.tui.labels.details import pair, side_style, title
from fuzztui.tui.labels.latest_saved import latest_lines


def mutator_lines(
    arm: MutatorRow,
    state: State,
    finds: Sequence[Entry | Finding],
    yields: Yields | None = None,
    *,
    tight: bool = False,
) -> list[Line]:
    """Return effect, statistics, statistics by instance, and the latest entries and findings."""
    words = effect_of(arm.name)
    fill, style = SIGNS[arm.cls]
    lines: list[Line] = [
        [TextSpan(f"{fill} ", style), TextSpan(plain(arm.name), f"bold {style}"),
         TextSpan(f"  {arm.cls}", "muted")],
        [TextSpan(words.does)],
    ]  # fmt: skip
    if words.before:
        lines += [
            [TextSpan("- ", "removed"), TextSpan(words.before, side_style("removed"))],
            [TextSpan("+ ", "added"), TextSpan(words.after, side_style("added"))],
        ]
    lines += ([] if tight else [[]]) + _figures(arm)
    if yields is not None and yields.whole.known:
        lines.append(pair("CPU hour", rate_words(yields.whole)))
        lines += [pair("lately", rate_words(yields.late))] if yields.late.known else []
    lines += _instances(arm, state) + commands_naming(state, "mutator", arm.name)
    return lines + latest_lines(finds)


def _figures(arm: MutatorRow) -> list[Line]:
    lines = [
        pair("drawn", f"{several(arm.tried, 'time')}, now {_drawn_now(arm)}"),
        pair("applied", f"to {several(arm.applied, 'input')}"),
    ]
    if not arm.found:
        lines.append(pair("found", "nothing yet", "muted"))
    else:
        lines.append(pair("found", several(arm.found, "entry", "entries"), "corpus"))
        words = f"{rate_text(arm)} new entries per million applications"
        lines.append(pair("pays", words, "valid" if arm.significant else "muted"))
        if not arm.significant:
            few = f"(fewer than {FEW} entries or {FEW_USES} uses mean little: sorted last)"
            lines.append(pair("", few, "muted"))
    if arm.crashes:
        lines.append(pair("crashes", f"{several(arm.crashes, 'input')} saved", "crash"))
    return lines


def _drawn_now(arm: MutatorRow) -> str:
    """How often the mutator is drawn; one splicing mutator is tried if the other cannot apply."""
    if arm.cls == "splice":
        if not arm.share:
            return "if the other splicing mutator cannot apply"
        return f"first in {format.share(arm.share)} of splice steps"
    return f"{format.share(arm.share)} of {arm.cls} steps"


def _instances(arm: MutatorRow, state: State) -> list[Line]:
    rows = []
    over = {"ended turns": state.finished_turns} if state.finished_turns else {}
    for name, f in [*list(state.mutators.items()), *over.items()]:
        if arm.name not in f.names:
            continue
        i = f.names.index(arm.name)
        rows.append((name, f.applied[i], f.found[i], f.crashes[i], shares([f])[arm.name]))
    if len(rows) < 2:
        return []
    wide = max(len(plain(name, 12)) for name, *_ in rows)

    def line(name: str, applied: int, found: int, crashes: int, share: float) -> Line:
        crashed = f"  {several(crashes, 'crash', 'crashes')}" if crashes else ""
        return [
            TextSpan(f"{plain(name, 12):<{wide}} ", "muted"),
            TextSpan(f"{format.count(found):>6} of {format.count(applied):>6}"),
            TextSpan(f"  weight {format.share(share)}", "muted"),
            TextSpan(crashed, "crash"),
        ]

    every = sorted(rows, key=lambda r: -r[2])
    return [[], title("instances"), *(line(*row) for row in every)]


def no_mutators_lines(engine: str) -> list[Line]:
    """Return why there are no text mutators, and how to get some."""
    if engine not in ("afl", "text"):
        why = f"This campaign's engine is {plain(engine or 'unknown')}: it has no text mutators."
    else:
        why = "No instance has reported its mutators yet."
    steps = (
        ("AFL++", 'kind = "afl" and a [text] table: text mutators in addition to havoc'),
        ("Python", 'kind = "text" under [engine]: the same mutators, in process'),
    )
    return [[TextSpan(why, "bold")], [], *(pair(name, words) for name, words in steps)]
