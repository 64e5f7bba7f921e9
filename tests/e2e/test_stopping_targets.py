"""Commands outside a campaign whose target stops a process: they end, and report the cause."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from engine_lab import Lab
from homes import write_seeds

from fuzztui.features.fuzzfirst.python_batch import PythonBatch
from fuzztui.features.targeting.analysis.document import Request
from fuzztui.features.targeting.analysis.observe import observe
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.process.identity import marked

pytestmark = pytest.mark.slow

ITSELF = "os.kill(os.getpid(), signal.SIGSTOP)"
PARENT = "os.kill(os.getppid(), signal.SIGSTOP)"
GROUP = "os.killpg(0, signal.SIGSTOP)"

TARGET = """
import os, signal
{on_import}

def target(data: bytes):
    if data[:4] == b"stop" and not os.path.exists({harmless!r}):
        {act}
    return len(data) > 3
"""


class Run:
    """A campaign that has ended, with a target that from then on stops a process."""

    def __init__(self, home, kind: str) -> None:
        self.home, self.kind = home, kind
        self.harmless = home.path / "harmless"
        self.harmless.touch()
        write_seeds(home.path, stop=b"stopped at once", good=b"good")
        self.write("pass")
        home.file.write_text(
            f"""
[campaign]
name = "e2e"
output = "run"
budget = "30 trials"
[target]
function = "app:target"
path = ["{home.path}"]
include = ["app"]
input = "bytes"
timeout = "300ms"
[engine]
kind = "{kind}"
seeds = ["seeds"]
"""
        )
        home(str(home.file), "--headless")
        (self.file,) = [
            f for f in home.run.glob("out/main/queue/*") if f.read_bytes() == b"stopped at once"
        ] or [home.path / "seeds" / "stop"]
        self.harmless.unlink()

    def write(self, act: str, on_import: str = "") -> None:
        text = TARGET.format(act=act, on_import=on_import, harmless=str(self.harmless))
        (self.home.path / "app.py").write_text(text)
        shutil.rmtree(self.home.path / "__pycache__", ignore_errors=True)

    def nothing_is_left(self) -> None:
        assert marked(self.home.run) == []
        assert self.home.processes() == []


@pytest.fixture
def ended(home):
    return lambda kind="zest": Run(home, kind)


@pytest.mark.parametrize("act", [ITSELF, PARENT, GROUP])
def test_repro(ended, act):
    run = ended()
    run.write(act)
    out = run.home("repro", "run", str(run.file), code=10)
    assert "SIGSTOP" in out + run.home.stderr
    run.nothing_is_left()


def test_repro_reports_the_signal_that_killed_the_target(ended):
    run = ended()
    run.write("os.kill(os.getpid(), signal.SIGSEGV)")
    assert "SIGSEGV" in run.home("repro", "run", str(run.file), code=10)
    run.write("raise SystemExit(0)")
    assert "SystemExit" in run.home("repro", "run", str(run.file), code=10)
    run.write("pass")
    run.home("repro", "run", str(run.file), code=0)


@pytest.mark.parametrize("limit", ["RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_DATA"])
def test_repro_of_a_lowered_limit(ended, limit):
    """The same title as in a campaign, also if the output goes to a file."""
    run = ended()
    lowered = f"import resource; resource.setrlimit(resource.{limit}, (0, 0))"
    run.write(lowered)
    said = run.home("repro", "run", str(run.file), code=10)
    assert f"hang: the target lowered {limit} to 0" in said
    (spec,) = run.home.run.glob("out/main/spec.json")
    with (run.home.path / "said").open("wb") as said:
        argv = [sys.executable, "-P", "-m", "fuzztui.engines", spec, "--repro", run.file]
        assert subprocess.run(argv, stdout=said, check=False).returncode == 1
    assert f"the target lowered {limit} to 0" in (run.home.path / "said").read_text()
    run.write("pass", lowered)
    run.home("repro", "run", str(run.file), code=1)
    assert limit in run.home.stderr
    soft = f"resource.setrlimit(resource.{limit}, (0, resource.getrlimit(resource.{limit})[1]))"
    run.write(f"import resource; {soft}")
    run.home("repro", "run", str(run.file), code=0)


def test_repro_of_a_target_that_ends_its_process_with_status_0(ended):
    run = ended()
    run.write("os._exit(0)")
    assert "exited with status 0" in run.home("repro", "run", str(run.file), code=10)


LOWER = "import resource; resource.setrlimit(resource.RLIMIT_{}, (0, 0))"


@pytest.mark.parametrize(
    "act", [ITSELF, LOWER.format("FSIZE"), LOWER.format("NOFILE")], ids=["stops", "bytes", "files"]
)
def test_minimise_a_target_that_stops_itself_or_lowers_a_limit(ended, act):
    """The finding is that it does: four bytes of it suffice."""
    run = ended()
    run.write(act)
    run.home("minimise", "run", str(run.file), "-o", "smaller", timeout=300)
    assert (run.home.path / "smaller").read_bytes() == b"stop"
    run.nothing_is_left()


def test_minimise_a_target_that_stops_the_engine(ended):
    run = ended()
    run.write(PARENT)
    run.home("minimise", "run", str(run.file), "-o", "smaller", code=1)
    assert "SIGSTOP" in run.home.stderr
    run.nothing_is_left()


@pytest.mark.parametrize("on_import", [ITSELF, PARENT])
def test_check(ended, on_import):
    run = ended()
    run.write("pass", on_import)
    out = run.home("check", str(run.home.file), code=None)
    assert "SIGSTOP" in out + run.home.stderr
    run.nothing_is_left()


def test_score(ended):
    """An input that stops its process judges no mutant; the others do."""
    run = ended("mu2")
    run.write(ITSELF)
    corpus = ("--corpus", str(run.home.path / "seeds"), "--json")
    result = json.loads(run.home("score", "run", *corpus, timeout=300))
    assert result["inputs"] == 2
    assert result["killed"] > 0
    run.write(PARENT)
    run.home("score", "run", *corpus, code=1)
    assert "SIGSTOP" in run.home.stderr
    run.write("pass", ITSELF)
    for command in (["score", "run", *corpus], ["mutants", "list", "run/campaign.toml"]):
        run.home(*command, code=1)
        assert "SIGSTOP" in run.home.stderr
    run.nothing_is_left()


@pytest.mark.parametrize("act", [ITSELF, PARENT])
async def test_a_batch(tmp_path, act):
    text = TARGET.format(act=act, on_import="", harmless=str(tmp_path / "none"))
    (tmp_path / "app.py").write_text(text)
    (tmp_path / "c.toml").write_text(
        f'[campaign]\nname = "c"\noutput = "{tmp_path}/run"\n'
        f'[target]\nfunction = "app:target"\npath = ["{tmp_path}"]\ninput = "bytes"\n'
        'timeout = "300ms"\n[engine]\nkind = "zest"\n'
    )
    home = RunDir(tmp_path / "run")
    home.supervisor.mkdir(parents=True)
    files = []
    for n, data in enumerate((b"good", b"stop", b"also good")):
        files.append(tmp_path / f"i{n}")
        files[-1].write_bytes(data)
    batch = PythonBatch(load(tmp_path / "c.toml").campaign, home, "t")
    async with asyncio.timeout(240):
        verdicts = await batch.run(files)
        # What ends the process of all inputs counts as a crash, whatever it is.
        expected = "hang" if act is ITSELF else "crash"
        assert [v.outcome for v in verdicts] == ["ok", expected, "ok"]
        if act is ITSELF:
            assert "SIGSTOP" in (await batch.describe(files[1]))["signature"]
    assert marked(home.path) == []


@pytest.mark.parametrize("act", [ITSELF, PARENT])
def test_observing_types(tmp_path: Path, act: str):
    lab = Lab(tmp_path)
    lab.write("app.py", TARGET.format(act="pass", on_import="", harmless="") + f"{act}\n")
    spec = json.loads(lab.spec("app:target").read_text())
    run = {key: value for key, value in spec.items() if key not in ("dir", "instance")}
    request = Request("app:target", lab.python, run=run)
    found, why = observe(request, {"app": {"target": ["data"]}}, lambda words: None)
    if act is ITSELF:
        assert found == {}
        assert "SIGSTOP" in why
    else:  # the child that observes went on, and has answered
        assert why == ""
