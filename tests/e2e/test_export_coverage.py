"""``fuzztui coverage`` against the real coverage.py, and its LCOV in the real genhtml."""

import json
import shutil
import subprocess

import pytest
from coverage_judge import measured
from waiting import DEADLINE_S

pytestmark = pytest.mark.slow


def reported(home, *options):
    data = json.loads(home("coverage", str(home.run), "--format", "json", "--absolute", *options))
    return data, {
        file: [sorted([*f["executed_lines"], *f["missing_lines"]]), f["missing_lines"]]
        for file, f in data["files"].items()
        if f["executed_lines"] or f["missing_lines"]
    }


@pytest.fixture
def finished(home):
    home.headless("600 trials")
    return home


def test_the_lines_are_those_of_coverage_py(finished):
    queue = sorted(finished.run.glob("out/*/queue/id:*"))
    data, ours = reported(finished, "--over-time")
    assert ours == {file: lines for file, lines in measured(queue).items() if lines[0]}
    counts = [n for _, _, n in data["over_time"]]
    assert counts == sorted(counts)
    assert counts[-1] == data["totals"]["covered_lines"]
    assert all(t >= 0 for t, _, _ in data["over_time"])

    _, one = reported(finished, "--entry", "1")
    assert one == {f: lines for f, lines in measured([queue[1]]).items() if lines[0]}
    assert one != ours
    finished("coverage", str(finished.run), "--entry", "999999", code=2)


@pytest.mark.skipif(shutil.which("genhtml") is None, reason="lcov is not installed")
def test_genhtml_reads_the_lcov_file(finished):
    file = finished.path / "lcov.info"
    finished("coverage", str(finished.run), "--format", "lcov", "-o", str(file))
    pages = finished.path / "html"
    done = subprocess.run(
        ["genhtml", str(file), "-o", str(pages)],
        capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert any(p.name.startswith("_parser.py") for p in pages.rglob("*.html"))
    table = finished("coverage", str(finished.run))
    lines = table.split("TOTAL")[1].split()
    assert f"{int(lines[0]) - int(lines[1])} of {lines[0]} lines" in done.stdout


def test_a_corpus_for_other_fuzzers_and_back(finished):
    queue = {f.read_bytes() for f in finished.run.glob("out/*/queue/id:*")}
    plain, go, back = (finished.path / name for name in ("plain", "go", "back"))
    finished("corpus", "export", str(finished.run), str(plain))
    assert {f.read_bytes() for f in plain.iterdir()} == queue
    finished("corpus", "export", str(finished.run), str(go), "--format", "go")
    (go / "two").write_text("go test fuzz v1\nint(1)\nint(2)\n")
    finished("corpus", "import", str(go), str(back))
    assert "two" in finished.stderr
    assert {f.read_bytes() for f in back.iterdir()} == queue
    assert "0 new files" in finished("corpus", "import", str(go), str(back))
    finished("corpus", "import", str(finished.path / "nowhere"), str(back), code=3)


def test_the_first_and_the_smallest_entry_of_each_line(finished):
    data = json.loads(finished("coverage", str(finished.run), "--by-line"))["by_line"]
    _, whole = reported(finished)
    (parser,) = [file for file in data if file.endswith("_parser.py")]
    rows = data[parser]
    statements, missing = whole[parser]
    assert sorted(rows["statements"]) == statements
    covered = set(statements) - set(missing)
    first = {line: (entry, t) for line, entry, t in rows["first"]}
    smallest = {line: (entry, size) for line, entry, size in rows["smallest"]}
    assert set(first) == covered
    assert {entry for entry, _ in first.values()} > {""}  # some lines ran on import
    assert set(smallest) == {line for line, (entry, _) in first.items() if entry}
    # The judge runs the smallest entry of a line alone: it executes the line, and no smaller does.
    line, (entry, size) = min(smallest.items(), key=lambda item: -item[1][1])
    instance, _, number = entry.partition("/")
    queue = sorted(finished.run.glob("out/*/queue/id:*"))
    (file,) = [f for f in queue if f.parts[-3] == instance and int(f.name[3:9]) == int(number)]
    assert file.stat().st_size == size
    assert line not in measured([file])[parser][1]
    smaller = [f for f in queue if f.stat().st_size < size]
    assert line in measured(smaller)[parser][1]
    finished("coverage", str(finished.run), "--by-line", "--format", "lcov", code=2)


def test_the_command_ends_with_its_stdin(finished):
    # The screen's measurement: stdin ends with the app, here at once.
    answer = finished("coverage", str(finished.run), "--by-line", "--until-eof", code=130)
    assert answer == ""
