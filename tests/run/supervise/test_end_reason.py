"""How a campaign ends: who waits gives way, and what is said of instances that ended."""

import asyncio
from types import SimpleNamespace

import pytest

from fuzztui.kernel.model.state import Instance, State
from fuzztui.run.instances.life import EndReason
from fuzztui.run.instances.phase import CampaignStopping
from fuzztui.run.supervise.ending import StopRequest, natural_end

STOP = EndReason("stopped", "stopped by somebody")


class Job:
    """Works until it may end; knows whether it was given up."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.begun = asyncio.Event()
        self.given_up = False

    async def run(self) -> None:
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.given_up = True
            raise


@pytest.fixture
async def waited_for():
    """A job that has begun, what ends it, and the wait for it."""
    halt, job = StopRequest(), Job()
    waiting = asyncio.ensure_future(halt.wait(job.run()))
    await job.begun.wait()
    return halt, job, waiting


async def test_a_job_is_waited_for_while_the_campaign_goes_on(waited_for):
    halt, job, waiting = waited_for
    assert not waiting.done()
    job.may_end.set()
    await waiting
    assert not job.given_up
    assert halt.end_reason is None


async def test_a_job_is_given_up_when_the_campaign_ends(waited_for):
    halt, job, waiting = waited_for
    halt.set(STOP)
    with pytest.raises(CampaignStopping):
        await waiting
    assert job.given_up
    assert halt.end_reason == STOP


async def test_nothing_is_begun_once_the_campaign_is_being_ended():
    halt, job = StopRequest(), Job()
    halt.set(STOP)
    with pytest.raises(CampaignStopping):
        await halt.wait(job.run())
    assert not job.begun.is_set()


async def test_the_error_of_a_job_is_its_own():
    async def fail() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await StopRequest().wait(fail())


async def test_who_waits_can_be_cancelled_and_the_job_goes_with_it(waited_for):
    _, job, waiting = waited_for
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert job.given_up


def ended(**states: str) -> EndReason:
    """The outcome of instances in these states, each with its name as the reason."""
    instances = {name: Instance(name, reason=f"why {name}") for name in states}
    lives = {name: SimpleNamespace(state=state) for name, state in states.items()}
    return natural_end(State(instances=instances), lives)


def test_a_campaign_ends_as_well_as_the_best_of_its_instances():
    assert ended(main="failed", s1="stopped", s2="finished").state == "finished"
    assert ended(main="failed", s1="stopped").state == "stopped"
    assert ended(main="failed", s1="failed") == EndReason("failed", "why main")
    assert ended(main="restarting") == EndReason("failed", "no instance could be kept alive")
    assert ended() == EndReason("stopped", "")
