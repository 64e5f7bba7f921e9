"""Crashes, hangs and differences are counted in groups, and apart from each other."""

from dataclasses import replace

import pytest
from fakes import started

from fuzztui.cli.headless import exit_code
from fuzztui.cli.mutant_lines import found_rows
from fuzztui.cli.output import DONE, FINDINGS
from fuzztui.cli.runs import RunStatus
from fuzztui.kernel.base.signals import signal_signature
from fuzztui.kernel.model.finding_tallies import FindingTally, group_heads, tallies
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.finding_kinds import CRASH, DIFFERS, KINDS, OTHER, kind_of
from fuzztui.tools.status.status import status_dict
from fuzztui.tui.base import format
from fuzztui.tui.labels.instance_columns import columns, rate_cell
from fuzztui.tui.labels.instances import whole
from fuzztui.tui.labels.status import status_of
from fuzztui.tui.screens.overview.charts import findings
from fuzztui.tui.screens.overview.tiles import Tiles, tiles_of


def at(log, t, *events):
    log.t = t
    log.add(*events)


def save(log, n, category, signature="", instance="main"):
    folder = "hangs" if category == "hang" else "crashes"
    name = f"{folder}/id:{n:06}"
    log.add(ev.FindingSaved(instance, category, name, id=n))
    if signature:
        log.add(ev.FindingDescribed(instance, category, name, signature))


def campaign():
    """Eleven crash files in two groups, three differences in one, a hang."""
    log = started()
    at(log, 5.0, ev.Stats("main", 9_000, 100.0, 5, crashes=0))
    for n in range(11):
        log.t = 10.0 + n
        save(log, n, "crash", "read" if n % 2 else "write")
    for n in range(11, 14):
        log.t = 30.0 + n
        save(log, n, "differs", "stdout")
    log.t = 58.0
    save(log, 14, "hang", "slow")
    at(log, 60.0, ev.Stats("main", 10_000, 100.0, 5, crashes=14, hangs=1))
    return log


def charted(log, kind):
    """The numbers of groups that the chart of findings shows."""
    state = log.state
    return findings(state, kind, group_heads(state, kind))[1]


def test_groups_and_files_by_category():
    state = campaign().state
    assert {name: tally for name, tally in tallies(state).items() if tally.files} == {
        "crash": FindingTally(2, 11, 20.0, {"main": 11}, groups_by={"main": 2}),
        "hang": FindingTally(1, 1, 58.0, {"main": 1}, groups_by={"main": 1}),
        "differs": FindingTally(1, 3, 43.0, {"main": 3}, groups_by={"main": 1}),
    }
    assert group_heads(state, CRASH) == [10.0, 11.0]
    assert group_heads(state, DIFFERS) == [41.0]
    assert dict(found_rows(state)) == {
        "crashes": "2 groups (11 files)", "hangs": "1", "differs": "1 group (3 files)"
    }  # fmt: skip


@pytest.mark.parametrize("replay_at", [None, 30.0])
async def test_the_row_of_the_only_instance_has_the_numbers_of_the_tiles(drive, replay_at):
    keys = {} if replay_at is None else {"replay_at": replay_at}
    async with drive(campaign(), size=(120, 40), **keys) as d:
        await d.until(lambda: d.table.source.row("main"))
        columns = {c.title: c for c in d.table.columns}
        row = d.table.source.row("main")
        for label in ("crashes", "hangs"):
            assert columns[label].cell(row)[0] == tile(d.app.status, label).value


def test_the_chart_of_crashes_counts_no_files_of_other_kinds():
    log = started()
    at(log, 5.0, ev.Stats("main", 9_000, 100.0, 5, crashes=2))
    assert max(charted(log, CRASH)) == 2  # no file is known: the count
    save(log, 1, "differs", "stdout")
    at(log, 60.0, ev.Stats("main", 10_000, 100.0, 5, crashes=1))
    assert list(charted(log, CRASH)) == []
    assert max(charted(log, DIFFERS)) == 1


def test_a_finding_of_an_unknown_kind_is_counted_apart_and_shown_as_what_it_is():
    log = started()
    save(log, 0, "crash", "read")
    save(log, 1, "leak-of-2031", "socket")
    at(log, 60.0, ev.Stats("main", 10_000, 100.0, 5, crashes=2))
    state = log.state
    assert {name: of.files for name, of in tallies(state).items() if of.files} == {
        "crash": 1, "other": 1
    }  # fmt: skip
    assert dict(found_rows(state)) == {"crashes": "1", "hangs": "0", "other": "1"}
    data = status_dict(state)
    assert (data["crashes"], data["other"], data["instances"][0]["other"]) == (1, 1, 1)
    assert [row["category"] for row in data["findings"]] == ["crash", "leak-of-2031"]
    status = status_of(state, 60.0)
    assert [tile(status, label).value for label in ("crashes", "other")] == ["1", "1"]


