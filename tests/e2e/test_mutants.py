"""Mutants from the command line: before a campaign, while it runs, afterwards."""

import json
import signal
import subprocess

import pytest
from homes import FUZZTUI
from waiting import DEADLINE_S, wait_until

KEYS = {"id", "file", "line", "operator", "state"}
STATES = {"pending", "alive", "killed", "skipped", "equivalent", "invalid"}

PROGRAM = """\
LIMIT = 3 + 4


def size(text):
    total = 0
    for ch in text:
        if ch > "f":
            total += 1
    return total


def clamp(n):
    if n > 3:
        n = 3  # "n >= 3" would be the same
    return n


def parse(data: bytes):
    text = data.decode("latin-1")
    n = size(text)
    if n > LIMIT:
        raise ValueError(n)
    return [n, len(text) - n, clamp(n)]
"""


@pytest.fixture
def mu2(home):
    """A campaign over a small program of its own."""
    home.fuzzes(PROGRAM, "mu2")
    return home


def mutants(home, what, *args):
    return json.loads(home("mutants", "list", str(what), *args, "--json"))["mutants"]


@pytest.mark.slow
def test_the_mutants_of_a_sample_before_a_run(home):
    rows = mutants(home, "tomllib-mu2.toml")
    assert len(rows) > 200
    assert all(row.keys() >= KEYS and row["state"] == "pending" for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)
    assert {row["operator"] for row in rows} >= {"boundary", "math", "negate", "returns"}
    assert all(row["file"].startswith("tomllib/") and row["line"] > 0 for row in rows)
    assert rows == mutants(home, "tomllib-mu2.toml")
    some = mutants(home, "tomllib-mu2.toml", "operator=math", "operator=negatives")
    assert {row["operator"] for row in some} == {"math", "negatives"}


@pytest.mark.slow
def test_the_mutants_of_a_program(mu2):
    text = mu2("mutants", "list", str(mu2.file))
    assert text.splitlines()[0] == "prog.py"
    assert "prog:size:boundary:0:" in text
    assert "mutants: " in text.splitlines()[-1]
    key = next(r["id"] for r in mutants(mu2, mu2.file) if r["operator"] == "increments")
    text = mu2("mutants", "show", str(mu2.file), key)
    assert "prog.py:8 in size" in text
    assert "-            total += 1\n+            total -= 1" in text
    mu2("mutants", "show", str(mu2.file), "prog:sise:boundary:0:>=", code=2)
    assert "similar IDs are prog:size:boundary:0:>=" in mu2.stderr
    mu2("mutants", "list", str(mu2.file), "operator=nothing", code=2)
    assert "operators: " in mu2.stderr
    mu2("mutants", "list", str(mu2.file), "colour=red", code=2)
    mu2("mutants", "list", str(mu2.path / "no.toml"), code=3)
    mu2("mutants", "list", str(mu2.file), "--set", "engine.operators=mth", code=2)
    assert 'did you mean "math"' in mu2.stderr


def test_a_target_that_does_not_load_says_why(mu2):
    (mu2.path / "prog.py").write_text("def parse(:\n")
    mu2("mutants", "list", str(mu2.file), code=1)
    assert "prog" in mu2.stderr
    assert "e2e.toml" in mu2.stderr


@pytest.mark.slow
def test_a_campaign_steered_from_a_script(mu2):
    mu2.detach()
    run = str(mu2.run)
    wait_until(lambda: (mu2.status()["mutants"] or {}).get("killed", 0) >= 5)
    said = mu2("ctl", run, "skip-mutants", "function=clamp")
    assert said.startswith("applied by main at trial ")
    assert "skipped" in said
    assert "function=clamp selects" in mu2.stderr
    # What is killed stays killed: that is a fact, not an opinion.
    done = {"skipped", "killed"}
    wait_until(lambda: {r["state"] for r in mutants(mu2, run, "function=clamp")} <= done)
    key = "prog:clamp:boundary:0:>="
    mu2("ctl", run, "mark-equivalent", key, "--because", "nobody [/looks]")
    rows = wait_until(lambda: [r for r in mutants(mu2, run, key) if r["state"] == "equivalent"])
    (row,) = rows
    assert "nobody [/looks]" in row["reason"]
    mu2("ctl", run, "requeue-mutants", "operator=math")
    wait_until(lambda: "killed" in {r["state"] for r in mutants(mu2, run, "operator=math")})
    assert mu2("ctl", run, "move-mutants", "function=clamp", "--to", "last").startswith("applied")
    assert mu2("ctl", run, "exact-pass").startswith("applied")
    mu2("ctl", run, "skip-mutants", "operator=nothing", code=2)
    mu2("ctl", run, "skip-mutants", "prog:nobody", code=2)
    assert "no mutant matches" in mu2.stderr
    # What a user said is kept over a restart.
    mu2.stop()
    mu2.detach()
    wait_until(lambda: mu2.status()["state"] == "running")
    execs = mu2.status()["execs"]
    wait_until(lambda: mu2.status()["execs"] > execs)
    assert mutants(mu2, run, key)[0]["state"] == "equivalent"


