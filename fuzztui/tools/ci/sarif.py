"""The outcome as SARIF 2.1.0, which GitHub's code scanning and others read."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from fuzztui import __version__
from fuzztui.kernel.base.text import brief, visible
from fuzztui.kernel.wire.severity import EXPLOITABLE, NOT_EXPLOITABLE, PROBABLY_EXPLOITABLE, rank
from fuzztui.tools.ci.outcome import CiOutcome, CodeLocation, ReportedFinding, ReportedSurvivor

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
MAX_RESULTS: Final = 5_000
"""GitHub shows no more of one run."""
_SCORES: Final = {EXPLOITABLE: "9.1", PROBABLY_EXPLOITABLE: "7.5", NOT_EXPLOITABLE: "3.0"}
"""``security-severity``, which GitHub shows as critical, high or low; without one, as an error."""
_SURVIVOR: Final = "survivor"
_TITLE: Final = 1_000
_ROOT: Final = "SRCROOT"


def sarif(outcome: CiOutcome) -> dict[str, Any]:
    """Return the document. Known findings are in it, suppressed; survivors are notes."""
    findings = sorted(outcome.findings, key=lambda f: not f.is_open)
    results = [_finding(outcome, finding) for finding in findings]
    results += [_survivor(survivor) for survivor in outcome.new_survivors]
    results = results[:MAX_RESULTS]
    worst: dict[str, str] = {}
    for finding in findings:
        worst[finding.rule] = max(worst.get(finding.rule, ""), finding.severity, key=rank)
    ids = dict.fromkeys(result["ruleId"] for result in results)
    rules = [_rule(id_, _SCORES.get(worst.get(id_, ""), "")) for id_ in ids]
    driver = {"name": "fuzztui", "semanticVersion": __version__, "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                # Else the results of a second campaign would replace those of the first.
                "automationDetails": {"id": f"fuzztui/{brief(outcome.campaign, 100)}/"},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: _root(outcome)},
                "results": results,
            }
        ],
    }


def _root(outcome: CiOutcome) -> dict[str, Any]:
    """The base of all locations, without its path unless the user wants absolute paths."""
    known = {"uri": outcome.root.as_uri() + "/"} if outcome.absolute else {}
    return {**known, "description": {"text": "The root of the repository."}}


def _rule(id_: str, score: str) -> dict[str, Any]:
    if id_ == _SURVIVOR:
        text = "With this change of the code, every input of the corpus behaves as before."
        level = "note"
    else:
        text = "An input makes the target fail in a way that target.expected does not allow."
        level = "error"
    properties: dict[str, Any] = {"tags": ["fuzzing"], "problem.severity": level}
    if score:  # GitHub shows this one, of rules for security only
        properties |= {"tags": ["fuzzing", "security"], "security-severity": score}
    return {
        "id": id_,
        "shortDescription": {"text": id_},
        "fullDescription": {"text": text},
        "defaultConfiguration": {"level": level},
        "properties": properties,
    }


def _finding(outcome: CiOutcome, finding: ReportedFinding) -> dict[str, Any]:
    own = [frame for frame in finding.frames if frame.location]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": "error",
        "message": {"text": message_of(finding)},
        "locations": [_place(finding.location)] if finding.location else [],
        "partialFingerprints": {"fuzztui/v1": finding.fingerprint(outcome.source)},
        "baselineState": "new" if finding.is_open else "unchanged",
    }
    if own:
        steps = [{"location": _step(f.location, f.function)} for f in own if f.location]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    about = {"input": finding.input, "severity": finding.severity_text}
    if any(about.values()):
        result["properties"] = {name: visible(text) for name, text in about.items() if text}
    if not finding.is_open:
        result["suppressions"] = [{"kind": "external"}]
    return result


def _survivor(survivor: ReportedSurvivor) -> dict[str, Any]:
    return {
        "ruleId": _SURVIVOR,
        "level": "note",
        "message": {"text": survivor_message(survivor)},
        "locations": [_place(survivor.location)] if survivor.location else [],
        "partialFingerprints": {"fuzztui/v1": survivor.fingerprint},
    }


def message_of(finding: ReportedFinding) -> str:
    """Return one line about a finding."""
    known = "" if finding.is_open else f" ({visible(finding.verdict)})"
    return f"{brief(finding.title or finding.signature, _TITLE)}{known}"


def survivor_message(survivor: ReportedSurvivor) -> str:
    """Return one line about a survivor."""
    change = brief(survivor.change, 300)
    return f"no input shows the change {change} (mutant {brief(survivor.id)})"


def _place(location: CodeLocation) -> dict[str, Any]:
    artifact = {"uri": _uri(location.file), "uriBaseId": _ROOT}
    region = {"startLine": location.line}
    if location.column:
        region |= {"startColumn": location.column, "endLine": location.end_line,
                   "endColumn": location.end_column}  # fmt: skip
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def _step(location: CodeLocation, function: str) -> dict[str, Any]:
    return {**_place(location), "message": {"text": visible(function)[:_TITLE]}}


def _uri(name: str) -> str:
    return quote(name.encode("utf-8", "backslashreplace"))