async def test_screens_show_a_kind_of_a_later_version(drive):
    log = started()
    save(log, 0, "leak", "socket")
    async with drive(log, shows="other") as d:
        await d.press("3")
        await d.until_shows("● leak")


def test_only_a_finding_of_an_unknown_kind_is_a_finding_for_the_exit_code():
    log = started()
    save(log, 0, "leak-of-2031", "socket")
    state = log.state
    state.state = "finished"
    assert exit_code(RunStatus(state, None)) == FINDINGS


def test_each_kind_is_counted_under_its_own_label_everywhere():
    log = started()
    for n, kind in enumerate(KINDS):
        save(log, n, kind.category, f"signature {n}")
    state = log.state
    labels = [kind.label for kind in KINDS]
    status = status_of(state, 1.0)
    assert [tile.label for tile in tiles_of(status) if tile.label in labels] == labels
    assert list(dict(found_rows(state))) == labels
    data = status_dict(state)
    for row in (data, data["instances"][0]):
        assert {label: row[label] for label in labels} == dict.fromkeys(labels, 1)
    assert {kind_of(kind.category) for kind in KINDS} == set(KINDS)
    assert kind_of("leak-of-2031") is OTHER
    shown = {fact.name: fact for fact in whole(state.instances["main"], state, status)}
    text = "".join(span.text for span in shown["findings"].spans)
    assert all(f"1 {kind.noun}" in text for kind in KINDS)
    ids = [column.id for column in columns(lambda: status, lambda _: ())]
    assert [id for id in ids if id in labels] == labels


def test_what_nobody_ran_again_is_not_put_together():
    log = started()
    for n in range(3):
        save(log, n, "crash", signal_signature(11))
    save(log, 3, "crash")  # not described yet
    state = log.state
    tally = tallies(state)["crash"]
    assert (tally.groups, tally.unexamined) == (0, 4)
    assert len(group_heads(state, CRASH)) == 4


def test_findings_of_mutants_are_not_the_targets():
    log = started().add(ev.InstanceHello("m1", "zest", mutant="a:f:0"))
    save(log, 0, "crash", "x", instance="m1")
    state = log.state
    assert tallies(state)["crash"] == FindingTally()
    state.state = "finished"
    assert exit_code(RunStatus(state, None)) == DONE
    save(log, 0, "crash", "x")
    apply(state, log.records[-2:])
    assert exit_code(RunStatus(state, None)) == FINDINGS


def test_files_that_have_no_name_yet_count():
    log = started()
    at(log, 5.0, ev.Stats("main", 9_000, 100.0, 5, crashes=7))
    state = log.state
    assert tallies(state)["crash"] == FindingTally(0, 7)
    assert dict(found_rows(state))["crashes"] == "7"


def tile(status, label):
    return next(tile for tile in tiles_of(status) if tile.label == label)


def test_tiles_show_groups_and_below_them_files():
    status = status_of(campaign().state, 60.0)
    assert tile(status, "crashes").value == "2"
    assert "11 files" in tile(status, "crashes").below
    assert tile(status, "differs").value == "1"
    assert tile(status, "hangs").value == "1"
    nothing = status_of(started().state, 1.0)
    assert not any(tile.label == "differs" for tile in tiles_of(nothing))


def test_there_are_not_fewer_executions_than_entries():
    """In the first second statistics are older than events."""
    log = started()
    at(log, 0.5, ev.Stats("main", 6, 50.0, 133))
    assert tile(status_of(log.state, 0.6), "execs").value == "≥133"
    (column,) = (
        c for c in columns(lambda: status_of(log.state, 1), lambda _: ()) if c.id == "execs"
    )
    assert column.cell(log.state.instances["main"])[0] == "≥133"
    at(log, 1.5, ev.Stats("main", 900, 50.0, 133))
    assert tile(status_of(log.state, 1.6), "execs").value == "900"


