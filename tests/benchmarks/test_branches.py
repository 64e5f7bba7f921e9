"""Branches of a corpus, counted without our probes: what ``coverage json`` says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lab.runs import Instance, call
from lab.subjects import Subject

LAB = Path(__file__).resolve().parents[2] / "benchmarks" / "lab"

pytestmark = pytest.mark.slow

PACKAGE = {
    "__init__.py": "def start(text):\n    from yard.parts import part\n    return part(text)\n",
    "parts.py": """\
def part(text):
    found = []
    for letter in text:
        if letter == "b":
            continue
        if (letter == "c"
                and len(text) > 2):
            break
        try:
            found.append({"a": 1}[letter])
        except KeyError:
            if letter == "d":
                raise ValueError(letter) from None
    else:
        found.append(0)
    while text == "loop":
        pass
    match found:
        case [1, *_]:
            return [n for n in found if n]
        case _:
            return None
""",
    "never.py": "def f(x):\n    if x:\n        return 1\n    return 2\n",
}
CORPUS = [(0.5, b"a"), (1.5, b"abc"), (1.5, b"d"), (3.0, b"loop"), (4.0, b"ee"), (9.0, b"")]


def test_branches_at_each_mark_are_those_of_coverage_json(tmp_path):
    package = tmp_path / "code" / "yard"
    package.mkdir(parents=True)
    for name, text in PACKAGE.items():
        (package / name).write_text(text)
    (tmp_path / "code" / "harness.py").write_text(
        "from yard import start\ndef run(text: str): return start(text)\n"
    )
    subject = Subject(
        "yard",
        "",
        str(tmp_path / "code" / "harness.py:run"),
        ("yard",),
        path=(str(tmp_path / "code"),),
    )
    listed = []
    for number, (at, data) in enumerate(CORPUS):
        (tmp_path / str(number)).write_bytes(data)
        listed.append((at, str(tmp_path / str(number))))
    entries, record = tmp_path / "entries.json", tmp_path / "record.json"
    entries.write_text(json.dumps(listed))
    instance = Instance(subject, "zest", tmp_path / "run")
    argv = [sys.executable, "-P", str(LAB / "branches.py"), str(instance.spec()), str(record)]
    call([*argv, str(entries), "[1, 2, 5]"], instance.root, tmp_path / "log", limit_s=300)

    totals = [expected(tmp_path, CORPUS[:n]) for n in (1, 3, 5, 6)]
    found = json.loads(record.read_text())
    assert found == {
        "inputs": 6,
        "branches": totals[-1]["covered_branches"],
        "branches_over": [of["covered_branches"] for of in totals[:-1]],
        "branches_of": totals[-1]["num_branches"],
    }
    assert 0 < totals[0]["covered_branches"] < totals[1]["covered_branches"]


def expected(tmp_path, corpus):
    """The totals of ``coverage run --branch`` and ``coverage json`` for these inputs."""
    program = f"""\
from yard import start
for text in {[data.decode() for _, data in corpus if data != b"loop"]!r}:
    try:
        start(text)
    except ValueError:
        pass
if {any(data == b"loop" for _, data in corpus)}:
    import signal
    def stop(*_): raise TimeoutError
    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.2)
    try:
        start("loop")
    except TimeoutError:
        pass
"""
    code = tmp_path / "code"
    (code / "main.py").write_text(program)
    coverage = [sys.executable, "-m", "coverage"]
    for argv in (["run", "--branch", "--source=yard", "main.py"], ["json", "-q", "-o", "out.json"]):
        subprocess.run([*coverage, *argv], cwd=code, check=True)
    totals = json.loads((code / "out.json").read_text())["totals"]
    assert isinstance(totals, dict)
    return totals
