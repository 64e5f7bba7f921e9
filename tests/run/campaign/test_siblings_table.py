"""``[[siblings]]``: its frozen copy, and what is refused, with the line of the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzztui.run.campaign import CampaignError, FrozenCampaign, load, write_frozen
from fuzztui.run.campaign.rundir import prepare_run
from fuzztui.run.campaign.table import feature_tables

HEAD = """[engine]
kind = "zest"
[target]
function = "json:loads"
[[siblings]]
name = "lf"
corpus = "lf/corpus"
crashes = "lf/crashes"
"""
SECOND = """[[siblings]]
name = "hongg"
corpus = "/hf"
export = false
"""
"""The second entry begins on line 9."""


def loaded(folder: Path, text: str) -> FrozenCampaign:
    file = folder / "c.toml"
    file.write_text(text)
    return load(file, cwd=folder)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(CampaignError) as caught:
        loaded(folder, text)
    return [str(p).removeprefix(f"{folder}/") for p in caught.value.problems]


def test_paths_are_relative_to_the_file_and_need_not_exist(tmp_path: Path) -> None:
    siblings = loaded(tmp_path, HEAD + SECOND).campaign.table("siblings")
    first, second = siblings.values()
    assert list(siblings) == ["lf", "hongg"]
    assert first["corpus"] == str(tmp_path / "lf/corpus")
    assert (first["export"], second["export"]) == (True, False)
    assert (second["corpus"], second["crashes"]) == ("/hf", "")


def test_the_frozen_copy_is_the_same(tmp_path: Path) -> None:
    before = loaded(tmp_path, HEAD + SECOND)
    prepare_run(before.campaign.output)
    write_frozen(before, before.campaign.output)
    again = load(before.campaign.output / "campaign.toml", cwd=tmp_path)
    assert again.campaign.tables == before.campaign.tables
    assert again.frozen["siblings"] == before.frozen["siblings"]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ('[[siblings]]\ncorpus = "x"\n', "c.toml:9: siblings.2.name: is missing"),
        (
            '[[siblings]]\nname = "lf"\ncorpus = "x"\n',
            "c.toml:10: siblings.2.name: 'lf' is there twice",
        ),
        ('[[siblings]]\nname = 3\ncorpus = "x"\n', "c.toml:10: siblings.2.name: 3 is no text"),
        ('[[siblings]]\nname = "b"\n', "c.toml:9: siblings.b.corpus: is missing"),
        ('[[siblings]]\nname = "b"\ncorpus = "c.toml"\n', "c.toml:11: siblings.b.corpus: 'c.toml'"),
        (
            '[[siblings]]\nname = "b"\ncorpus = "runs/c/x"\n',
            "c.toml:11: siblings.b.corpus: is in the",
        ),
        (
            '[[siblings]]\nname = "a/b"\ncorpus = "x"\n',
            "c.toml:10: siblings.a/b.name: 'a/b' is not",
        ),
        (
            '[[siblings]]\nname = "main"\ncorpus = "x"\n',
            "c.toml:10: siblings.main.name: is the name",
        ),
        ('[[siblings]]\nname = "added"\ncorpus = "x"\n', "c.toml:10: siblings.added.name: 'added'"),
        (SECOND + 'crash = "x"\n', "c.toml:13: siblings.hongg.crash: unknown key, did you mean"),
        ('[hosts]\n"here" = {}\n', "c.toml:5: siblings: are for one machine"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, more: str, problem: str) -> None:
    (found,) = problems(tmp_path, HEAD + more)
    assert found.startswith(problem)


def test_a_directory_of_the_run_is_refused_also_through_a_link(tmp_path: Path) -> None:
    """Otherwise entries are written into the queue of main, and its crashes are imported."""
    (tmp_path / "link").symlink_to("runs/c/out/main/queue")
    (found,) = problems(tmp_path, HEAD.replace("lf/corpus", "link"))
    assert found.startswith("c.toml:7: siblings.lf.corpus: is in the run")
    (found,) = problems(tmp_path, HEAD.replace("lf/crashes", "runs/c/out/main/crashes"))
    assert found.startswith("c.toml:8: siblings.lf.crashes: is in the run")


def test_each_directory_is_given_once(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("lf/corpus")
    (found,) = problems(tmp_path, HEAD + '[[siblings]]\nname = "b"\ncorpus = "link"\n')
    assert found.startswith("c.toml:11: siblings.b.corpus: is the directory of siblings.lf.corpus")
    (found,) = problems(tmp_path, HEAD.replace("lf/crashes", "lf/corpus"))
    assert found.startswith("c.toml:8: siblings.lf.crashes: is the directory of siblings.lf.corp")


def test_a_run_opens_whatever_its_links_lead_to_now(tmp_path: Path) -> None:
    before = loaded(tmp_path, HEAD)
    prepare_run(before.campaign.output)
    write_frozen(before, before.campaign.output)
    (tmp_path / "lf").symlink_to("runs/c")
    again = load(before.campaign.output / "campaign.toml", cwd=tmp_path)
    assert list(again.campaign.table("siblings")) == ["lf"]


def test_targets_whose_inputs_are_no_bytes(tmp_path: Path) -> None:
    target = 'function = "json:loads"\ngenerator = "json:dumps"'
    (found,) = problems(tmp_path, HEAD.replace('function = "json:loads"', target))
    assert "generator" in found


def test_a_value_that_is_no_table(tmp_path: Path) -> None:
    head = HEAD.partition("[[siblings]]")[0]
    assert "siblings" in problems(tmp_path, "siblings = 3\n" + head)[0]
    assert "siblings.lf" in problems(tmp_path, head + "[siblings]\nlf = 3\n")[0]
    assert "siblings" in problems(tmp_path, "siblings = [3]\n" + head)[0]
    one_bracket = problems(tmp_path, HEAD.replace("[[siblings]]", "[siblings]"))
    assert all("below a header [[siblings]]; it takes" in problem for problem in one_bracket)


def test_several_targets_have_their_own(tmp_path: Path) -> None:
    target = '[[targets]]\nname = "t"\ntarget.function = "json:loads"\n'
    own = '[[targets.siblings]]\nname = "lf"\ncorpus = "lf"\n'
    (part,) = loaded(tmp_path, '[engine]\nkind = "zest"\n' + target + own).campaign.targets
    assert part.loaded.campaign.table("siblings")["lf"]["corpus"] == str(tmp_path / "lf")
    (found,) = problems(tmp_path, HEAD.replace("[target]\nfunction", "[target]\n#") + target)
    assert found.startswith("c.toml:5: siblings: is of one target")


def test_the_key_of_a_table_is_the_name(tmp_path: Path) -> None:
    head = HEAD.partition("[[siblings]]")[0]
    found = loaded(tmp_path, head + '[siblings.x]\nname = "main"\ncorpus = "lf"\n')
    assert found.campaign.table("siblings")["x"]["name"] == "x"
    assert found.frozen["siblings"]["x"]["name"] == "x"


def test_set_changes_a_key_of_one(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(HEAD + SECOND)
    sets = ["siblings.lf.export=false", "siblings.lf.corpus=other"]
    siblings = load(file, sets, cwd=tmp_path / "there").campaign.table("siblings")
    assert (siblings["lf"]["export"], siblings["lf"]["name"]) == (False, "lf")
    assert siblings["lf"]["corpus"] == str(tmp_path / "there/other")


AFL = HEAD.replace('"zest"', '"afl"').replace('function = "json:loads"', 'command = ["/bin/true"]')


def test_a_name_of_a_turn_beside_mutants(tmp_path: Path) -> None:
    (tmp_path / "app.py").touch()
    named = AFL.replace('name = "lf"', 'name = "m1"')
    assert loaded(tmp_path, named).campaign.table("siblings")
    found = problems(tmp_path, named + '[mutants]\nsources = ["app.py"]\n')
    assert any(p.startswith("c.toml:6: siblings.m1.name: is a name of instances") for p in found)


def test_without_instrumentation_afl_imports_nothing(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, AFL.replace("[target]", 'extra_args = ["-n"]\n[target]'))
    assert found.startswith("c.toml:6: siblings: need")


def test_a_directory_that_is_not_there_is_noted(tmp_path: Path) -> None:
    (tmp_path / "lf/crashes").mkdir(parents=True)
    campaign = loaded(tmp_path, HEAD).campaign
    ((dotted, _),) = feature_tables()["siblings"].notes(campaign, ())
    assert dotted == "siblings.lf.corpus"
