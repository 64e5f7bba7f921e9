"""The instances that a campaign observes, when they end and come back."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fuzztui.kernel.model.state import State
from fuzztui.run.observe.directory import Offsets
from fuzztui.run.observe.stats_reader import FileStats
from fuzztui.run.supervise.observation import ObservationLoop
from fuzztui.run.supervise.tasks import Tasks


@pytest.mark.parametrize("removed", [True, False])
async def test_an_instance_that_is_observed_keeps_its_source_of_statistics(
    tmp_path: Path, removed: bool
) -> None:
    """A second source would listen on another port, to which the engine then sends."""
    sources: list[str] = []

    def source(run_dir: Any, name: str, known: Any) -> FileStats:
        sources.append(name)
        return FileStats(tmp_path / name, name)

    launcher: Any = SimpleNamespace(stats_source=source)
    log: Any = SimpleNamespace(
        state=State(), offsets=Offsets(0, {}), done={}, record=print, carried=print
    )
    run_dir: Any = SimpleNamespace(out=tmp_path)
    life: Any = SimpleNamespace(name="main", directory=tmp_path / "main", run_dir=run_dir)
    loop = ObservationLoop(run_dir, launcher, log, Tasks(lambda *events: None))
    await loop.join_running([life])
    if removed:
        await loop.remove("main")
    await loop.join_running([life])
    loop.close()
    assert sources == ["main"] * (2 if removed else 1)
