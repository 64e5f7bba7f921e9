"""``--shard`` where it is given: what it limits, and what it is not for."""

from __future__ import annotations

import pytest

from fuzztui.cli import main
from fuzztui.cli.output import USAGE
from fuzztui.cli.run import _shard_key, load_file
from fuzztui.kernel.base.shards import parse_shard

CAMPAIGN = """
[target]
function = "tomllib:loads"
[engine]
kind = "{kind}"
"""
SOURCE = "int f(int a, int b) {\n" + "".join(f"  if (a < {n}) return b;\n" for n in range(30)) + "}"


@pytest.mark.parametrize("text", ["0/3", "4/3", "x", "1"])
def test_what_is_no_shard_is_refused(text, cli, tmp_path):
    assert text in cli("score", tmp_path, "--shard", text, code=USAGE).err


def test_ranked_mutants_are_divided(tmp_path, cli):
    pytest.importorskip("numpy")
    file = tmp_path / "a.c"
    file.write_text(SOURCE)

    def ranked(*more):
        said = cli("mutants", "rank", file, "--json", "--order", "random", *more)
        return {row["id"] for row in said.json["mutants"]}

    parts = [ranked("--shard", f"{k}/3") for k in (1, 2, 3)]
    assert set().union(*parts) == ranked()
    assert sum(map(len, parts)) == len(ranked())
    assert all(parse_shard("2/3").has(id_) for id_ in parts[1])


def test_the_key_of_each_kind_of_campaign(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind in ("zest", "mu2"):
        (tmp_path / f"{kind}.toml").write_text(CAMPAIGN.format(kind=kind))
    mu2 = load_file(tmp_path / "mu2.toml", [])
    assert _shard_key(mu2.campaign, parse_shard("2/5")) == "engine.shard=2/5"
    first = (tmp_path / "zest.toml").read_text() + '[mutants]\nsources = ["tomllib"]\n'
    (tmp_path / "first.toml").write_text(first + "[campaign]\nbudget = '10m'\n")
    key = _shard_key(load_file(tmp_path / "first.toml", []).campaign, parse_shard("2/5"))
    assert key == "mutants.shard=2/5"
    assert "zest" in cli("zest.toml", "--headless", "--shard", "1/2", code=USAGE).err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("value", ["3", "'0/2'", "'2/1'", "'x'"])
def test_the_key_is_checked(tmp_path, cli, value):
    (tmp_path / "c.toml").write_text(CAMPAIGN.format(kind="mu2") + f"shard = {value}\n")
    assert "engine.shard" in cli("check", "--no-run", tmp_path / "c.toml", code=USAGE).err


@pytest.mark.parametrize("what", ["show", "matrix"])
def test_commands_about_one_mutant_take_no_shard(tmp_path, capsys, what):
    assert main(["mutants", what, str(tmp_path), "x", "--shard", "1/2"]) == USAGE
