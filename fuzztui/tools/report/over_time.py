"""Charts of a run over campaign time, from the series of the state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from fuzztui.kernel.base.page import ChartLine, Note, PageChart, Part
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.model.finding_tallies import group_heads
from fuzztui.kernel.model.selectors import SEVERAL_TARGETS
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.finding_kinds import KINDS

NO_HISTORY: Final = Note(
    "There is no record of the course of this campaign: 'fuzztui watch DIR --keep LOG' makes one "
    "while the campaign runs."
)

_COLOURS: Final = {"execs": 7, "edges": 0, "edges_valid": 2, "killed": 2, "corpus": 3}


def time_charts(state: State) -> Iterator[PageChart]:
    """Yield the charts of the figures that the run has."""
    several = state.engine == SEVERAL_TARGETS
    edges = [(f"edges/{name}", brief(name, 40)) for name in state.instances] if several else []
    marks = _marks(state)
    for title, names in (
        ("executions", [("execs", "")]),
        ("edges", edges or [("edges", "covered"), ("edges_valid", "by valid inputs")]),
        ("mutants killed", [("killed", "")]),
        ("corpus", [("corpus", "entries")]),
    ):
        colours = ((name, label, _COLOURS.get(name, n)) for n, (name, label) in enumerate(names))
        if lines := [line for which in colours if (line := series_line(state, *which))]:
            yield PageChart(title, lines, state.t, marks)
    if found := list(finding_lines(state)):
        yield PageChart("groups of findings", found, state.t, marks)


def series_line(state: State, name: str, label: str, colour: int) -> ChartLine | None:
    """The line of a series; None if the series is missing or has only zeros."""
    series = state.series.get(name) or state.instance_series.get(name)
    if series is None or not any(v > 0 for v in series.values):
        return None
    times, values = tuple(series.times), tuple(series.values)
    return ChartLine(label, times, values, colour, is_smooth=name == "execs")


def finding_lines(state: State) -> Iterator[ChartLine]:
    """Yield a line for each kind of findings: how many groups were known at each time."""
    colours = (5, 1, 3, 6)
    for n, kind in enumerate(KINDS):
        if heads := group_heads(state, kind):
            yield counted(kind.label, heads, colours[n % len(colours)])


def counted(name: str, heads: Sequence[float], colour: int) -> ChartLine:
    """A line that rises by one at each of these times, which are in order."""
    values = tuple(accumulate(1.0 for _ in heads))
    return ChartLine(name, (0.0, *heads), (0.0, *values), colour)


def _marks(state: State) -> tuple[tuple[float, str], ...]:
    """When the target phase of a fuzz-first campaign began."""
    if state.stage == "target" and state.stage_t > 0 and "round" not in state.plan:
        return ((state.stage_t, "target phase"),)
    return ()


def over_time(state: State, *, has_history: bool) -> list[Part]:
    """The parts of the section: charts, or a note why there are none."""
    if not has_history:
        return [NO_HISTORY]
    return [*time_charts(state)] or [Note("The log has no figures yet.")]
