"""``fuzztui corpus minimise|merge|why`` after real campaigns of zest and mu2, and seeds."""

import json
import os
import re
import signal

import pytest
from homes import GENERATED, Home, write_seeds
from waiting import DEADLINE_S, wait_until

from fuzztui.cli.mutants import own_campaign, python_campaign
from fuzztui.cli.score import ask_score
from fuzztui.features.corpus.entries import directory_inputs
from fuzztui.features.corpus.matrix import CorpusMatrix
from fuzztui.features.corpus.measure import Measurer

pytestmark = pytest.mark.slow

HARNESS = """\
import os, signal
from pathlib import Path

def parse(data: bytes):
    if data[:1] == b"K":
        os.kill(os.getpid(), signal.SIGKILL)
    if data[:1] == b"H":
        while True:
            pass
    if data[:1] == b"F":
        return flickers(Path(__file__).with_name("flick"))
    if data[:1] == b"w":
        if data[1:2] == b"x":
            return 2
        return 3
    return len(data) * 2

def flickers(file):
    seen = file.read_text().split() if file.exists() else []
    if str(os.getpid()) not in seen:
        seen.append(str(os.getpid()))
        file.write_text(" ".join(seen))
    n = seen.index(str(os.getpid()))
    if n == 0:
        return 0
    if n == 1:
        return 1
    if n == 2:
        return 2
    if n == 3:
        return 3
    if n == 4:
        return 4
    if n == 5:
        return 5
    if n == 6:
        return 6
    if n == 7:
        return 7
    if n == 8:
        return 8
    return 9
"""
"""What ``F`` covers is another line in each process."""


def tree(path):
    """All files below a path with their content; not what a command may write again."""
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in sorted(path.rglob("*"))
        if file.is_file() and not file.is_symlink()
    }


def edges_of(run, folder, work):
    """The edges that a directory's inputs cover, by another measurement."""
    copies = work / "copies"
    copies.mkdir(parents=True)
    files = [entry.copy for entry in directory_inputs(folder, copies).entries]
    campaign = own_campaign(run / "campaign.toml")
    measurer = Measurer(campaign, run / "out/main", work, 1, lambda done, total: None)
    found = 0
    measured = measurer.measure(files, 1)
    for one in measured.inputs:
        found |= one.all
    return measured.edges(found)


def kills_of(run, folder):
    campaign = python_campaign(run / "campaign.toml")
    matrix = folder.parent / "matrix.json"
    result = ask_score(campaign, run / "out/main", [folder], jobs=1, within_s=0, matrix=matrix)
    return CorpusMatrix.of(result["matrix"]).killed


@pytest.fixture
def harness(home):
    """A run of the harness above by zest, two instances."""
    home.fuzzes(HARNESS, "zest", a=b"a", w=b"w", wx=b"wx", z=b"zz")
    text = home.file.read_text().replace('expected = ["ValueError"]', 'timeout = "300ms"')
    home.file.write_text(text + "instances = 2\n")
    home.headless("40 trials", code=None)
    return home


def test_a_run_of_zest(home):
    home.headless("3000 trials", "--set", "engine.instances=2")
    before = tree(home.run)
    out = home("corpus", "minimise", str(home.run), "-o", "small", "--jobs", "2")
    kept, of, edges = map(int, re.search(r"(\d+) of (\d+) entr\w+, all (\d+) edges", out).groups())
    assert tree(home.run) == before
    small = home.path / "small"
    queues = [*home.run.glob("out/*/queue/id*")]
    assert kept == len([*small.iterdir()]) < of == len(queues)
    both = home.path / "both"
    both.mkdir()
    for n, file in enumerate(queues):
        (both / str(n)).write_bytes(file.read_bytes())
    everything = edges_of(home.run, both, home.path / "m1")
    assert len(everything) == edges
    assert edges_of(home.run, small, home.path / "m2") == everything
    assert home("corpus", "minimise", str(home.run), "-o", "again") == out  # each time the same
    assert tree(home.path / "again") == tree(small)

    home("corpus", "minimise", str(home.run), "-o", "small", code=2)
    home("corpus", "minimise", str(home.run), "-o", str(home.run / "small"), code=2)
    home("corpus", "minimise", str(home.path / "nowhere"), "-o", "new", code=3)
    assert not (home.path / "new").exists() and not (home.run / "small").exists()
    (home.path / "empty").mkdir()
    home("corpus", "minimise", str(home.run), "-o", "empty", "--jobs", "1")
    assert tree(home.path / "empty") == tree(small)

    out = home("corpus", "why", str(home.run), "main/0")
    assert "tomllib/_parser.py:" in out
    said = (home("corpus", "why", str(home.run), f"main/{n}") for n in range(len(queues)))
    assert any(re.search(r"descendants +[1-9]", out) for out in said)
    home("corpus", "why", str(home.run), "99999", code=2)


