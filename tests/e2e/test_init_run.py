"""From a clean directory with a package of PyPI's to a running campaign, as a new user does it."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from waiting import DEADLINE_S, wait_until

pytestmark = pytest.mark.slow

LIMIT_S = 180.0
"""What issue 21 promises a new user, from ``fuzztui init`` on."""

PIP = ["python3", "-m", "pip"]
"""Of the system: an environment need not have pip."""

FUZZTUI = [sys.executable, "-P", "-m", "fuzztui"]


def command(*argv: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in argv]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    words = ["download", "-q", "--no-deps", "--no-binary", ":all:"]
    done = command(*PIP, *words, "jmespath==1.1.0", cwd=folder)
    if done.returncode:
        pytest.skip("no package index is reachable")
    return next(folder.glob("*.tar.gz"))


@pytest.fixture(params=["sources", "installed"])
def project(request, sdist, tmp_path) -> Path:
    """The unpacked sdist with an environment, or an environment with the package alone."""
    folder = tmp_path / "project"
    folder.mkdir()
    made = command(sys.executable, "-m", "venv", "--without-pip", ".venv", cwd=folder)
    assert made.returncode == 0, made.stderr
    if request.param == "sources":
        with tarfile.open(sdist) as archive:
            archive.extractall(tmp_path, filter="data")
        (tmp_path / "jmespath-1.1.0").rename(tmp_path / "unpacked")
        (folder / ".venv").rename(tmp_path / "unpacked" / ".venv")
        return tmp_path / "unpacked"
    words = ["--python", folder / ".venv/bin/python", "install", "-q", "jmespath==1.1.0"]
    done = command(*PIP, *words, cwd=folder)
    if done.returncode:
        pytest.skip("no package index is reachable")
    return folder


def test_init_to_a_running_campaign(project, monkeypatch):
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    log = project / "init.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*FUZZTUI, "init", "--yes", "--start"],
            cwd=project, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip

    def fuzzing():
        assert process.poll() is None, log.read_text()
        answer = command(*FUZZTUI, "status", "--json", cwd=project)
        status = json.loads(answer.stdout) if answer.returncode == 0 else {}
        return status if status.get("execs", 0) > 1000 and status["corpus"] > 10 else None

    try:
        status = wait_until(fuzzing, log.read_text)
    finally:
        command(*FUZZTUI, "ctl", "runs/jmespath", "stop", cwd=project)
        process.wait(DEADLINE_S)
    assert status["state"] == "running"
    assert status["findings"] == []  # what the library raises on purpose is no finding
    text = (project / "campaign.toml").read_text()
    assert 'function = "jmespath:compile"' in text
    assert 'expected = ["jmespath.exceptions.JMESPathError"]' in text
    assert 'python = ".venv/bin/python"' in text
