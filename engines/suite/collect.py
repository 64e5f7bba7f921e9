"""Collect the Hypothesis tests of a project with pytest, and set up the fixtures of each.

Fixtures, parameters, marks and hooks of ``conftest.py`` are left to pytest: a test is set up and
torn down by pytest's own hooks. Only the session is opened by internals of pytest, because it must
stay open for as long as the worker lives.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.strategies import test_of

OLDEST_PYTEST: Final = (7, 0)
"""The oldest version of pytest with which this works."""

_OPTIONS: Final = (
    "-o", "addopts=",  # --cov, -n and the like
    "-s",
    "--continue-on-collection-errors",
    # What reports, reorders, or keeps files and handlers of its own.
    *(f"-pno:{name}" for name in (
        "cacheprovider", "faulthandler", "unraisableexception", "threadexception",
        "junitxml", "xdist", "randomly", "random_order", "cov", "benchmark", "sugar", "timeout",
    )),
)  # fmt: skip


@dataclass(slots=True)
class Collected:
    """What pytest has found. ``items``: tests with ``@given``, in pytest's order."""

    items: list[Any]
    others: int
    """Tests without ``@given``."""
    broken: dict[str, str] = field(default_factory=dict)
    """Files that could not be collected: why, by name."""


class Skip(Exception):
    """The test cannot run: its message says why."""


class PytestSession:
    """A session of pytest that stays open; at most one test is set up at a time."""

    def __init__(self, names: Sequence[str]) -> None:
        """Collect files, directories and node ids. Raises :class:`CannotStart`."""
        if importlib.util.find_spec("pytest") is None:
            raise CannotStart(
                f"pytest is not installed for target.python ({sys.executable}), needed to collect"
                f" {names[0]}: python -m pip install pytest"
            )
        _check_version()
        self._current: Any = None
        recorder = _Recorder()
        os.environ.pop("PYTEST_ADDOPTS", None)
        silent = io.StringIO()  # the reporter of pytest writes to it for as long as it lives
        try:
            with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
                config, session = _open([*_OPTIONS, *names], recorder)
        except SystemExit:
            words = " ".join(silent.getvalue().split())
            raise CannotStart(f"target.function: pytest cannot start: {words[-400:]}") from None
        except Exception as e:
            raise CannotStart(f"target.function: pytest: {_words(e)}") from None
        self.root = str(config.rootpath)
        """The directory that node ids are relative to."""
        given = [item for item in session.items if test_of(getattr(item, "obj", None)) is not None]
        self.found = Collected(given, len(session.items) - len(given), recorder.broken)

    def set_up(self, item: Any) -> None:
        """Tear down the previous test, then set this one up. Raises :class:`Skip`."""
        if self._current is item:
            return
        self.tear_down(item)
        self._current = item
        if hasattr(item, "_initrequest"):  # not documented: as pytest does to run a test again
            item._initrequest()
        try:
            item.ihook.pytest_runtest_setup(item=item)
        except BaseException as e:
            self.tear_down(None)
            if isinstance(e, (KeyboardInterrupt, MemoryError)):
                raise
            skipped = type(e).__name__ == "Skipped"
            why = _missing(e) or _words(e, name=not skipped)
            raise Skip(f"skipped: {why}" if skipped else f"its setup failed: {why}") from None

    def tear_down(self, following: Any) -> None:
        """Tear down the current test, except for what the following one shares with it."""
        if self._current is not None:
            current, self._current = self._current, None
            try:
                current.ihook.pytest_runtest_teardown(item=current, nextitem=following)
            except (KeyboardInterrupt, MemoryError):
                raise
            except BaseException:  # also pytest.fail(): a failure is no finding of the next test
                pass


def _check_version() -> None:
    """Raise :class:`CannotStart` if pytest is too old, or incomplete."""
    try:
        import pytest
    except Exception as e:
        raise CannotStart(
            f"pytest of target.python ({sys.executable}) cannot be imported: {_words(e)}"
        ) from None

    version = pytest.__version__
    if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < OLDEST_PYTEST:
        oldest = ".".join(map(str, OLDEST_PYTEST))
        raise CannotStart(
            f"pytest {version} of target.python ({sys.executable}) is too old to collect suites;"
            f" install {oldest} or newer"
        )


class _Recorder:
    """A plugin of pytest that keeps the errors of the collection, and skips fuzztui's runs."""

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Skip the directories of runs: they contain fuzztui, with the tests of its samples."""
        parts = (collection_path / "log", collection_path / "supervisor")
        return True if all(part.is_dir() for part in parts) else None

    def pytest_collectreport(self, report: Any) -> None:
        """Keep why a file could not be collected."""
        if report.failed:
            text = getattr(report.longrepr, "reprcrash", None)
            whole = str(getattr(text, "message", None) or report.longrepr)
            lines = [line for line in whole.splitlines() if line.strip()]
            last = next((line[1:] for line in reversed(lines) if line.startswith("E ")), "")
            self.broken[report.nodeid or "the collection"] = " ".join((last or lines[-1]).split())


def _open(arguments: list[str], recorder: _Recorder) -> tuple[Any, Any]:
    from _pytest.config import _prepareconfig  # not documented; the rest is public
    from _pytest.main import Session

    config: Any = _prepareconfig(arguments, [recorder])
    config._do_configure()
    session: Any = Session.from_config(config)
    config.hook.pytest_sessionstart(session=session)
    try:
        config.hook.pytest_collection(session=session)
    except Exception as e:
        if type(e).__name__ not in ("UsageError", "Interrupted", "Failed"):
            raise
        if type(e).__name__ == "UsageError":
            raise ValueError(" ".join(str(e).split())) from None
    return config, session


def _missing(error: BaseException) -> str:
    """The words about a fixture that does not exist; empty for other errors."""
    if type(error).__name__ != "FixtureLookupError":
        return ""
    name = str(getattr(error, "argname", "?"))
    return f"there is no fixture {name}, and @given does not make it"


def _words(error: BaseException, *, name: bool = True) -> str:
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if name and not isinstance(error, ValueError) else text
