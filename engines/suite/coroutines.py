"""Hypothesis tests that are coroutine functions, run as the project's plugin of pytest does."""

from __future__ import annotations

import asyncio
import functools
import importlib
from collections.abc import Callable
from typing import Any


def synchronous(item: Any, function: Callable[..., Any]) -> Callable[..., object] | None:
    """Return a function that runs a test's coroutine; None if no plugin of pytest runs the test.

    ``item``: pytest's. With pytest-asyncio the coroutine runs in the loop of the item's fixtures.
    """
    run: Callable[[Any, Callable[[], Any]], object]
    if any(cls.__module__.startswith("pytest_asyncio") for cls in type(item).__mro__):
        run = _by_asyncio
    elif item.get_closest_marker("anyio") and item.config.pluginmanager.hasplugin("anyio"):
        run = _by_anyio
    else:
        return None

    @functools.wraps(function)
    def test(*args: Any, **kwargs: Any) -> object:
        return run(item, functools.partial(function, *args, **kwargs))

    return test


def _by_asyncio(item: Any, coroutine: Callable[[], Any]) -> object:
    for value in item.funcargs.values():  # a fixture of the plugin, by version
        if isinstance(value, asyncio.Runner):
            return value.run(coroutine())
        if isinstance(value, asyncio.AbstractEventLoop):
            return value.run_until_complete(coroutine())
    return asyncio.run(coroutine())


def _by_anyio(item: Any, coroutine: Callable[[], Any]) -> object:
    plugin = importlib.import_module("anyio.pytest_plugin")
    backend, options = plugin.extract_backend_and_options(item.funcargs["anyio_backend"])
    with plugin.get_runner(backend, options) as runner:
        return runner.run_test(coroutine, {})
