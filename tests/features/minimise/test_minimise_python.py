"""What is made of what an engine says that minimises."""

import json
import math
import os

import pytest

from fuzztui.cli import main
from fuzztui.cli.output import DONE, FAILED, USAGE
from fuzztui.features.minimise import python_inputs
from fuzztui.features.minimise.rewrite import Search
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.execute import ProcessResult

REASON = b"fuzztui: no process is available\n"


QUIET = Search(lambda words, part: None, 600.0)


@pytest.mark.parametrize("said", [b'{"size": 1, "tries": 3, "best": "YQ=="}\n', b""])
async def test_why_the_engine_ended_is_told(tmp_path, monkeypatch, said):
    """Also where something smaller is known by then."""

    async def execute(argv, mark, *, on_output, **more):
        on_output(said + REASON)
        return ProcessResult(3, 1.0, b"")

    monkeypatch.setattr(python_inputs, "execute", execute)
    monkeypatch.setattr(python_inputs, "spec_near", lambda home, file: tmp_path / "spec.json")
    monkeypatch.setattr(python_inputs, "python_of", lambda spec: ("python3", {}))
    file, output = tmp_path / "file", tmp_path / "small"
    file.write_bytes(b"abc")
    home = RunDir(tmp_path)
    monkeypatch.setattr(RunDir, "expose_package", lambda self: tmp_path)
    work = python_inputs.minimise_by_engine(home, file, output, QUIET)
    if said:
        assert "; no process is available: more may be possible" in await work
        assert output.read_bytes() == b"a"
    else:
        with pytest.raises(SupervisorError, match=r"^no process is available$"):
            await work


async def test_a_time_limit_of_the_user_and_an_estimate(tmp_path, monkeypatch):
    asked, heard = [], []

    async def execute(argv, mark, *, on_output, **more):
        asked.append(argv)
        on_output(b'{"size": 2, "tries": 3, "part": 0.25, "best": "YWI="}\n')
        on_output(b'{"size": 1, "tries": 4, "part": 7.5}\n')
        on_output(b'{"size": 1, "tries": 5, "best": "YQ==", "end": "stopped after 7 s"}\n')
        return ProcessResult(0, 1.0, b"")

    monkeypatch.setattr(python_inputs, "execute", execute)
    monkeypatch.setattr(python_inputs, "spec_near", lambda home, file: tmp_path / "spec.json")
    monkeypatch.setattr(python_inputs, "python_of", lambda spec: ("python3", {}))
    monkeypatch.setattr(RunDir, "expose_package", lambda self: tmp_path)
    file, output = tmp_path / "file", tmp_path / "small"
    file.write_bytes(b"abc")
    said = await python_inputs.minimise_by_engine(
        RunDir(tmp_path), file, output, Search(lambda words, part: heard.append(part), 7)
    )
    assert asked[0][-2:] == ["--seconds", "7"]
    assert heard == [-1.0, 0.25, -1.0, -1.0]
    assert "stopped after 7 s" in said
    assert output.read_bytes() == b"a"


SUITE = {"suite": ["t"], "examples": "/e"}


