"""A plugin of pytest that counts the cells which tests cover, with the instrumentation of fuzztui.

It is also loaded by HypoFuzz, which collects tests with pytest. It counts from the end of the
collection on, as an engine does, and writes the number to a file at the end of the session. It ends
the process, and with it the session, when the process has used up its CPU time.

Settings: SUITE_INCLUDE (packages), SUITE_OUT (file), SUITE_CPU_S (0: no limit), SUITE_TIMES (how
many times the examples of each test).
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

from fuzztui.engines.instrument.edges import CoverageMap, EdgeTable
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.importer import Application

_COVERAGE = CoverageMap()
_TABLE = EdgeTable()
_GUARD = Guard(3600.0)
_APPLICATION = Application(
    tuple(os.environ["SUITE_INCLUDE"].split(",")), (), _TABLE, _COVERAGE, _GUARD
)
_OUT = os.environ["SUITE_OUT"]
_LIMIT_S = float(os.environ.get("SUITE_CPU_S", "0"))
_TIMES = int(os.environ.get("SUITE_TIMES", "1"))
_FAILED: set[str] = set()
_COUNTED = threading.Event()


def _write(*, done: bool = False) -> None:
    _COVERAGE.grow(_TABLE.size)
    for cell in list(_COVERAGE.arms):
        _COVERAGE.cells[cell] = 1
    edges = len(_COVERAGE.cells) - bytes(_COVERAGE.cells).count(0)
    row = {"edges": edges, "cpu_s": time.process_time(), "failed": sorted(_FAILED)}
    out = f"{_OUT}.{os.getpid()}" + ".done" * done  # HypoFuzz has several processes
    part = f"{out}.part"
    with open(part, "w") as file:  # noqa: PTH123
        json.dump(row, file)
    os.replace(part, out)  # noqa: PTH105


def _watch() -> None:
    while True:
        time.sleep(0.5)
        if _COUNTED.is_set() and _LIMIT_S and time.process_time() > _LIMIT_S:
            _write(done=True)
            os._exit(0)


def pytest_configure(config: Any) -> None:
    """Instrument what the tests will import."""
    _GUARD.start()
    _APPLICATION.install()
    threading.Thread(target=_watch, daemon=True).start()


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep only tests with ``@given``, with more examples; clear the coverage of the imports."""
    from hypothesis import settings

    kept = [i for i in items if getattr(getattr(i, "obj", None), "is_hypothesis_test", False)]
    items[:] = kept
    for item in kept if _TIMES > 1 else ():
        test = getattr(item.obj, "__func__", item.obj)
        now = getattr(test, "_hypothesis_internal_use_settings", None) or settings.default
        if now is not None and not getattr(test, "suite_probe_seen", False):
            test.suite_probe_seen = True
            test._hypothesis_internal_use_settings = settings(
                now, max_examples=now.max_examples * _TIMES, database=None
            )
    _COVERAGE.grow(_TABLE.size)
    _COVERAGE.clear()
    _COUNTED.set()


def pytest_runtest_logreport(report: Any) -> None:
    """Note failing tests."""
    if report.failed:
        _FAILED.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write the final number, unless there is a CPU limit: then tests may still run (HypoFuzz)."""
    if not _LIMIT_S:
        _write(done=True)
