"""Small applications to analyse."""

import fcntl
import sys
import textwrap
from pathlib import Path

from fuzztui.features.targeting.analysis.analyse import analyse
from fuzztui.features.targeting.analysis.application import gather
from fuzztui.features.targeting.analysis.document import Request, TargetingAnalysis

THUMBS = """
    from __future__ import annotations

    import datetime
    from pathlib import Path

    YEAR = 2008


    def year_taken(path: Path) -> int:
        status = path.stat()
        taken = datetime.datetime.fromtimestamp(status.st_mtime)
        return taken.year


    def collect(folder: Path) -> list[Path]:
        found = []
        for path in sorted(folder.iterdir()):
            if year_taken(path) == YEAR:
                found.append(path)
        return found
"""
"""The paper's Section II: thumbnails of the images of one year."""


class Laboratory:
    """Analyses texts in this process; what mypy reads is kept in ``cache`` for all tests."""

    def __init__(self, directory: Path, cache: Path) -> None:
        self.directory, self.cache = directory, cache

    def write(self, texts: dict[str, str] | None = None, /, **modules: str) -> None:
        """Modules, or other files by their paths."""
        files = {f"{name}.py": text for name, text in modules.items()} | (texts or {})
        for name, text in files.items():
            file = self.directory / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(textwrap.dedent(text).lstrip("\n"))

    def request(self, function: str = "app:entry", **more) -> Request:
        return Request(function, sys.executable, path=(str(self.directory),), **more)

    def study(self, text: str = "", function: str = "app:entry", **more) -> TargetingAnalysis:
        """The document of a module ``app``, or of what was written before."""
        if text:
            self.write(app=text)
        request = self.request(function, **more)
        application = gather(request, lambda words: None)
        with (self.cache / "targets.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # as the child does, which other workers start
            return analyse(
                application,
                sys.executable,
                cache=str(self.cache / "mypy"),
                progress=lambda words: None,
            )


def types_at(document: TargetingAnalysis, location: str) -> dict[str, int]:
    """Distances by name of a type."""
    (target,) = [t for t in document.targets if t.location == location]
    return {t.name: t.distance for t in target.types}
