"""Every command that README and docs show is taken by the parser, and names files that exist."""

import re
import shlex
from pathlib import Path

import pytest
from doc_commands import ELSEWHERE, PAGES, PLACEHOLDERS, ROOT, RUN, TUTORIALS, commands

from fuzztui.cli.parser import parse

ALL = [(page.name, line) for page in PAGES for line in dict.fromkeys(commands(page))]
PROSE = re.compile(r"\.\.\.|: plain files|\.$")
"""In lines of a block that are no command lines."""
OF_THE_READER = ("campaign.toml", "cluster.toml")


@pytest.mark.parametrize(("page", "line"), ALL, ids=[" ".join(one) for one in ALL])
def test_a_shown_command_is_one(page, line, tmp_path, monkeypatch):
    if PROSE.search(line):
        pytest.skip("no command line")
    monkeypatch.chdir(tmp_path)
    line = line.replace("CAMPAIGN", "campaign.toml")
    for word in shlex.split(line):
        if word.endswith(".toml") and "=" not in word:
            sample = ROOT / "sample_campaigns" / word.removeprefix("sample_campaigns/")
            assert sample.is_file() or Path(word).name in OF_THE_READER, word
            (tmp_path / word).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / word).touch()
    try:
        parse(shlex.split(line)[1:])
    except SystemExit as e:
        raise AssertionError(f"{page}: {line}") from e


def test_each_command_is_run_or_has_a_reason():
    pages = [page for page in PAGES if page.parent != TUTORIALS]
    every = {line for page in pages for line in commands(page)}
    lines = {line for line in every if not any(word in line for word in PLACEHOLDERS)}
    assert lines - {*RUN} - ELSEWHERE.keys() == set()
    assert {*RUN} - every == set()
    assert ELSEWHERE.keys() - lines == set()
