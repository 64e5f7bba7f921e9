"""Each engine kind reads every key that its campaign files may have: seen in real campaigns."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from key_reads import keys_read
from test_kinds import TOY, install

from fuzztui.engines.conformance import TARGET
from fuzztui.engines.kinds import KINDS
from fuzztui.run.campaign.schema import tables_for

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[2] / "sample_campaigns"
TABLES = ("target", "engine", "mutants", "text", "oracle")
"""Tables whose keys belong to an engine; the others are the supervisor's."""

SUITE = """
from hypothesis import given, strategies as st
from conform_target import parse

@given(st.text())
def test_parse(data):
    assert parse(data) is not None
"""

ONE = """
[campaign]
budget = "400 trials"
[target]
function = "conform_target:parse"
{target}
[engine]
kind = "{kind}"
{tables}
"""

OF_SUITE = """
[campaign]
budget = "400 trials"
[target]
function = ["test_lines.py"]
include = ["conform_target"]
examples = "examples"
[engine]
kind = "{kind}"
"""

ORACLE = """
[oracle]
message = "nothing like it"
against = "conform_target:parse"
"""

MUTANTS = """
[mutants]
sources = ["{source}"]
per_mutant = "{each}"
"""
STUCK = """when = "stuck"
stuck_after = 0.2
"""

OF_AFL = f"""
[campaign]
budget = "8s"
[target]
command = ["./crate", "@@"]
source = "{SAMPLES}"
build = "$CC -g -O1 -o crate $SOURCE/crate.c"
coverage = true
[engine]
kind = "afl"
seeds = ["{SAMPLES}/seeds/crate-packed"]
[text]
language = "c"
[oracle]
message = "nothing like it"
against = "true"
{MUTANTS.format(source="crate.c", each="2s")}
"""


def campaigns(kind: str) -> list[str]:
    """Small campaigns of this kind, which together have all that a campaign of it can have."""
    target = 'generator = "conform_target:gen_line"' if kind == "spoton" else ""
    takes = tables_for(kind)
    oracle = ORACLE if "oracle" in takes else ""
    texts = [ONE.format(kind=kind, target=target, tables=oracle)]
    if "mutants" in takes:
        mutants = MUTANTS.format(source="conform_target.py", each="50 trials")
        texts.append(ONE.format(kind=kind, target=target, tables=mutants))
        texts.append(texts[-1] + STUCK)
    if "examples" in {key.name for key in takes["target"]}:
        texts.append(OF_SUITE.format(kind=kind))
    return texts


def unread(kind: str, texts: list[str], folder: Path, toy: str = "") -> set[str]:
    """Run the campaigns; return the keys that ``kind`` accepts, and that none of them read.

    ``toy``: the source of the kind of another package.
    """
    (folder / "conform_target.py").write_text(TARGET)
    (folder / "test_lines.py").write_text(SUITE)
    left = {f"{table}.{key.name}" for table in TABLES for key in tables_for(kind).get(table, ())}
    for number, text in enumerate(texts):
        file, inside = folder / f"{number}.toml", folder / str(number)
        file.write_text(text)
        inside.mkdir()
        if toy:
            install(inside / "site", source=toy)
        left -= keys_read(file, inside)
    return left


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_reads_every_key_that_it_accepts(kind, tmp_path):
    assert unread(kind, campaigns(kind), tmp_path) == set()


@pytest.mark.skipif(not shutil.which("afl-clang-fast"), reason="needs AFL++")
def test_afl_reads_every_key_that_it_accepts(tmp_path):
    assert unread("afl", [OF_AFL, OF_AFL + STUCK], tmp_path) == set()


@pytest.mark.parametrize("accepts", [set(), {"comparisons"}], ids=["its keys", "one more"])
def test_a_key_that_a_kind_of_another_package_does_not_read_is_found(
    tmp_path, monkeypatch, accepts
):
    source = TOY.read_text()
    for key in accepts:
        source = source.replace(f', "{key}"', "")
    monkeypatch.syspath_prepend(install(tmp_path / "site", source=source))
    monkeypatch.delitem(sys.modules, "toy_engine", raising=False)
    found = unread("toy", campaigns("toy"), tmp_path, toy=source)
    monkeypatch.delitem(sys.modules, "toy_engine")
    assert found == {f"engine.{key}" for key in accepts}
