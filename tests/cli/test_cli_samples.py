"""Sample campaigns by their names, those of today and those that they had."""

import ast
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from fuzztui.cli import main, samples
from fuzztui.cli.output import DONE, NOT_RUNNING, USAGE
from fuzztui.cli.run import load_file
from fuzztui.cli.runs import find_run
from fuzztui.cli.samples import SAMPLES, installation, named
from fuzztui.run.campaign import load
from fuzztui.run.campaign.schema import ENGINES

OLD = {
    "first_json": "json-fuzzfirst", "first_nested": "nested-fuzzfirst",
    "first_python": "slips-fuzzfirst", "oracle_calc": "calc-oracle", "text_lua": "lua-text",
    "text_mujs": "mujs-text", "text_python": "pycparser-text", "text_tcc": "tcc-text",
}  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def begin(run: Path, file: Path) -> None:
    """A run as an earlier version has left it, of a sample's file that is gone since."""
    for part in ("log", "supervisor", "out"):
        (run / part).mkdir(parents=True)
    frozen = load(SAMPLES / "tomllib-zest.toml", [f"campaign.name={run.name}"]).toml()
    (run / "campaign.toml").write_text(frozen)
    origin = {"file": str(file), "began": 1.0, "name": run.name}
    (run / "supervisor/origin.json").write_text(json.dumps(origin))


def test_each_is_named_with_hyphens_and_its_kind_last():
    for path in SAMPLES.glob("*.toml"):
        name, _, kind = path.stem.rpartition("-")
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), path.name
        assert kind in {*ENGINES, "fuzzfirst", "oracle", "targets"}, path.name


@pytest.mark.parametrize("old", OLD)
def test_an_old_name_means_the_sample_with_its_runs(here, old, capsys):
    before = old.replace("_", "-")
    campaign = load_file(Path(f"{old}.toml"), []).campaign
    assert campaign.file == SAMPLES / f"{OLD[old]}.toml"
    assert campaign.output == here / "runs" / before
    assert f"{OLD[old]}.toml" in capsys.readouterr().err
    begin(here / "runs" / before, SAMPLES / f"{old}.toml")
    assert find_run(Path(f"{old}.toml")) == here / "runs" / before
    assert load_file(Path(f"{OLD[old]}.toml"), []).campaign.name == OLD[old]


def test_an_old_path_means_the_file_beside_it(here):
    (here / "sample_campaigns").mkdir()
    old = Path("sample_campaigns/first_nested.toml")
    new = old.with_name("nested-fuzzfirst.toml")
    for file in (old, new):
        shutil.copy(SAMPLES / new.name, file)
    assert named(old) == (old, []), "a file that is there is that file"
    old.unlink()
    assert named(old) == (new, ["campaign.name=first-nested"])
    new.unlink()
    assert named(old)[0] == SAMPLES / new.name


def test_verdicts_about_a_sample_are_not_written_into_the_package(here):
    campaign = load_file(Path("crashy-afl.toml"), []).campaign
    assert campaign.verdicts == str(here / "crashy-afl.verdicts.toml")
    mine = here / "mine"
    shutil.copytree(SAMPLES / "seeds/crate-packed", mine / "seeds/crate-packed")
    shutil.copy(SAMPLES / "crashy-afl.toml", mine)
    loaded = load_file(mine / "crashy-afl.toml", [])
    assert loaded.campaign.verdicts == str(mine / "crashy-afl.verdicts.toml")


def test_a_name_that_is_given_counts_more_than_the_old_one(here):
    campaign = load_file(Path("first_nested.toml"), ["campaign.name=mine"]).campaign
    assert campaign.name == "mine"