def test_a_run_of_mu2(home):
    home.file.write_text(home.file.read_text().replace('"zest"', '"mu2"'))
    home.headless("1500 trials")
    out = home("corpus", "minimise", str(home.run), "-o", "small")
    kept, of, edges, kills = map(int, re.findall(r"\d+", out))
    assert kept < of
    names = {row["file"] for row in json.loads((home.run / "matrix.json").read_text())["rows"]}
    assert all(name.startswith(f"{home.run}/out/main/queue/") for name in names)
    small = home.path / "small"
    killed = kills_of(home.run, small)
    assert len(killed) == kills
    assert killed == kills_of(home.run, home.run / "out/main/queue")
    whole = edges_of(home.run, home.run / "out/main/queue", home.path / "m1")
    assert edges_of(home.run, small, home.path / "m2") == whole
    assert len(whole) == edges

    by_edges = home("corpus", "minimise", str(home.run), "-o", "edges", "--by", "edges")
    assert "kill" not in by_edges
    assert kills_of(home.run, home.path / "edges") <= killed
    # The directory with all edges gets what kills more, and nothing twice.
    home("corpus", "merge", "edges", str(home.run))
    assert kills_of(home.run, home.path / "edges") == killed
    filled = tree(home.path / "edges")
    out = home("corpus", "merge", "edges", str(home.run), "small")
    assert tree(home.path / "edges") == filled
    assert out.count("nothing new") == 2
    lost = home("corpus", "why", str(home.run), "0")
    assert re.search(r"only kills +\d+ mutant", lost)


def test_what_each_source_brought(harness):
    for name, data in (("one", b"w"), ("two", b"wx")):
        (harness.path / name).mkdir()
        (harness.path / name / "x").write_bytes(data)
    (harness.path / "one" / "same").write_bytes(b"w")
    home = harness
    home("corpus", "merge", "kept", "one", "two", code=2)  # which target?
    out = home("corpus", "merge", "kept", "one", "two", "--run", str(home.run)).splitlines()
    assert out[0].startswith("one: 1 of 2 inputs, ") and out[1].startswith("two: 1 of 1 input, ")
    assert sorted(tree(home.path / "kept").values()) == [b"w", b"wx"]
    # A run, and the kept corpus of ci.
    for part in ("inputs", "findings"):
        (home.path / "ci" / part).mkdir(parents=True)
    (home.path / "ci/inputs/mine").write_bytes(b"w")
    home("corpus", "merge", "ci", str(home.run), "two")
    assert {"inputs/mine"} < tree(home.path / "ci").keys()
    assert all(name.startswith("inputs/") for name in tree(home.path / "ci"))
    home("corpus", "merge", str(home.run), "one", code=2)
    home("corpus", "merge", str(home.file), "one", code=2)


def test_a_kept_corpus_that_was_committed_is_one_without_findings(harness):
    kept = harness.path / "committed"
    (kept / "inputs").mkdir(parents=True)  # git stores no empty directory
    (kept / "inputs" / "a").write_bytes(b"w")
    harness("corpus", "merge", "committed", str(harness.run))
    assert [path.name for path in kept.iterdir() if path.is_file()] == []
    assert len([*(kept / "inputs").iterdir()]) > 1


def test_entries_that_kill_hang_and_flicker(harness):
    queue = harness.run / "out/main/queue"
    hostile = "id:000904\n$(touch pwned)'\""
    for name, data in (
        ("id:000900", b"K"), ("id:000901", b"H"), ("id:000902", b"F1"), ("id:000903", b"F22"),
        (hostile, b"wxyz"),
    ):  # fmt: skip
        (queue / name).write_bytes(data)
    os.mkfifo(queue / "id:000905")
    (queue / "id:000906").symlink_to("/etc/passwd")
    (queue / "id:000907").mkdir()
    (harness.path / "flick").unlink(missing_ok=True)
    harness("corpus", "minimise", str(harness.run), "-o", "small", "--jobs", "1")
    kept = set(tree(harness.path / "small").values())
    assert not {b"K", b"H"} & kept
    assert {b"F1", b"F22"} <= kept  # neither covers the same line each time
    assert b"root:" not in b"".join(kept)
    assert "main/id:000900" in harness.stderr and "main/id:000901" in harness.stderr
    assert "in one run and not in another" in harness.stderr
    assert "fails now" in harness("corpus", "why", str(harness.run), "main/900")
    assert "wx" not in harness("corpus", "why", str(harness.run), str(queue / hostile))


def test_sigterm_leaves_no_copies_behind(harness):
    harness.env["TMPDIR"] = str(harness.path / "tmp")
    (harness.path / "tmp").mkdir()
    process = harness.popen("corpus", "minimise", str(harness.run), "-o", "small")
    wait_until(lambda: any((harness.path / "tmp").iterdir()))
    process.terminate()
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == -signal.SIGTERM
    assert [*(harness.path / "tmp").iterdir()] == []


