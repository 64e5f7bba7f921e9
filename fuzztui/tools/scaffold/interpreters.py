"""Find the interpreter of a project: its virtual environment, before fuzztui's own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.text import visible

OLDEST: Final = (3, 11)
"""The oldest Python that engines run under."""

_FOLDERS: Final = (".venv", "venv", "env", ".env")
_OWN: Final = "the project's"
_ASK_S: Final = 20.0
_ASK: Final = (
    "import json, sys, sysconfig; "
    "print(json.dumps([list(sys.version_info[:3]), sysconfig.get_path('purelib')]))"
)


@dataclass(frozen=True, slots=True)
class ProjectPython:
    """An interpreter: where it was found, and what it has reported about itself."""

    path: Path
    origin: str
    """Where it was found, as text for users."""
    version: tuple[int, ...] = ()
    packages: Path | None = None
    """Where packages are installed."""
    problem: str = ""
    """Why engines cannot run under it; "": they can."""

    @property
    def is_own(self) -> bool:
        """Whether it was found in the project's directory."""
        return self.origin.startswith(_OWN)

    @property
    def version_text(self) -> str:
        """``3.12.1``."""
        return ".".join(map(str, self.version))


def project_pythons(project: Path, environ: Mapping[str, str]) -> Iterator[ProjectPython]:
    """Yield interpreters for a project, the most specific first; the last one is fuzztui's own.

    Each of them was run once. Those with a ``problem`` are yielded, too.
    """
    seen: set[str] = set()
    for path, origin in _places(project, environ):
        key = os.path.abspath(path)  # noqa: PTH100 - without following links: a venv is one
        if key not in seen and os.access(path, os.X_OK):
            seen.add(key)
            yield asked(path, origin)


def _places(project: Path, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    named = environ.get("UV_PROJECT_ENVIRONMENT")
    for folder in filter(None, (named, *_FOLDERS)):
        place = project / folder
        if (place / "pyvenv.cfg").is_file() or (place / "conda-meta").is_dir():
            yield place / "bin" / "python", f"{_OWN} {folder}"
    if active := environ.get("VIRTUAL_ENV"):
        yield Path(active) / "bin" / "python", "the active environment, VIRTUAL_ENV"
    if made := _poetry(project):
        yield made / "bin" / "python", "the project's environment of poetry"
    if active := environ.get("CONDA_PREFIX"):
        yield Path(active) / "bin" / "python", "the active environment of conda"
    for above in _repository(project):
        for folder in _FOLDERS[:2]:
            if (above / folder / "pyvenv.cfg").is_file():
                yield above / folder / "bin" / "python", f"{folder} of {visible(str(above))}"
    yield Path(sys.executable), "fuzztui's own"


def _repository(project: Path) -> list[Path]:
    """Return the directories above in the same repository; none if the project is its root."""
    folders = [project, *project.parents]
    top = next((n for n, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    return folders[1 : top + 1]


def _poetry(project: Path) -> Path | None:
    """Return the environment that poetry made for the project; None if there is none."""
    poetry = shutil.which("poetry")
    if poetry is None or not (project / "poetry.lock").is_file():
        return None
    answer = _output([poetry, "env", "info", "--path"], project)
    return Path(answer.strip()) if answer and answer.strip() else None


def asked(path: Path, origin: str) -> ProjectPython:
    """Run an interpreter once, for its version and where its packages are."""
    answer = _output([str(path), "-I", "-c", _ASK], Path("/"))
    try:
        version, packages = json.loads(answer or "")
        version = tuple(int(part) for part in version)
        place = Path(str(packages))
    except (ValueError, TypeError):
        return ProjectPython(path, origin, problem="cannot be run")
    problem = ""
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        problem = f"is Python {'.'.join(map(str, version))}; {oldest} or newer is needed"
    return ProjectPython(path, origin, version, place, problem)


def _output(argv: list[str], folder: Path) -> str | None:
    try:
        done = subprocess.run(
            argv,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_S,
            check=False,
            text=True,
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
