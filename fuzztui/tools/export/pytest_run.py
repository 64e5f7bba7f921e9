"""Run an exported file with plain pytest, as in the user's project, without the user's options."""

from __future__ import annotations

import os
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.engines.base import clock
from fuzztui.kernel.base.files import read_tail, temporary_directory
from fuzztui.kernel.base.text import brief

_PYTEST_S: Final = 600.0
_MAX_OUTPUT: Final = 64 << 10
_PLUGIN: Final = "_fuzztui_other_date"


class CannotRun(Exception):
    """Pytest cannot run the tests; the message says why."""


@dataclass(frozen=True, slots=True)
class PytestRunner:
    """Runs one file. ``env``: the target's environment, besides that of this process."""

    python: str
    file: Path
    env: Mapping[str, str]

    def failing(self, seed: str, *, other_date: bool = False) -> set[str]:
        """Return the names of the tests that fail. Raises :class:`CannotRun`.

        ``seed``: PYTHONHASHSEED. ``other_date``: with a clock that stands 400 days ahead.
        """
        with temporary_directory() as folder:
            report, output = Path(folder) / "report.xml", Path(folder) / "output"
            env = {**os.environ, **self.env, "PYTHONHASHSEED": seed}
            options = self._other_date(Path(folder), env) if other_date else []
            ended = self._run(options, env, report, output)
            found = _failures(report)
            if found is None or ended not in (0, 1):
                text = read_tail(output, _MAX_OUTPUT).strip()
                raise CannotRun(brief(text.splitlines()[-1] if text else "it printed nothing"))
            return found

    def _other_date(self, folder: Path, env: dict[str, str]) -> list[str]:
        """Put the plugin into a directory of its own on the path; return its option."""
        plugins = folder / "plugins"
        plugins.mkdir()
        source = Path(clock.__file__).read_bytes()
        (plugins / f"{_PLUGIN}.py").write_bytes(source)
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(plugins), env.get("PYTHONPATH")]))
        return ["-p", _PLUGIN]

    def _run(self, options: list[str], env: dict[str, str], report: Path, output: Path) -> int:
        argv = [self.python, "-m", "pytest", "-q", "-o", "addopts=", *options]
        argv += ["-p", "no:cacheprovider", f"--junitxml={report}", str(self.file)]
        env.pop("PYTEST_ADDOPTS", None)
        try:
            with output.open("wb") as out:
                return subprocess.run(
                    argv,
                    cwd=self.file.parent,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    timeout=_PYTEST_S,
                    check=False,
                ).returncode
        except (OSError, subprocess.TimeoutExpired) as e:
            output.write_text(str(e))
            return -1


def _failures(report: Path) -> set[str] | None:
    """Names of the failed tests in a JUnit file; None if it is missing or damaged."""
    try:
        root = ET.fromstring(report.read_bytes())
    except (OSError, ET.ParseError):
        return None
    return {
        str(case.get("name"))
        for case in root.iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    }
