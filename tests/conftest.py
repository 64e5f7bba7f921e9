"""What all tests share: how many examples Hypothesis tries, and what spares the machine."""

from __future__ import annotations

import compileall
import ctypes
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from examples import load_profile
from shared import HOME
from skipped import advice, extras_advice, lacking

from fuzztui.kernel.base import versions

load_profile()

# A shell that starts them in the background (nohup, "&" in a script) has SIGINT ignored, and all
# that the tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A shell that forbids bytecode would have each of the hundreds of Pythons that the tests start
# compile all of fuzztui, and each worker rewrite the assertions of all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True)
def same_directory() -> Iterator[None]:
    """Each test starts where the first one did: targets that tests load in process change it."""
    before = Path.cwd()
    yield
    os.chdir(before)


@pytest.fixture(autouse=True)
def outputs_as_in_their_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that commands in a test print as JSON is what its schema says, and nothing else."""
    plain = versions.versioned

    def versioned(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
        from output_schemas import check

        whole = plain(name, data)
        check(name, whole)
        return whole

    monkeypatch.setattr(versions, "versioned", versioned)


def pytest_configure(config: pytest.Config) -> None:
    """Workers inherit the directory of what they share; it goes when they have gone."""
    if not hasattr(config, "workerinput"):
        kept = tempfile.TemporaryDirectory(prefix="fuzztui-tests-")
        os.environ[HOME] = kept.name
        # Screens that tests start have no keys or theme of whoever runs the tests, and no tour.
        os.environ["XDG_CONFIG_HOME"] = kept.name
        config_file = Path(kept.name, "fuzztui", "config.toml")
        config_file.parent.mkdir()
        config_file.write_text("tour = false\n")
        config.add_cleanup(kept.cleanup)
        # Once, before the workers start: each would compile all of it in a fresh clone.
        for folder in ("fuzztui", "engines", "tests/helpers"):
            compileall.compile_dir(config.rootpath / folder, quiet=2)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The last words: what would run the tests that were skipped: programs, extras."""
    reasons = [str(report.longrepr) for report in terminalreporter.getreports("skipped")]
    paths = [Path(arg.partition("::")[0]) for arg in terminalreporter.config.args]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))]
    for line in (advice(reasons), extras_advice(files, reasons)):
        if line:
            terminalreporter.write_line(line)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files whose imports need an extra that is not installed."""
    return True if collection_path.is_file() and lacking(collection_path) else None


gc.set_threshold(20_000, 20, 20)  # screens make many objects; what a module leaves: _settle


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is loaded stays: no collection and no census of live functions walks it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _settle():
    """So does what other modules' tests have loaded: mypy alone brings millions of objects."""
    gc.collect()
    gc.freeze()


_LIBC = ctypes.CDLL(None)
_PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture(autouse=True)
def _no_reaper():
    """A test of the supervisor's reaper must not leave us the orphans of the tests after it."""
    yield
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
