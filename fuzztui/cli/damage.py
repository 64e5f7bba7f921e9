"""Report damage of every log that a command has read: on stderr, and by the exit code.

All sessions of commands are passed to :func:`watch`, so that no command omits the report.
"""

from __future__ import annotations

from pathlib import Path

from fuzztui.cli.output import DAMAGED, DONE, say
from fuzztui.kernel.session import Session

MAX_LINES = 5
"""Maximum number of problems of one log that are printed."""

_sessions: dict[Path, Session] = {}
"""The latest session on each log of this process's command."""

_reported: dict[Path, set[str]] = {}
"""The problems of each log at the last report; later problems are not always at the end."""


def watch(session: Session) -> Session:
    """Register a session, whose problems will be reported; return the session."""
    _sessions[session.reader.path] = session
    return session


def report() -> None:
    """Print the problems that were found since the last report."""
    for path, session in _sessions.items():
        known = _reported.setdefault(path, set())
        new = [problem for problem in session.problems if problem not in known]
        if not new:
            continue
        first = not known
        for problem in new[: max(0, MAX_LINES - len(known))]:
            say(problem)
        known.update(new)
        if first and len(new) > MAX_LINES:
            say(f"{path}: {len(new) - MAX_LINES} more problems")
        if first:
            say(f'{path}: the log is damaged, each number means "at least"; {_remedy(path)}')


def finish(code: int) -> int:
    """Return the exit code of a command: DAMAGED if ``code`` is DONE but a log is damaged."""
    report()
    damaged = any(session.problems for session in _sessions.values())
    return DAMAGED if damaged and code == DONE else code


def forget() -> None:
    """Forget all sessions, at the start of a command."""
    _sessions.clear()
    _reported.clear()


def _remedy(path: Path) -> str:
    file = path / "campaign.toml"
    if file.is_file():
        return f"resume the campaign to repair the log: fuzztui {file}"
    return "use another copy of the log, if there is one"
