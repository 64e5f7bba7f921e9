"""Figures of instances: each row says where its number is shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fuzztui.cli.runs import RunStatus
from fuzztui.cli.status import status_rows_of
from fuzztui.kernel.model.figures import FIGURES, figures_dict, titled
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.wire.events import Stats
from fuzztui.tui.labels.facts import Fact
from fuzztui.tui.labels.features import whole_legend
from fuzztui.tui.labels.instance_columns import columns
from fuzztui.tui.labels.instances import whole
from fuzztui.tui.labels.status import Status


def details_of(instance: Instance) -> list[Fact]:
    return whole(instance, State(), Status())


def numbered() -> Stats:
    """Statistics of which each number is another one."""
    stats = Stats("main", 0)
    return replace(stats, **{figure.name: n for n, figure in enumerate(FIGURES, 1)})


def test_what_a_row_must_say() -> None:
    of_their_own = [figure.name for figure in FIGURES if figure.title and not figure.within]
    for figure in FIGURES:
        assert not figure.column or figure.means, f"{figure.name}: a column without a meaning"
        assert not figure.metric or (figure.status and figure.means), figure.name
        assert not figure.status or figure.total, f"{figure.name}: of no campaign"
        assert figure.within in ("", "edges", "corpus", *of_their_own), figure.name
        assert not figure.within or figure.title, figure.name
        in_status = figure.title and figure.total and not figure.within
        assert not in_status or len(figure.title) <= 9, f"{figure.name}: the rows are aligned"
        assert not (figure.total and figure.title) or figure.within in ("", "edges"), figure.name


def test_a_number_is_in_the_json_by_its_key() -> None:
    found = figures_dict(numbered())
    for number, figure in enumerate(FIGURES, 1):
        if figure.status:
            group, _, key = figure.status.rpartition(".")
            assert (found[group] if group else found)[key] == number
    unknown = figures_dict(Stats("main", 0))
    assert unknown["coverage"]["covered"] is None
    assert unknown["execs"] == 0


def test_a_figure_with_a_column_has_one_with_its_meaning() -> None:
    ids = {column.id: column for column in columns(Status, lambda _: ())}
    for figure in FIGURES:
        if figure.column:
            assert ids[figure.name].title == figure.column
            assert whole_legend().columns["overview"][figure.name] == figure.means


def test_each_title_is_in_the_details() -> None:
    instance = Instance("main", stats=numbered())
    text = " ".join(f"{f.name} {''.join(s.text for s in f.spans)}" for f in details_of(instance))
    for figure in FIGURES:
        assert figure.title in text, figure.name
    assert not [*titled(Stats("main", 0))]


def test_a_line_stays_if_only_a_figure_in_it_is_known() -> None:
    (line,) = titled(Stats("main", 0, max_depth=3))
    assert line[0].name == "cycles" and line[1] < 0


def test_a_title_with_a_total_is_in_status() -> None:
    state = State(name="c")
    state.instances["main"] = Instance("main", stats=numbered())
    rows = status_rows_of(Path("/run"), RunStatus(state, 1))
    text = "\n".join(f"{name} {text}" for name, text in rows)
    for figure in FIGURES:
        if figure.title and figure.total:
            assert figure.title in text, figure.name
