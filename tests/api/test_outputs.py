"""JSON of commands: the table in docs/interfaces.md, the schemas, and arrays as until 0.1.

``outputs_as_in_their_schemas`` in tests/conftest.py compares what commands print in all tests.
"""

import json
import re
from pathlib import Path

import jsonschema
import pytest
from output_schemas import check
from run_logs import run_with

from fuzztui.cli import main
from fuzztui.cli.json_output import ARRAYS
from fuzztui.cli.output import DONE, USAGE
from fuzztui.cli.parser import _COMMANDS, _WORDS, parse
from fuzztui.kernel.base.versions import VERSIONS, versioned
from fuzztui.kernel.wire.events import CampaignStarted
from fuzztui.tools.schema.outputs import output_schema

PAGE = (Path(__file__).parents[2] / "docs/interfaces.md").read_text()
ROWS = re.findall(r"^\| (.+) \| `([\w-]+)` \|$", PAGE.partition("## JSON")[2], re.MULTILINE)


def test_the_page_names_each_schema_once():
    assert sorted(name for _, name in ROWS) == sorted(VERSIONS)


def test_the_page_names_each_command_that_prints_json(capsys):
    named = " ".join(text for text, _ in ROWS)
    every = [*_COMMANDS, *(f"{name} {word}" for name, words in _WORDS.items() for word in words)]
    for command in every:
        with pytest.raises(SystemExit):
            parse([*command.split(), "--help"])
        help = capsys.readouterr().out
        if (
            "\n  --json" in help
            and "--headless" not in help
            and command not in ("schema", "mutants")
        ):
            assert re.search(rf"`fuzztui {command}\b[^`]*--(json|matrix)", named), command


@pytest.mark.parametrize("name", VERSIONS)
def test_a_schema_is_printed_and_later_keys_are_valid(capsys, name):
    assert main(["schema", "--json", name]) == DONE
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft7Validator.check_schema(schema)
    assert schema == output_schema(name)
    assert schema["required"][0] == "v"
    assert "additionalProperties" not in schema


def test_an_unknown_schema(capsys):
    with pytest.raises(SystemExit) as end:
        main(["schema", "--json", "statsu"])
    assert end.value.code == USAGE
    assert "status" in capsys.readouterr().err


def test_a_key_without_a_row_is_found():
    whole = {"ready": True, "findings": []}
    check("doctor", {"v": 1, **whole})
    for wrong in (whole, {"v": 2, **whole}, {"v": 1, **whole, "more": 1}, {"v": 1, "ready": 1}):
        with pytest.raises(AssertionError):
            check("doctor", wrong)


def test_the_version_is_the_first_key():
    assert next(iter(versioned("sync", {"name": "x"}))) == "v"


def test_arrays_as_until_0_1(tmp_path, monkeypatch, capsys):
    run = run_with(tmp_path / "run", CampaignStarted("c", "zest", "t", instances=["main"]))
    assert main(["mutators", str(run), "--json"]) == DONE
    rows = json.loads(capsys.readouterr().out)
    assert rows == {"v": 1, "mutators": [], "problems": []}
    monkeypatch.setenv(ARRAYS, "1")
    assert main(["mutators", str(run), "--json"]) == DONE
    out, err = capsys.readouterr()
    assert json.loads(out) == []
    assert "0.3.0" in err
