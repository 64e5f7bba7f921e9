"""When the last new input came: only what was written into the queues is news."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fuzztui.kernel.model.state import State
from fuzztui.machines.siblings import exchange
from fuzztui.machines.siblings.fold import SiblingRows, SiblingState
from fuzztui.machines.siblings.service import SiblingService
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, prepare_run

TEXT = '[engine]\nkind = "zest"\n[target]\nfunction = "json:loads"\n'


def started(
    folder: Path, now: float, before: SiblingState | None = None
) -> tuple[SiblingService, list[Any]]:
    """The service as at a start at the campaign time ``now``, and what it records."""
    (folder / "c.toml").write_text(
        f'{TEXT}[[siblings]]\nname = "lf"\ncorpus = "corpus"\ncrashes = "crashes"\n'
    )
    campaign = load(folder / "c.toml", cwd=folder).campaign
    run, state, log = RunDir(folder / "run"), State(), list[Any]()
    if before:
        state.part(SiblingRows).siblings["lf"] = asdict(before)
        state.part(SiblingRows).kept["lf"] = {}
    context: Any = SimpleNamespace(
        state=state, campaign=campaign, run_dir=run, now=lambda: now, record=log.append
    )
    service = SiblingService(context, campaign.table("siblings")["lf"])
    log += service.at_start()
    return service, log


def test_nothing_is_new_after_a_resume_or_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_run(tmp_path / "run")
    (tmp_path / "run/out/main/queue").mkdir(parents=True)
    for name in ("corpus", "crashes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one").write_text(name)
        os.utime(tmp_path / name / "one", (1e9, 1e9))
    service, log = started(tmp_path, 5.0)
    asyncio.run(service.finish())
    assert (log[-1].imported, log[-1].new_t) == (2, 5.0)
    service, log = started(tmp_path, 50.0, log[-1])
    assert log[-1].behind

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(exchange.QueueWriter, "flush", full)
        asyncio.run(service.finish())
    assert log[-1].problem
    asyncio.run(service.finish())
    assert (log[-1].crashes, log[-1].new_t, log[-1].problem) == (1, 5.0, "")
