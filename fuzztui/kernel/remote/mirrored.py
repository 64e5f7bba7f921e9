"""A mirrored run: a directory here that shows a run on another machine
(``machines/hosts/mirror.py``).

It has the log, the lock and the control socket of a run; its other files are copied when they are
read. Its :class:`Origin` has the address and the path of the run on the other machine.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.bounds import whole
from fuzztui.kernel.base.files import read_json
from fuzztui.kernel.remote.client import ControlClient, NotRunning, RemoteError

GONE: Final = "the file does not exist any more"
"""Why a file of a run cannot be shown if it was removed."""

FETCHED: Final = "supervisor/fetched"
"""Directory in the run of a hub with files of its hosts that were shown."""

_FILE: Final = "mirror.json"
_FETCH_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a mirrored run is. ``address``: of the host, for ssh; ``run``: the directory there."""

    address: str
    run: str
    last: int = 0
    """The number of the last record over there when the connection was made."""

    @property
    def spec(self) -> str:
        """The run's name in commands: ``user@box:RUN``."""
        return f"{self.address}:{self.run}"


@dataclass(frozen=True, slots=True)
class RunUser:
    """The user who looks at a run: not always its owner, and not always on its machine."""

    by: str = ""
    """The author of this user's commands in the log; empty: the account of this process."""
    why_not_steer: str = ""
    """Why this user gives no commands; empty: nothing forbids it."""
    origin: Origin | None = None
    """Where the run is; None: on this machine."""


def origin_of(run: Path) -> Origin | None:
    """Return where a mirrored run is; None for a run of this machine."""
    found = read_json(run / "supervisor" / _FILE)
    if found is None:
        return None
    address, path = found.get("address"), found.get("run")
    if not isinstance(address, str) or not isinstance(path, str):
        return None
    return Origin(address, path, whole(found.get("last"), 0))


def run_name(run: Path) -> str:
    """Return the run's name in commands: its directory; if mirrored, ``user@box:RUN``."""
    origin = origin_of(run)
    return str(run) if origin is None else origin.spec


def write_origin(run: Path, origin: Origin) -> None:
    """Mark a directory as a mirrored run. Raises OSError."""
    replace_text(run / "supervisor" / _FILE, json.dumps(asdict(origin)))


def fetched_into(run: Path) -> Path | None:
    """Return the directory for files that are copied from other machines; None: all are here.

    For a mirrored run it is the run itself, for the run of a hub a directory in the run.
    """
    if (run / FETCHED).is_dir():
        return run / FETCHED
    return None if origin_of(run) is None else run


def fetch(run: Path, file: str) -> str:
    """Copy a file of a run into :func:`fetched_into`; ``file``: its path in the run. Blocking.

    Returns why that failed, for users; an empty string if it is there now.
    """
    try:
        client = ControlClient(run, "fetch")
        try:
            return client.fetch(file, _FETCH_S)
        finally:
            client.close()
    except NotRunning:
        return "the file is on another host, and no hub is running that could copy it"
    except RemoteError as e:
        return str(e)
