"""The outcomes that a kept corpus has from an earlier run."""

import json
from pathlib import Path

import pytest

from fuzztui.run.campaign import load
from fuzztui.tools.ci.outcomes import KeptOutcomes


@pytest.fixture
def kept(tmp_path: Path):
    file = tmp_path / "c.toml"
    file.write_text('[target]\nfunction = "json:loads"\n[engine]\nkind = "zest"\n')
    return lambda: KeptOutcomes(
        tmp_path / "outcomes.json", load(file).campaign, tmp_path / "constants.json"
    )


def test_those_of_a_large_corpus_are_known(kept, tmp_path):
    outcomes = {f"{n:032x}": "x" * 4000 for n in range(4200)}  # more than other files have
    (tmp_path / "outcomes.json").write_text(json.dumps(outcomes))
    assert kept().known == outcomes


@pytest.mark.parametrize("text", ["", "[1]", '{"a"', "[" * 100_000])
def test_a_damaged_file_has_none(kept, tmp_path, text):
    (tmp_path / "outcomes.json").write_text(text)
    assert kept().known == {}


def test_without_time_all_are_left_to_a_later_run(kept, tmp_path):
    files = [tmp_path / name for name in "abc"]
    for file in files:
        file.write_bytes(file.name.encode())
    outcomes = kept()
    outcomes.known = {outcomes._key(files[0]): "1"}
    assert outcomes.changes(files, tmp_path, until=0.0) == {}
    assert outcomes.cut == 1
    outcomes.learn(files, (), tmp_path, until=0.0)
    assert outcomes.cut == 2
    assert len(kept().known) == 1


def test_an_input_and_its_constants_are_no_other_pair(kept, tmp_path):
    keys = set()
    for data, constants in (("ab", "c"), ("a", "bc"), ("abc", "")):
        (tmp_path / "input").write_text(data)
        (tmp_path / "constants.json").write_text(constants)
        outcomes = kept()
        outcomes.learn([], (), tmp_path)
        keys.add(outcomes._key(tmp_path / "input"))
    assert len(keys) == 3


@pytest.mark.slow
@pytest.mark.parametrize("key", ["", 'compare = "lib:near"', "decorated"])
def test_a_target_that_compares_values_decides_what_is_the_same(tmp_path, key):
    decorated = "@compare(near)\n" if key == "decorated" else ""
    source = (
        "from fuzztui.harness import compare\ndef near(a, b): return abs(a - b) < 9\n" + decorated
    )
    source += "def parse(data):\n    if data == b'x': raise KeyError\n    return {n}\n"
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "y").write_bytes(b"y")
    (tmp_path / "c.toml").write_text(
        '[target]\nfunction = "lib:parse"\npath = ["."]\nexpected = ["KeyError"]\n'
        f'{key if "=" in key else ""}\n[engine]\nkind = "mu2"\n'
    )
    campaign = load(tmp_path / "c.toml").campaign
    instance, files = tmp_path / "out" / "main", [tmp_path / "inputs" / "y"]

    def kept() -> KeptOutcomes:
        return KeptOutcomes(tmp_path / "outcomes.json", campaign, tmp_path / "constants.json")

    (tmp_path / "lib.py").write_text(source.format(n=1))
    kept().learn(files, (), instance)
    (tmp_path / "lib.py").write_text(source.format(n=2))
    assert bool(kept().changes(files, instance)) is not bool(key)
    (tmp_path / "lib.py").write_text(source.format(n=1).replace("b'x'", "b'y'"))
    assert kept().changes(files, instance)  # it raises now
    (tmp_path / "constants.json").write_text("[1]")  # the bytes mean another input
    assert not kept().changes(files, instance)
