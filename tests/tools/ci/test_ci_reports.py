"""The reports of ``fuzztui ci``: valid for their readers, whatever a target calls its errors."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from junitparser import Failure, JUnitXml, Skipped

from fuzztui.cli.published import published
from fuzztui.features.verdicts.file import read_verdicts
from fuzztui.tools.ci.annotations import MOST, github, gitlab, plain
from fuzztui.tools.ci.junit import junit
from fuzztui.tools.ci.markdown import MAX_BYTES, MAX_COMMENT_BYTES, comment, markdown
from fuzztui.tools.ci.outcome import (
    CiOutcome,
    CodeLocation,
    Gate,
    ReportedFinding,
    ReportedKill,
    ReportedSurvivor,
    located,
    stack_frames,
)
from fuzztui.tools.ci.reports import GITLAB, JUNIT, SARIF, SUMMARY, write_reports
from fuzztui.tools.ci.sarif import sarif

SCHEMA = json.loads((Path(__file__).parent / "sarif/sarif-2.1.0-rtm.5.json").read_text())
HOSTILE = "E: \x1b[31m\u202e\0\ud800\ufffe %0A::error::x\r\n| `<b>` ```` </details> ]]> &amp; "


def finding(n: int = 0, **more: Any) -> ReportedFinding:
    detail = f'Traceback (most recent call last):\n  File "ROOT/src/m.py", line {n + 1}, in f\nE: x'
    place = CodeLocation("src/m.py", n + 1)
    given = {
        "signature": f"E @ m.py:{n} in f", "category": "crash", "title": "ValueError: x",
        "detail": detail, "verdict": "new", "is_open": True, "input": "findings/ab",
        "frames": (), "location": place,
    }  # fmt: skip
    return ReportedFinding(**{**given, **more})


def survivor(n: int = 0, **more: Any) -> ReportedSurvivor:
    given = {
        "id": f"m:f:math:{n}:-", "location": CodeLocation("src/m.py", n + 1), "function": "f",
        "change": "a + b -> a - b", "is_noted": True, "is_new": True,
    }  # fmt: skip
    return ReportedSurvivor(**{**given, **more})


def outcome(root: Path, *findings: ReportedFinding, **more: Any) -> CiOutcome:
    gates = [Gate("findings", "1 new finding", 10), Gate("survivors", "1 new survivor", 11)]
    made = CiOutcome("c", root, "main", gates=gates, findings=list(findings))
    return replace(made, **{"survivors": [survivor()], "seconds": {"replay": 1.5}, **more})


CASES = {
    "usual": [finding(), finding(1, is_open=False, verdict="known")],
    "none": [],
    "hostile": [finding(title=HOSTILE, signature=HOSTILE, detail=HOSTILE, verdict=HOSTILE,
                        category=HOSTILE, input=HOSTILE, location=CodeLocation(HOSTILE, 1)),
                finding(title="", signature="", detail="", location=None)],
    "many": [finding(n, title="x" * 5_000, detail="y" * 100_000) for n in range(60)],
}  # fmt: skip


@pytest.fixture(params=CASES)
def found(request: pytest.FixtureRequest, tmp_path: Path) -> CiOutcome:
    hostile = survivor(1, change=f"{HOSTILE} -> a - b", id=HOSTILE, function=HOSTILE)
    survivors = [survivor(), hostile]
    return outcome(tmp_path, *CASES[request.param], survivors=survivors, notes=[HOSTILE])


def test_sarif_is_valid(found):
    document = json.loads(json.dumps(sarif(found)))
    jsonschema.Draft4Validator(SCHEMA).validate(document)
    (run,) = document["runs"]
    assert len(run["results"]) == len(found.findings) + 2
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert {result["ruleId"] for result in run["results"]} == set(rules)
    assert len(rules) == len(set(rules))


def test_the_schema_refuses_what_is_wrong(tmp_path):
    document = sarif(outcome(tmp_path, finding()))
    document["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft4Validator(SCHEMA).validate(document)


def test_places_and_levels_in_sarif(tmp_path):
    known = finding(5, is_open=False, verdict="known")
    (run,) = sarif(outcome(tmp_path, known, finding()))["runs"]
    new, old, note = run["results"]
    place = new["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "src/m.py", "uriBaseId": "SRCROOT"}
    assert place["region"] == {"startLine": 1}
    assert (new["ruleId"], new["level"]) == ("crash/ValueError", "error")
    assert new["baselineState"] == "new"
    assert "suppressions" in old and "suppressions" not in new
    assert (note["ruleId"], note["level"]) == ("survivor", "note")


def test_severity_in_sarif_and_junit(tmp_path: Path) -> None:
    """GitHub wants ``security-severity`` of a rule, so a rule has that of its worst result."""
    text = "not exploitable, timeout: The target hangs."
    made = outcome(
        tmp_path,
        finding(severity="PROBABLY_EXPLOITABLE", severity_text="probably exploitable: \0"),
        finding(1, severity="EXPLOITABLE"), finding(2),
        finding(3, category="hang", severity="NOT_EXPLOITABLE", severity_text=text),
        finding(4, title="KeyError: 1", severity="ERROR"),
        finding(5, title="Odd", severity="UNKNOWN"),
    )  # fmt: skip
    (run,) = sarif(made)["runs"]
    scores = {
        rule["id"]: rule["properties"].get("security-severity")
        for rule in run["tool"]["driver"]["rules"]
    }
    assert scores == {
        "crash/ValueError": "9.1", "hang/ValueError": "3.0", "crash/KeyError": None,
        "crash/Odd": None, "survivor": None,
    }  # fmt: skip
    tagged = [
        r["id"] for r in run["tool"]["driver"]["rules"] if "security" in r["properties"]["tags"]
    ]
    assert tagged == ["crash/ValueError", "hang/ValueError"]
    assert run["results"][3]["properties"]["severity"] == text
    jsonschema.Draft4Validator(SCHEMA).validate(sarif(made))
    named = [found.get("value") for found in ElementTree.fromstring(junit(made)).iter("property")]
    assert named == ["probably exploitable: \\0", text]


@pytest.mark.parametrize("absolute", [False, True])
def test_reports_name_no_directory_of_the_user(tmp_path: Path, *, absolute: bool) -> None:
    places = f'Traceback:\n  File "{tmp_path}/src/m.py", line 1, in f\nE: {tmp_path}'
    one = finding(detail=places, title=f"E: no file {tmp_path}/a", input=f"{tmp_path}/b")
    of = outcome(tmp_path, one, notes=[f"see {tmp_path}/c"], absolute=absolute)
    write_reports(of if absolute else published(of, of.root), tmp_path, {})
    texts = [(tmp_path / name).read_text() for name in (SARIF, JUNIT, GITLAB, SUMMARY)]
    assert all((str(tmp_path) in text) == absolute for text in texts)
    assert 'File "src/m.py", line 1' in texts[3] or absolute


def test_a_fingerprint_stays_when_lines_move(tmp_path):
    (tmp_path / "src").mkdir()
    file = tmp_path / "src/m.py"
    file.write_text("raise ValueError\nother = 1\n")
    one = outcome(tmp_path)
    first = finding().fingerprint(one.source)
    assert finding(1).fingerprint(one.source) != first
    file.write_text("\n    raise ValueError\n")
    assert finding(1).fingerprint(one.source) == first
    assert finding(9).fingerprint(one.source)  # a line that is not there


def test_junit_is_read(found, tmp_path):
    write_reports(found, tmp_path, {})
    xml = JUnitXml.fromfile(str(tmp_path / JUNIT))
    (suite,) = xml
    cases = list(suite)
    assert len(cases) == suite.tests == len(found.findings) + 2
    failed = [c for c in cases if any(isinstance(r, Failure) for r in c.result)]
    assert len(failed) == suite.failures == len(found.open_findings) + 2
    skipped = [c for c in cases if any(isinstance(r, Skipped) for r in c.result)]
    assert len(skipped) == suite.skipped == len(found.findings) - len(found.open_findings)


def test_annotations_are_one_line_each_and_not_more_than_are_shown(found):
    lines = list(github(found))
    assert all(line.startswith(("::error ", "::warning ")) for line in lines)
    assert all(line.isprintable() for line in lines)  # so that a text begins no other command
    assert sum(line.startswith("::error") for line in lines) == min(MOST, len(found.open_findings))


def test_annotations_name_file_and_line(tmp_path):
    odd = finding(location=CodeLocation("a,b:c%.py", 3), title="50% done")
    error, warning = github(outcome(tmp_path, odd))
    assert error == "::error file=a%2Cb%3Ac%25.py,line=3,title=fuzztui finding::50%25 done"
    assert warning.startswith("::warning file=src/m.py,line=1,title=fuzztui survivor::")
    unnoted = outcome(tmp_path, survivors=[survivor(is_noted=False), survivor(is_new=False)])
    assert list(github(unnoted)) == []


def test_plain_lines(found):
    lines = list(plain(found))
    assert all(line.isprintable() for line in lines)
    assert any(line.startswith("src/m.py:1: ") for line in lines)
    number = len(found.open_findings) + 2
    assert len(lines) == (number if number < 50 else 50 + 2 + 1)


def test_code_quality_has_unique_fingerprints(tmp_path):
    rows = gitlab(outcome(tmp_path, *[finding()] * 4, finding(location=None)))
    assert [row["severity"] for row in rows] == [*["critical"] * 4, "minor"]
    assert len({row["fingerprint"] for row in rows}) == 5
    assert rows[0]["location"] == {"path": "src/m.py", "lines": {"begin": 1}}


def test_markdown_shows_text_as_it_is(found):
    found.kills = [ReportedKill(None, HOSTILE, HOSTILE * 99, HOSTILE * 99)] * 200
    for text, limit in ((markdown(found), MAX_BYTES), (comment(found), MAX_COMMENT_BYTES)):
        assert len(text.encode()) <= limit + 100
        outside = re.sub(r"^(````*)text\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert "<b>" not in outside
        assert all(ch.isprintable() or ch == "\n" for ch in text)


ODD = "\x1b[31m\u202e\0\x7f\r\n```\n</details> \U0001f600"


@pytest.mark.parametrize("signature", ["E @ m.py:1 in f", 'a "quoted" \\ one ```', ODD])
def test_the_summary_has_a_verdict_that_is_valid_in_the_file(tmp_path, signature):
    file = tmp_path / "c.verdicts.toml"
    known = finding(1, is_open=False, verdict="known")
    given = [finding(signature=signature, title=HOSTILE), known]
    text = markdown(outcome(tmp_path, *given, verdicts="c.verdicts.toml"))
    found = re.findall(r"^(````*)text\n(.*?)^\1$", text, flags=re.MULTILINE | re.DOTALL)
    (block,) = [block for _, block in found if block.startswith("[[finding]]")]
    file.write_text(block)
    verdicts = read_verdicts(file)
    assert verdicts is not None
    assert {name: v.verdict for name, v in verdicts.items()} == {signature: "known"}
    assert text.count("<details>") == text.count("\n</details>")
    assert "c.verdicts.toml" in text


def test_a_finding_that_can_have_no_new_verdict_has_no_block(tmp_path):
    for odd in (
        finding(verdict="regression"), finding(signature="by-signal-SIGSEGV"),
        finding(signature="x" * 300), finding(signature="\ud800"), finding(signature=""),
    ):  # fmt: skip
        assert "[[finding]]" not in markdown(outcome(tmp_path, odd))


def test_the_summary_of_a_job_is_appended(tmp_path):
    summary = tmp_path / "step"
    summary.write_text("before\n")
    write_reports(outcome(tmp_path, finding()), tmp_path, {"GITHUB_STEP_SUMMARY": str(summary)})
    assert summary.read_text() == "before\n" + (tmp_path / SUMMARY).read_text() + "\n"
    for name in (SARIF, GITLAB):
        json.loads((tmp_path / name).read_text())


def test_the_code_is_that_of_the_first_gate_that_fails(tmp_path):
    assert outcome(tmp_path).code == 10
    assert outcome(tmp_path, gates=[Gate("a", "", 0), Gate("b", "", 11)]).code == 11
    assert outcome(tmp_path, gates=[]).code == 0


def test_calls_of_a_traceback(tmp_path):
    for name in ("h.py", "m.py"):
        (tmp_path / name).touch()
    detail = (
        'Traceback (most recent call last):\n  File "/old.py", line 1, in old\nKeyError\n\nDuring\n'
        f'Traceback (most recent call last):\n  File "{tmp_path}/h.py", line 3, in target\n'
        f'  File "{tmp_path}/.venv/lib/x.py", line 4, in lib\n'
        '  File "/usr/lib/y.py", line 5, in y\n'
        "ValueError: x"
    )
    frames = stack_frames(detail, tmp_path)
    assert [frame.function for frame in frames] == ["target", "lib", "y"]
    assert [frame.location for frame in frames] == [CodeLocation("h.py", 3), None, None]
    fatal = (
        f'Stack (most recent call first):\n  File "{tmp_path}/m.py", line 3 in inner\n'
        f'  File "{tmp_path}/h.py", line 9 in outer\n'
    )
    assert [frame.function for frame in stack_frames(fatal, tmp_path)] == ["outer", "inner"]
    assert stack_frames("", tmp_path) == ()
    assert stack_frames('  File "a\0b", line 99999999999, in f', tmp_path) == ()


@pytest.mark.parametrize(
    ("name", "inside"),
    [("m.py", True), ("src/p/m.py", True), (".tox/m.py", False), ("x/site-packages/m.py", False),
     ("../m.py", False), ("venv/m.py", False), ("a\0b.py", False), ("circle/m.py", False)],
)  # fmt: skip
def test_code_of_the_repository(tmp_path, name, inside):
    (tmp_path / "circle").symlink_to("circle")
    if "\0" not in name and "circle" not in name:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert (located(str(tmp_path / name), 1, tmp_path) is not None) == inside


@pytest.mark.parametrize(
    "name", ["<string>", "<attrs generated init lib.A-7>", "<lambdifygenerated-3>", "page.html"]
)
def test_no_report_names_a_file_that_does_not_exist(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a relative name is one in the current directory
    (tmp_path / "h.py").touch()
    detail = (
        f'Traceback (most recent call last):\n  File "{tmp_path}/h.py", line 3, in target\n'
        f'  File "{name}", line 2, in f\nKeyError: 1'
    )
    frames = stack_frames(detail, tmp_path)
    assert [frame.location for frame in frames] == [CodeLocation("h.py", 3), None]
    made = outcome(tmp_path, finding(frames=frames, location=frames[0].location))
    files = [json.dumps(sarif(made)), json.dumps(gitlab(made)), *github(made)]
    files.append(junit(made).decode())
    assert not any(name in text for text in files)
    assert sum("h.py" in text for text in files) == 4


def test_a_survivor_marks_its_expression(tmp_path):
    place = CodeLocation("src/m.py", 3, column=5, end_line=4, end_column=9)
    made = outcome(tmp_path, survivors=[survivor(location=place)])
    log = sarif(made)
    jsonschema.validate(log, SCHEMA)
    (result,) = log["runs"][0]["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 3, "startColumn": 5, "endLine": 4, "endColumn": 9}
    (line,) = github(made)
    assert "line=3,endLine=4," in line
