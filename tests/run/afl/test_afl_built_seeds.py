"""``engine.seeds`` of AFL++ that ``target.build`` makes: "$BUILD/NAME"."""

from pathlib import Path

import pytest

from fuzztui.run.afl.build import build_target
from fuzztui.run.afl.seeds import gather_seeds
from fuzztui.run.campaign import CampaignError, load, write_frozen
from fuzztui.run.campaign.rundir import SupervisorError

CAMPAIGN = """
[campaign]
output = "run"
[target]
command = "./program"
build = "mkdir seeds; echo 1 > seeds/one; echo 2 > seeds/two"
[engine]
kind = "afl"
seeds = ["$BUILD/seeds", "three"]
"""


def write(tmp_path: Path, text: str = CAMPAIGN) -> Path:
    (tmp_path / "three").write_text("3")
    (tmp_path / "c.toml").write_text(text)
    return tmp_path / "c.toml"


def test_they_are_gathered_after_the_build(tmp_path):
    campaign = load(write(tmp_path)).campaign
    run = campaign.output
    assert campaign.engine["seeds"] == [str(run / "build/seeds"), str(tmp_path / "three")]
    run.mkdir()
    build_target(campaign, run, lambda _: None)
    gather_seeds(campaign.engine["seeds"], run / "seeds", lambda _: None)
    assert sorted(p.name for p in (run / "seeds").iterdir()) == ["one", "three", "two"]


def test_a_run_that_is_moved_has_them_where_it_is(tmp_path):
    loaded = load(write(tmp_path))
    run = tmp_path / "run"
    for part in ("supervisor", "log", "out"):
        (run / part).mkdir(parents=True)
    write_frozen(loaded, run)
    moved = run.rename(tmp_path / "moved")
    again = load(moved / "campaign.toml").campaign
    assert again.engine["seeds"] == [str(moved / "build/seeds"), str(tmp_path / "three")]


def test_a_build_that_makes_none_is_told(tmp_path):
    campaign = load(write(tmp_path, CAMPAIGN.replace("mkdir seeds;", "exit 0;"))).campaign
    campaign.output.mkdir()
    build_target(campaign, campaign.output, lambda _: None)
    with pytest.raises(SupervisorError, match=r"engine.seeds: .*run/build/seeds: there is no such"):
        gather_seeds(campaign.engine["seeds"], campaign.output / "seeds", lambda _: None)


def test_without_a_build_there_are_none(tmp_path):
    text = "\n".join(line for line in CAMPAIGN.splitlines() if not line.startswith("build"))
    with pytest.raises(CampaignError) as caught:
        load(write(tmp_path, text.replace('"./program"', '"true"')))
    assert [str(p) for p in caught.value.problems if "seeds" in str(p)] == [
        f"{tmp_path}/c.toml:8: engine.seeds: '$BUILD/seeds' needs target.build, which is not set"
    ]
