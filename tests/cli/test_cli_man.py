"""``fuzztui man`` and ``fuzztui help``: made of the same parsers as ``--help``."""

import argparse
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fuzztui.cli.man import page
from fuzztui.cli.parser import parsers

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def text() -> str:
    return page(parsers())


def test_the_page_has_every_command_and_every_option(text):
    plain = text.replace("\\-", "-").replace("\\e", "\\")
    for name, word, parser in parsers():
        if name:
            assert f'.SS "fuzztui {name}"' in plain
        start = plain.index(f'.SS "fuzztui {name}' if name else '.SS "fuzztui CAMPAIGN.toml"')
        section = plain[start : plain.find("\n.S", start + 5)]
        for action in parser._actions:
            hidden = action.help == argparse.SUPPRESS  # the former name of an option
            for option in () if hidden else action.option_strings:
                assert option in ("-h", "--help") or f"\\fB{option}\\fR" in section, (name, word)


def test_the_page_that_is_shipped_is_up_to_date(text):
    """``make docs`` writes it."""
    shipped = (ROOT / "docs" / "fuzztui.1").read_text()
    assert shipped == text, "run: fuzztui man > docs/fuzztui.1"


def test_no_line_is_a_request_by_mistake(text):
    known = {".TH", ".SH", ".SS", ".TP", ".B", ".br", ".PP"}
    assert {line.split()[0] for line in text.splitlines() if line[:1] in ".'"} <= known
    assert not re.search(r"(?<!\\)-", text.split("\n", 1)[1])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_formats_the_page_without_a_warning(text):
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8"], input=text, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "fuzztui minimise" in re.sub(r"\x1b\[\d+m|.\x08", "", done.stdout)


@pytest.mark.parametrize("words", [["score"], ["corpus", "why"], []], ids=" ".join)
def test_help_is_that_of_the_command(words, cli):
    assert cli("help", *words) == cli(*words, "--help")


def test_help_of_an_unknown_command_offers_the_nearest(cli):
    assert "score" in cli("help", "scroe", code=2).err.rpartition("did you mean")[2]


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version(option, cli):
    assert cli(option).out.startswith("fuzztui ")
