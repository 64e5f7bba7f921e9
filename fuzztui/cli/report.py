"""``fuzztui report``: one page about a run, for others to read."""

from __future__ import annotations

import argparse
import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fuzztui import __version__
from fuzztui.cli.output import DONE, NOT_RUNNING, CliError, UsageError, short_path
from fuzztui.cli.report_source import reported_source
from fuzztui.cli.runs import RunStatus, find_log, no_records, open_session, standing_of
from fuzztui.cli.status import status_rows_of
from fuzztui.cli.watched_status import afl_directories, watched_rows
from fuzztui.cli.written import chosen_format, write_page
from fuzztui.kernel.base.files import read_if_regular, status
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.model.state import Finding, State
from fuzztui.tools.report.findings import shown_groups
from fuzztui.tools.report.run import MAX_FINDINGS, FindingInput, ReportedRun
from fuzztui.tools.report.run_page import run_json, run_page
from fuzztui.tools.report.setup import flat_keys
from fuzztui.tools.report.source import ReportedSource

if TYPE_CHECKING:
    from fuzztui.features.watch.directories import Trees

MAX_INPUT: Final = 400
"""Characters of an input that are shown."""

_MAX_CAMPAIGN: Final = 1 << 20


def report(options: argparse.Namespace) -> int:
    """Write the report of a run or of an AFL output directory."""
    format_ = chosen_format(options, "md")
    if (trees := afl_directories(options.run)) is not None:
        if options.coverage:
            raise UsageError(f"--coverage is for runs of fuzztui; {options.run} is none")
        about = _watched(options.run, trees)
        problems: list[str] = []
    else:
        path, run = find_log(options.run)
        now = standing_of(open_session(path), run)
        _refuse_empty(path, run, now)
        source = reported_source(now.state, run, measure=options.coverage, lines=format_ == "html")
        about = _of_run(path, run, now, source)
        problems = [*now.problems]
    write_page(run_page(about), "report", run_json(about, problems), format_, options)
    return DONE


def _refuse_empty(path: Path, run: Path | None, now: RunStatus) -> None:
    if now.state.seq:
        return
    if now.problems or run is None:
        raise no_records(path, now.problems)
    raise CliError(f"{run}: the campaign was never started, so there is no report", NOT_RUNNING)


def _of_run(
    path: Path, run: Path | None, now: RunStatus, source: ReportedSource | None
) -> ReportedRun:
    return ReportedRun(
        now.state,
        now.state_name,
        status_rows_of(path, now),
        damage=now.damage,
        inputs=_inputs(now.state, run) if run is not None else {},
        keys=_keys(run / "campaign.toml") if run is not None else [],
        source=source,
        written=_now(),
        version=__version__,
    )


def _watched(path: Path, trees: Trees) -> ReportedRun:
    from fuzztui.features.watch.snapshot import snapshot

    seen = snapshot(trees)
    return ReportedRun(
        seen.state,
        seen.state.state,
        watched_rows(path, seen),
        has_history=False,
        inputs=_inputs(seen.state, None),
        written=_now(),
        version=__version__,
    )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _keys(file: Path) -> list[tuple[str, str]]:
    """The keys of the frozen campaign; none if it cannot be read."""
    raw = read_if_regular(file, _MAX_CAMPAIGN) or b""
    try:
        table: dict[str, Any] = tomllib.loads(raw.decode())
    except ValueError:
        return []
    return [(key, json.dumps(value, default=str)) for key, value in flat_keys(table)]


def _inputs(state: State, run: Path | None) -> dict[str, FindingInput]:
    found = {}
    for group in shown_groups(state)[:MAX_FINDINGS]:
        if (content := _input(group.first, state, run)) is not None:
            found[group.first.key] = content
    return found


def _input(finding: Finding, state: State, run: Path | None) -> FindingInput | None:
    from fuzztui.tui.labels.details import repro_command
    from fuzztui.tui.labels.run_files import place_of, settled

    place = place_of(finding, state, run)
    if place is None:
        return None
    found = settled(place)
    file = found.path
    # A log can name any file, and a report is for others to read.
    root = found.root.resolve() if run is None else run.resolve()
    if not file.resolve().is_relative_to(root):
        return None
    shown = short_path(file)
    command = ""
    if run is not None and (run / "campaign.toml").is_file():  # not a log that watch has kept
        command = repro_command(Path(short_path(run)), Path(shown))
    content, kind = _start(read_if_regular(file, MAX_INPUT + 1))
    if finding.shown_seq and finding.input:  # its bytes are choices
        content, kind = brief(" ".join(finding.input.split()), MAX_INPUT), "generated"
    stat = status(file)
    return FindingInput(shown, command, content, kind, stat.st_size if stat else -1)


def _start(data: bytes | None) -> tuple[str, str]:
    """The start of a file for one line and what it is: text, or hexadecimal digits."""
    if not data:
        return ("", "") if data is None else ("(empty)", "text")
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        if e.start < len(data) - 3:  # not only a character that is cut off
            return brief(data[: MAX_INPUT // 2].hex(" "), MAX_INPUT), "hexadecimal"
        text = data[: e.start].decode()
    return brief(text, MAX_INPUT), "text"