@pytest.mark.parametrize(
    ("wrong", "offered"),
    [
        ("tomllib", ["tomllib-mu2.toml", "tomllib-zest.toml"]),
        ("tomlib", ["tomllib-mu2.toml", "tomllib-zest.toml"]),
        ("tomllib-mu2", ["tomllib-mu2.toml"]),
        ("tomllib-mu3", ["tomllib-mu2.toml", "tomllib-zest.toml"]),
        ("crash", ["crashy-afl.toml"]),
        ("h11", ["h11-spoton.toml"]),
        ("text_lua", ["lua-text.toml"]),
        ("atach", ["attach"]),
    ],
)
def test_a_word_that_is_no_command_may_mean_a_campaign_file(here, wrong, offered, capsys):
    with pytest.raises(SystemExit) as e:
        main([wrong])
    assert e.value.code == USAGE
    assert f"did you mean {' or '.join(offered)}?" in capsys.readouterr().err


@pytest.mark.parametrize("command", [[], ["check"]])
def test_a_file_that_is_not_there_may_mean_another_one(here, command, capsys):
    (here / "engine-room.toml").write_text('[engine]\nkind = "zest"\n')
    (here / "engine-parts.toml").write_text("[tool]\n")
    (here / "engine-pipe.toml").mkdir()
    assert main([*command, "engines.toml"]) == USAGE
    assert "engines.toml: there is no such file; did you mean engine-room.toml?" in (
        capsys.readouterr().err
    )
    assert main([*command, "xyzzy.toml"]) == USAGE
    assert "did you mean" not in capsys.readouterr().err


def test_a_run_that_is_not_there_may_mean_another_one(here, capsys):
    begin(here / "runs/tomllib", SAMPLES / "tomllib-zest.toml")
    assert main(["status", "tomlib"]) == NOT_RUNNING
    assert "did you mean tomllib?" in capsys.readouterr().err


def test_the_list_is_of_names_that_work(here, capsys):
    assert main(["samples"]) == DONE
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {path.name for path in SAMPLES.glob("*.toml")} == set(names)


@pytest.mark.parametrize("columns", [40, 80, 132, None])
def test_descriptions_are_whole_sentences_in_lines_that_fit(columns, here, monkeypatch, capsys):
    """``columns``: None: a pipe, where each sample has one line."""
    monkeypatch.setattr(samples, "at_terminal", lambda: columns is not None)
    monkeypatch.setenv("COLUMNS", str(columns or 80))
    assert main(["samples"]) == DONE
    found: dict[str, str] = {}
    lines = capsys.readouterr().out.splitlines()
    for line in lines:
        name, text = line[:31].strip(), line[31:].strip()
        name = name or list(found)[-1]
        found[name] = f"{found.get(name, '')} {text}".strip()
    for name, text in found.items():
        assert text.endswith("."), name
        comment = " ".join((SAMPLES / name).read_text().partition("#:schema")[0].split())
        assert comment.replace("# ", "").startswith(text)
    if columns is None:
        assert len(lines) == len(found)
    else:
        assert max(map(len, lines)) <= max(columns, 62)
    survey = found["lambda-survey-spoton.toml"]  # the sentence ends on the second line
    assert survey.endswith(" the names of the files.")


def needed(file: Path) -> set[str]:
    """Packages that a harness imports and Python does not have."""
    tree = ast.parse(file.read_text())
    names = {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    names |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    roots = {name.partition(".")[0] for name in names}
    own = {path.stem for path in SAMPLES.iterdir()} | {"fuzztui"}
    return roots - own - sys.stdlib_module_names


@pytest.mark.slow
def test_whoever_lacks_a_package_is_given_the_command(here, monkeypatch, capsys):
    for path in SAMPLES.glob("*.toml"):
        campaign = load(path).campaign
        parts = campaign.target.get("suite") or [campaign.target.get("function", "")]
        files = [Path(part.partition(":")[0]) for part in parts]
        needs = [name for file in files if file.suffix == ".py" for name in needed(file)]
        assert bool(installation(campaign)) >= bool(needs), path.name
    (here / "c.toml").write_text(
        "# It needs that: pip install nosuch 'package[x]'\n"
        '[campaign]\nname = "c"\n[target]\nfunction = "nosuchpackage:f"\n'
        '[engine]\nkind = "zest"\n'
    )
    assert main(["check", "c.toml"]) == USAGE
    assert f"{sys.executable} -m pip install nosuch 'package[x]'" in capsys.readouterr().err
