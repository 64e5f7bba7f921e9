"""Reports of line coverage."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

from fuzztui.features.source.executed import Growth, coverage_of
from fuzztui.tools.export.coverage import formatted, ranges

ROOT = Path("/repo")
FOUND = coverage_of(
    {"/repo/src/a.py": {1, 4, 9}, "/lib/b.py": set(), "/lib/none.py": {7}},
    {"/repo/src/a.py": [1, 3, 8], "/lib/b.py": [2]},
    {"/repo/src/a.py": {3: 3, 4: 3}},
    ROOT,
)


def test_a_line_counts_for_its_statement() -> None:
    assert [(f.name, sorted(f.executed), f.missing) for f in FOUND.files] == [
        ("/lib/b.py", [], [2]),
        ("src/a.py", [1, 3], [8]),
    ]
    assert (len(FOUND.total.executed), len(FOUND.total.statements)) == (2, 4)


def test_lcov() -> None:
    records = formatted(FOUND, "lcov").split("end_of_record\n")
    assert records[1].splitlines() == [
        "TN:fuzztui", "SF:src/a.py", "DA:1,1", "DA:3,1", "DA:8,0", "LF:3", "LH:2",
    ]  # fmt: skip
    hostile = coverage_of({}, {"/x\nSF:/etc/passwd": [1]}, {}, ROOT)
    assert formatted(hostile, "lcov").count("\nSF:") == 1


def test_cobertura() -> None:
    assert "/repo" not in formatted(FOUND, "cobertura").replace("../repo", "")
    root = ET.fromstring(formatted(FOUND, "cobertura", absolute=True))
    assert (root.get("lines-valid"), root.get("lines-covered")) == ("4", "2")
    assert float(root.get("line-rate", "")) == 0.5
    assert root.findtext("sources/source") == "/repo"
    (one,) = [c for c in root.iter("class") if c.get("filename") == "src/a.py"]
    assert [(n.get("number"), n.get("hits")) for n in one.iter("line")] == [
        ("1", "1"), ("3", "1"), ("8", "0"),
    ]  # fmt: skip
    hostile = coverage_of({}, {'/x\x00\x1b\ud800<&"': [1]}, {}, ROOT)
    assert ET.fromstring(formatted(hostile, "cobertura")).find(".//class") is not None


def test_json() -> None:
    data = json.loads(formatted(FOUND, "json"))
    assert data["files"]["src/a.py"]["missing_lines"] == [8]
    assert data["totals"]["percent_covered"] == 50
    assert "over_time" not in data
    FOUND.growth.append(Growth(1.5, "main/id:000000", 2))
    assert json.loads(formatted(FOUND, "json"))["over_time"] == [[1.5, "main/id:000000", 2]]
    FOUND.growth.clear()


def test_ranges_go_over_lines_without_statements() -> None:
    assert ranges([3, 7, 12], frozenset({1, 3, 7, 9, 12})) == "3-7, 12"
    assert ranges([], frozenset({1})) == ""
