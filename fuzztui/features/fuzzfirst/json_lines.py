"""JSON objects, one a line: in an append-only file, and in what a process prints."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fuzztui.kernel.base.bounds import load_object
from fuzztui.kernel.base.files import open_regular
from fuzztui.run.campaign.rundir import SupervisorError


class JsonLines:
    """A file of rows, whose last line may be incomplete.

    Raises :class:`SupervisorError` for errors of the file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._whole = 0
        self.rows = self._read()
        """The rows that the file contained, without an incomplete last line and invalid lines."""

    def _read(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        try:
            with os.fdopen(open_regular(self._file), "rb") as file:
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._whole += len(line)
                    if (row := load_object(line)) is not None:
                        rows.append(row)
        except FileNotFoundError:
            pass
        except OSError as e:
            raise SupervisorError(f"{self._file}: {e.strerror or e}") from None
        return rows

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows; an incomplete last line is overwritten."""
        data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        if not data:
            return
        with self._lock:  # parallel turns can end at the same time
            self._write(data)

    def _write(self, data: bytes) -> None:
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(open_regular(self._file, os.O_WRONLY | os.O_CREAT), "wb") as file:
                file.truncate(self._whole)
                file.seek(self._whole)
                file.write(data)
        except OSError as e:  # the next call overwrites an incomplete line
            raise SupervisorError(f"{self._file}: {e.strerror or e}") from None
        self._whole += len(data)


_LONGEST_LINE = 32 << 20


class JsonObjects:
    """Finds JSON objects in a stream, and skips what else a process prints."""

    def __init__(self, on_object: Callable[[dict[str, Any]], None]) -> None:
        self._on_object = on_object
        self._rest = bytearray()

    def take(self, data: bytes) -> None:
        """Take the next part of the stream."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._rest += line
            found = load_object(self._rest)
            self._rest.clear()
            if found is not None:
                self._on_object(found)
        self._rest += rest
        if len(self._rest) > _LONGEST_LINE:
            self._rest.clear()
