"""Finds per CPU hour on screens: in the table of instances, its details, and of mutators."""

import pytest
from fakes import started
from mixed import mixed

from fuzztui.features.mutators.fold import arms
from fuzztui.features.mutators.screen.columns import columns as mutator_columns
from fuzztui.features.mutators.screen.detail import mutator_lines
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.model.yields import Yields, campaign_yields
from fuzztui.kernel.wire import events as ev
from fuzztui.tui.app.kept_yields import EVERY_S, KeptYields
from fuzztui.tui.labels.instance_columns import columns
from fuzztui.tui.labels.instances import facts
from fuzztui.tui.labels.status import status_of


def with_cpu(log, finds=3):
    """An hour of CPU time of ``main``, at whose end it finds entries by havoc."""
    log.t = 100.0
    log.add(ev.Resources("main"))
    log.t += 3600.0
    log.add(ev.Resources("main", 1.0, 1, 1))
    for n in range(900, 900 + finds):
        log.add(ev.EntrySaved("main", n, f"queue/id:{n:06}", op="havoc,rep:2", cov=True))
    return log


def test_the_column_of_instances_and_its_order():
    state = with_cpu(started()).state
    status = status_of(state, state.t)
    (column,) = (c for c in columns(lambda: status, lambda _: ()) if c.id == "yield")
    cells = {i.id: column.cell(i)[0] for i in state.instances.values()}
    assert float(cells.pop("main")) > 0
    assert set(cells.values()) <= {""}  # no CPU time, no rate
    rows = sorted(state.instances.values(), key=column.sort, reverse=True)
    assert rows[0].id == "main"


def test_the_column_goes_first_when_there_is_no_room():
    every = columns(lambda: status_of(State(), 0.0), lambda _: ())
    assert every[-1].id == "yield"
    assert every[-1].drop


def test_details_of_an_instance():
    state = with_cpu(started()).state
    status = status_of(state, state.t)
    names = {i: [fact.name for fact in facts(state.instances[i], state, status)]
             for i in state.instances}  # fmt: skip
    assert "per CPU hour" in names.pop("main")
    assert not any("per CPU hour" in those for those in names.values())


@pytest.mark.parametrize("known", [True, False])
def test_the_column_of_mutators(known):
    state = with_cpu(mixed()).state
    yields = campaign_yields(state).mutators["havoc"] if known else Yields()
    every = mutator_columns(lambda _: False, lambda _: yields)
    (column,) = (c for c in every if c.id == "yield")
    havoc = arms(state)["havoc"]
    assert bool(column.cell(havoc)[0]) is known
    with_, without = (len(mutator_lines(havoc, state, [], y)) for y in (yields, None))
    assert with_ - without == (2 if known else 0)


def test_they_are_kept_for_a_while():
    now = [0.0]
    log = with_cpu(started())
    state, kept = log.state, KeptYields(lambda: now[0])
    first = kept.of(state)
    assert first == campaign_yields(state)
    more = log.records[-1]
    apply(state, [ev.Record(more.seq + 1, more.t, ev.EntrySaved("main", 950, "queue/x", cov=True))])
    assert kept.of(state) is first
    now[0] += EVERY_S
    assert kept.of(state).campaign.whole.edges == first.campaign.whole.edges + 1
    # A replay that moves back shows what was known then.
    assert kept.of(log.state) == first
