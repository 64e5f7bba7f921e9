"""``pytest --fuzz-corpus DIR`` in a project, with the installed plugin."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from fuzztui.run.campaign.rundir import RunDir
from fuzztui.testing.replay import instance_of

CAMPAIGN = """\
[campaign]
name = "c"
[target]
function = "prog.py:parse"
include = ["json"]
expected = ["ValueError"]
[engine]
kind = "zest"
"""

PROGRAM = """\
import json
def parse(text: str):
    if text == "bug":
        raise RuntimeError("the \\x1b[31m bug")
    return json.loads(text)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "prog.py").write_text(PROGRAM)
    (tmp_path / "campaign.toml").write_text(CAMPAIGN)
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name, data in {"id:000000,orig:a": "[1]", "id:000001,src:0": "{", "plain": "2"}.items():
        (corpus / name).write_text(data)
    (corpus / ".state").write_text("hidden")
    (corpus / "README.txt").write_text("read me")
    return tmp_path


def run(project: Path, *options: str) -> tuple[int, str]:
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
    argv += ["--rootdir", str(project), "-rA", *options]
    if not any(e.name == "fuzztui" for e in entry_points(group="pytest11")):
        argv += ["-p", "fuzztui.pytest_plugin"]  # installed before there was a plugin
    done = subprocess.run(
        argv, cwd=project, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
def test_each_entry_is_a_test(project: Path) -> None:
    code, said = run(project, "--fuzz-corpus", "corpus")
    assert (code, "3 passed" in said, "test_own" in said) == (0, True, False), said
    (project / "corpus" / "id:000002,src:1").write_text("bug")
    code, said = run(project, "--fuzz-corpus", "corpus", "test_own.py")
    assert code == 1
    assert "1 failed, 4 passed" in said
    assert "id:000002" in said
    assert "input: 'bug'" in said
    assert "in parse" in said
    assert "pluggy" not in said
    code, said = run(project, "corpus/id:000002,src:1", "--fuzz-corpus", "corpus", "-k", "000002")
    assert "1 failed" in said


@pytest.mark.slow
def test_a_campaign_elsewhere_and_none(project: Path) -> None:
    (project / "campaign.toml").rename(project / "other.toml")
    code, said = run(project, "--fuzz-corpus", "corpus")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "--fuzz-campaign" in said
    assert run(project, "--fuzz-corpus", "corpus", "--fuzz-campaign", "other.toml")[0] == 0
    (project / "other.toml").write_text(CAMPAIGN.replace("prog.py:parse", "prog.py:gone"))
    code, said = run(project, "--fuzz-corpus", "corpus", "--fuzz-campaign", "other.toml")
    assert (code, "gone" in said, "Traceback" in said) == (pytest.ExitCode.USAGE_ERROR, True, False)
    assert run(project, "--fuzz-corpus", "nowhere")[0] == pytest.ExitCode.USAGE_ERROR


PLACES = """\
def inner(text):
    if text == "one":
        raise KeyError(text)
    if text == "two":
        raise KeyError(text)
    return 1 // len(text)
def parse(text: str):
    return inner(text)
"""


@pytest.mark.slow
def test_inputs_have_the_clock_of_the_campaign(project: Path) -> None:
    (project / "prog.py").write_text(
        "import datetime\nYEAR = datetime.date.today().year\ndef parse(text: str):\n"
        "    assert (YEAR, datetime.datetime.now().year) == (2031, 2031)\n"
    )
    (project / "test_own.py").write_text(
        "import datetime\ndef test_own(): assert datetime.date.today().year != 2031\n"
    )
    assert run(project, "--fuzz-corpus", "corpus", "test_own.py")[0] == 1
    text = CAMPAIGN.replace("[target]", "[target]\nclock = 2031-05-05")
    (project / "campaign.toml").write_text(text)
    code, said = run(project, "--fuzz-corpus", "corpus", "test_own.py")
    assert (code, "4 passed" in said) == (0, True), said


PROJECT = """\
[project]
name = "p"
[tool.fuzztui.target]
function = "places:parse"
path = ["."]
include = ["places"]
[tool.fuzztui.engine]
kind = "zest"
"""


def verdict(signature: str, word: str) -> str:
    note = "issue 12" if word == "known" else ""
    return f'[[finding]]\nsignature = "{signature}"\nverdict = "{word}"\nnote = "{note}"\n'


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A project with the kept corpus of ``fuzztui ci``."""
    (tmp_path / "places.py").write_text(PLACES)
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    for name in ("inputs/a", "findings/one", "findings/two", "findings/", "constants.json"):
        file = tmp_path / "corpus" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            file.write_text(file.name)
    (tmp_path / "corpus/findings/empty").write_text("")
    return tmp_path


@pytest.mark.slow
def test_verdicts_about_a_kept_corpus_are_expected_failures(kept: Path) -> None:
    code, said = run(kept, "--fuzz-corpus", "corpus")
    assert (code, "3 failed, 1 passed" in said) == (1, True), said
    file = kept / "fuzztui.verdicts.toml"
    one = verdict("KeyError @ places.py:3 in inner", "known")
    file.write_text(one + verdict("ZeroDivisionError @ places.py:6 in inner", "wont-fix"))
    code, said = run(kept, "--fuzz-corpus", "corpus")
    assert (code, "1 failed, 1 passed, 2 xfailed" in said) == (1, True), said
    assert "issue 12" in said
    assert "FAILED corpus/findings/two" in said
    code, said = run(kept, "--fuzz-corpus", "corpus/findings")
    assert "1 failed, 2 xfailed" in said
    # Rules about frames hold here, too: without inner() both errors are one group.
    rules = '[signatures]\nskip = ["places.py in inner"]\n'
    file.write_text(rules + verdict("KeyError @ places.py:8 in parse", "known"))
    assert "1 failed, 1 passed, 2 xfailed" in run(kept, "--fuzz-corpus", "corpus")[1]
    # "fixed" explains nothing.
    file.write_text(one.replace("known", "fixed"))
    assert "3 failed, 1 passed" in run(kept, "--fuzz-corpus", "corpus")[1]
    file.write_text(one + "[[finding]]\n")
    code, said = run(kept, "--fuzz-corpus", "corpus")
    assert (code, "fuzztui.verdicts.toml:" in said) == (pytest.ExitCode.USAGE_ERROR, True)


def test_a_kept_corpus_has_its_constants(kept: Path) -> None:
    corpus = kept / "corpus"
    for directory in (corpus, corpus / "findings", corpus / "inputs"):
        run_dir = RunDir(instance_of(directory).parent.parent)
        assert run_dir.constants == corpus / "constants.json"
    queue = kept / "run/out/main/queue"
    assert RunDir(instance_of(queue).parent.parent).constants == kept / "run/constants.json"


@pytest.mark.slow
def test_a_verdict_about_a_line_that_moved_is_about_one_group(kept: Path) -> None:
    (kept / "places.py").write_text("# a comment\n" + PLACES)
    file = kept / "fuzztui.verdicts.toml"
    file.write_text(verdict("KeyError @ places.py:3 in inner", "known"))
    code, said = run(kept, "--fuzz-corpus", "corpus")  # which of the two is not known
    assert "3 failed, 1 passed" in said
    (kept / "corpus/findings/two").unlink()
    code, said = run(kept, "--fuzz-corpus", "corpus")
    assert (code, "1 failed, 1 passed, 1 xfailed" in said) == (1, True), said
    assert "FAILED corpus/findings/empty" in said


@pytest.mark.slow
def test_without_a_corpus_nothing_of_fuzztui_is_imported(project: Path) -> None:
    (project / "test_own.py").write_text(
        "import sys, json\n"
        "def test_own():\n"
        "    names = [n for n in sys.modules if n.split('.')[0] == 'fuzztui']\n"
        "    open('names.json', 'w').write(json.dumps(names))\n"
    )
    assert run(project)[0] == 0
    assert sorted(json.loads((project / "names.json").read_text())) == [
        "fuzztui",
        "fuzztui.pytest_plugin",
    ]