@pytest.mark.slow
def test_a_run_to_its_budget_and_its_exact_score(mu2):
    mu2.detach()
    wait_until(lambda: (mu2.status()["mutants"] or {}).get("killed", 0) >= 5)
    mu2.stop()
    # In trials: what is spent on the exact pass is a share of them, on any machine the same.
    budget = f"campaign.budget={mu2.status()['execs'] + 500} trials"
    out = mu2(str(mu2.file), "--headless", "--json", "--set", budget)
    told = json.loads(out.splitlines()[-1])["mutants"]
    assert (told["total"] > 10, told["killed"] >= 5) == (True, True)
    assert told["pairs"]["audit_kills"] == 0
    rows = mutants(mu2, mu2.run)
    assert {row["state"] for row in rows} <= STATES
    assert sum(row["state"] == "killed" for row in rows) == told["killed"]
    assert 0 < told["score"] <= told["adjusted_score"] <= 1
    assert f"{told['killed']} killed" in mu2("status", str(mu2.run))

    result = json.loads(mu2("score", str(mu2.run), "--json"))
    assert {r["id"] for r in result["mutants"]} == {r["id"] for r in rows}
    killed = {r["id"] for r in result["mutants"] if r["state"] == "killed"}
    assert killed == {r["id"] for r in rows if r["state"] == "killed"}, "the exact pass was exact"
    assert result["score"] == pytest.approx(told["score"])
    text = mu2("score", str(mu2.run), "--survivors")
    assert "increments" in text
    assert "prog.py" in text


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zest", "text"])
def test_the_score_of_any_corpus_and_of_another_engines_run(home, kind):
    zest = home.file.read_text()
    assert 'kind = "zest"' in zest
    oracle = '[oracle]\nmessage = "never said"\n'
    home.file.write_text(zest.replace('kind = "zest"', f'kind = "{kind}"') + oracle)
    home.headless("300 trials")
    corpus = home.path / "corpus"
    corpus.mkdir()
    (corpus / "one").write_text("a = 1\n")
    result = json.loads(home("score", str(home.run), "--corpus", str(corpus), "--json"))
    assert result["inputs"] == 1
    few = result["killed"]
    assert 0 < few < result["total"]
    (corpus / "two").write_text("[a]\nb = [1.5, 'x', 1979-05-27]\n")
    result = json.loads(home("score", str(home.run), "--corpus", str(corpus), "--json"))
    assert result["killed"] > few
    home("score", str(home.run), "--corpus", str(home.path / "nowhere"), code=2)
    assert "there is no such directory" in home.stderr
    (home.path / "empty").mkdir()
    home("score", str(home.run), "--corpus", str(home.path / "empty"), code=1)
    assert "no readable input to score" in home.stderr


@pytest.mark.slow
def test_a_score_that_is_interrupted_leaves_nothing(home):
    home.headless("2000 trials")
    (home.path / "slow.py").write_text(
        "import time\ndef parse(data: bytes):\n    time.sleep(0.3)\n"
    )
    process = subprocess.Popen(
        # Shells have what runs in the background ignore SIGINT, and that is inherited.
        ["env", "--default-signal=INT", FUZZTUI,
         "score", str(home.run), "--set", "target.function=slow:parse",
         "--set", 'target.include=["slow"]', "--set", f'target.path=["{home.path}"]'],
        cwd=home.path, env={**home.env, "TMPDIR": str(home.path)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    line = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130, (line, out, err)
    assert "Traceback" not in line + err
    assert not list(home.path.glob("fuzztui-*"))


@pytest.mark.slow
def test_a_shown_mutant_is_a_patch_of_the_project(mu2):
    """Of a file in another encoding, with CRLF, below ``src/``."""
    tree = mu2.path
    source = PROGRAM.replace("LIMIT = 3", "# coding: latin-1\n\f\nNOTE = 'caf\xe9'\nLIMIT = 3")
    raw = source.replace("\n", "\r\n").encode("latin-1")
    (tree / "prog.py").unlink()
    (tree / "src").mkdir()
    (tree / "src" / "prog.py").write_bytes(raw)
    mu2.file.write_text(mu2.file.read_text().replace("[target]", '[target]\npath = ["src"]'))
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    for key, old, new in (
        ("prog:clamp:returns:0:none", b"return n\r", b"return (n, None)[1]\r"),
        ("prog:size:boundary:0:>=", b'ch > "f"', b'ch >= "f"'),
    ):
        argv = [FUZZTUI, "mutants", "show", str(mu2.file), key]
        shown = subprocess.run(argv, cwd=tree, env=mu2.env, capture_output=True, check=True).stdout
        for apply in (["git", "apply"], ["patch", "-p1", "--binary", "--fuzz=0"]):
            (tree / "src" / "prog.py").write_bytes(raw)
            subprocess.run(apply, cwd=tree, input=shown, check=True)
            patched = (tree / "src" / "prog.py").read_bytes()
            assert patched == raw.replace(old, new)
