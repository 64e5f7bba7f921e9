"""A real atheris beside a campaign of zest: entries both ways, its crash is a finding."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib.util import find_spec

import pytest
from homes import write_seeds
from waiting import DEADLINE_S, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed"),
]

OURS, THEIRS, FAILS = b"ours", b"theirs", b"fails"

APP = f"""
import hashlib, os

def check(data: bytes) -> int:
    digest = hashlib.sha1(data).hexdigest()  # which no engine can guess
    if digest == {hashlib.sha1(OURS).hexdigest()!r}:
        return 1
    if digest == {hashlib.sha1(THEIRS).hexdigest()!r}:
        return 2
    if digest == {hashlib.sha1(FAILS).hexdigest()!r} and not os.environ.get("CALM"):
        raise RuntimeError("found by the other fuzzer")
    return 0
"""

HARNESS = """
import sys, atheris
with atheris.instrument_imports():
    import app
atheris.Setup(sys.argv, lambda data: app.check(bytes(data)))
atheris.Fuzz()
"""

CAMPAIGN = """\
[campaign]
output = "run"
[target]
function = "app:check"
path = ["."]
include = ["app"]
[engine]
kind = "zest"
seeds = ["seeds"]
[[siblings]]
name = "atheris"
corpus = "corpus"
crashes = "artifacts"
"""


@pytest.fixture
def atheris(home):
    """``atheris(*options, **env)`` starts one on the directory ``corpus``."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*options: str, **env: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "fuzz.py", "corpus", "-artifact_prefix=artifacts/", *options]
        with (home.path / "atheris.log").open("w") as log:
            process = subprocess.Popen(
                argv, cwd=home.path, env={**home.env, **env}, stdout=log, stderr=log
            )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(DEADLINE_S)


def test_both_ways(home, atheris):
    for name in ("corpus", "artifacts"):
        (home.path / name).mkdir()
    (home.path / "app.py").write_text(APP)
    (home.path / "fuzz.py").write_text(HARNESS)
    write_seeds(home.path, OURS)
    corpus = home.path / "corpus"
    (corpus / "failing").write_bytes(FAILS)
    (corpus / hashlib.sha1(THEIRS).hexdigest()).write_bytes(THEIRS)
    assert atheris().wait(DEADLINE_S) != 0  # at its crash
    assert [*(home.path / "artifacts").iterdir()]
    (corpus / "failing").unlink()
    atheris("-reload=1", CALM="1")
    wait_until(lambda: "INITED" in (home.path / "atheris.log").read_text(errors="replace"))
    home.file.write_text(CAMPAIGN)
    home.detach()

    def row() -> dict[str, object]:
        return home.status()["siblings"][0]

    wait_until(lambda: row()["kept"] and row()["exported"] and row()["crashes"], home.status)
    wait_until(lambda: home.status()["findings"], home.status)
    (finding,) = home.status()["findings"]
    assert "found by the other fuzzer" in finding["title"]
    assert [*(home.run / "out/main/crashes").glob("*,sync:atheris,*")]
    wait_until(lambda: "RELOAD" in (home.path / "atheris.log").read_text(errors="replace"))
    assert (corpus / hashlib.sha1(OURS).hexdigest()).read_bytes() == OURS
    assert not (corpus / hashlib.sha1(FAILS).hexdigest()).exists()
