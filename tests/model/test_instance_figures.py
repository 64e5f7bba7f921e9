"""Figures of instances: each row says where its number is shown."""

from __future__ import annotations

from dataclasses import replace

from fuzztui.kernel.model.figures import FIGURES, figures_dict, titled
from fuzztui.kernel.wire.events import Stats
from fuzztui.tui.labels.features import whole_legend
from fuzztui.tui.labels.instance_columns import columns
from fuzztui.tui.labels.status import Status


def numbered() -> Stats:
    """Statistics of which each number is another one."""
    stats = Stats("main", 0)
    return replace(stats, **{figure.name: n for n, figure in enumerate(FIGURES, 1)})


def test_what_a_row_must_say() -> None:
    names = {figure.name for figure in FIGURES}
    for figure in FIGURES:
        assert not figure.column or figure.means, f"{figure.name}: a column without a meaning"
        assert not figure.metric or (figure.status and figure.means), figure.name
        assert not figure.within or (figure.title and figure.within in names), figure.name


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


def test_each_title_is_in_one_line() -> None:
    lines = [figure for figure, _ in titled(numbered())]
    within = [f for name in (f.name for f in FIGURES) for f, _ in titled(numbered(), name)]
    assert {f.name for f in [*lines, *within]} == {f.name for f in FIGURES if f.title}
    assert not [*titled(Stats("main", 0))]
