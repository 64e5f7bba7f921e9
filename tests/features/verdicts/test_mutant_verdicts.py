"""Verdicts about mutants in the verdicts file, and what they change of a score."""

from pathlib import Path

import pytest

from fuzztui.cli.score import judged, report, state_of
from fuzztui.features.verdicts.file import (
    MutantVerdict,
    VerdictsError,
    change_verdicts,
    read_mutant_verdicts,
    read_verdicts,
)
from fuzztui.kernel.model.mutants import mutants_summary
from fuzztui.kernel.model.state import FindingVerdict

FILE = """\
[[mutant]]
id = "m:f:math:0:-"   # looked at
verdict = "equivalent"
because = "n is never 0"
change = "a + b -> a - b"

[[mutant]]
id = "m:f:math:1:-"
verdict = "accepted"
"""


def put(file: Path, verdict: FindingVerdict) -> None:
    change_verdicts(file, [verdict.row()])


def take_back(file: Path, signature: str) -> None:
    change_verdicts(file, [], {signature})


def row(n: int, state: str) -> dict[str, object]:
    place = {"file": "m.py", "function": "f", "operator": "math", "line": n}
    return {"id": f"m:f:math:{n}:-", "state": state, "before": "a + b", "after": "a - b", **place}


def test_verdicts_about_mutants_are_read_and_kept(tmp_path):
    file = tmp_path / "c.verdicts.toml"
    assert read_mutant_verdicts(file) == {}
    file.write_text(FILE)
    put(file, FindingVerdict("A", "known"))
    assert "# looked at" in file.read_text()
    assert set(read_verdicts(file) or ()) == {"A"}
    assert [v.verdict for v in read_mutant_verdicts(file).values()] == ["equivalent", "accepted"]


@pytest.mark.parametrize(
    "text",
    [
        "[[mutant]]\nverdict = 'equivalent'", "[[mutant]]\nid = 'x'\nverdict = 'known'",
        "[[mutant]]\nid = 3", FILE + FILE, "[mutant]\nid = 'x'",
        "[[mutant]]\nid = 'x'\nverdict = 'accepted'\nnote = 'x'",
    ],
)  # fmt: skip
def test_a_wrong_verdict_about_a_mutant_is_an_error(tmp_path, text):
    file = tmp_path / "c.verdicts.toml"
    file.write_text(text)
    with pytest.raises(VerdictsError, match=r"mutant|:1|:8"):
        read_mutant_verdicts(file)


def test_a_score_leaves_out_equivalent_mutants_and_lists_accepted_ones_apart(tmp_path):
    file = tmp_path / "c.verdicts.toml"
    file.write_text(FILE)
    rows = [row(0, "alive"), row(1, "alive"), row(2, "killed"), row(3, "killed")]
    result = judged({"mutants": rows, "warnings": []}, read_mutant_verdicts(file))
    assert result["warnings"] == []
    summary = mutants_summary(state_of(result))
    assert (summary.equivalent, summary.alive, summary.killed) == (1, 1, 2)
    assert (summary.score, summary.adjusted) == (2 / 4, 2 / 3)
    listed = "\n".join(report(result, [], survivors=True))
    assert listed.count("accepted: 1 mutant") == 1
    assert listed.count("not killed") == 0


@pytest.mark.parametrize(
    "verdict",
    [
        MutantVerdict("m:f:math:9:-", "equivalent"),
        MutantVerdict("m:f:math:0:-", "equivalent", change="a + b -> a * b"),
        MutantVerdict("m:f:math:1:-", "accepted"),  # it is killed
    ],
)
def test_a_verdict_that_does_not_fit_changes_nothing_but_is_reported(verdict):
    rows = [row(0, "alive"), row(1, "killed")]
    result = judged({"mutants": rows, "warnings": ["w"]}, {verdict.id: verdict})
    assert result["mutants"] == rows
    assert len(result["warnings"]) == 2 and verdict.id in result["warnings"][1]
