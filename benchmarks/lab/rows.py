"""Rows of a benchmark, kept as they are measured: an interrupted run loses none of them.

One JSON object a line: the figures, and under ``run`` the machine and the versions.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any


class Rows:
    """The results file of the benchmark ``name``; several processes may add to it."""

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self.file = file

    def add(self, **figures: Any) -> None:
        """Append one row and pass it to the kernel at once, so that it survives a kill."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        row = json.dumps({**figures, "run": {**self._run, "load": os.getloadavg()[0]}})
        torn = "\n" if self._torn() else ""
        with self.file.open("a") as out:
            out.write(f"{torn}{row}\n")

    def read(self) -> Iterator[dict[str, Any]]:
        """The figures of all rows; a line that was torn by a kill is left out."""
        if not self.file.exists():
            return
        for line in self.file.read_text().splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                if line:
                    print(f"{self.file}: not a row: {line[:60]}", file=sys.stderr)
                continue
            row.pop("run", None)
            yield row

    def _torn(self) -> bool:
        """Whether the last line has no end, because its writer was killed."""
        if not self.file.is_file() or not self.file.stat().st_size:
            return False
        with self.file.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"

    @cached_property
    def _run(self) -> dict[str, Any]:
        return {
            "benchmark": self.name,
            "command": " ".join(sys.argv),
            "commit": commit(),
            "date": time.strftime("%Y-%m-%d"),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
            "python": platform.python_version(),
        }


@cache
def version(*packages: str) -> str:
    """The commit that last changed these folders, with a "+" if they differ; "" if git fails."""
    git = ["git", "-C", str(Path(__file__).resolve().parents[2])]
    try:
        last, changed = (
            subprocess.run([*git, *words, "--", *packages], capture_output=True, text=True,
                           check=True).stdout.strip()
            for words in (["log", "-1", "--format=%h"], ["status", "--porcelain"])
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return ""
    return last + "+" * bool(changed)


def commit() -> str:
    """The commit of these sources, with a "+" if they differ from it; "" if git fails."""
    git = ["git", "-C", str(Path(__file__).resolve().parent)]
    try:
        done = subprocess.run([*git, "describe", "--always", "--dirty=+", "--exclude=*"],
                              capture_output=True, text=True, check=True)  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
