"""``pytest --fuzz-corpus DIR`` in a project, with the installed plugin."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

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
