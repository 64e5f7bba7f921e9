"""The JSON Schema of campaign files: current, and of the same opinion as ``fuzztui check``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tomli

from fuzztui.cli.samples import SAMPLES
from fuzztui.run.campaign.load import load
from fuzztui.run.campaign.model import CampaignError
from fuzztui.run.campaign.schema import ENGINES
from fuzztui.tools.schema.json_schema import document

FILES = sorted(SAMPLES.glob("*.toml"))


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    jsonschema.Draft7Validator.check_schema(document())
    return jsonschema.Draft7Validator(document())


def errors(validator: jsonschema.Draft7Validator, data: dict[str, Any]) -> list[str]:
    return [e.json_path for e in validator.iter_errors(data)]


def test_the_shipped_file_is_current() -> None:
    """``fuzztui schema > sample_campaigns/campaign.schema.json`` writes the file again."""
    assert json.loads((SAMPLES / "campaign.schema.json").read_text()) == document()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_samples_name_the_schema_and_are_valid(
    validator: jsonschema.Draft7Validator, file: Path
) -> None:
    head = file.read_text().partition("\n\n")[0].splitlines()
    assert "#:schema campaign.schema.json" in head
    assert errors(validator, tomli.loads(file.read_text())) == []


@pytest.mark.parametrize("kind", ENGINES)
def test_a_minimal_file_of_each_engine(validator: jsonschema.Draft7Validator, kind: str) -> None:
    target = {"command": ["/bin/cat"]} if kind == "afl" else {"function": "json:loads"}
    data = {"target": target, "engine": {"kind": kind}}
    assert errors(validator, data) == []
    other = {"function": "json:loads"} if kind == "afl" else {"command": ["/bin/cat"]}
    assert errors(validator, data | {"target": other})


WRONG = """
campaign.budgt = "5m"
campaign.budget = "5 parsecs"
campaign.seed = -1
campaign.seed = true
stop.idle = "soon"
notify.on = ["crashes"]
target.memory = "2 GoB"
target.input = "txt"
target.env = { A = 1 }
engine.instances = 0
engine.operators = ["maths"]
engine.targeted = 0.5
mutants.sources = ["a.py"]
text.splice = 0.5
oracle.run = "x"
tagret.function = "a:b"
"""


@pytest.mark.parametrize("line", WRONG.split("\n")[1:-1])
def test_mistakes_that_check_reports(
    validator: jsonschema.Draft7Validator, tmp_path: Path, line: str
) -> None:
    table, _, rest = line.partition(".")
    tables = {"target": ['function = "json:loads"'], "engine": ['kind = "mu2"']}
    tables.setdefault(table, []).append(rest)
    if table == "notify":
        tables[table].append('command = "sh"')
    text = "\n".join("\n".join([f"[{name}]", *rows]) for name, rows in tables.items())
    file = tmp_path / "c.toml"
    file.write_text(text)
    assert errors(validator, tomli.loads(text))
    with pytest.raises(CampaignError):
        load(file, cwd=tmp_path)


RIGHT = """
campaign.budget = 50000
campaign.budget = "1h30m"
campaign.budget = "50_000 trials"
stop.idle = 30
stop.idle = "1.5 h"
target.memory = 0
target.memory = "1.5GiB"
target.expected = "ValueError"
engine.exact_budget = 0
engine.exact_budget = "0s"
engine.operators = "math"
engine.max_size = "1 MiB"
engine.mutate = ["json.decoder"]
"""


@pytest.mark.parametrize("line", RIGHT.split("\n")[1:-1])
def test_forms_that_check_accepts(
    validator: jsonschema.Draft7Validator, tmp_path: Path, line: str
) -> None:
    table, _, rest = line.partition(".")
    tables = {"target": ['function = "json:loads"'], "engine": ['kind = "mu2"']}
    tables.setdefault(table, []).append(rest)
    text = "\n".join("\n".join([f"[{name}]", *rows]) for name, rows in tables.items())
    file = tmp_path / "c.toml"
    file.write_text(text)
    load(file, cwd=tmp_path)
    assert errors(validator, tomli.loads(text)) == []


def test_an_engine_of_someone_else_may_have_other_keys(
    validator: jsonschema.Draft7Validator,
) -> None:
    data = {"target": {"place": "x"}, "engine": {"kind": "mine:engine", "speed": 3}}
    assert errors(validator, data) == []
    assert errors(validator, data | {"campaign": {"budgt": 1}})