@pytest.fixture
def minimised(tmp_path, monkeypatch):
    """Minimises b"abc" to ``best``, and answers with ``answer`` if an example is to be saved.

    Returns the summary, and the request for the example, if there was one.
    """

    async def run(target, best=b"YQ==", answer=b'{"saved": ""}\n'):
        asked = []

        async def execute(argv, mark, *, on_output, **more):
            if "--save-example" not in argv:
                on_output(b'{"size": 1, "tries": 3, "best": "%s", "end": ""}\n' % best)
                return ProcessResult(0, 1.0, b"")
            asked.extend(argv[argv.index("--repro") :])
            on_output(answer)
            return ProcessResult(3 if answer == REASON else 0, 1.0, b"")

        monkeypatch.setattr(python_inputs, "execute", execute)
        monkeypatch.setattr(RunDir, "expose_package", lambda self: tmp_path)
        spec = tmp_path / "out" / "main" / "spec.json"
        spec.parent.mkdir(parents=True)
        spec.write_text(json.dumps({"target": {"python": "python3", **target}}))
        file = spec.parent / "file"
        file.write_bytes(b"abc")
        home, output = RunDir(tmp_path), tmp_path / "small"
        said = await python_inputs.minimise_by_engine(home, file, output, QUIET)
        return said, asked

    return run


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b'x\n{"saved": ""}\n', "; saved for Hypothesis"),
        (b'{"saved": "no \\u001b db"}\n', r"; not saved for Hypothesis: no \e db"),
        (REASON, "; not saved for Hypothesis: no process is available"),
        (b"", "; not saved for Hypothesis: the engine exited with status 0"),
    ],
)
async def test_the_smaller_input_is_saved_for_hypothesis(answer, expected, minimised, tmp_path):
    said, asked = await minimised(SUITE, answer=answer)
    assert asked == ["--repro", str(tmp_path / "small"), "--save-example"]
    assert said.endswith(expected)


@pytest.mark.parametrize(
    ("target", "best"),
    [(SUITE, b"YWJj"), (SUITE | {"examples": ""}, b"YQ=="), ({"examples": "/e"}, b"YQ==")],
    ids=["not smaller", "not wanted", "one function"],
)
async def test_no_example_is_saved(target, best, minimised):
    said, asked = await minimised(target, best)
    assert not asked
    assert "Hypothesis" not in said


def failing_run(tmp_path, monkeypatch):
    """A run, the file of a finding, and the arguments of each engine that would minimise it."""
    run, asked = tmp_path / "run", []
    for folder in ("supervisor", "log", "out/main/crashes"):
        (run / folder).mkdir(parents=True)
    (run / "out" / "main" / "spec.json").write_text("{}")
    file = run / "out" / "main" / "crashes" / "id:000000"
    file.write_bytes(b"abc")

    async def execute(argv, mark, *, on_output, limit, **more):
        asked.append((argv, limit))
        on_output(b'{"size": 1, "tries": 5, "best": "YQ==", "end": ""}\n')
        return ProcessResult(0, 1.0, b"")

    monkeypatch.setattr(python_inputs, "execute", execute)
    monkeypatch.setattr(python_inputs, "python_of", lambda spec: ("python3", {}))
    monkeypatch.setattr(RunDir, "expose_package", lambda self: tmp_path)
    return run, file, asked


def test_a_time_of_0_is_no_limit(tmp_path, monkeypatch):
    run, file, asked = failing_run(tmp_path, monkeypatch)
    limits = []
    for time in ("0", "7"):
        assert main(["minimise", str(run), str(file), "--time", time, "--progress"]) == DONE
        argv, limit = asked[-1]
        limits.append((argv[argv.index("--seconds") + 1], limit < math.inf))
    assert [(float(seconds), limited) for seconds, limited in limits] == [
        (math.inf, False), (7.0, True),
    ]  # fmt: skip


def test_an_output_that_cannot_be_written_is_reported_before_the_search(
    tmp_path, monkeypatch, capsys
):
    run, file, asked = failing_run(tmp_path, monkeypatch)
    for output in ("/proc/nope", "/proc/none/nope"):
        assert main(["minimise", str(run), str(file), "-o", output]) == FAILED
        said = capsys.readouterr().err
        assert "/proc" in said
        assert ".part-" not in said
    assert not asked


@pytest.mark.parametrize("command", ["minimise", "repro"])
def test_only_a_regular_file_is_a_finding(tmp_path, monkeypatch, capsys, command):
    run, _, asked = failing_run(tmp_path, monkeypatch)
    os.mkfifo(tmp_path / "fifo")
    said = []
    for name in ("fifo", "none"):
        assert main([command, str(run), str(tmp_path / name)]) == USAGE
        said.append(capsys.readouterr().err.replace(name, ""))
    assert said[0] != said[1]
    assert not asked
