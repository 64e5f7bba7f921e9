"""What a script learns from the exit code of a command, each one from a real process."""

import json
import signal
import subprocess

import pytest
from homes import FUZZTUI, write_seeds
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

DONE, FAILED, USAGE, FINDINGS, BELOW_THRESHOLD = 0, 1, 2, 10, 11

BUG = """\
def parse(data: bytes) -> int:
    if data[:1] == b"!":
        raise KeyError("a bug")
    return len(data)
"""

SLOW = """\
import time
def parse(data: bytes) -> int:
    time.sleep(0.01)
    return len(data)
"""


def program(home, source: str) -> list[str]:
    """The options that make a file the target, with the seeds ``!`` and ``a`` to start from."""
    (home.path / "prog.py").write_text(source)
    write_seeds(home.path, bug=b"!", fine=b"a")
    keys = ["target.function=prog:parse", 'target.include=["prog"]', 'engine.seeds=["seeds"]']
    return [word for key in keys for word in ("--set", key)]


def test_findings_of_a_headless_campaign(home):
    words = [str(home.file), "--headless", *program(home, BUG)]
    home(*words, "--set", "campaign.budget=100 trials", code=FINDINGS)
    assert home.status()["state"] == "finished"
    assert home.status()["findings"]
    # Asked again it has finished: with the same result, also as JSON.
    home(*words, "--set", "campaign.budget=100 trials", code=FINDINGS)
    home(*words, "--json", "--set", "campaign.budget=100 trials", code=FINDINGS)
    # Commands that look at a run do not judge it.
    for look in (["status"], ["status", "--json"], ["replay", "--json"]):
        home(look[0], str(home.run), *look[1:], code=DONE)
    home("check", str(home.file), code=DONE)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("import time; time.sleep(3)\n" + SLOW, DONE),
        ("import time; time.sleep(3); import no_such_module\n" + SLOW, FAILED),
        ("def parse(data: bytes) -> int:\n    while True: pass\n", FINDINGS),
    ],
    ids=["slow import", "wrong import", "endless"],
)
def test_a_budget_that_is_over_before_the_first_input_hides_nothing(home, source, code):
    words = [str(home.file), "--headless", *program(home, source)]
    for _ in range(2):  # also when it is asked again
        home(*words, "--set", "campaign.budget=1s", code=code)
    status = home.status()
    assert (status["execs"] > 0) == (code != FAILED)
    assert ("no_such_module" in status["reason"]) == (status["state"] == "failed")
    assert status["groups"]["hang"] == (code == FINDINGS)


@pytest.mark.parametrize("kind", ["zest", "mu2", "text"])
@pytest.mark.parametrize("trials", [40, 400])
def test_a_campaign_that_runs_nothing_instrumented_is_not_green(home, kind, trials):
    """Its file is imported under another name than ``include`` has."""
    (home.path / "inner").mkdir()
    (home.path / "inner/work.py").write_text("def parse(data: bytes): return len(data)")
    program(home, "def never(): pass\n")
    keys = {
        "target.function": "work:parse", "target.include": '["prog"]',
        "target.path": '[".", "inner"]', "engine.kind": kind, "campaign.budget": f"{trials} trials",
    }  # fmt: skip
    words = [w for key, value in keys.items() for w in ("--set", f"{key}={value}")]
    home("check", str(home.file), *words, code=DONE)
    assert "inner/work.py" in home.stderr and "'work'" in home.stderr
    shown = home(str(home.file), "--headless", *words, code=FAILED)
    assert home.status()["execs"] == trials
    assert "inner/work.py" in home.status()["unmeasured"] and "'work'" in shown


def test_a_campaign_that_is_left_to_itself_has_no_result_yet(home):
    words = [str(home.file), *program(home, BUG)]
    home(*words, "--detach", "--set", "campaign.budget=100 trials", code=DONE)
    wait_until(lambda: home.status()["state"] == "finished")
    assert home.status()["findings"]


