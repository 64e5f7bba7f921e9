"""The report of one run, as a page or as JSON."""

from __future__ import annotations

from typing import Any

from fuzztui.kernel.base.page import Facts, Note, Page, Part, Section, Table, moment, thinned
from fuzztui.kernel.base.text import brief, clock
from fuzztui.kernel.model.mutants import knowledge, survivors
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Mutant, State
from fuzztui.kernel.model.story import story
from fuzztui.tools.report.engines import sections_of_features
from fuzztui.tools.report.findings import bounded, findings_section, shown_groups
from fuzztui.tools.report.mutants import mutants_section
from fuzztui.tools.report.over_time import over_time
from fuzztui.tools.report.properties import properties_section
from fuzztui.tools.report.run import MAX_FINDINGS, ReportedRun, short_target
from fuzztui.tools.report.setup import corpus_section, setup_section, steering_section
from fuzztui.tools.report.source import source_json, source_section
from fuzztui.tools.status.status import status_dict

_RESULT_ONLY = frozenset({"campaign", "run", "directory"})
"""Rows of ``status`` that are left out: the title and the setup show them."""


def run_page(run: ReportedRun) -> Page:
    """Return the page of one run."""
    state = run.state
    reason = f" ({state.reason})" if state.reason else ""
    about = f"{state.engine} · {short_target(state.target)} · {run.name}{reason} · {clock(state.t)}"
    sections: list[Section | None] = [
        _story(state),
        _result(run),
        Section("Over time", over_time(state, has_history=run.has_history)),
        findings_section(run),
        properties_section(state),
        mutants_section(run),
        source_section(run.source),
        *sections_of_features(state),
        corpus_section(run),
        steering_section(state),
        setup_section(run),
    ]
    written = f"Written by fuzztui {run.version} report" + (f", {run.written}" * bool(run.written))
    return Page(
        title=f"Fuzzing {brief(state.name or 'a campaign', 200)}",
        about=brief(about, 400),
        sections=[section for section in sections if section is not None],
        end=written,
    )


def _story(state: State) -> Section | None:
    rows = [(moment(m.t, state.t), m.kind, m.text) for m in story(state)]
    return Section("Story", [Table(("at", "", "what happened"), rows)]) if rows else None


def _result(run: ReportedRun) -> Section:
    parts: list[Part] = []
    if run.damage:
        text = (
            f'{run.damage}: each number means "at least", and parts of this report may be missing.'
        )
        parts.append(Note(text[0].upper() + text[1:], is_warning=True))
    if run.name == "interrupted":
        text = "The campaign was interrupted: its supervisor ended before it did."
        parts.append(Note(text, is_warning=True))
    elif run.name not in ENDED:
        parts.append(
            Note(f"The campaign is {run.name}: this is its state after {clock(run.state.t)}.")
        )
    rows = [(name, text) for name, text in run.rows if name not in _RESULT_ONLY]
    parts.append(Facts(rows))
    return Section("Result", parts)


def run_json(run: ReportedRun, problems: list[str]) -> dict[str, Any]:
    """Return the report as JSON data: the object of ``status --json``, with more keys."""
    state = run.state
    whole = status_dict(state)
    detailed = {g.first.key for g in shown_groups(state)[:MAX_FINDINGS]}
    for row in whole["findings"]:
        finding = state.findings[row["first"]]
        content = run.inputs.get(row["first"])
        row["detail"] = bounded(finding.detail) if row["first"] in detailed else None
        row["file"] = content.file if content else None
        row["reproduce"] = (content.command or None) if content else None
        row["input"] = content.content if content else None
        row["input_kind"] = content.kind if content else None
    groups = survivors(state.mutants.values(), knowledge(state))
    own = [i for i in state.instances.values() if not i.mutant]
    return {
        **whole,
        "state": run.name,
        "problems": problems,
        "at_least": bool(run.damage),
        "series": _series(state) if run.has_history else {},
        "survivors": {name: [_mutant(m) for m in those] for name, those in groups.items()},
        "source": source_json(run.source),
        "commands": [
            {"t": c.t, "id": c.id, "command": c.command, "by": c.by, "state": c.state,
             "text": c.text, "undoes": c.undoes}
            for c in state.commands.values()
        ],
        "setup": {
            "keys": dict(run.keys),
            "versions": {"fuzztui": state.version, **{i.id: i.version for i in own}},
            "python": {i.id: i.python for i in own},
            "began": state.started_wall or None,
            "host": state.host or None,
            "cores": state.cores or None,
        },
        "written": run.written,
        "fuzztui": run.version,
    }  # fmt: skip


def _series(state: State) -> dict[str, dict[str, list[float]]]:
    found = {}
    for name, series in state.series.items():
        points = thinned(series.times, series.values)
        if any(value for _, value in points):
            found[name] = {"t": [t for t, _ in points], "value": [value for _, value in points]}
    return found


def _mutant(m: Mutant) -> dict[str, Any]:
    names = ("id", "module", "file", "path", "line", "function", "operator", "before", "after")
    texts = {name: getattr(m, name) for name in names}
    return {**texts, "state": m.state, "near": [list(near) for near in m.near.values()]}
