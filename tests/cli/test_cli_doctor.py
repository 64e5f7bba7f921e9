"""``fuzztui doctor``: lines, JSON and the exit code."""

import json

import pytest

from fuzztui.cli import doctor, main
from fuzztui.cli.output import DONE, FAILED
from fuzztui.tools.doctor.findings import MachineFinding


def run(capsys, monkeypatch, *rows: MachineFinding, argv=("doctor",)) -> tuple[int, str]:
    monkeypatch.setattr(doctor, "local_findings", lambda *args: iter(rows))
    code = main([*argv])
    return code, capsys.readouterr().out


WELL = MachineFinding("disk", "ok", "is large")
POOR = MachineFinding("memory", "warning", "is small", "buy\x1b[2J more")
BAD = MachineFinding("python", "failed", "is \x1b[31mold", "install another")


def test_only_a_failure_changes_the_exit_code(capsys, monkeypatch):
    assert run(capsys, monkeypatch, WELL)[0] == DONE
    assert run(capsys, monkeypatch, WELL, POOR)[0] == DONE
    assert run(capsys, monkeypatch, WELL, POOR, BAD)[0] == FAILED


def test_lines_and_json_have_the_same_findings_escaped(capsys, monkeypatch):
    _, text = run(capsys, monkeypatch, WELL, POOR, BAD)
    assert "\x1b" not in text
    assert len(text.splitlines()) == 5  # three findings, two remedies
    _, text = run(capsys, monkeypatch, WELL, POOR, BAD, argv=("doctor", "--json"))
    data = json.loads(text)
    assert (data["ready"], len(data["findings"])) == (False, 3)
    assert {"what", "state", "text", "advice"} == set(data["findings"][0])
    assert "\x1b" not in text


@pytest.mark.slow
def test_this_machine(capsys):
    assert main(["doctor", "--json"]) in (DONE, FAILED)
    rows = json.loads(capsys.readouterr().out)["findings"]
    assert {"fuzztui", "python", "cores", "memory", "disk", "inotify"} <= {r["what"] for r in rows}
    assert all(row["advice"] for row in rows if row["state"] != "ok")
