"""Handlers of commands: every command gets one result, also if its handler fails."""

import asyncio
from typing import Any

import pytest

from fuzztui.kernel.remote.protocol import APPLIED, REJECTED, CommandAnswer
from fuzztui.kernel.wire.commands import AddSeed, Pause, PromoteMutants
from fuzztui.kernel.wire.events import CommandApplied, CommandProgress, CommandRejected
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.service import Progress
from fuzztui.run.supervise.handling import HandlerTasks, combined


async def good(command: Any, progress: Progress) -> str:
    progress("half", 0.5)
    return "added"


async def refused(command: Any, progress: Progress) -> str:
    raise SupervisorError("no room")


async def wrong(command: Any, progress: Progress) -> str:
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("handler", "events"),
    [
        (good, [CommandProgress("c1", "half", 0.5), CommandApplied("c1", detail="added")]),
        (refused, [CommandRejected("c1", "", "no room")]),
        (wrong, [CommandRejected("c1", "", "internal error: ZeroDivisionError()")]),
    ],
)
async def test_every_handler_gives_one_result(handler, events):
    seen: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    tasks = HandlerTasks(seen.append, seen.append)
    assert tasks.start({AddSeed.name: handler}, "c1", AddSeed("x"))
    while not isinstance((seen or [None])[-1], CommandApplied | CommandRejected):
        await asyncio.sleep(0)
    assert seen == events
    assert not tasks.start({AddSeed.name: handler}, "c2", Pause())


@pytest.mark.parametrize(
    ("command", "results", "result"),
    [
        (Pause(), [APPLIED, APPLIED], APPLIED),
        (Pause(), [APPLIED, REJECTED], REJECTED),
        (PromoteMutants("m1"), [APPLIED, REJECTED], APPLIED),
    ],
)
def test_a_command_is_applied_if_all_have_applied_it(command, results, result):
    answers = [CommandAnswer(r, r) for r in results]
    answer = combined(answers, command, lambda said: " ".join(a.detail for a in said))
    assert answer.result == result
    if result == REJECTED:
        assert APPLIED not in answer.detail.split()
