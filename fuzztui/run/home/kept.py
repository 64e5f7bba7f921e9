"""Summaries of runs that have ended, kept so that hundreds of runs are listed at once.

One JSON file in ``$XDG_CACHE_HOME/fuzztui``; it may be deleted. A summary counts as long as the
files of the run's log have the same names, sizes and times.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Final

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import all_fit
from fuzztui.kernel.base.files import read_json
from fuzztui.kernel.base.user_dirs import cache_dir
from fuzztui.kernel.model.checkpoint import SCHEMA
from fuzztui.run.home.look import Files, fingerprint
from fuzztui.run.home.summary import RunSummary

MAX_KEPT: Final = 2000
"""Runs of which summaries are kept; the summaries that were made the longest ago are dropped."""

_FORM: Final = [SCHEMA, *(f.name for f in fields(RunSummary))]
_TYPES: Final = {
    f.name: str(f.type).replace("Sequence[", "list[") for f in fields(RunSummary)
}  # annotations as fuzztui.kernel.base.bounds knows them


def cache_file() -> Path:
    """Return the path of the file. Raises OSError without a home."""
    return cache_dir() / "runs.json"


class KeptSummaries:
    """The kept summaries, read from ``file`` (default: :func:`cache_file`)."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._rows: dict[str, Any] = {}
        self._changed = False
        with contextlib.suppress(OSError):
            self._file = file or cache_file()
            data = read_json(self._file) or {}
            if data.get("form") == _FORM and isinstance(data.get("runs"), dict):
                self._rows = data["runs"]

    def get(self, run: Path) -> RunSummary | None:
        """Return the summary of a run without a supervisor; None: not kept, or out of date."""
        row = self._rows.get(str(run))
        match row:
            case {"log": list(log), "summary": list(values)}:
                now = [list(file) for file in fingerprint(run)]
                return _summary(values) if now and log == now else None
            case _:
                return None

    def keep(self, run: Path, summary: RunSummary, files: Files) -> None:
        """Keep the summary of a run without a supervisor, whose log was read to its end.

        ``files``: the log's files before it was read; if the log has grown since, it is read again.
        """
        self._rows.pop(str(run), None)
        log = [list(file) for file in files]
        self._rows[str(run)] = {"log": log, "summary": list(astuple(summary))}
        self._changed = True

    def store(self) -> None:
        """Write the file; an error is ignored: the next list takes longer."""
        if not self._changed or self._file is None:
            return
        newest = dict([*self._rows.items()][-MAX_KEPT:])
        with contextlib.suppress(OSError, ValueError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            text = json.dumps({"form": _FORM, "runs": newest}, allow_nan=False)
            replace_text(self._file, text)
            self._changed = False


def _summary(values: list[Any]) -> RunSummary | None:
    names = list(_TYPES)
    if len(values) != len(names):
        return None
    try:
        if not all(all_fit(_TYPES[n], [v]) for n, v in zip(names, values, strict=True)):
            return None
    except TypeError:
        return None
    return RunSummary(*values)
