"""What is left to do when a campaign ends."""

from __future__ import annotations

import asyncio

import pytest

from fuzztui.supervise.ending import PendingChecks


class Triage:
    left = 1

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def finish(self) -> None:
        if self._error:
            raise self._error
        await asyncio.Event().wait()


def test_an_error_of_a_check_is_not_hidden():
    checks = PendingChecks(Triage(KeyError("x")), None, lambda event: None)
    with pytest.raises(KeyError):
        asyncio.run(checks.finish(is_stopped=False))


def test_a_stop_ends_the_wait_and_what_is_left_is_recorded():
    events = []
    checks = PendingChecks(Triage(), None, events.append)

    async def stopped():
        task = asyncio.ensure_future(checks.finish(is_stopped=False))
        checks.hurry()
        await task

    asyncio.run(stopped())
    assert [e.kind for e in events] == ["message"]