@pytest.mark.parametrize(("source", "code"), [(BUG, FINDINGS), (SLOW, DONE)], ids=["bug", "none"])
def test_a_campaign_that_is_stopped_tells_what_it_found(home, source, code):
    process = subprocess.Popen(
        ["env", "--default-signal=INT", FUZZTUI,
         str(home.file), "--headless", *program(home, source)],
        cwd=home.path, env=home.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline()
    wait_until(lambda: home.status()["execs"] > 5 and (code == DONE or home.status()["findings"]))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == code, (out, err)
    assert home.status()["state"] == "stopped"


def test_a_campaign_that_fails_has_failed_whatever_it_found(home):
    words = [str(home.file), "--headless", *program(home, BUG)]
    home(*words, "--set", "campaign.budget=100 trials", code=FINDINGS)
    (home.path / "prog.py").write_text("def parse(")
    home(*words, "--set", "campaign.budget=200 trials", code=FAILED)


def test_the_screen_of_a_campaign(home, terminal):
    words = [str(home.file), *program(home, BUG)]
    screen = terminal(*words, command=["sh", "-c", f"cd {home.path} && exec {command(words)}"])
    screen.wait("running")
    wait_until(lambda: home.status()["findings"])
    screen.keys("q", then=f"exit={DONE}")
    assert home.status()["state"] == "running"
    screen = terminal(*words, command=["sh", "-c", f"cd {home.path} && exec {command(words)}"])
    screen.wait("running")
    home("ctl", str(home.run), "stop")
    screen.wait("stopped")
    screen.keys("q", then=f"exit={FINDINGS}")
    screen = terminal("attach", str(home.run))
    screen.wait("stopped")
    screen.keys("q", then=f"exit={DONE}")


def command(words: list[str]) -> str:
    return " ".join(f"'{word}'" for word in (FUZZTUI, *words))


def test_an_input_that_fails_again(home):
    words = [str(home.file), "--headless", *program(home, BUG)]
    home(*words, "--set", "campaign.budget=100 trials", code=FINDINGS)
    (crash,) = (home.run / "out/main/crashes").glob("id:*")
    run = str(home.run)
    assert "failure: KeyError" in home("repro", run, str(crash), code=FINDINGS)
    assert "success: 1" in home("repro", run, str(home.path / "seeds/fine"), code=DONE)
    home("repro", run, "nothing", code=USAGE)
    (home.path / "prog.py").write_text(BUG.replace('raise KeyError("a bug")', "return 0"))
    assert "success: 0" in home("repro", run, str(crash), code=DONE)
    (home.path / "prog.py").write_text(
        "import os, signal\ndef parse(data: bytes):\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
    )
    home("repro", run, str(crash), code=FINDINGS)
    (home.path / "prog.py").write_text("def parse(")
    home("repro", run, str(crash), code=FAILED)
    assert "SyntaxError" in home.stderr


def test_a_score_below_a_threshold(home):
    words = [str(home.file), "--headless", *program(home, SLOW.replace("0.01", "0"))]
    home(*words, "--set", "campaign.budget=20 trials", code=DONE)
    run, corpus = str(home.run), ["--corpus", str(home.path / "seeds")]
    plain = json.loads(home("score", run, "--json", "--set", 'engine.operators=["returns"]'))
    assert plain["score"] == 1.0
    home("score", run, "--fail-under", "100", "--set", 'engine.operators=["returns"]', code=DONE)
    assert "below" not in home.stderr
    # "increments" changes nothing here: there are no such mutants, so nothing was shown.
    none = ["--set", 'engine.operators=["increments"]']
    home("score", run, *none, code=DONE)
    home("score", run, *none, "--fail-under", "0", code=DONE)
    home("score", run, *none, "--fail-under", "1", code=BELOW_THRESHOLD)
    assert "0 of 0 mutants" in home.stderr
    (home.path / "prog.py").write_text("def parse(data: bytes):\n    len(data) + 1\n    return 5\n")
    both = ["--set", 'engine.operators=["math", "returns"]']
    result = json.loads(home("score", run, *both, "--json"))
    killed, total = result["killed"], result["total"]
    assert (0 < killed < total, result["invalid"]) == (True, 0)
    percent = 100 * killed / total
    for more in ([], corpus):
        home("score", run, *both, *more, "--fail-under", f"{percent - 0.1}", code=DONE)
        home("score", run, *both, *more, "--fail-under", f"{percent + 0.1}", code=BELOW_THRESHOLD)
        assert f"score {percent:.2f}% is below --fail-under" in home.stderr
        assert f": {killed} of {total} mutants killed" in home.stderr
    out = home("score", run, *both, "--json", "--fail-under", "100%", code=BELOW_THRESHOLD)
    assert json.loads(out)["killed"] == killed


@pytest.mark.parametrize("word", ["0", "1", "2", "3", "4", "10", "11", "130"])
def test_the_codes_are_listed_where_one_looks(home, word):
    assert f"\n  {word} " in home("--help").partition("exit codes:")[2]
