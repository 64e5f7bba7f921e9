"""The outcomes that a kept corpus has from an earlier run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzztui.campaign import load
from fuzztui.ci.outcomes import KeptOutcomes


@pytest.fixture
def kept(tmp_path: Path):
    file = tmp_path / "c.toml"
    file.write_text('[target]\nfunction = "json:loads"\n[engine]\nkind = "zest"\n')
    return lambda: KeptOutcomes(tmp_path / "outcomes.json", load(file).campaign)


def test_those_of_a_large_corpus_are_known(kept, tmp_path):
    outcomes = {f"{n:032x}": "x" * 4000 for n in range(4200)}  # more than other files have
    (tmp_path / "outcomes.json").write_text(json.dumps(outcomes))
    assert kept().known == outcomes


@pytest.mark.parametrize("text", ["", "[1]", '{"a"', "[" * 100_000])
def test_a_damaged_file_has_none(kept, tmp_path, text):
    (tmp_path / "outcomes.json").write_text(text)
    assert kept().known == {}