def test_a_live_run_and_one_without_an_entry(home):
    home.detach("--set", "campaign.budget=10m")
    try:
        wait_until(lambda: len([*home.run.glob("out/main/queue/id*")]) > 3)
        out = home("corpus", "minimise", str(home.run), "-o", "small")
        assert "edges" in out and [*(home.path / "small").iterdir()]
        assert home.status()["state"] == "running"
        home("corpus", "why", str(home.run), "0")
    finally:
        home("ctl", str(home.run), "stop", code=None)
    wait_until(lambda: home.status()["state"] != "running")
    for file in home.run.glob("out/main/queue/*"):
        file.unlink()
    home("corpus", "minimise", str(home.run), "-o", "none", code=3)
    assert not (home.path / "none").exists()


def test_choices_of_other_constants_are_not_merged(home):
    (home.path / "gen.py").write_text("def make(r):\n    return r.text('abc', 0, 9)\n")
    (home.path / "app.py").write_text("def check(text):\n    return text == 'magic'\n")
    home.file.write_text(GENERATED.format(kind="zest") + "constants = true\n")
    home.headless("200 trials")
    other = home.path / "other"
    home.headless("50 trials", "--set", f"campaign.output={other}")
    home("corpus", "merge", "kept", str(home.run), str(other))
    for part in ("inputs", "findings"):
        (home.path / "ci" / part).mkdir(parents=True)
    home("corpus", "merge", "ci", str(home.run))
    constants = home.path / "ci/constants.json"
    assert constants.read_bytes() == (home.run / "constants.json").read_bytes()
    home("corpus", "merge", "ci", str(other))
    constants.write_text("{}")
    home("corpus", "merge", "ci", str(other), code=2)
    (other / "constants.json").write_text("{}")
    home("corpus", "merge", "kept", str(home.run), str(other), code=2)


def test_only_seeds_that_are_needed_are_used(harness):
    seeds = harness.path / "seeds"
    for n in range(20):
        (seeds / f"more{n}").write_bytes(b"z" * (n + 3))
    (seeds / "K").write_bytes(b"K")
    harness.file.write_text(harness.file.read_text() + "minimise_seeds = true\n")
    out = harness.path / "new"
    output = ("--set", f"campaign.output={out}")
    harness.headless("60 trials", *output, code=10)
    used = set(tree(out / "seeds").values())
    assert used == {b"a", b"w", b"wx", b"K"}
    harness("check", str(harness.file))
    logged = [json.loads(line) for line in harness("events", str(out), "--json").splitlines()]
    (message,) = [e for e in logged if e["k"] == "message" and "seeds" in e["text"]]
    assert "4 of 25" in message["text"]
    made = (out / "minimised-seeds.json").stat().st_mtime_ns
    harness.headless("90 trials", *output, code=10)
    assert (out / "minimised-seeds.json").stat().st_mtime_ns == made  # known from the first start
    assert set(tree(out / "seeds").values()) == used


def test_with_mu2_the_seeds_that_kill_are_needed_too(tmp_path):
    home = Home(tmp_path)
    (tmp_path / "lib.py").write_text("def long(text):\n    return len(text) > 4\n")
    (tmp_path / "harness.py").write_text(
        "import lib\ndef target(s: str):\n    return lib.long(s)\n"
    )
    write_seeds(tmp_path, "", "a", "ab", "abcd")
    home.file.write_text(
        '[campaign]\nbudget = "30 trials"\noutput = "run"\n'
        '[target]\nfunction = "harness.py:target"\n'
        'include = ["lib"]\n[engine]\nkind = "mu2"\nseeds = ["seeds"]\nminimise_seeds = true\n'
    )
    home(str(home.file), "--headless")
    used = set(tree(home.run / "seeds").values())
    assert b"abcd" in used  # only this one kills len(text) >= 4
    assert b"ab" not in used
    scored = json.loads(home("score", "run", "--corpus", "seeds", "--json"))["mutants"]
    score = home.status()["mutants"]
    assert score["killed"] == sum(m["state"] == "killed" for m in scored) > 0


def test_an_invalid_mutant_says_on_which_input_and_how_the_original_differs(tmp_path):
    home = Home(tmp_path)
    (tmp_path / "lib.py").write_text(
        "import os\nLIMIT = 2 + 1\nSEEN = os.environ.get('SEEN')\nos.environ['SEEN'] = 'yes'\n"
        "def cut(text):\n    return SEEN, len(text) > LIMIT\n"
    )
    (tmp_path / "harness.py").write_text("import lib\ndef target(s: str):\n    return lib.cut(s)\n")
    write_seeds(tmp_path, "ab")
    home.file.write_text(
        '[campaign]\nbudget = "30 trials"\noutput = "run"\n[target]\n'
        'function = "harness.py:target"\ninclude = ["lib"]\n'
        '[engine]\nkind = "mu2"\nseeds = ["seeds"]\n'
    )
    home(str(home.file), "--headless")
    rows = json.loads(home("score", "run", "--json"))["mutants"]
    (why,) = [m["detail"] for m in rows if m["state"] == "invalid"]
    assert "b'ab'" in why
    assert "(None, False)" in why
    assert "('yes', False)" in why
