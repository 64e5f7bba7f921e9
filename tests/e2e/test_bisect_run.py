"""``fuzztui bisect`` with real targets: twenty commits of C and of Python, built and run."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from commands import commands
from homes import FUZZTUI
from repositories import History, plain_git
from run_logs import run_with
from waiting import wait_until

from fuzztui.cli.output import DONE, FINDINGS, USAGE
from fuzztui.kernel.wire.events import CampaignStarted, MutantsFound
from fuzztui.run.campaign import load, write_frozen
from fuzztui.run.campaign.rundir import prepare_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]

FINDING = "main/crashes/id:000000,sig:06"
FIRST_BAD = 13

C_CAMPAIGN = """\
[target]
command = ["./parse", "@@"]
build = '$CC -g -o parse "$SOURCE/src/parse.c"'
source = ".."
[engine]
kind = "afl"
"""
C_SOURCE = """\
#include <stdio.h>
#include <stdlib.h>
static char b[64];
__attribute__((noinline)) int parse_list(int n) {{ if (n > 2) {body}; return n; }}
int main(int argc, char **argv) {{
  FILE *f = fopen(argv[1], "r");
  return f ? parse_list(fread(b, 1, 60, f)) == 99 : 1; /* {n} */
}}
"""

PYTHON_CAMPAIGN = """\
[target]
function = "harness.py:target"
include = ["shapes"]
path = [".", "../src"]
{more}
[engine]
kind = "zest"
"""
PYTHON_SOURCE = """\
def area(data):
    # {n}
    return {result}
"""
HARNESS = """\
from shapes import area
def target(data: bytes) -> int:
    return area(data)
def length(data: bytes) -> int:
    return len(data)
