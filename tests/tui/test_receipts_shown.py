"""What came since a user steered: in the details of what was steered, in the Log, in status."""

from __future__ import annotations

from pathlib import Path

import pytest
from aimed import figures, left
from fakes import CAPABILITIES, Log, started
from folding import fold
from mutated import STEERING, found, mutants

from fuzztui.cli.runs import RunStatus
from fuzztui.cli.status import STEERED, status_text
from fuzztui.features.corpus.screen.detail import entry_lines
from fuzztui.features.mutants.screen.detail import mutant_lines
from fuzztui.features.mutators.fold import arms
from fuzztui.features.mutators.screen.detail import mutator_lines
from fuzztui.features.properties.fold import property_rows
from fuzztui.features.properties.screen.detail import property_lines
from fuzztui.features.targeting.fold import goal_rows, type_rows
from fuzztui.features.targeting.screen.detail import goal_lines, type_lines
from fuzztui.kernel.wire import commands as cmd
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.tui.labels.event_rows import event_rows
from fuzztui.tui.labels.lineage import Lineage

ID = next(mutants(1))["id"]


def given(command, key="c1", undoes=()):
    return [
        ev.CommandIssued(key, encode_command(command), "ann", [*undoes]),
        ev.CommandApplied(key, "main", 7, "done"),
    ]


def small():
    log = started("small", engine="mu2").add(
        ev.InstanceState("main", "running", 1),
        ev.InstanceHello("main", "mu2", "0.1", "3.11", 1, CAPABILITIES + STEERING),
        ev.CampaignState("running"),
    )
    found(log, 20)
    return log


def text(lines):
    return "\n".join("".join(span.text for span in line) for line in lines)


def test_a_mutant_shows_what_is_in_force_under_its_name_and_what_was_in_its_list():
    log = small().add(*given(cmd.SkipMutants(f"id={ID}|nothing")))
    log.add(*given(cmd.PromoteMutants(ID), "c2"), ev.MutantRuns("main", {ID: [9, 9, 1234]}))
    state = log.state
    lines = text(mutant_lines(state.mutants[ID], state, None)).splitlines()
    assert "runs 0 -> at least 1,234, kills 0" in lines[1]
    whole = "\n".join(lines[2:])
    assert whole.count("   since  ") == 1
    assert "runs 0 -> 0" in whole
    assert "(replaced)" in whole
    others = [m for m in state.mutants.values() if m.id != ID]
    assert not any("   since  " in text(mutant_lines(m, state, None)) for m in others)


def test_an_entry_a_type_a_goal_a_mutator_and_a_property_show_what_came_since():
    log = Log().add(
        ev.InstanceState("main", "running", 1),
        ev.EntrySaved("main", 3, "queue/id:000003"),
        figures("main", 9),
        left("main", 9),
        ev.MutatorStats("main", 0.5, 0.3, 0.2, names=["swap"], tried=[7], applied=[7], found=[1],
                        crashes=[0]),
        ev.PropertyFigures("main", {"t.py::p": {"trials": 10}}),
    )  # fmt: skip
    state = log.state
    kind, goal = next(iter(type_rows(state))), next(iter(goal_rows(state)))
    commands = (
        cmd.PromoteEntry(3), cmd.WeighType(kind, 2.0), cmd.PinGoal(goal),
        cmd.WeighMutator("swap", 2.0), cmd.WeighProperty("t.py::p", 2.0),
    )  # fmt: skip
    for n, command in enumerate(commands):
        log.add(*given(command, f"c{n}"))
    log.add(ev.EntrySaved("main", 4, "queue/id:000004", [3]))
    state = log.state
    entry = state.entries["main/3"]
    shown = (
        entry_lines(entry, state, Lineage(lambda: state), None),
        type_lines(type_rows(state)[kind], state, None, (), (), asked=""),
        goal_lines(goal_rows(state)[goal], {}, "", None, state),
        mutator_lines(arms(state)["swap"], state, ()),
        property_lines(property_rows(state)["t.py::p"], state),
    )
    wanted = ("entries made from it 1,", "drawn ", "covered 0 -> 0", "drawn 7 -> 7", "trials 10 ->")
    for lines, words in zip(shown, wanted, strict=True):
        assert words in text(lines)
        assert "by ann" in text(lines), "and who has steered it"


def test_the_event_list_names_the_mutant_by_its_place_and_shows_what_came_since():
    log = small().add(*given(cmd.PromoteMutants(ID)), ev.MutantRuns("main", {ID: [9, 9, 12]}))
    (row,) = [row for row in event_rows(log.state) if "promote" in row.described.text]
    assert row.described.text.startswith("promote-mutants program.py:5  runs 0 -> at least 12, ")
    log.add(*given(cmd.RestoreMutants(ID), "c2", ["c1"]))
    texts = [row.described.text for row in event_rows(log.state)]
    assert any(t.startswith("undo of promote-mutants program.py:5  runs 12") for t in texts)
    assert any("(undone)" in t for t in texts)


def test_status_lists_the_latest_receipts():
    state = fold(
        ev.InstanceState("main", "running", 1), ev.EntrySaved("main", 3, "queue/id:000003")
    )
    for n in range(STEERED + 2):
        fold(*given(cmd.PromoteEntry(3), f"c{n}"), state=state)
    lines = status_text(Path("/run"), RunStatus(state, 1)).splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("steering"))
    rows = lines[first : first + STEERED]
    assert all("promote ?/3: entries made from it 0" in row for row in rows)
    assert ["(replaced)" in row for row in rows] == [False, True, True]
    assert not lines[first + STEERED].startswith(" " * 9)


@pytest.mark.parametrize("key", ["4", "5"])
async def test_what_came_since_grows_on_the_screen(drive, key):
    log = small().add(*given(cmd.PromoteMutants(ID)))
    async with drive(log, size=(120, 40), press=key, shows="kills 0, about") as d:
        log.add(ev.MutantRuns("main", {ID: [9, 9, 4321]}))
        await d.until_shows("4,321")
