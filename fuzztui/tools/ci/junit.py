"""The outcome as JUnit XML, which CI servers show as tests."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree as ET

from fuzztui.kernel.base.text import brief, visible
from fuzztui.tools.ci.outcome import CiOutcome, CodeLocation
from fuzztui.tools.ci.sarif import message_of, survivor_message

_DETAIL: Final = 20_000
"""Characters of a traceback."""
_LISTED: Final = 500
"""Survivors in the text of a gate."""


def junit(outcome: CiOutcome) -> bytes:
    """Return the document: a test for each gate, and one for each group of findings."""
    suite = ET.Element("testsuite", name=visible(outcome.campaign))
    failures = 0
    for gate in outcome.gates:
        case = _case(suite, "gate", gate.name, None)
        if gate.code:
            failures += 1
            failure = ET.SubElement(case, "failure", message=visible(gate.text), type="gate")
            if gate.name == "survivors":
                lines = [survivor_message(s) for s in outcome.new_survivors[:_LISTED]]
                failure.text = visible("\n".join(lines), lines=True)
    for finding in outcome.findings:
        text = message_of(finding)
        case = _case(suite, finding.rule, brief(finding.signature or text), finding.location)
        if finding.severity_text:
            named = {"name": "severity", "value": visible(finding.severity_text)}
            ET.SubElement(ET.SubElement(case, "properties"), "property", named)
        if finding.is_open:
            failures += 1
            failed = ET.SubElement(case, "failure", message=text, type=visible(finding.rule))
            failed.text = visible(finding.detail[-_DETAIL:], lines=True)
        else:
            ET.SubElement(case, "skipped", message=visible(finding.verdict))
    counts = {"tests": len(suite), "failures": failures, "errors": 0}
    counts["skipped"] = sum(not finding.is_open for finding in outcome.findings)
    root = ET.Element("testsuites")
    for name, number in counts.items():
        suite.set(name, str(number))
        root.set(name, str(number))
    suite.set("time", f"{sum(outcome.seconds.values()):.3f}")
    root.append(suite)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _case(
    suite: ET.Element, classname: str, name: str, location: CodeLocation | None
) -> ET.Element:
    case = ET.SubElement(suite, "testcase", classname=visible(classname), name=visible(name))
    case.set("time", "0")
    if location:
        case.set("file", visible(location.file))
        case.set("line", str(location.line))
    return case