"""


SUITE = "from hypothesis import given, strategies as st\nfrom lib import double\n"
SUITE_CAMPAIGN = """\
[campaign]
budget = "3000 trials"
[target]
function = "../tests/"
include = ["lib"]
path = ["../src"]
[engine]
kind = "zest"
"""


class Project:
    """A repository whose campaign is in ``fuzz/``, and a run of it with one finding."""

    def __init__(self, root: Path, files: Callable[[int], Mapping[str, str]]) -> None:
        self.history = History(root)
        self.history.write((f"number {n}", files(n)) for n in range(20))
        self.range = f"{self.history.commits[0]}.."
        self.run = root / "run"

    def begin_run(self, file: str = FINDING, data: bytes = b"[1,2") -> None:
        loaded = load(
            self.history.root / "fuzz/fuzz.toml", [f"campaign.output={json.dumps(str(self.run))}"]
        )
        prepare_run(self.run)
        write_frozen(loaded, self.run)
        (self.run / "out" / file).parent.mkdir(parents=True)
        (self.run / "out" / file).write_bytes(data)

    def only(self, good: int, bad: int) -> None:
        """Bisect fewer commits, to save time."""
        self.range = f"{self.history.commits[good]}..{self.history.commits[bad]}"

    def fuzz(self, code: int) -> None:
        """Run the campaign to its budget."""
        words = ["--headless", "--set", f"campaign.output={json.dumps(str(self.run))}"]
        command = [FUZZTUI, str(self.history.root / "fuzz/fuzz.toml"), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr

    def command(self, *words: str, finding: str = FINDING) -> list[str]:
        return [FUZZTUI, "bisect", str(self.run), finding, self.range, *words]

    def bisect(self, *words: str, finding: str = FINDING, code: int = DONE) -> dict[str, object]:
        """The result as JSON, with the number of the first bad commit."""
        command = self.command("--json", *words, finding=finding)
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == code, done.stderr
        assert self.history.worktrees() == 1
        assert self.history.git("status", "--short", "--untracked-files=no") == ""
        if code == USAGE:
            return {"error": done.stderr}
        found = json.loads(done.stdout)
        first = found["first_bad"]
        number = None if first is None else self.history.commits.index(first["hash"])
        texts = {step["text"] for step in found["steps"] if step["outcome"] == "bad"}
        return {**found, "number": number, "texts": texts}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Project]:
    plain_git(monkeypatch)

    def make(files: Callable[[int], Mapping[str, str]]) -> Project:
        return Project(tmp_path / "a project", files)

    return make


def c_files(n: int, bad: str = "abort()") -> dict[str, str]:
    body = bad if n >= FIRST_BAD else "puts(b)"
    broken = "#error half a merge\n" if n in (9, 10) else ""
    return {
        "src/parse.c": broken + C_SOURCE.format(n=n, body=body),
        "fuzz/fuzz.toml": C_CAMPAIGN,
    }


def python_files(n: int, more: str = "") -> dict[str, str]:
    result = "1 // (len(data) - 4)" if n >= FIRST_BAD else "len(data)"
    return {
        "src/shapes.py": PYTHON_SOURCE.format(n=n, result=result if n != 9 else "("),
        "fuzz/harness.py": HARNESS,
        "fuzz/fuzz.toml": PYTHON_CAMPAIGN.format(more=more),
    }


# ---------------------------------------------------------------------------------- C


@pytest.mark.skipif(shutil.which("afl-cc") is None, reason="afl++ is missing")
def test_a_program_built_by_afl(project):
    """Only the binary with ASan shows the finding. Commits that do not build are skipped."""

    def files(n: int) -> dict[str, str]:
        found = c_files(n, "{ volatile char *p = malloc(n); p[n] = 1; }")
        found["fuzz/fuzz.toml"] += "[target.binaries]\nasan = { instances = 0 }\n"
        return found

    made = project(files)
    made.begin_run()
    found = made.bisect()
    assert found["number"] == FIRST_BAD
    assert all("heap-buffer-overflow in parse_list" in text for text in found["texts"])
    outcomes = {step["subject"]: step for step in found["steps"]}
    skipped = outcomes.get("number 9") or outcomes["number 10"]
    assert skipped["outcome"] == "skip"
    assert "half a merge" in skipped["text"]
    assert not [path for path in made.run.glob("bisect/*/build*") if path.is_dir()]


def test_a_program_without_target_build_and_other_failures(project):
    """A build in the tree itself; commits that fail with another text are skipped."""

    def files(n: int) -> dict[str, str]:
        found = c_files(n, "exit(puts(b) < 0)" if n == FIRST_BAD else "abort()")
        campaign = C_CAMPAIGN.replace('"./parse"', '"../parse"')
        lines = campaign.replace('source = ".."', 'env = {AFL_CRASH_EXITCODE = "3"}').splitlines()
        found["fuzz/fuzz.toml"] = "\n".join(line for line in lines if "build" not in line)
        found["Makefile"] = "parse: src/parse.c\n\tcc -g -o parse src/parse.c\n"
        found[".gitignore"] = "/parse\n/run\n"
        if n in (9, 10):
            found["src/parse.c"] = C_SOURCE.format(n=n, body="exit(3)")
        return found

    made = project(files)
    subprocess.run(["make", "-s"], cwd=made.history.root, check=True)
    made.begin_run()
    assert "--build make" in made.bisect(code=USAGE)["error"]
    found = made.bisect("--build", "make", "--only", "SIGABRT")
    assert found["number"] == FIRST_BAD + 1
    skipped = [step["text"] for step in found["steps"] if step["outcome"] == "skip"]
    assert skipped
    assert all("another failure: exit status 3" in text for text in skipped)


def test_a_build_that_never_ends(project):
    def files(n: int) -> dict[str, str]:
        found = c_files(n)
        found["fuzz/fuzz.toml"] = C_CAMPAIGN.replace("$CC", "sleep 9876 & setsid sleep 9876; $CC")
        return found

    made = project(files)
    made.begin_run()
    error = made.bisect("--limit", "1s", code=USAGE)["error"]
    assert "its bad end, cannot be tried: no end within 1s (--limit)" in error
    assert "sleep 9876" not in commands()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_bisect_that_a_signal_ends_is_continued(project, tmp_path, number):
    def files(n: int) -> dict[str, str]:
        found = c_files(n)
        # All but the ends wait until the test has ended the bisect.
        found["build.sh"] = (
            f'[ {n} = 11 ] || [ {n} = 15 ] || [ -e "{tmp_path}/goes on" ] || '
            f'{{ touch "{tmp_path}/waits"; sleep 9875; }}\n'
            'cc -g -o parse "$SOURCE/src/parse.c"\n'
        )
        found["fuzz/fuzz.toml"] = C_CAMPAIGN.replace(
            '$CC -g -o parse "$SOURCE/src/parse.c"', 'sh "$SOURCE/build.sh"'
        )
        return found

    made = project(files)
    made.only(11, 15)
    made.begin_run()
    process = subprocess.Popen(made.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until((tmp_path / "waits").exists)
    process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    killed = number == signal.SIGKILL
    assert made.history.worktrees() == 1 + killed
    assert (b"interrupted: the same command continues after 2 commits" in errors) != (
        number != signal.SIGINT
    )
    (tmp_path / "goes on").touch()
    done = subprocess.run(made.command(), capture_output=True, text=True, check=False)
    assert done.stdout.startswith(made.history.commits[FIRST_BAD]), done.stderr
    assert done.stderr.count(" known ") == 2
    assert made.history.worktrees() == 1
    assert "sleep 9875" not in commands()


def test_what_the_oracle_has_found(project):
    def files(n: int) -> dict[str, str]:
        found = c_files(n, "puts(b + 1)")
        oracle = '\n[oracle]\nrun = ["./parse", "@@"]\nagainst = ["./show", "@@"]\n'
        campaign = C_CAMPAIGN.replace("$CC", 'cp "$SOURCE/show" .; chmod +x show; $CC')
        found["fuzz/fuzz.toml"] = campaign + oracle
        found["show"] = '#!/bin/sh\ncat "$1"; echo\n'
        return found

    made = project(files)
    made.begin_run("oracle/crashes/id:000000,differs", b"[1,2")
    made.only(11, 15)
    found = made.bisect(finding="oracle/crashes/id:000000,differs")
    assert found["number"] == FIRST_BAD


# ------------------------------------------------------------------------------- Python


def test_a_python_function(project):
    made = project(python_files)
    made.begin_run(data=b"1234")
    found = made.bisect()
    assert found["number"] == FIRST_BAD
    (text,) = found["texts"]
    assert text.startswith("failure: ZeroDivisionError")
    assert {s["outcome"] for s in found["steps"] if s["subject"] == "number 9"} <= {"skip"}


def test_a_package_that_an_editable_install_finds(project, tmp_path, monkeypatch):
    """The campaign is in another place; the interpreter finds the package in the checkout."""
    made = project(python_files)
    away = tmp_path / "away"
    away.mkdir()
    (away / "harness.py").write_text(HARNESS)
    python = tmp_path / "venv/bin/python"
    subprocess.run(["python3", "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (site,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    (site / "editable.pth").write_text(f"{made.history.root}/src\n")
    text = PYTHON_CAMPAIGN.format(more=f'python = "{python}"').replace(', "../src"', "")
    (away / "fuzz.toml").write_text(text)
    loaded = load(away / "fuzz.toml", [f"campaign.output={json.dumps(str(made.run))}"])
    prepare_run(made.run)
    write_frozen(loaded, made.run)
    (made.run / "out/main/crashes").mkdir(parents=True)
    (made.run / "out" / FINDING).write_bytes(b"1234")
    made.only(11, 15)
    assert made.bisect()["number"] == FIRST_BAD


def test_a_package_that_is_installed_is_refused(project):
    def files(n: int) -> dict[str, str]:
        found = python_files(n)
        found["fuzz/fuzz.toml"] = found["fuzz/fuzz.toml"].replace('["shapes"]', '["psutil"]')
        return found

    made = project(files)
    made.begin_run(data=b"1234")
    error = made.bisect(code=USAGE)["error"]
    assert "at all commits the target is imported from" in error


def test_a_difference(project):
    def files(n: int) -> dict[str, str]:
        found = python_files(n)
        result = "len(data) + 1" if n >= FIRST_BAD else "len(data)"
        found["src/shapes.py"] = PYTHON_SOURCE.format(n=n, result=result)
        found["fuzz/fuzz.toml"] += '[oracle]\nagainst = "harness.py:length"\n'
        return found

    made = project(files)
    made.begin_run(data=b"1234")
    made.only(11, 15)
    found = made.bisect()
    assert found["number"] == FIRST_BAD
    assert all(text.startswith("differs: ") for text in found["texts"])


@pytest.mark.nightly
def test_what_a_campaign_has_found_in_a_suite(project):
    """A finding that fuzzing has saved; the test before it is younger than the good commit."""

    def files(n: int) -> dict[str, str]:
        wrong = " if x < 1000 else 0" if n >= FIRST_BAD else ""
        other = "@given(st.text())\ndef test_a(x):\n    assert x == x\n" if n > 4 else ""
        test = "@given(st.integers(0, 100000))\ndef test_b(x):\n    assert double(x) == x + x\n"
        return {
            "src/lib.py": f"def double(x):\n    # {n}\n    return x * 2{wrong}\n",
            "tests/test_lib.py": f"{SUITE}{other}{test}",
            "fuzz/fuzz.toml": SUITE_CAMPAIGN,
        }

    made = project(files)
    made.fuzz(code=FINDINGS)
    assert (made.run / "constants.json").is_file()
    crash = next((made.run / "out/main/crashes").glob("id:*"))
    made.only(3, 15)
    found = made.bisect(finding=f"main/crashes/{crash.name}")
    assert found["number"] == FIRST_BAD
    assert all("AssertionError" in text for text in found["texts"])


# ------------------------------------------------------------------------------ mutants


MUTANT = "shapes:area:boundary:0:>="


def test_a_mutant_that_is_no_longer_killed(project):
    """The corpus in the repository loses the input that has killed it; the code changes, too."""

    def files(n: int) -> dict[str, str]:
        found = python_files(n, 'env = {A = "b"}')
        body = f"    # {n}\n    if len(data) > 3:\n        return 3\n    return 0\n"
        found["src/shapes.py"] = f"def area(data):\n{body}" if n else "def area(data): return 1\n"
        found["fuzz/corpus/long"] = "1234567"
        found["fuzz/corpus/three"] = "123" if n < FIRST_BAD else "1234"
        return found

    made = project(files)
    made.begin_run(data=b"1234")
    row = {"id": MUTANT, "line": 3, "function": "area", "operator": "boundary"}
    run_with(
        made.run,
        CampaignStarted("fuzz", "zest", "harness.py:target"),
        MutantsFound("main", "shapes", "shapes.py", "shapes.py", [row]),
    )
    corpus = f"--corpus={made.history.root}/fuzz/corpus"
    assert (
        "cannot be tried: the mutant is not there"
        in made.bisect(corpus, finding=MUTANT, code=USAGE)["error"]
    )
    made.only(10, 15)
    found = made.bisect(corpus, finding=MUTANT)
    assert found["number"] == FIRST_BAD
    assert found["texts"] == {"no input kills it"}


def test_a_mutant_that_the_tests_of_a_project_no_longer_kill(project):
    """A test loses its assertion; the inputs are those of the run, which is in the repository."""

    def files(n: int) -> dict[str, str]:
        check = "is not None" if n >= FIRST_BAD else "== min(x, 100)"
        test = f"@given(st.integers(0, 200))\ndef test_b(x):\n    assert double(x) {check}\n"
        body = "    if x > 100:\n        return 100\n    return x\n"
        return {
            "src/lib.py": f"# {n}\ndef double(x):\n{body}",
            "tests/test_lib.py": f"{SUITE}{test}",
            "fuzz/fuzz.toml": SUITE_CAMPAIGN.replace('"zest"', '"mu2"'),
        }

    made = project(files)
    made.history.git("checkout", "-q", made.history.commits[5])
    made.fuzz(code=DONE)
    made.history.git("checkout", "-q", "main")
    made.only(11, 15)
    found = made.bisect(finding="lib:double:negate:0:<=")
    assert found["number"] == FIRST_BAD
    assert found["texts"] == {"no input kills it"}
