"""``fuzztui score RUN --matrix`` and ``mutants export`` after a real campaign."""

import csv
import json
from pathlib import Path

import jsonschema
import pytest

from fuzztui.kernel.wire.codec import encode_event
from fuzztui.kernel.wire.events import MutantState

pytestmark = pytest.mark.slow

PROGRAM = """\
import counted

LIMIT = 10 + 5


def size(data):
    return len(data) > 2


def parse(data: bytes):
    counted.note()
    if data[:1] == b"n":
        raise ValueError(data)
    n = 0
    while n < len(data):
        n += 1
    return n > LIMIT, size(data)
"""
COUNTED = """\
import os
from pathlib import Path
_file = os.open(Path(__file__).with_name("executions"), os.O_CREAT | os.O_APPEND | os.O_WRONLY)


def note():
    os.write(_file, b".")
"""
CHECKS = 4
"""Executions of the original on each input by which ``score`` sees what an input changes for good,
before it runs any mutant."""
SCHEMA = Path(__file__).parent.parent / "cli/mutation_report"


@pytest.fixture
def run(home):
    """A finished run of a program that counts its executions."""
    (home.path / "counted.py").write_text(COUNTED)
    home.fuzzes(PROGRAM, "mu2", a=b"abc", b=b"de", c=b"nil", d=b"0123456789")
    home.headless("300 trials")
    return home


def executions(home, *argv):
    """What the command prints, and how often the program was executed meanwhile."""
    file = home.path / "executions"
    file.write_bytes(b"")
    out = home(*argv)
    return out, file.stat().st_size


def score(home, *options):
    out, ran = executions(home, "score", str(home.run), "--matrix", "--json", *options)
    return json.loads(out), ran


def verdicts(result):
    keys = ("id", "state", "killer", "oracle", "reached")
    return [[mutant[key] for key in keys] for mutant in result["mutants"]]


def entries(file):
    return {Path(row["file"]).name: row for row in json.loads(file.read_text())["entries"]}


def test_the_matrix_is_kept_by_content(run):
    file = run.path / "matrix.json"
    first, ran = score(run, "-o", str(file))
    queue = sorted(p for p in (run.run / "out/main/queue").iterdir() if p.name.startswith("id:"))
    whole = json.loads(file.read_text())
    assert whole["exact"] is first["exact"] is True
    rows = entries(file)
    assert set(rows) == {p.name for p in queue}
    killed = {m["id"] for m in first["mutants"] if m["state"] == "killed"}
    assert {m for row in rows.values() for m in row["kills"]} == killed
    assert {how for row in rows.values() for how in row["kills"].values()} >= {"value", "timeout"}
    assert all(row["size"] == (queue[0].parent / name).stat().st_size for name, row in rows.items())

    # Again: no mutant runs.
    again, ran_again = score(run, "-o", str(file))
    assert entries(file) == rows
    assert verdicts(again) == verdicts(first)
    assert ran_again <= CHECKS * len(queue) < ran

    # An entry more: only that one is run. The same content under another name is known.
    added = run.path / "added"
    added.mkdir()
    for path in queue:
        (added / path.name.replace("id:", "other-")).write_bytes(path.read_bytes())
    _, renamed = score(run, "--corpus", str(added))
    assert renamed <= CHECKS * len(queue)
    (added / "new").write_bytes(b"n" * 16)
    more, ran_new = score(run, "--corpus", str(added), "-o", str(file))
    assert renamed + CHECKS < ran_new < ran
    assert entries(file)["new"]["outcome"] == "invalid"
    assert more["killed"] >= first["killed"]

    # Another program: all of it runs again.
    (run.path / "prog.py").write_text(PROGRAM.replace("> 2", "> 1"))
    _, edited = score(run)
    assert edited > ran_new

    out, _ = executions(run, "score", str(run.run), "--matrix", "-o", str(run.path / "m.csv"))
    assert "matrix" in out
    with (run.path / "m.csv").open(newline="") as lines:
        head, *body = csv.reader(lines)
    assert head == ["file", "mutant", "oracle"]
    assert {oracle for _, _, oracle in body} <= {"value", "exception", "timeout", "died"}


def test_a_verdict_counts_more_than_a_kill_of_an_earlier_score(run):
    first, _ = score(run)
    id_ = next(m["id"] for m in first["mutants"] if m["state"] == "killed")
    with (run.run / "out/main/events.jsonl").open("a") as events:
        events.write(encode_event(MutantState("main", id_, "equivalent")) + "\n")
    again, _ = score(run)
    assert {m["id"]: m["state"] for m in again["mutants"]}[id_] == "equivalent"
    assert (again["killed"], again["equivalent"]) == (first["killed"] - 1, 1)


def test_export_uses_what_score_has_settled(run):
    """In executions: an export after a score saves those that the score had."""
    export = ("export", str(run.run), "--pytest", str(run.path / "test_prog.py"))
    out, scored = executions(run, "score", str(run.run), "--json")
    killed = sum(m["state"] == "killed" for m in json.loads(out)["mutants"])
    assert "matrix" not in json.loads(out)
    kept = (run.run / "kills.json").read_bytes()
    out, after = executions(run, *export)
    assert f"{killed:,} of {killed:,} confirmed" in out
    out, again = executions(run, *export)
    assert f"{killed:,} of {killed:,} confirmed" in out
    (run.run / "kills.json").unlink()
    out, fresh = executions(run, *export)
    assert f"{killed:,} of {killed:,} confirmed" in out
    queue = sum(p.name.startswith("id:") for p in (run.run / "out/main/queue").iterdir())
    saved = (scored - CHECKS * queue) // 2
    assert saved > queue
    assert again <= after <= fresh - saved

    # Of another program nothing is used.
    (run.run / "kills.json").write_bytes(kept)
    (run.path / "prog.py").write_text(PROGRAM.replace("> 2", "> 1"))
    assert executions(run, *export)[1] > fresh - saved


def test_the_report_for_viewers_has_all_killers(run):
    report = run.path / "report.json"
    score(run)
    run("mutants", "export", str(run.run), "-o", str(report))
    data = json.loads(report.read_text())
    (schema,) = SCHEMA.glob("*.json")
    jsonschema.Draft7Validator(json.loads(schema.read_text())).validate(data)
    (file,) = data["files"].values()
    lines = file["source"].split("\n")
    for mutant in file["mutants"]:
        start, end = mutant["location"]["start"], mutant["location"]["end"]
        assert start["line"] == end["line"]
        text = lines[start["line"] - 1][start["column"] - 1 : end["column"] - 1]
        assert mutant["description"].startswith(f"{text} -> ")
    listed = json.loads(run("mutants", "list", str(run.run), "--json"))["mutants"]
    status = {m["id"]: m["status"] for m in file["mutants"]}
    killed = {m["id"] for m in listed if m["state"] == "killed"}
    assert {id_ for id_, word in status.items() if word in ("Killed", "Timeout")} >= killed
    tests = {t["id"] for of in data["testFiles"].values() for t in of["tests"]}
    assert all(set(m.get("coveredBy", ())) <= tests for m in file["mutants"])
    assert any(len(m.get("killedBy", ())) > 1 for m in file["mutants"])
