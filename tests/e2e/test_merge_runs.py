"""Shards of real campaigns, and what ``fuzztui merge`` makes of them."""

import json

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """\
def size(data):
    return len(data) > 2


def parse(data: bytes):
    if data[:1] == b"n":
        raise ValueError(data)
    if data[:2] == b"ke":
        raise KeyError("found")
    n = 0
    while n < len(data) and n < 9:
        n += 1 if data[n] < 128 else 2
    return n, size(data), n * 3 - 1, [-x for x in data[:4]], n % 4 == 1 and n > 2
"""


@pytest.fixture
def place(home):
    home.fuzzes(PROGRAM, "zest", a=b"abc", c=b"nil", d=b"0123456789", k=b"key")
    home.file.write_text(home.file.read_text().replace('output = "run"', ""))
    return home


def states(rows):
    return {row["id"]: row["state"] for row in rows}


def test_shards_of_mu2_together_are_the_campaign(place):
    place.file.write_text(place.file.read_text().replace('"zest"', '"mu2"'))
    budget = ("--headless", "--set", "campaign.budget=400 trials")
    for k in (1, 2):
        place(str(place.file), "--shard", f"{k}/2", *budget, code=None)
    runs = [f"runs/e2e-{k}-of-2" for k in (1, 2)]
    parts = [json.loads(place("status", run, "--json"))["mutants"] for run in runs]
    assert [p["shard"]["number"] for p in parts] == [1, 2]
    assert sum(p["total"] for p in parts) == parts[0]["shard"]["mutants"] > 20
    assert all(p["total"] for p in parts)
    # One shard alone is told to be one; both are a whole.
    place("merge", runs[0], "-o", "half")
    assert "2 of 2" in place.stderr
    place("merge", *runs, "-o", "whole")
    assert place.stderr == ""
    whole = json.loads(place("status", "whole", "--json"))
    assert whole["mutants"]["total"] == parts[0]["shard"]["mutants"]
    assert whole["mutants"]["killed"] == sum(p["killed"] for p in parts)
    assert whole["mutants"]["shard"] is None
    assert whole["execs"] == 800
    (group,) = whole["findings"]
    assert group["files"] == 2
    finding = next((place.path / "whole/out").glob("*/crashes/id*"))
    place("repro", "whole", str(finding), code=10)
    place("report", "whole", "-o", "whole.html")
    place("replay", "whole", "--json")
    # Its mutants are those that a score of all of them has.
    scored = json.loads(place("score", "whole", "--json"))
    assert (
        states(scored["mutants"]).keys()
        == states(json.loads(place("mutants", "list", "whole", "--json"))["mutants"]).keys()
    )
    assert scored["killed"] >= whole["mutants"]["killed"]


def test_scores_of_shards_make_the_score(place):
    place(str(place.file), "--headless", "--set", "campaign.budget=300 trials", code=None)
    run = "runs/e2e"
    whole = json.loads(place("score", run, "--json", "--matrix", "-o", "whole-matrix.json"))
    for k in (1, 2, 3):
        name = f"{k}.json"
        matrix = ("--matrix", "-o", f"matrix-{name}")
        (place.path / name).write_text(place("score", run, "--shard", f"{k}/3", "--json", *matrix))
    place("merge", "1.json", "2.json", "3.json", "-o", "merged.json")
    merged = json.loads((place.path / "merged.json").read_text())
    assert states(merged["mutants"]) == states(whole["mutants"])
    keys = ("total", "killed", "score", "exact", "inputs", "static", "program", "shard")
    assert {k: merged[k] for k in keys} == {k: whole[k] for k in keys}
    place("merge", *(f"matrix-{k}.json" for k in (1, 2, 3)), "-o", "merged-matrix.json")

    def kills(file):
        entries = json.loads((place.path / file).read_text())["entries"]
        return {e["sha256"]: e["kills"] for e in entries}

    assert kills("merged-matrix.json") == kills("whole-matrix.json")
    # A whole score after those of shards does not take their matrices for its own.
    again = json.loads(place("score", run, "--json", "--matrix"))
    assert states(again["mutants"]) == states(whole["mutants"])
    place("merge", "1.json", "3.json", "-o", "some.json")
    assert "2 of 3" in place.stderr
    assert json.loads((place.path / "some.json").read_text())["exact"] is False


def test_shards_of_fuzz_first_together_are_its_mutants(place):
    pytest.importorskip("numpy")
    more = '[mutants]\nsources = ["prog.py"]\nper_mutant = "60 trials"\n'
    place.file.write_text(place.file.read_text() + more)
    budget = ("--headless", "--set", "campaign.budget=240 trials")
    for k in (1, 2):
        place(str(place.file), "--shard", f"{k}/2", *budget, code=None, timeout=300)
    runs = [f"runs/e2e-{k}-of-2" for k in (1, 2)]
    parts = [json.loads(place("mutants", "list", run, "--json"))["mutants"] for run in runs]
    assert all(parts)
    assert not states(parts[0]).keys() & states(parts[1]).keys()
    place("merge", *runs, "-o", "whole")
    assert place.stderr == ""
    whole = json.loads(place("mutants", "list", "whole", "--json"))["mutants"]
    assert states(whole) == {**states(parts[0]), **states(parts[1])}
    shard = json.loads(place("status", runs[0], "--json"))["mutants"]["shard"]
    assert len(whole) <= shard["mutants"]  # those that do not compile are not listed
    matrix = place("mutants", "matrix", "whole")
    assert matrix.count("\n") >= max(place("mutants", "matrix", run).count("\n") for run in runs)
