"""The campaign file of an AFL++ campaign."""

from pathlib import Path

import pytest

from fuzztui.run.campaign import CampaignError, load, write_frozen

GOOD = """\
[campaign]
name = "demo"

[target]
command = ["./program", "-x", "@@"]

[engine]
kind = "afl"
instances = 3
"""


@pytest.fixture
def write(tmp_path):
    program = tmp_path / "program"
    program.write_text("")
    program.chmod(0o755)

    def write(text: str) -> Path:
        path = tmp_path / "demo.toml"
        path.write_text(text)
        return path

    return write


def problems(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(CampaignError) as caught:
        load(path, overrides, cwd=path.parent)
    return [str(p) for p in caught.value.problems]


def test_paths_and_units_are_resolved(write, tmp_path):
    campaign = load(write(GOOD), cwd=tmp_path).campaign
    assert campaign.target["command"] == [str(tmp_path / "program"), "-x", "@@"]
    assert campaign.target["cwd"] == campaign.target["source"] == str(tmp_path)
    assert (campaign.target["timeout_s"], campaign.target["memory_bytes"]) == (1.0, 0)
    assert campaign.target["build"] == campaign.target["cmplog"] == ""
    assert campaign.engine["options"] == {}
    assert campaign.subject == "program -x @@"


def test_a_command_may_be_written_as_in_a_shell(write, tmp_path):
    override = "target.command=\"./program 'a b' @@\""
    campaign = load(write(GOOD), [override], cwd=tmp_path).campaign
    assert campaign.target["command"] == [str(tmp_path / "program"), "a b", "@@"]
    assert "No closing quotation" in problems(write(GOOD), 'target.command="x \'y"')[0]


def test_a_mere_name_may_be_on_the_path(write, tmp_path):
    campaign = load(write(GOOD), ['target.command=["true"]'], cwd=tmp_path).campaign
    assert Path(campaign.target["command"][0]).is_absolute()
    assert "no such command on PATH" in problems(write(GOOD), 'target.command=["nope-nope"]')[0]


def test_what_is_built_is_looked_for_where_it_is_built(write, tmp_path):
    text = GOOD.replace("[engine]", 'build = "make"\ncmplog = "program.cmplog"\n[engine]')
    campaign = load(write(text), ["campaign.output=here"], cwd=tmp_path).campaign
    build = tmp_path / "here" / "build"
    assert campaign.build_directory == build
    assert campaign.target["command"][0] == str(build / "program")
    assert campaign.target["cmplog"] == str(build / "program.cmplog")


@pytest.mark.parametrize("build", ["", 'build = "make"\ncmplog = "p.cmplog"\n'])
def test_the_frozen_copy_means_the_same_from_anywhere(write, tmp_path, build):
    text = GOOD.replace("[engine]", build + 'memory = "1GiB"\n[engine]')
    overrides = ["engine.options={s1 = ['AFL_X=1', '-p', 'rare']}", "engine.extra_args=['-D']"]
    loaded = load(write(text), overrides, cwd=tmp_path)
    run = tmp_path / "elsewhere"
    run.mkdir()
    write_frozen(loaded, run)
    again = load(run / "campaign.toml", cwd=Path("/")).campaign
    for field in ("name", "output", "instances", "target", "engine"):
        assert getattr(again, field) == getattr(loaded.campaign, field)


def test_a_moved_run_has_its_build_and_needs_no_seeds_any_more(write, tmp_path):
    """``repro``, ``minimise`` and the supervisor all read the frozen copy with this."""
    text = GOOD.replace("[engine]", 'build = "make"\nsource = "src"\ncmplog = "p"\n[engine]')
    for name in ("src", "seeds"):
        (tmp_path / name).mkdir()
    overrides = ["campaign.output=run", "engine.seeds=seeds"]
    loaded = load(write(text), overrides, cwd=tmp_path)
    for part in ("supervisor", "log", "out"):
        (tmp_path / "run" / part).mkdir(parents=True)
    write_frozen(loaded, tmp_path / "run")
    moved = (tmp_path / "run").rename(tmp_path / "moved")
    for name in ("src", "seeds"):
        (tmp_path / name).rmdir()
    again = load(moved / "campaign.toml", cwd=Path("/")).campaign
    assert again.output == moved
    assert again.target["command"][0] == str(moved / "build/program")
    assert again.target["cmplog"] == str(moved / "build/p")
    assert again.engine["seeds"] == [str(tmp_path / "seeds")]
    # What the user says now has to be there, as in a file of theirs.
    assert "does not exist" in problems(moved / "campaign.toml", "engine.seeds=nowhere")[0]
    assert "does not exist" in problems(moved / "campaign.toml", "campaign.output=/x")[0]
    assert "is not a list" in problems(_with_seeds(moved, "5"))[0]


def _with_seeds(run: Path, value: str) -> Path:
    file = run / "campaign.toml"
    lines = file.read_text().split("seeds = [", 1)
    file.write_text(f"{lines[0]}seeds = {value}\n{lines[1].partition(']')[2]}")
    return file


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("target.command=[]", "a list of strings"),
        ('target.command=["", "x"]', "a list of strings"),
        ('target.command=["./nowhere"]', "does not exist"),
        ('target.command=["./demo.toml"]', "not an executable file"),
        ('target.cmplog="./nowhere"', "does not exist"),
        ("target.timeout=0", "never end"),
        ("engine.extra_args=['-o', '/tmp']", "campaign.output"),
        ("engine.extra_args=['-i-']", "engine.seeds"),
        ("engine.extra_args=['-p', '--']", "target.command"),
        ("engine.options={s1 = ['-M', 'x']}", "s1: '-M' is not allowed"),
        ("engine.options={s3 = []}", "engine.options.s3: there is no such instance: with "),
        ("engine.options={S1 = []}", "there is no such instance"),
        ("engine.options={'s 1' = []}", "'s 1' is not the name of an instance"),
        ("engine.names=['a b']", "'a b' is not a name"),
        (f"engine.names=['{'a' * 25}']", "is not a name of up to 24"),
        ("engine.names=['a', 'a']", "'a' is there twice"),
        ("engine.names=['seeds']", "'seeds' is a directory of fuzztui"),
        ("engine.names=['a', 'b', 'c', 'd']", "has 4 names for 3 instances"),
        ("engine.options={s1 = {}}", "is not a table of lists"),
        ("engine.options=['-p']", "a table of lists"),
        ('engine.options={s1 = ["a\\u0000"]}', "contains a NUL"),
        ("engine.dictionary=['demo.toml','demo.toml','demo.toml','demo.toml','demo.toml']", "4"),
    ],
)
def test_what_is_wrong_is_said_before_the_start(write, override, words):
    (found,) = problems(write(GOOD), override)
    assert words in found
    assert override.partition("=")[0] in found


def test_a_missing_program_is_said_with_its_line(write):
    (found,) = problems(write(GOOD.replace("./program", "./prgram")))
    assert "demo.toml:5: target.command: './prgram': " in found
