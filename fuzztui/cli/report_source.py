"""The files of a target for ``fuzztui report``: their text, and if asked for, their coverage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from fuzztui.cli.coverage import corpus_inputs
from fuzztui.cli.coverage_runs import covered
from fuzztui.cli.mutants import own_campaign
from fuzztui.cli.output import CliError, UsageError
from fuzztui.cli.published import SUFFIXES
from fuzztui.features.source.annotated import SourceText, annotated_files
from fuzztui.features.source.executed import Coverage
from fuzztui.features.source.functions import frontier, functions_by_work
from fuzztui.kernel.base.files import read_if_regular, status
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.frames import parse_frames
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.tools.report.source import ReportedSource

MAX_FILES: Final = 500
MAX_BYTES: Final = 4 << 20
"""Size of a file; larger ones are left out."""


def reported_source(
    state: State, run: Path | None, *, measure: bool, lines: bool
) -> ReportedSource | None:
    """Return the files with mutants or findings; with ``measure`` all files that have coverage.

    Raises :class:`CliError` if the coverage cannot be measured.
    """
    names = _names(state)
    inputs, coverage = _measured(state, run) if measure else (-1, None)
    by_path = {} if coverage is None else {str(coverage.root / f.name): f for f in coverage.files}
    names.update({path: names.get(path, "") for path in by_path})
    files: dict[str, SourceText] = {}
    changed = []
    for path in sorted(names)[:MAX_FILES]:
        if Path(path).suffix.lower() not in SUFFIXES:
            continue
        text = read_if_regular(path, MAX_BYTES + 1)
        if text is None or len(text) > MAX_BYTES:
            continue
        known = by_path.get(path)
        files[path] = SourceText(
            names[path] or _short(path),
            text.decode(errors="replace"),
            known.statements if known else None,
            known.executed if known else (),
        )
        if _was_changed(path, state, run):
            changed.append(files[path].name)
    if not files:
        return None
    found = ReportedSource(annotated_files(state, files), inputs, changed, lines)
    if coverage is None:
        return found
    short = {f.name: names[path] or _short(path) for path, f in by_path.items()}
    return replace(
        found,
        measured_by=coverage.note,
        functions=[(short[file.name], f) for file, f in functions_by_work(coverage)],
        frontier=[replace(row, file=short[row.file]) for row in frontier(coverage)],
    )


def _names(state: State) -> dict[str, str]:
    """The names for users, by path, of the files of mutants and findings."""
    names = {m.path: m.file for m in state.mutants.values() if m.path}
    for finding in state.findings.values() if len(names) < MAX_FILES else ():
        for frame in parse_frames(finding.frames) if finding.first else ():
            if frame.located and frame.file.startswith("/"):
                names.setdefault(frame.file, "")
    return names


def _measured(state: State, run: Path | None) -> tuple[int, Coverage]:
    if run is None or not (run / "campaign.toml").is_file():
        raise UsageError("--coverage: the run has no campaign, so its target cannot be run")
    run_dir = RunDir(run)
    campaign = own_campaign(run_dir.campaign, [])
    inputs = corpus_inputs(run_dir, state)
    try:
        return len(inputs), covered(campaign, run_dir, inputs, Path("/"), what="coverage: inputs")
    except SupervisorError as e:
        raise CliError(f"--coverage: {e}") from None


def _short(path: str) -> str:
    """A path relative to the current directory; of one outside, only its last two parts."""
    file = Path(path)
    if file.is_relative_to(Path.cwd()):
        return str(file.relative_to(Path.cwd()))
    return "/".join(file.parts[-2:]) if len(file.parts) > 2 else path


def _was_changed(path: str, state: State, run: Path | None) -> bool:
    """Whether a file was changed after the campaign began; False for the run's own copies."""
    if run is not None and any(map(Path(path).is_relative_to, (run, run.absolute()))):
        return False
    known = status(Path(path))
    return known is not None and 0 < state.started_wall < known.st_mtime
