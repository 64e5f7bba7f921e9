"""Pauses and resumes in the run of a target: those of a user, and those of the whole campaign."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from folding import fold

from fuzztui.features.targets.reporter import BY, TargetReporter
from fuzztui.kernel.remote.lock import RunLock
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import Command, Pause, Resume
from fuzztui.kernel.wire.events import (
    CampaignStarted,
    CampaignState,
    CommandApplied,
    CommandIssued,
    CommandRejected,
    Event,
)
from fuzztui.run.supervise.command_router import SUPERVISOR
from fuzztui.run.supervise.target_launcher import PAUSED_FILE

TURNS = f"{BY} as user@host"
A_USER = "user@host"
NUMBERS = count(1)


def given(command: Command, by: str, *, refused: bool = False) -> list[Event]:
    """The records of a command with its answer."""
    number = f"c{next(NUMBERS)}"
    answer = CommandRejected(number, "", "no") if refused else CommandApplied(number, "main")
    return [CommandIssued(number, encode_command(command), by), answer]


def reporter(tmp_path: Path, *events: Event) -> TargetReporter:
    """The service in the run of the target ``json``, which is paused."""
    whole = tmp_path / "run"
    (whole / "supervisor").mkdir(parents=True)
    (whole / "out/json").mkdir(parents=True)
    state = fold(CampaignStarted("c", "zest"), CampaignState("paused"), *events)
    context = SimpleNamespace(state=state, now=lambda: 0.0)
    return TargetReporter(context, whole / "out/json")


def test_a_target_that_waits_is_resumed_only_by_the_whole(tmp_path: Path) -> None:
    waits = reporter(tmp_path, *given(Pause(), TURNS))
    assert not waits.refusal(Resume(), A_USER), "the whole campaign does not run"
    lock = RunLock(tmp_path / "run")
    try:
        for command in (Resume(), Resume("main")):
            refusal = waits.refusal(command, A_USER)
            assert f"fuzztui ctl {tmp_path / 'run'} weigh-target json x2" in refusal
        assert not waits.refusal(Resume(), TURNS)
        assert not waits.refusal(Pause(), A_USER)
    finally:
        lock.release()


@pytest.mark.parametrize(
    ("later", "is_by_user"),
    [
        (given(Pause(), A_USER), True),
        (given(Resume(), A_USER, refused=True), False),
        (given(Resume(), A_USER)[:1], False),
        (given(Pause("main"), SUPERVISOR), False),
    ],
    ids=["pause", "refused", "unanswered", "engine that was restarted"],
)
async def test_what_counts_as_a_users_pause(
    tmp_path: Path, later: list[Event], is_by_user: bool
) -> None:
    paused = reporter(tmp_path, *given(Pause(), TURNS), *later)
    await paused.run()
    assert (tmp_path / "run/out/json" / PAUSED_FILE).exists() == is_by_user
