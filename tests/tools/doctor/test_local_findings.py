"""Findings about this machine; each that is not well has a remedy."""

import sys

import pytest

from fuzztui.run.campaign import extras
from fuzztui.tools.doctor import local
from fuzztui.tools.doctor.findings import ABSENT, FAILED, OK, WARNING, MachineFinding
from fuzztui.tools.doctor.local import TerminalFacts, local_findings
from fuzztui.tools.scaffold.interpreters import ProjectPython

GB = 1 << 30
GOOD = {
    "cores": 4, "load": 0.1, "memory": 8 * GB, "memory_free": 6 * GB, "path": "/data/runs",
    "existing": "/data", "disk": 90 * GB, "disk_free": 50 * GB, "writable": True,
    "core_pattern": "core", "governor": "",
}  # fmt: skip
LARGE = TerminalFacts(True, 120, 40)
COLOURS = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    facts = dict(GOOD)
    monkeypatch.setattr(local, "machine_facts", lambda path: facts)
    monkeypatch.setattr(local, "afl_findings", lambda *kernel: iter(()))
    monkeypatch.setattr(local, "_INOTIFY", tmp_path)
    (tmp_path / "max_user_watches").write_text("65536\n")
    return facts


def found(tmp_path, terminal=LARGE, environ=COLOURS) -> dict[str, MachineFinding]:
    rows = list(local_findings(tmp_path, terminal, environ, lambda what: None))
    assert all(row.advice for row in rows if row.state not in (OK,))
    return {row.what: row for row in rows if row.state not in (OK, ABSENT)}


def test_all_is_well(tmp_path):
    assert found(tmp_path) == {}


@pytest.mark.parametrize(
    ("fact", "what", "state"),
    [
        ({"memory_free": 100 << 20}, "memory", WARNING),
        ({"disk_free": 100 << 20}, "disk", WARNING),
        ({"disk_free": 1 << 20}, "disk", FAILED),
        ({"writable": False}, "disk", FAILED),
    ],
)
def test_the_machine(fact, what, state, machine, tmp_path):
    machine |= fact
    assert {name: row.state for name, row in found(tmp_path).items()} == {what: state}


@pytest.mark.parametrize(
    ("terminal", "environ", "what"),
    [
        (TerminalFacts(True, 60, 40), COLOURS, "terminal"),
        (TerminalFacts(True, 120, 10), COLOURS, "terminal"),
        (TerminalFacts(True, 120, 40, draws_ascii=True), COLOURS, "UTF-8"),
        (LARGE, {"TERM": "xterm"}, "colours"),
        (LARGE, {}, "colours"),
    ],
)
def test_the_terminal(terminal, environ, what, tmp_path):
    assert list(found(tmp_path, terminal, environ)) == [what]


@pytest.mark.parametrize("environ", [{"TERM": "tmux-256color"}, {"NO_COLOR": "1"}])
def test_terminals_with_enough_colours(environ, tmp_path):
    assert found(tmp_path, LARGE, environ) == {}


def test_without_a_terminal_nothing_is_said_of_colours(tmp_path):
    assert found(tmp_path, TerminalFacts(False), {}) == {}


def test_few_watches(tmp_path):
    (tmp_path / "max_user_watches").write_text("100\n")
    assert list(found(tmp_path)) == ["inotify"]


def test_interpreters_up_to_the_one_that_is_used(tmp_path, monkeypatch):
    pythons = [
        ProjectPython(tmp_path, ".venv", (3, 9, 1), None, "is Python 3.9.1"),
        ProjectPython(tmp_path, "venv", (3, 99, 1)),
        ProjectPython(tmp_path, "never", (3, 9, 1), None, "is not used"),
    ]
    monkeypatch.setattr(local, "project_pythons", lambda *args: iter(pythons))
    rows = list(local_findings(tmp_path, LARGE, COLOURS, lambda what: None))
    states = [(row.state, row.text) for row in rows if row.what == "python"]
    assert [state for state, _ in states] == [WARNING, WARNING]  # too old, too new
    assert not any("never" in text for _, text in states)


def test_an_extra_that_is_not_installed_is_absent(tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "mypy" else object())
    rows = list(local_findings(tmp_path, LARGE, COLOURS, lambda what: None))
    absent = {row.what: row for row in rows if row.state == ABSENT}
    assert "[spoton]" in absent
    assert "[text]" not in absent
    assert sys.executable in absent["[spoton]"].advice
