"""Report damage of every log that a command has read: on stderr, and by the exit code.

Sessions come from here and from nowhere else, so that no command can forget it.
"""

from __future__ import annotations

from pathlib import Path

from fuzztui.cli.output import DAMAGED, DONE, say
from fuzztui.session import Session

__all__ = ["finish", "forget", "report", "watch"]

MAX_LINES = 5
"""Problems of one log that are named."""

_sessions: dict[Path, Session] = {}
"""The latest session on each log of this process's command."""

_reported: dict[Path, set[str]] = {}
"""The problems of each log that were found by the last report: new ones may stand between them."""


def watch(session: Session) -> Session:
    """The session, whose problems will be reported."""
    _sessions[session.reader.path] = session
    return session


def report() -> None:
    """Print the problems that were found since the last time."""
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
            say(f'{path}: the log is damaged, each figure means "at least"; {_remedy(path)}')


def finish(code: int) -> int:
    """The exit code of a command: ``code``, but DAMAGED in place of DONE if a log is damaged."""
    report()
    damaged = any(session.problems for session in _sessions.values())
    return DAMAGED if damaged and code == DONE else code


def forget() -> None:
    """A command begins."""
    _sessions.clear()
    _reported.clear()


def _remedy(path: Path) -> str:
    file = path / "campaign.toml"
    if file.is_file():
        return f"resume the campaign to repair the log: fuzztui {file}"
    return "use another copy of it if there is one"
