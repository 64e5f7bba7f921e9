"""``[[targets]]``: what each target's campaign is, the frozen copy, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzztui.run.campaign import Campaign, CampaignError, FrozenCampaign, load, write_frozen
from fuzztui.run.campaign.rundir import prepare_run
from fuzztui.run.campaign.targets import all_parts

TWO = """
[campaign]
name = "two"
budget = "1h"
seed = 3
[target]
include = ["json"]
[engine]
kind = "zest"
max_size = 100
[[targets]]
name = "a"
target.function = "json:loads"
[[targets]]
name = "b"
weight = 2.5
target = { function = "json:dumps", timeout = "5s" }
engine = { kind = "mu2", instances = 3 }
"""


def loaded(folder: Path, text: str) -> FrozenCampaign:
    file = folder / "c.toml"
    file.write_text(text)
    return load(file, cwd=folder)


def parts(campaign: Campaign) -> dict[str, Campaign]:
    return {part.name: part.loaded.campaign for part in campaign.targets}


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(CampaignError) as caught:
        loaded(folder, text)
    return [str(p).removeprefix(f"{folder}/") for p in caught.value.problems]


def test_an_entry_changes_the_tables_of_the_file(tmp_path: Path) -> None:
    campaign = loaded(tmp_path, TWO).campaign
    a, b = parts(campaign).values()
    assert (campaign.kind, campaign.instances, campaign.subject) == ("targets", 2, "a, b")
    assert (a.target["function"], a.kind, a.instances) == ("json:loads", "zest", 1)
    assert (b.target["function"], b.kind, b.instances) == ("json:dumps", "mu2", 3)
    assert b.target["timeout_s"] == 5
    assert a.engine["max_size"] == b.engine["max_size"] == 100
    assert [part.weight for part in campaign.targets] == [1.0, 2.5]
    # The budget is of the whole; the seed, and the file of verdicts, are of all.
    assert (campaign.budget_s, a.budget_s) == (3600, 0)
    assert {c.seed for c in (campaign, a, b)} == {3}
    assert {c.verdicts for c in (campaign, a, b)} == {str(tmp_path / "c.verdicts.toml")}
    assert [c.output for c in (a, b)] == [campaign.output / "targets" / name for name in "ab"]
    assert [name for name, _ in all_parts(loaded(tmp_path, TWO))] == ["a", "b"]


def test_a_file_of_its_own_is_relative_to_itself(tmp_path: Path) -> None:
    (tmp_path / "sub" / "seeds").mkdir(parents=True)
    (tmp_path / "sub" / "seeds" / "one").write_text("1")
    (tmp_path / "sub" / "x.toml").write_text(
        '[campaign]\nbudget = "10m"\n[target]\nfunction = "h.py:f"\ninclude = ["json"]\n'
        '[engine]\nkind = "zest"\nseeds = ["seeds"]\n'
    )
    (tmp_path / "sub" / "h.py").write_text("def f(data: bytes) -> None: ...\n")
    text = '[[targets]]\nname = "x"\nfile = "sub/x.toml"\nengine.instances = 2\n'
    (x,) = parts(loaded(tmp_path, text).campaign).values()
    assert x.engine["seeds"] == [str(tmp_path / "sub/seeds")]
    assert x.instances == 2
    assert x.budget_s == 600, "ends this target alone"
    assert x.target["cwd"] == str(tmp_path / "sub")


def test_the_frozen_copy_is_the_same_campaign(tmp_path: Path) -> None:
    first = loaded(tmp_path, TWO)
    run = first.campaign.output
    prepare_run(run)
    for part in first.campaign.targets:
        part.loaded.campaign.output.parent.mkdir(exist_ok=True)
        prepare_run(part.loaded.campaign.output)
    write_frozen(first, run)
    again = load(run / "campaign.toml", cwd=tmp_path)
    assert again.frozen == first.frozen
    for before, now in zip(first.campaign.targets, again.campaign.targets, strict=True):
        assert (now.name, now.weight) == (before.name, before.weight)
        assert now.loaded.frozen == before.loaded.frozen
        assert now.loaded.campaign.output == before.loaded.campaign.output
    # A run that was moved has its targets with it.
    moved = run.rename(tmp_path / "moved")
    campaign = load(moved / "campaign.toml", cwd=tmp_path).campaign
    assert [c.output for c in parts(campaign).values()] == [moved / "targets" / n for n in "ab"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('name = "a b"', "c.toml:2: targets.a b.name: 'a b' is not a name"),
        ('name = "-x"', "c.toml:2: targets.-x.name: '-x' is not a name"),
        ('name = "seeds"', "c.toml:2: targets.seeds.name: 'seeds' is a directory of fuzztui"),
        ('name = "x"\ncampaign.seed = 1', "targets.x.campaign.seed: is of the whole campaign"),
        ('name = ".."', "c.toml:2: targets....name: '..' is not a name"),
        ("weight = 2", "c.toml:1: targets.1.name: is missing"),
        ('name = "x"\nweight = -1', "targets.x.weight: a weight is from 0"),
        ('name = "x"\nweight = nan', "c.toml:3: targets.x.weight: a weight is from 0"),
        ('name = "x"\ncampaign = 3', "c.toml:3: targets.x.campaign: 3 is not a table"),
        ('name = "x"\nfile = ""', "c.toml:3: targets."),
        ('name = "x"\nfile = "~no-such-user/x.toml"', "c.toml:3: targets.x.file: '~no-such-user"),
        ('name = "x"\nwieght = 1', "c.toml:3: targets.x.wieght: is no key of [[targets]]; did you"),
        (
            'name = "x"\nfile = "none.toml"',
            "c.toml:3: targets.x.file: 'none.toml': there is no such",
        ),
        ('name = "x"\nfile = "c.toml"', "c.toml:3: targets.x.file: is this file"),
        ('name = "x"', "c.toml:1: targets.x.engine.kind: is missing"),
        ('name = "x"\nengine = 3', "c.toml:3: targets.x.engine: 3 is not a table"),
        ('name = "x"\nhosts = {}', "c.toml:3: targets.x.hosts: is no key of [[targets]]"),
        (
            'name = "x"\nengine.kind = "zest"\ntarget = { funtion = "json:loads" }',
            "c.toml:4: targets.x.target.funtion: unknown key",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, entry: str, problem: str) -> None:
    found = problems(tmp_path, f"[[targets]]\n{entry}\n")
    assert any(problem in line for line in found), found


def test_all_problems_at_once(tmp_path: Path) -> None:
    found = problems(tmp_path, TWO.replace("json:loads", "json").replace("weight = 2.5", "x = 1"))
    assert [line.partition(" ")[0] for line in found] == [
        "c.toml:13:",
        "c.toml:16:",
    ]


def test_files_that_name_each_other_are_refused_at_once(tmp_path: Path) -> None:
    for one, other in ("cd", "dc"):
        (tmp_path / f"{one}.toml").write_text(f'[[targets]]\nname = "x"\nfile = "{other}.toml"\n')
    with pytest.raises(CampaignError, match="a target has no targets of its own"):
        load(tmp_path / "c.toml", cwd=tmp_path)


def test_edges_of_several_targets_are_no_reason_to_stop(tmp_path: Path) -> None:
    text = TWO.replace("[target]", '[stop]\nedges = "1m"\n[target]')
    assert "stop.edges" in problems(tmp_path, text)[0]


@pytest.mark.parametrize("more", ["[hosts]\nhere = {}\n", '[[targets]]\nname = "a"\n'])
def test_no_hosts_and_no_name_twice(tmp_path: Path, more: str) -> None:
    assert problems(tmp_path, TWO + more)


def test_targets_cannot_be_changed_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(TWO)
    with pytest.raises(CampaignError, match="weigh-target"):
        load(tmp_path / "c.toml", ["targets.b.weight=3"], cwd=tmp_path)


def test_cores_without_targets_have_no_effect(tmp_path: Path) -> None:
    from fuzztui.run.campaign import refuse_idle_keys

    one = '[campaign]\ncores = 2\n[target]\nfunction = "json:loads"\n[engine]\nkind = "zest"\n'
    with pytest.raises(CampaignError, match=r"campaign\.cores"):
        refuse_idle_keys(loaded(tmp_path, one))


def test_a_new_campaign_has_a_target_that_runs(tmp_path: Path) -> None:
    """Nothing would run, without a word; the weights of a run that exists are those of its log."""
    zero = TWO.replace("weight = 2.5", "weight = 0")
    assert len(loaded(tmp_path, zero).campaign.targets) == 2
    (found,) = problems(tmp_path, zero.replace('name = "a"', 'name = "a"\nweight = 0'))
    assert found.startswith("c.toml:11: targets: all have the weight 0")
    (found,) = problems(tmp_path, zero.replace('name = "a"', 'name = "a"\nweigth = 1'))
    assert "weigth" in found, "the other one has a fault of its own"
    before = loaded(tmp_path, TWO)
    prepare_run(before.campaign.output)
    write_frozen(before, before.campaign.output)
    frozen = before.campaign.output / "campaign.toml"
    text = frozen.read_text().replace("weight = 2.5", "weight = 0")
    frozen.write_text(f"{text}[targets.a]\nweight = 0\n")
    assert [part.weight for part in load(frozen).campaign.targets] == [0, 0]


def test_a_run_opens_that_has_a_name_of_today(tmp_path: Path) -> None:
    named = TWO.replace('name = "a"', 'name = "added"')
    (found,) = problems(tmp_path, named)
    assert "'added' is a directory of fuzztui" in found
    before = loaded(tmp_path, TWO)
    prepare_run(before.campaign.output)
    write_frozen(before, before.campaign.output)
    frozen = before.campaign.output / "campaign.toml"
    frozen.write_text(frozen.read_text().replace("[targets.a", "[targets.added"))
    assert [part.name for part in load(frozen).campaign.targets] == ["added", "b"]
