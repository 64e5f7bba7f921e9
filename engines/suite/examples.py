"""Save failing inputs where Hypothesis looks for them, so that ``pytest`` fails with them at once.

Hypothesis keeps the choices of failing examples in ``.hypothesis/examples``, by a digest of the
test. The database's class and the form of choices are public; the digest is not.
"""

from __future__ import annotations

from typing import Any

from fuzztui.engines.strategies.given import GivenTest, Pending
from fuzztui.engines.suite.properties import CollectedTest


class NotSaved(Exception):
    """The example cannot be saved: its message says why."""


def save_example(pending: Pending, directory: str) -> None:
    """Save the choices of an input that was run and failed. Raises :class:`NotSaved`, OSError.

    ``directory``: Hypothesis' ``examples`` directory, unless the test's settings name another one.
    """
    from hypothesis.database import DirectoryBasedExampleDatabase, choices_to_bytes

    database = _database_of(pending.test)
    if database is None:
        raise NotSaved("its settings have database=None")
    if type(database) is not DirectoryBasedExampleDatabase:
        database = DirectoryBasedExampleDatabase(directory)
    database.save(_digest_of(pending.test), choices_to_bytes(pending.case.choices))


def _database_of(test: GivenTest) -> Any:
    settings = getattr(test.original, "_hypothesis_internal_use_settings", None)
    return object() if settings is None else settings.database


def _digest_of(test: GivenTest) -> bytes:
    """The key of a test in the database."""
    from hypothesis.internal.reflection import function_digest  # not documented

    inner: Any = test.function
    name = "_hypothesis_internal_add_digest"
    if not (isinstance(test, CollectedTest) and hasattr(test.item, "callspec")):
        return bytes(function_digest(inner))
    # As Hypothesis' plugin for pytest: each set of parameters has examples of its own.
    before = getattr(inner, name, None)
    setattr(inner, name, test.item.nodeid.encode())
    try:
        return bytes(function_digest(inner))
    finally:
        if before is None:
            delattr(inner, name)
        else:
            setattr(inner, name, before)
