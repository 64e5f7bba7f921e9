"""The severity of groups in ``status``, its JSON and ``report``."""

import json
from pathlib import Path

import pytest
from run_logs import run_with

from fuzztui.cli import main
from fuzztui.cli.output import DONE
from fuzztui.kernel.wire.events import CampaignStarted, FindingDescribed, FindingSaved
from fuzztui.kernel.wire.severity import ERROR, EXPLOITABLE, NOT_EXPLOITABLE, Severity

WRITE = Severity(EXPLOITABLE, "DestAv", "A write \x1b[2J somewhere.")
READ = Severity(NOT_EXPLOITABLE, "SourceAv", "A read.")
EXCEPTION = Severity(ERROR, "KeyError", "An exception.")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    events = [CampaignStarted("c", "afl", "t")]
    for n, (signature, severity) in enumerate(
        [("a", READ), ("a", WRITE), ("b", EXCEPTION), ("c", Severity())]
    ):
        file = f"crashes/id:{n:06d}"
        described = FindingDescribed("main", "crash", file, signature, f"title of {signature}")
        events += [FindingSaved("main", "crash", file, n), severity.put_in(described)]
    run_with(tmp_path / "run", *events)
    return tmp_path / "run"


def test_a_group_has_that_of_its_worst_finding_and_old_logs_have_none(run, cli, capsys) -> None:
    text = cli("status", run).out
    for line in ("crash, exploitable: title of a", "crash: title of b", "crash: title of c"):
        assert f"  {line}\n" in text
    assert main(["status", str(run), "--json"]) == DONE
    rows = json.loads(capsys.readouterr().out)["findings"]
    assert [(row["severity"], row["severity_class"]) for row in rows] == [
        (EXPLOITABLE, "DestAv"), (ERROR, "KeyError"), (None, ""),
    ]  # fmt: skip


def test_a_report_has_the_reason(run, cli, tmp_path) -> None:
    cli("report", run, "-o", tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text()
    assert "| severity | exploitable, DestAv: A write " in text
    assert "| severity | error, KeyError: An exception. |" in text
    assert "\x1b" not in text
    assert text.count("severity") == 2
