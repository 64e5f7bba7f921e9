"""``fuzztui mutants export``: valid by the schema of Stryker's viewers, and true."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from run_logs import run_with

from fuzztui.cli import main
from fuzztui.kernel.wire import events as ev

SCHEMA = json.loads(
    (
        Path(__file__).parent / "mutation_report/mutation-testing-report-schema-3.8.4.json"
    ).read_text()
)
SOURCE = "def f(größe, n):\r\n    ä = größe + n; return (ä *\r\n        n)\r\n"
EVIL = "[/x]\x1b[31m\u202e</script>\ud800"


def item(key: str, *region: int, **more: Any) -> dict[str, Any]:
    names = ("line", "column", "end_line", "end_column")
    place = dict(zip(names, region, strict=False))
    return {"id": key, "operator": "math", "before": "a", "after": "b", **place, **more}


def events_about(path: Path) -> list[ev.Event]:
    """Mutants in all states, some with a place."""
    found = [
        item("killed", 2, 9, 2, 18, before="größe + n", after="größe - n"),
        item("hung", 2, 28, 3, 10, before="ä * n", after="ä / n"),
        item("alive", 2), item("accepted", 2), item("ran", 2), item("reached", 2),
        item("unreached", 2), item("static", 1, static=True), item("skipped", 2),
        item("equivalent", 2),
        item("invalid", 2, operator=EVIL, before=EVIL, after="x" * 119 + "…"),
        item("beyond", 900, 70, 901, 3),
    ]  # fmt: skip
    m = "main"
    return [
        ev.CampaignStarted("c", "mu2", "lib:f", 7, instances=[m], wall=1e9),
        ev.InstanceState(m, "running"),
        ev.EntrySaved(m, 3, "queue/id:000003,src:000001,time:1,execs:9,op:havoc"),
        ev.MutantsFound(m, "lib", "lib/__init__.py", str(path), found),
        ev.VerdictsChanged(mutants=[{"id": "accepted", "verdict": "accepted", "change": "a -> b"}]),
        ev.MutantState(m, "killed", "killed", "main/3", "value", 9, EVIL),
        ev.MutantState(m, "hung", "killed", "main/4", "timeout", 9),
        ev.MutantState(m, "alive", "alive"),
        ev.MutantState(m, "accepted", "alive"),
        ev.MutantState(m, "skipped", "skipped"),
        ev.MutantState(m, "equivalent", "equivalent", reason="same"),
        ev.MutantState(m, "invalid", "invalid", reason=EVIL),
        ev.MutantRuns(
            m, {"ran": [2, 2, 1], "reached": [5, 0, 0]}, {"reached": ["main/3", "reached"]}
        ),
        ev.MutationStats(m, unsettled=0),
        ev.CampaignEnded("finished"),
    ]


def run_of(tmp_path: Path, *events: ev.Event) -> Path:
    run = run_with(tmp_path / "c", *events)
    (run / "campaign.toml").touch()
    return run


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in a repository, which is the current directory."""
    (tmp_path / ".git").mkdir()
    path = tmp_path / "lib" / "__init__.py"
    path.parent.mkdir()
    path.write_bytes(SOURCE.encode())
    monkeypatch.chdir(tmp_path)
    return path


def exported(*argv: object) -> dict[str, Any]:
    file = Path("report.json")
    assert main(["mutants", "export", *map(str, argv), "-o", str(file)]) == 0
    report: dict[str, Any] = json.loads(file.read_text())
    jsonschema.Draft7Validator(SCHEMA).validate(report)
    return report


