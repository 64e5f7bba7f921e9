"""A user's verdicts are written into the verdicts file; changes of that file into the log."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import tomli

from fuzztui.features.verdicts.file import (
    MutantVerdict,
    VerdictsError,
    change_mutant_verdicts,
    change_skipped_frames,
    change_verdicts,
    read_content,
)
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.signals import is_by_signal
from fuzztui.kernel.base.text import brief, several
from fuzztui.kernel.model.groups import regrouping
from fuzztui.kernel.model.state import Finding, FindingVerdict, Mutant, State
from fuzztui.kernel.model.verdicts import given_about
from fuzztui.kernel.wire.commands import (
    AcceptMutants,
    CountFrames,
    JudgeFinding,
    SkipFrames,
    UnacceptMutants,
)
from fuzztui.kernel.wire.events import SkippedFrames, VerdictsChanged
from fuzztui.kernel.wire.frames import RULES_FILE
from fuzztui.kernel.wire.selection import SelectionError, parse_selection
from fuzztui.kernel.wire.verdicts import ACCEPTED, MAX_NAME, MAX_NOTE, NEW, label
from fuzztui.run.campaign.model import VERDICTS
from fuzztui.run.campaign.rundir import RunDir, SupervisorError

MAX_ACCEPTED = 500
"""Mutants that one command accepts: the file is meant to be reviewed."""

ROWS = 200
"""Verdicts in one event."""


def verdicts_file(run: RunDir, named: str = "") -> Path:
    """Return the verdicts file of a run; it may not exist.

    ``named``: the campaign's file; empty: as in the frozen campaign, which a new run does not have
    before it runs. A run without the file's directory (an old one, or one from another machine)
    has its own file.
    """
    if not named:
        try:
            named = str(tomli.loads(run.campaign.read_text())["campaign"]["verdicts"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            named = ""
    file = Path(named)
    return file if named and file.parent.is_dir() else run.path / f"campaign{VERDICTS}"


def changes(state: State, file: Path) -> list[VerdictsChanged | SkippedFrames]:
    """Return the events by which ``state`` gets the verdicts and rules of the file. Blocking.

    No file changes nothing: the run may have come from another machine. Raises
    :class:`~fuzztui.features.verdicts.file.VerdictsError`.
    """
    content = read_content(file)
    if content is None:
        return []
    filed, rules = content.findings, list(content.skipped_frames)
    rows = [
        v.row()
        for v in filed.values()
        if (known := state.verdicts.get(v.signature)) is None or known.row() != v.row()
    ]
    gone = [signature for signature in state.verdicts if signature not in filed]
    rows += [{"signature": signature, "verdict": NEW} for signature in gone]
    mutants = _changed_mutants(state, content.mutants.values())
    return [
        *([SkippedFrames(rules)] if rules != state.skipped_frames else []),
        *(VerdictsChanged(rows[n : n + ROWS]) for n in range(0, len(rows), ROWS)),
        *(VerdictsChanged([], mutants[n : n + ROWS]) for n in range(0, len(mutants), ROWS)),
    ]


def _changed_mutants(state: State, filed: Iterable[MutantVerdict]) -> list[dict[str, str]]:
    """Return the rows about survivors whose acceptance differs from that in ``state``."""
    accepted = {v.id: v for v in filed if v.verdict == ACCEPTED}
    rows = [
        {"id": v.id, "verdict": ACCEPTED, **_acceptance(v)}
        for v in accepted.values()
        if state.accepted_mutants.get(v.id) != _acceptance(v)
    ]
    gone = [id for id in state.accepted_mutants if id not in accepted]
    return [*rows, *({"id": id, "verdict": ""} for id in gone)]


def _acceptance(v: MutantVerdict) -> dict[str, str]:
    return {"because": v.because, "change": v.change, "author": v.author, "date": v.date}


def judge_finding(
    state: State, file: Path, command: JudgeFinding, by: str
) -> tuple[list[VerdictsChanged | SkippedFrames], str]:
    """Write a verdict into the file. Returns the events for the log, and the answer. Blocking.

    Raises :class:`~fuzztui.run.campaign.rundir.SupervisorError` with the reason.
    """
    if problem := command.problem:
        raise SupervisorError(problem)
    finding = _finding_of(state, command)
    before = given_about(state, finding.signature)
    put: list[dict[str, str]] = []
    if command.verdict != NEW:
        date = datetime.now(UTC).replace(microsecond=0).isoformat()
        author, title, place = (
            brief(text, MAX_NAME) for text in (by, finding.title, finding.place)
        )
        verdict = FindingVerdict(finding.signature, command.verdict, command.note, author, date)
        put.append({**verdict.row(), "title": title, "place": place})
    removed = {before.signature} if before is not None else set()
    if command.verdict != NEW:
        removed.discard(finding.signature)
    try:
        _put_logged(state, file)
        change_verdicts(file, put, removed)
        events = changes(state, file)
    except VerdictsError as e:
        raise SupervisorError(str(e)) from None
    title = brief(finding.title or finding.signature, 60)
    return events, f"{title}: {label(command.verdict)}, in {file}"


def change_frames(
    state: State, file: Path, command: SkipFrames | CountFrames, by: str = ""
) -> tuple[list[VerdictsChanged | SkippedFrames], str]:
    """Write rules about frames into the file, or remove some. Returns as :func:`judge_finding`.

    Raises :class:`~fuzztui.run.campaign.rundir.SupervisorError` with the reason.
    """
    if problem := command.problem:
        raise SupervisorError(problem)
    try:
        content = read_content(file)
        known = state.skipped_frames if content is None else content.skipped_frames
        if isinstance(command, CountFrames):
            for rule in command.rules:
                if rule not in known:
                    have = f"the rules are {', '.join(known)}" if known else "there are no rules"
                    raise SupervisorError(f"{file}: no rule is {rule!r}; {brief(have, 400)}")
        _put_logged(state, file)
        skips = isinstance(command, SkipFrames)
        change_skipped_frames(file, command.rules if skips else (), () if skips else command.rules)
        events = changes(state, file)
    except VerdictsError as e:
        raise SupervisorError(str(e)) from None
    rules = next((e.rules for e in events if isinstance(e, SkippedFrames)), state.skipped_frames)
    effect = regrouping(state, tuple(rules)).text
    word = "not counted" if skips else "counted again"
    return events, f"{brief(', '.join(command.rules), 200)}: {word}; {effect}, in {file}"


def accept_mutants(
    state: State, file: Path, command: AcceptMutants | UnacceptMutants, by: str
) -> tuple[list[VerdictsChanged | SkippedFrames], str]:
    """Write into the file that survivors are accepted, or not any more. As :func:`judge_finding`.

    Raises :class:`~fuzztui.run.campaign.rundir.SupervisorError` with the reason.
    """
    if state.engine != "mu2":  # ids of other mutants do not survive an edit
        raise SupervisorError(f"survivors are accepted with engine mu2, not {state.engine}")
    try:
        rows = parse_selection(command.select).of(list(state.mutants.values()))
    except SelectionError as e:
        raise SupervisorError(str(e)) from None
    accepts = isinstance(command, AcceptMutants)
    chosen = [m for m in rows if (m.survives if accepts else m.id in state.accepted_mutants)]
    if not chosen:
        none = "survives: only mutants that are alive or pending" if accepts else "is accepted"
        raise SupervisorError(f"no selected mutant {none}")
    if len(chosen) > MAX_ACCEPTED:
        raise SupervisorError(
            f"{len(chosen):,} mutants are selected; at most {MAX_ACCEPTED} are accepted at once"
        )
    date = datetime.now(UTC).replace(microsecond=0).isoformat()
    author = brief(by, MAX_NAME)
    because = brief(command.because, MAX_NOTE) if isinstance(command, AcceptMutants) else ""
    put = [row_about(m, ACCEPTED, because, author, date) for m in chosen if accepts]
    try:
        _put_logged(state, file)
        change_mutant_verdicts(file, put, () if accepts else {m.id for m in chosen})
        events = changes(state, file)
    except VerdictsError as e:
        raise SupervisorError(str(e)) from None
    mutants = several(len(chosen), "mutant")
    text = f", because {because}" if because else ""
    done = f"{mutants} accepted{text}" if accepts else f"{mutants} not accepted any more"
    return events, f"{done}, in {file}"


def row_about(m: Mutant, verdict: str, because: str, author: str, date: str) -> MutantVerdict:
    """Return a verdict about a mutant, as the file has it."""
    change = f"{m.before} -> {m.after}"
    return MutantVerdict(
        id=m.id,
        verdict=verdict,
        because=brief(because, MAX_NOTE),
        file=brief(m.file, MAX_NOTE),
        function=brief(m.function, MAX_NOTE),
        # If it is too long for the file, the verdict holds for the id.
        change=change if len(change) <= MAX_NOTE else "",
        author=author,
        date=date,
    )


def _put_logged(state: State, file: Path) -> None:
    """If there is no file, write the verdicts and rules of the log, so that they are kept.

    Raises :class:`~fuzztui.features.verdicts.file.VerdictsError`.
    """
    if read_content(file) is None:
        if state.verdicts:
            logged = state.verdicts.values()
            change_verdicts(file, [{**v.row(), "date": _valid_date(v.date)} for v in logged])
        if state.skipped_frames:
            change_skipped_frames(file, state.skipped_frames)
        if state.accepted_mutants:
            accepted = state.accepted_mutants.items()
            dates = {id: _valid_date(row["date"]) for id, row in accepted}
            change_mutant_verdicts(
                file,
                [MutantVerdict(id, ACCEPTED, **{**row, "date": dates[id]}) for id, row in accepted],
            )


def _valid_date(date: str) -> str:
    try:
        return datetime.fromisoformat(date).isoformat() if date else ""
    except ValueError:
        return ""


def _finding_of(state: State, command: JudgeFinding) -> Finding:
    """The first finding of the group. Raises SupervisorError."""
    if command.instance:
        keys = [f"{command.instance}/{command.file}"]
    elif command.file in state.groups:  # a signature
        keys = state.groups[command.file][:1]
    else:
        keys = [f.key for f in list(state.findings.values()) if f.file == command.file]
    found = [state.findings[key] for key in keys if key in state.findings]
    if not found:
        name = f"{command.instance}/{command.file}".removeprefix("/")
        raise SupervisorError(f"there is no finding {name}")
    if len({f.signature for f in found}) > 1:
        raise SupervisorError(
            f"{command.file}: several instances have it; write INSTANCE/{command.file}"
        )
    finding = found[0]
    if not finding.signature:
        raise SupervisorError(f"{finding.key} has no signature yet; try again when it is described")
    if is_by_signal(finding.signature):
        raise SupervisorError(f"{finding.key} was not run: its signal may have many causes")
    return state.findings[state.groups[finding.signature][0]]


def share_rules(out: Path, rules: Iterable[str]) -> None:
    """Write the rules about frames for the engines of a run, if they are others. Blocking.

    Raises OSError.
    """
    file, text = out / RULES_FILE, "".join(f"{rule}\n" for rule in rules)
    try:
        before = file.read_text()
    except (OSError, UnicodeDecodeError):
        before = ""
    if text != before:
        out.mkdir(parents=True, exist_ok=True)
        replace_text(file, text)
