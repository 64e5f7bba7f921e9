"""A hub saves the findings of suites for Hypothesis: each once, in bounded time, come what may."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fuzztui.engines.process.repro import _saved
from fuzztui.engines.strategies.given import Pending
from fuzztui.kernel.model.state import Finding, State
from fuzztui.kernel.wire.afl import EXAMPLE_SEED
from fuzztui.kernel.wire.events import Event, ExampleSaved, Message
from fuzztui.machines.hosts import examples as module
from fuzztui.machines.hosts.examples import HostExamples
from fuzztui.run.campaign.rundir import RunDir


class Hub:
    """The findings of a hub, and what is recorded about them."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.state, self.events = State(), list[Event]()
        self.asked: list[str] = []
        self.answers: list[list[dict[str, Any]] | Exception] = []
        self._run_dir = RunDir(tmp_path)
        campaign: Any = None
        self.examples = HostExamples(campaign, self._run_dir, self.state, self.events.append)
        monkeypatch.setattr(module, "ask", self._ask)

    def add(self, name: str, signature: str, property: str = "t.py::test_a") -> None:
        key = f"main/crashes/{name}"
        made = Finding(key, "main", "crash", f"crashes/{name}", 0.0)
        finding = replace(made, signature=signature, property=property)
        self.state.findings[key] = finding
        file = self._run_dir.instance("main") / finding.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()

    def _ask(self, _: Any, request: list[str], *more: Any, **limit: Any) -> Iterator[Any]:
        self.asked.append(Path(request[1]).name)
        answer = self.answers.pop(0) if self.answers else [{"saved": ""}]
        if isinstance(answer, Exception):
            raise answer
        yield from answer


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    return Hub(tmp_path, monkeypatch)


async def test_the_first_of_each_signature_is_saved_but_no_example_of_the_tests(hub: Hub) -> None:
    hub.add(f"id:0,orig:{EXAMPLE_SEED}test_a-1", "s")
    for name, signature in (("id:1", "s"), ("id:2", "s"), ("id:3", "")):
        hub.add(name, signature)
    await hub.examples.run()
    await hub.examples.run()
    assert hub.asked == ["id:1"]
    assert hub.events == [ExampleSaved("main", "crashes/id:1")]


async def test_a_finding_that_cannot_be_saved_leaves_its_signature_to_the_next(hub: Hub) -> None:
    for name in ("id:1", "id:2", "id:3"):
        hub.add(name, "s")
    hub.answers = [[{"saved": "it only times out"}]]
    for _ in range(3):
        await hub.examples.run()
    assert hub.asked == ["id:1", "id:2"]
    warning, saved = hub.events
    assert isinstance(warning, Message) and saved == ExampleSaved("main", "crashes/id:2")


async def test_a_signature_of_which_no_finding_can_be_saved_is_left_alone(hub: Hub) -> None:
    for number in range(9):
        hub.add(f"id:{number}", "s")
    hub.answers = [[{"saved": "no choices"}]] * 9
    for _ in range(9):
        await hub.examples.run()
    assert hub.asked == [f"id:{number}" for number in range(module.TRIES)]


async def test_what_could_not_be_saved_is_tried_once_more_at_the_end(hub: Hub) -> None:
    hub.add("id:1", "s")
    hub.add("id:2", "of another")
    hub.answers = [[{"saved": "it only times out"}], [{"saved": "no choices"}]]
    await hub.examples.run()
    await hub.examples.run()
    assert hub.asked == ["id:1", "id:2"]
    hub.answers = [[{"saved": ""}], [{"saved": "no choices"}]]
    await hub.examples.ended("finished", "")
    assert hub.asked == ["id:1", "id:2"] * 2
    first, second, saved, last = hub.events  # each reason once
    assert isinstance(first, Message) and isinstance(second, Message)
    assert saved == ExampleSaved("main", "crashes/id:1")
    assert isinstance(last, Message) and "1 signature without" in last.text


async def test_what_the_target_prints_is_no_answer(hub: Hub) -> None:
    hub.add("id:1", "s")
    hub.answers = [[{"saved": ""}, {"saved": "no strategy\x1b"}]]
    await hub.examples.run()
    (event,) = hub.events
    assert isinstance(event, Message) and "no strategy\\e" in event.text


async def test_a_full_disk_does_not_keep_a_hub_from_its_end(hub: Hub) -> None:
    hub.add("id:1", "s")
    hub.answers = [OSError(28, "No space left on device")]
    await hub.examples.ended("finished", "")
    event, last = hub.events
    assert isinstance(event, Message) and "No space left" in event.text
    assert isinstance(last, Message) and "1 signature without" in last.text


async def test_the_end_does_not_wait_for_all(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        hub.add(f"id:{number}", f"s{number}")
    now = iter(range(0, 1000, 25))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(module, "LAST_S", 80.0)
    await hub.examples.ended("finished", "")
    *saved, message = hub.events
    assert 0 < len(saved) < 3 and all(isinstance(event, ExampleSaved) for event in saved)
    assert isinstance(message, Message) and message.level == "warning"


def test_an_example_of_a_test_has_no_choices_to_save(tmp_path: Path) -> None:
    nothing: Any = None
    pending = Pending(nothing, nothing, {}, more=False, explicit=True)
    assert "@example" in _saved([pending], str(tmp_path))
    assert not [*tmp_path.iterdir()]