def test_a_number_of_files_is_said_to_be_one_before_it_falls():
    log = started()
    files = [f"crashes/id:00000{n},sig:11,src:000000" for n in range(3)]
    at(log, 1.0, *(ev.FindingSaved("main", "crash", f, n) for n, f in enumerate(files)))
    before = tile(status_of(log.state, 1.0), "crashes")
    assert before.value == "3" and all("files" in text for text in before.below)
    at(log, 2.0, *(
        ev.FindingDescribed("main", "crash", f, "one" if n else "two", "KeyError")
        for n, f in enumerate(files)
    ))  # fmt: skip
    after = tile(status_of(log.state, 2.0), "crashes")
    assert after.value == "2" and "3 files" in after.below


async def test_after_the_end_no_finding_is_expected_any_more(drive):
    log = started()
    async with drive(log, press="3") as d:
        during = d.table.empty, d.details()
        log.add(ev.CampaignEnded("finished"), dt=1.0)
        await d.until(lambda: d.table.empty != during[0])
        assert "yet" in during[0] and "yet" not in d.table.empty
        assert d.details() != during[1] and "yet" not in d.details()


def test_findings_that_were_not_saved_make_the_figure_a_lower_bound():
    """Instances may have met the same ones: their number is the largest, not the sum."""
    log = started()
    at(log, 1.0, ev.Stats("main", 9, crashes=3, findings_not_saved=0))
    state = log.state
    assert status_dict(state)["findings_not_saved"] == 0
    assert dict(found_rows(state))["crashes"] == "3"
    at(log, 2.0, ev.Stats("main", 9, crashes=3, findings_not_saved=7))
    at(log, 2.0, ev.Stats("s1", 9, findings_not_saved=5))
    state = log.state
    assert status_dict(state)["findings_not_saved"] == 7
    rows = dict(found_rows(state))
    assert (rows["crashes"], rows["hangs"]) == ("at least 3", "0")
    assert "7" in rows["not saved"]
    status = status_of(state, 2.0)
    assert [tile(status, label).value for label in ("crashes", "hangs")] == ["≥3", "0"]


@pytest.mark.parametrize("state", ["finished", "stopped"])
def test_what_has_ended_has_times_not_ages(state):
    log = campaign()
    live = status_of(log.state, 60.0)
    assert tile(live, "hangs").below[:2] == ["last 0s ago", "0s ago"]
    at(log, 61.0, ev.CampaignEnded(state))
    over = status_of(log.state, 61.0)
    assert tile(over, "hangs").below == ["last at 0:00:58", "at 0:00:58", "0:00:58"]
    assert replace(live, alive=False).when(58.0) == over.when(58.0)


def test_no_tile_cuts_a_word_or_a_number_below_its_figure():
    log = campaign()
    at(log, 61.0, ev.CampaignEnded("finished"))
    tiles = Tiles()
    tiles._status = status = status_of(log.state, 61.0)
    whole = {text for each in tiles_of(status) for text in each.below}
    shown = set()
    for width in range(40, 200):
        *_, below = tiles.paint(width, 3)
        notes = {span.text.strip() for span in below if span.style == "muted"} - {""}
        assert notes <= whole, width
        shown |= notes
    assert {"on average", "average", "0:00:58"} <= shown


def test_the_rates_of_instances_and_campaign_agree_after_the_end():
    log = campaign()
    at(log, 59.0, ev.Stats("main", 900, execs_per_sec=77.0))
    at(log, 60.0, ev.Stats("s1", 300, execs_per_sec=33.0), ev.InstanceState("s1", "finished"))
    live = log.state
    assert status_dict(live)["instances"][0]["execs_per_sec"] == 77.0
    at(log, 61.0, ev.InstanceState("main", "finished"), ev.CampaignEnded("finished"))
    state = log.state
    whole, status = status_dict(state), status_of(state, 61.0)
    rates = {row["id"]: row["execs_per_sec"] for row in whole["instances"]}
    assert rates["main"] == round(900 / 61, 2)
    assert sum(rates.values()) == pytest.approx(whole["execs_per_sec"], abs=0.02)
    for name, rate in rates.items():
        assert rate_cell(state.instances[name], status)[0] == format.rate(rate)


async def test_overview_of_what_has_ended(drive):
    log = campaign()
    at(log, 60.0, ev.InstanceState("main", "finished"))
    at(log, 61.0, ev.CampaignEnded("finished"))
    async with drive(log) as d:
        chart = next(line for line in d.lines() if "Exec/s" in line)
        tiles = next(line for line in d.lines() if "exec/s" in line)
        assert "on average" in chart
        assert tiles
        assert " ago" not in d.text()
        assert "at 0:00:58" in d.text()
        header = "\n".join(d.lines()[:2])
        assert "3 Findings●4" in header
