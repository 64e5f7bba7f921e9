"""``fuzztui runs``: a table, an object, and what is said about runs that are not well."""

import pytest
from run_logs import run_with

from fuzztui.cli.list_runs import MAX_FAILURES, NOTE_CELLS, places_of
from fuzztui.cli.output import DAMAGED, USAGE
from fuzztui.kernel.log.files import SEALED
from fuzztui.kernel.wire.events import CampaignEnded, CampaignStarted, FindingSaved, Stats
from fuzztui.run.home import listing
from fuzztui.tui.base.user_state import remember_look

EVIL = "e[/x]\x1b[2J\u202e"


@pytest.fixture(autouse=True)
def _apart(monkeypatch, tmp_path):
    monkeypatch.setattr(listing, "supervised_runs", list)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def run_at(path, wall, state="finished"):
    return run_with(
        path,
        CampaignStarted(EVIL, EVIL, "lib:f", 7, instances=["main"], wall=wall),
        Stats("main", 1234, 50.0, 3, edges=10, edges_total=99),
        FindingSaved("main", "crash", "crashes/id:0"),
        CampaignEnded(state, EVIL),
    )


def test_runs_are_listed_newest_first_with_new_groups(tmp_path, cli):
    old, new = run_at(tmp_path / "runs/old", 1e9), run_at(tmp_path / "runs/new", 2e9)
    said = cli("runs", "--json", "--size")
    found = said.json
    assert not said.err
    assert [row["run"] for row in found["runs"]] == [str(new), str(old)] and found["complete"]
    row = found["runs"][1]
    assert (row["state"], row["execs"], row["edges"], row["groups"]) == ("finished", 1234, 10, 1)
    assert row["new_groups"] == 1 and row["score"] is None and not row["supervised"]
    assert row["bytes"] > 0
    remember_look(old, (1e9, 99))
    assert [row["new_groups"] for row in cli("runs", "--json").json["runs"]] == [1, 0]


def test_the_first_run_of_a_directory_is_found(tmp_path, cli):
    out, err = cli("runs")
    assert not out and "no runs in runs," in err
    runs = listing.RunList(places_of([]))
    runs.find()
    assert runs.looks == [] and runs.found.unread == []
    run = run_at(tmp_path / "runs/first", 1e9)
    runs.find()
    assert [look.run for look in runs.looks] == [run]


def test_nothing_of_a_run_reaches_the_terminal_as_it_is(tmp_path, cli):
    run_at(tmp_path / f"runs/{EVIL.replace('/', '_')}", 1e9, "failed")
    out, err = cli("runs", "--size")
    assert all(ch.isprintable() or ch == "\n" for ch in out + err)
    assert out.count("\n") == 2 and "failed" in out and err.startswith("fuzztui: runs/")


def test_a_run_that_cannot_be_read_is_named_and_the_others_are_listed(tmp_path, cli):
    bad, good = run_at(tmp_path / "runs/bad", 1e9), run_at(tmp_path / "runs/good", 1e9)
    (bad / "log" / SEALED).write_bytes(b"\x1f\x8b" + b"x" * 99)
    said = cli("runs", "--json", code=DAMAGED)
    assert "runs/bad" in said.err and "runs/good" not in said.err
    found = said.json
    assert {row["run"] for row in found["runs"]} == {str(bad), str(good)}
    assert len(found["problems"]) == 1 and str(bad) in found["problems"][0]


def test_no_runs_and_wrong_directories(tmp_path, cli):
    said = cli("runs", "--json")
    assert (said.json["runs"], said.err) == ([], "")
    out, err = cli("runs")
    assert not out and "fuzztui CAMPAIGN.toml" in err
    (tmp_path / "file").touch()
    for name in ("missing", "file"):
        assert f"{name}: " in cli("runs", name, code=USAGE).err


def test_a_run_under_way_elsewhere_is_listed_too(tmp_path, cli, monkeypatch):
    here, other = run_at(tmp_path / "runs/r", 1e9), run_at(tmp_path / "else/x", 1e9)
    monkeypatch.setattr(listing, "supervised_runs", lambda: [other, here, tmp_path / "gone"])
    rows = cli("runs", "--json").json["runs"]
    assert {row["run"] for row in rows} == {str(here), str(other)}


def test_the_runs_here_come_before_those_elsewhere(tmp_path, cli, monkeypatch):
    run_at(tmp_path / "runs/r", 1e9)
    other = run_at(tmp_path / "else/x", 2e9)
    monkeypatch.setattr(listing, "supervised_runs", lambda: [other])
    title, here, heading, elsewhere = cli("runs").out.splitlines()
    assert title.startswith("state") and heading.endswith(":")
    assert "runs/r" in here and "else/x" in elsewhere


def test_only_the_newest_failures_are_explained_each_in_a_short_line(tmp_path, cli, monkeypatch):
    monkeypatch.setattr(f"{__name__}.EVIL", "why " * 100)
    for n in range(MAX_FAILURES + 2):
        run_at(tmp_path / f"runs/r{n}", 1e9 + n, "failed")
    *failures, rest = cli("runs").err.splitlines()
    assert all(f"runs/r{n}: " in line for n, line in zip((4, 3, 2), failures, strict=True))
    assert all(len(line) <= NOTE_CELLS + len("fuzztui: ") for line in failures)
    assert "2 earlier runs" in rest
