"""The details of one type, or of one uncovered goal. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from textwrap import dedent

from fuzztui.features.targeting.fold import (
    SPOTON,
    GoalRow,
    TargetingSummary,
    TypeRow,
    reached_share,
    stale,
)
from fuzztui.features.targeting.screen.labels import COVERED_WHEN, sign_of
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import Entry, Finding, State
from fuzztui.kernel.wire.commands import WeighType, weight_text
from fuzztui.kernel.wire.events import TargetingStats
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, OneLine, TextSpan
from fuzztui.tui.base.source_excerpt import SourceExcerpt
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.commands import commands_naming
from fuzztui.tui.labels.details import listed, number_span, pair, title
from fuzztui.tui.labels.latest_saved import latest_lines

TARGETS = 12
"""Maximal number of listed goals of a type."""


# --------------------------------------------------------------------- a type


def type_lines(
    row: TypeRow,
    state: State,
    whole: TargetingSummary | None,
    targets: Iterable[GoalRow],
    finds: Sequence[Entry | Finding],
    *,
    asked: str,
) -> list[Line]:
    """Return statistics of a type, the goals that it decides, and its latest entries.

    ``whole``: summary of the targeting; ``asked``: the pending weight, as text.
    """
    lines: list[Line] = [[TextSpan(plain(row.name), "bold edge")]]
    changed = stale(state)
    lines.append(pair("chance", *_chance(row, whole)))
    lines.append(_weight(row, state, asked))
    lines.append(pair("distance", *_steps(row, changed)))
    lines += _figures(row)
    lines += _instances(row, state) + commands_naming(state, "type", row.name)
    return [*lines, *_decides(row, targets), *latest_lines(finds)]


def _chance(row: TypeRow, whole: TargetingSummary | None) -> tuple[str, str]:
    if not row.probability:
        if not row.weight:
            return "none: it is banned", "skipped"
        if row.distance < 0:
            known = "known to be " if whole is not None and whole.changed else ""
            return f"none: no goal that is {known}uncovered depends on this type", "muted"
        return "none now", "muted"
    words = f"{format.share(row.probability)} of the targeted mutations"
    if whole is not None and 0 < whole.targeted < 1:
        words += f", {format.share(row.probability * whole.targeted)} of all"
    return words, "edge"


def _weight(row: TypeRow, state: State, asked: str) -> Line:
    words = weight_text(row.weight)
    words += ": only its distance counts" if row.weight == 1 else _since(row, state)
    words += ", other instances have other weights" if row.differs else ""
    line = [*pair("weight", words)]
    return [*line, TextSpan(f"  → {plain(asked)}", "bold pending")] if asked else line


def _since(row: TypeRow, state: State) -> str:
    """When the weight was set, and by which user, as far as the log contains the command."""
    weighed = [
        status
        for status in list(state.commands.values())
        if status.state == "applied"
        and status.command.get("c") == WeighType.name
        and status.command.get("type") == row.name
    ]
    if not weighed:
        return ": set by a user"
    last = max(weighed, key=lambda status: status.t)
    return f" since {format.clock(last.t)}" + (f" by {last.by}" if last.by else "")


def _steps(row: TypeRow, changed: str) -> tuple[str, str]:
    if row.distance >= 0:
        return f"{several(row.distance, 'step')} to an uncovered goal (0 is nearest)", ""
    if changed:
        return plain(changed), "pending"
    return "no uncovered goal depends on this type", ""


def _figures(row: TypeRow) -> list[Line]:
    if not row.picks:
        return [pair("drawn", "not yet", "muted")]
    had = f"{several(row.matches, 'input')} with the type (match), {row.misses:,} without (miss)"
    had = had if row.misses else "each time the input had the type"
    lines = [pair("drawn", f"{several(row.picks, 'time')}: {had}")]
    if row.factor >= 1.05:
        words = f"its chance is divided by {row.factor:.1f} because of recent misses: "
        words += "each miss takes a quarter, a match gives it back"
        lines.append(pair("misses", words, "hang"))
    if row.new_arms:
        arms = f"{several(row.new_arms, 'branch', 'branches')} first covered by targeting this type"
        lines.append(pair("covered", arms, "valid"))
    else:
        lines.append(pair("covered", "nothing new yet", "muted"))
    return lines


def _instances(row: TypeRow, state: State) -> list[Line]:
    """Statistics of each instance, if there are several."""
    known = [
        (f, f.names.index(row.name)) for f in list(state.types.values()) if row.name in f.names
    ]
    if len(known) < 2:
        return []
    wide = max(len(plain(f.instance, 12)) for f, _ in known)

    def line(of: tuple[TargetingStats, int]) -> Line:
        f, i = of
        return [
            TextSpan(f"{plain(f.instance, 12):<{wide}} ", "muted"),
            TextSpan(f"{format.share(f.probabilities[i] / 1e6):>5}"),
            TextSpan(f"  {weight_text(f.weights[i])}", "muted" if f.weights[i] == 1 else ""),
            TextSpan(f"  {format.count(f.matches[i])} of {format.count(f.picks[i])}", "muted"),
            TextSpan(f"  +{f.new_arms[i]:,}" if f.new_arms[i] else "", "valid"),
        ]

    return [[], title("instances"), *map(line, known)]


def _decides(row: TypeRow, targets: Iterable[GoalRow]) -> list[Line]:
    """The uncovered goals that this type decides, the nearest first."""
    near = [(steps, t) for t in targets for name, steps in t.types if name == row.name]
    near.sort(key=lambda pair: (pair[0], not pair[1].frontier))
    heading = f"decides {several(len(near), 'uncovered goal')} (by distance)"
    return listed(heading, (_goal_line(*each) for each in near), len(near), TARGETS)


def _goal_line(steps: int, goal: GoalRow) -> Line:
    sign = sign_of(goal)
    return [
        TextSpan(f"{sign.glyph} ", sign.style),
        TextSpan(f"{steps:>2}  ", "muted"),
        TextSpan(plain(goal.location)),
    ]


# --------------------------------------------------------------------- a goal


def goal_lines(
    row: GoalRow,
    types: dict[str, TypeRow],
    asked: str,
    source: SourceExcerpt | None,
    state: State,
    *,
    tight: bool = False,
) -> list[Line]:
    """Return the goal's location, how near inputs come, and the types that decide it.

    ``asked``: the pending pin or ignore; ``source``: None until the source was read; ``tight``:
    only some lines have room.
    """
    sign = sign_of(row)
    head = [TextSpan(f"{sign.glyph} ", sign.style), TextSpan(plain(row.location), "bold")]
    head += [TextSpan(f"  → {plain(asked)}", "bold pending")] if asked else []
    lines: list[Line] = [head]
    if row.pinned:
        who = "some instances target only it" if row.ignored else "only this goal is targeted"
        lines.append(pair("pinned", f"{who}, until it is covered", "promoted"))
    if row.ignored:
        who = "some instances never target it" if row.pinned else "the goal is never targeted"
        lines.append(pair("ignored", f"{who}, as if it were covered", "skipped"))
    if source is not None and source.lines:
        lines += _source(source, tight=tight)
    lines.append(pair("reached", _reached(row)))
    near = "on the frontier: another branch of its decision is covered"
    lines.append(pair("left", near if row.frontier else "further off: no branch of its decision"))
    if words := COVERED_WHEN.get(row.location.rpartition(":")[2]):
        lines.append(pair("covered", f"when {words}"))
    if source is not None and source.problem:
        lines.append(pair("source", f"not shown: {source.problem}", "muted"))
    lines += commands_naming(state, "location", row.location)
    if not row.types:
        return [*lines, *_no_types_of_it()]
    lines += [[], title("decided by: distance, type, chance")]
    for name, steps in row.types:
        head = [TextSpan(f"{steps:>4}  ", "muted"), TextSpan(plain(name), "edge")]
        lines.append([*head, *_of_type(types.get(name))])
    return lines


def _source(source: SourceExcerpt, *, tight: bool) -> Iterator[Line]:
    """The source lines around the goal; its own line wraps, the others are cut."""
    texts = dedent("\n".join(text.expandtabs(4) for text in source.lines)).split("\n")
    for number, text in enumerate(texts, source.first):
        if number == source.line:
            yield [number_span("›", number, "bold"), *_hung(text)]
        elif not tight:
            yield OneLine([number_span(" ", number, "muted"), TextSpan(plain(text), "muted")])


def _hung(text: str) -> list[TextSpan]:
    """A source line; its continuation is indented like its start."""
    text = plain(text)
    code = text.lstrip(" ")
    return [TextSpan(text[: len(text) - len(code)], "bold"), TextSpan(code, "bold")]


def _of_type(row: TypeRow | None) -> list[TextSpan]:
    if row is None:
        return []
    words = f"  {format.share(row.probability)}"
    weight = "" if row.weight == 1 else f"  {weight_text(row.weight)}"
    return [TextSpan(words, "muted"), TextSpan(weight, "promoted" if row.weight else "skipped")]


def _reached(row: GoalRow) -> str:
    share = reached_share(row)
    if share < 0:
        return "no trial was checked yet"
    if not share:
        return f"none of {several(row.checked_trials, 'checked trial')} reached its decision"
    of = f"{row.reached:,} of {row.checked_trials:,} checked"
    return f"{format.share(share)} of the trials reach its decision ({of})"


def _no_types_of_it() -> list[Line]:
    return [
        pair("types", "no type is known that decides this goal", "hang"),
        [],
        [TextSpan("The goal cannot be targeted or pinned: only chance can cover it.")],
        [TextSpan("Type annotations in the target help; fuzztui targets shows more.", "muted")],
    ]


# ------------------------------------------------------------ empty tables


def no_types_lines(engine: str, whole: TargetingSummary | None, changed: str = "") -> list[Line]:
    """Return why there are no types, and what helps.

    ``changed``: a message that the analysis of some modules is outdated.
    """
    if engine != SPOTON and whole is None:
        why = f"This campaign's engine is {plain(engine or 'unknown')}: it has no types."
        return [
            [TextSpan(why, "bold")],
            [],
            pair("Python", 'kind = "spoton" under [engine], and a generator: docs/spoton.md'),
        ]
    if whole is None:
        return [[TextSpan("No instance has reported its types yet.", "bold")]]
    if changed:
        return _changed_lines(changed)
    if whole.targets and not whole.uncovered:
        return [[TextSpan("All goals are covered: no type is drawn any more.", "bold valid")]]
    return [
        [TextSpan("No known type decides an uncovered goal: no mutation is targeted.", "bold")],
        [],
        pair("generator", "add @generator to each function that makes a part of the input"),
        pair("target", "add type annotations where values come in, or --observed types"),
        pair("why", "the end of fuzztui targets CAMPAIGN, and the Log, list what was not found"),
    ]


def _changed_lines(words: str) -> list[Line]:
    return [
        [TextSpan(f"{plain(words)}.", "bold pending")],
        [],
        [TextSpan("Until then its uncovered goals are not targeted; mutations are as in Zest.")],
    ]


def no_goals_lines(engine: str, whole: TargetingSummary | None, changed: str = "") -> list[Line]:
    """Return why there are no goals; ``changed`` as for :func:`no_types_lines`."""
    if whole is None or not whole.targets or (changed and not whole.uncovered):
        return no_types_lines(engine, whole, changed)
    if not whole.uncovered:
        words = f"All goals are covered: {several(whole.targets, 'goal')}."
        return [
            [TextSpan(words, "bold valid")],
            [],
            [TextSpan("From here on, mutations are as in Zest.")],
        ]
    return [[TextSpan("No instance has reported its uncovered goals yet.", "bold")]]