def mutants_of(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {m["id"]: m for file in report["files"].values() for m in file["mutants"]}


def test_the_status_and_place_of_each_mutant(tmp_path: Path, source: Path) -> None:
    report = exported(run_of(tmp_path, *events_about(source)))
    assert list(report["files"]) == ["lib/__init__.py"]
    file = report["files"]["lib/__init__.py"]
    assert file["language"] == "python"
    found = mutants_of(report)
    assert {id_: m["status"] for id_, m in found.items()} == {
        "killed": "Killed", "hung": "Timeout", "alive": "Survived", "accepted": "Survived",
        "ran": "Survived", "reached": "Survived", "unreached": "NoCoverage", "static": "Pending",
        "skipped": "Ignored", "equivalent": "Ignored", "invalid": "CompileError",
        "beyond": "NoCoverage",
    }  # fmt: skip
    lines = file["source"].split("\n")
    start, end = found["killed"]["location"]["start"], found["killed"]["location"]["end"]
    assert start["line"] == end["line"]
    assert lines[start["line"] - 1][start["column"] - 1 : end["column"] - 1] == "größe + n"
    assert found["hung"]["location"]["end"] == {"line": 3, "column": 10}
    # Without columns: the line without its indentation.
    assert found["alive"]["location"]["start"] == {"line": 2, "column": 5}
    assert found["alive"]["location"]["end"] == {"line": 2, "column": len(lines[1]) + 1}
    assert found["beyond"]["location"]["start"]["line"] <= len(lines)
    assert found["killed"]["replacement"] == "größe - n"
    assert "replacement" not in found["invalid"]  # only its start is known
    for text in (*found["invalid"].values(), found["killed"]["statusReason"]):
        assert "\x1b" not in str(text)
        assert "\u202e" not in str(text)


def test_tests_are_the_entries_that_the_log_names(tmp_path: Path, source: Path) -> None:
    report = exported(run_of(tmp_path, *events_about(source)))
    found = mutants_of(report)
    assert found["killed"]["killedBy"] == ["main/3"]
    assert found["reached"]["coveredBy"] == ["main/3"]
    assert "killedBy" not in found["alive"]
    tests = report["testFiles"]["out/main/queue"]["tests"]
    assert {t["id"]: t["name"] for t in tests} == {
        "main/3": "id:000003,src:000001,time:1,execs:9,op:havoc",
        "main/4": "id:4",
    }


def matrix(run: Path, **rows: dict[str, Any]) -> None:
    """Write a kill matrix as an engine does."""
    ids = ["killed", "alive", "skipped", "gone"]
    (run / "matrix.json").write_text(
        json.dumps({
            "version": 1, "digest": "", "mutants": ids, "cells": [], "first_only": [],
            "rows": [
                {"file": str(run / "out/main/queue" / name), "sha256": name, "size": 1,
                 "outcome": "success", "edges": [], "infected": "0", **row}
                for name, row in rows.items()
            ],
        })
    )  # fmt: skip


def test_the_kill_matrix_adds_all_that_kill_and_reach(tmp_path: Path, source: Path) -> None:
    run = run_of(tmp_path, *events_about(source))
    rows = {
        "id:000003,a": {"kills": {"value": [0, 3]}, "reached": "1"},
        "id:000005,b": {"kills": {"value": [0, 2], "timeout": [1]}, "reached": "7"},
        "plain": {"kills": {}, "reached": "2"},
    }
    matrix(run, **rows)
    found = mutants_of(exported(run))
    assert found["killed"]["killedBy"] == ["main/3", "main/5"]
    # The exact verdict of the matrix is newer than the log's; a user's verdict stays.
    assert found["alive"]["status"] == "Timeout"
    assert found["alive"]["coveredBy"] == sorted(["main/5", str(run / "out/main/queue/plain")])
    assert found["skipped"]["status"] == "Ignored"
    assert "gone" not in found


def test_a_damaged_matrix_is_named_and_not_used(
    tmp_path: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(tmp_path, *events_about(source))
    for text in ("{", "[]", '{"mutants": ["a"], "cells": [], "first_only": [], "rows": [{}]}'):
        (run / "matrix.json").write_text(text)
        assert mutants_of(exported(run))["killed"]["killedBy"] == ["main/3"]
        assert str(run / "matrix.json") in capsys.readouterr().err


def test_a_part_of_the_mutants(tmp_path: Path, source: Path) -> None:
    run = run_of(tmp_path, *events_about(source))
    assert set(mutants_of(exported(run, "state=alive"))) == {
        "alive", "accepted", "ran", "reached",  # these two survive all that could kill them
    }  # fmt: skip


def test_files_of_the_same_name_stay_apart(tmp_path: Path, source: Path) -> None:
    outside = [tmp_path / tree / "site-packages/m.py" for tree in ("a", "b")]
    events: list[ev.Event] = [ev.CampaignStarted("c", "mu2", "lib:f", 7, instances=["main"])]
    for n, path in enumerate(outside):
        path.parent.mkdir(parents=True)
        path.write_text(f"x = {n}\n")
        events.append(ev.MutantsFound("main", f"m{n}", "m.py", str(path), [item(f"m{n}", 1)]))
    files = exported(run_of(tmp_path, *events))["files"]
    assert {name: file["source"] for name, file in files.items()} == {
        "m.py": "x = 0\n", "b/site-packages/m.py": "x = 1\n",
    }  # fmt: skip


def test_an_edited_file_is_named(
    tmp_path: Path, source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(tmp_path, *events_about(source))
    (run / "out/main").mkdir(parents=True)
    sha = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    module = {"name": "lib", "file": str(source), "sha": sha}
    (run / "out/main/edges.json").write_text(json.dumps({"modules": [module]}))
    exported(run)
    assert capsys.readouterr().err == ""
    source.write_text("x = 1\n")
    assert set(mutants_of(exported(run))) >= {"killed", "beyond"}
    assert "lib/__init__.py" in capsys.readouterr().err


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path, source: Path, cli) -> None:
    run = run_of(tmp_path, *events_about(source))
    assert "no/such" in cli("mutants", "export", run, "-o", tmp_path / "no/such", code=1).err
    source.unlink()
    assert str(source) in cli("mutants", "export", run, code=1).err
    assert main(["mutants", "list", str(run), "-o", "x"]) == 2


def test_mutants_of_c_are_their_lines(tmp_path: Path, source: Path) -> None:
    file = tmp_path / "p.c"
    file.write_text("int f(int a) {\n\treturn a + 1;\n}\n")
    found = [item(f"p.c#{n}", 2, before="\treturn a + 1;", after=f"\treturn a - {n};", place=n)
             for n in range(3)]  # fmt: skip
    events = [
        ev.CampaignStarted("c", "afl", "p", 7, instances=["main"], wall=1e9),
        ev.PhaseStarted("mutants"),
        ev.InstanceState("main", "waiting"),
        ev.MutantsFound("", file="p.c", path=str(file), mutants=found),
        ev.MutantState("", "p.c#0", "killed", "m1/3", "value"),
        ev.MutantState("", "p.c#1", "alive"),
    ]
    report = exported(run_of(tmp_path, *events))
    assert report["files"]["p.c"]["language"] == "c"
    by_id = mutants_of(report)
    assert [by_id[f"p.c#{n}"]["status"] for n in range(3)] == ["Killed", "Survived", "Pending"]
    assert by_id["p.c#1"]["location"] == {
        "start": {"line": 2, "column": 2},
        "end": {"line": 2, "column": 15},
    }
    assert by_id["p.c#1"]["replacement"] == "return a - 1;"


def test_a_log_brings_no_other_file_into_a_report(tmp_path: Path, cli) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("secret\n")
    event = ev.MutantsFound("main", "m", "m.py", str(secret), [item("m", 1)])
    run = run_of(tmp_path, ev.CampaignStarted("c", "mu2", "lib:f", 7, instances=["main"]), event)
    out, err = cli("mutants", "export", run, code=1)
    assert out == ""
    assert "id_rsa" in err


def test_excluded_mutants_are_listed_and_exported_with_the_reason(
    tmp_path: Path, source: Path, cli
) -> None:
    about = events_about(source)
    excluded = [item("left out", 2, excluded=EVIL), item("guard", 1, excluded="a guard")]
    run = run_of(tmp_path, *about[:4], ev.MutantsFound("main", "", "", str(source), excluded))
    text = cli("mutants", "list", run).out
    assert "2 excluded by pragma" in text
    assert any(line.split()[0] == "excluded" and "a guard" in line for line in text.splitlines())
    assert "\x1b" not in text
    rows = {row["id"]: row for row in cli("mutants", "list", run, "--json").json["mutants"]}
    assert (rows["guard"]["state"], rows["guard"]["reason"]) == ("excluded", "a guard")
    assert "0 of 12 mutants; 2 excluded" in cli("mutants", "list", run, "state=excluded").out
    found = mutants_of(exported(run))
    assert found["guard"]["status"] == "Ignored"
    assert found["guard"]["statusReason"] == "excluded by pragma: a guard"
