"""The services of a campaign: what they get, and what is left to do when it ends."""

import asyncio
import sys
from types import ModuleType, SimpleNamespace

import pytest

from fuzztui.kernel.model.feature import Feature, own_features
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import Message
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.process.service import Service, ServiceContext
from fuzztui.run.supervise.package_service import package_services
from fuzztui.run.supervise.services import Services
from fuzztui.run.supervise.tasks import Tasks
from fuzztui.run.triage.waiting import Triage


class Endless(Triage):
    left = 1

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def finish(self) -> None:
        if self._error:
            raise self._error
        await asyncio.Event().wait()


class Noted(Service):
    directory = "noted"

    def __init__(self) -> None:
        self.calls: list[object] = []

    def handlers(self):
        return {"note": self.note}

    async def note(self, command, progress):
        return f"noted {command}"

    def at_start(self):
        return [Message("info", "started")]

    def saw(self, event):
        self.calls.append(event)

    async def run(self):
        self.calls.append("run")

    async def close(self):
        self.calls.append("close")

    async def ended(self, end, reason):
        self.calls.append((end, reason))
        raise ValueError("at the end")


@pytest.fixture
def made():
    """Makes services of these objects, and a list of their events."""
    events: list[object] = []

    def make(*services: Service) -> tuple[Services, list[object]]:
        return Services(services, Tasks(events.append), events.append), events

    return make


def test_all_services_exist():
    for feature in own_features():
        named = [feature.services, feature.phase, feature.spec]
        assert all(callable(feature.load(text)) for text in filter(None, named))


def test_two_services_with_one_command_are_refused(made):
    services, _ = made(Noted(), Noted())
    with pytest.raises(SupervisorError, match="note has a handler already"):
        services.handlers({})


async def test_a_service_gets_what_it_asks_for(made):
    noted = Noted()
    services, events = made(Service(), noted)
    assert services.directories == ["noted"]
    assert list(services.handlers({})) == ["note"]
    assert services.at_start() == [Message("info", "started")]
    services.start()
    await asyncio.sleep(0)
    services.saw(Message("info", "x"))
    assert services.pending() == ""
    await services.finish(is_stopped=False)
    await services.ended("finished", "budget")
    assert noted.calls == ["run", Message("info", "x"), "close", ("finished", "budget")]
    assert "at the end" in events[0].text  # an error there ends nothing else
    await services._tasks.close()


async def test_an_error_of_a_check_is_recorded_and_the_others_are_closed(made):
    noted = Noted()
    services, events = made(Endless(KeyError("x")), noted)
    await services.finish(is_stopped=False)
    assert events[0].level == "error" and "KeyError" in events[0].text
    assert noted.calls == ["close"]
    await services._tasks.close()


class Broken(Service):
    """A package's, which fails wherever a campaign asks it."""

    @property
    def pending(self):
        raise RuntimeError("pending")

    def saw(self, event):
        raise RuntimeError(f"saw {event!r}")

    async def finish(self):
        raise RuntimeError("finish")

    def close(self):
        """No coroutine function."""


@pytest.fixture
def package(monkeypatch, tmp_path):
    """Makes the services of an installed feature, of the function that it names."""
    module = ModuleType("services_of_a_package")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def make(function, record=None):
        module.services = function
        feature = Feature("tide", services=f"{module.__name__}:services")
        context = ServiceContext(SimpleNamespace(), RunDir(tmp_path), State(), record, float)
        return package_services(feature, context)

    return make


async def test_an_error_of_a_packages_service_is_recorded_once_and_ends_no_other(package):
    events = []
    noted = Noted()

    def record(event):
        events.append(event)
        services.saw(event)

    services = Services([*package(lambda _: [Broken()], record), noted], Tasks(record), record)
    services.saw(Message("info", "x"))
    assert services.pending() == services.pending() == ""
    await services.finish(is_stopped=False)
    assert "close" in noted.calls
    texts = [event.text for event in events]
    assert [text.split(": ")[:2] for text in texts] == [
        ["feature tide", name] for name in ("saw", "pending", "finish", "close")
    ]
    assert max(map(len, texts)) < 600


@pytest.mark.parametrize(
    ("part", "of", "wrong"),
    [
        ("handlers", [{}], None),
        *(("at_start", [], wrong) for wrong in (None, ["hello"])),
        *(("setup", [print], wrong) for wrong in (None, ["hello"])),
    ],
)
def test_what_a_package_offers_wrongly_stops_the_start(package, part, of, wrong, made):
    broken = Service()
    setattr(broken, part, lambda *_: wrong)
    services, _ = made(*package(lambda _: [broken]))
    with pytest.raises(SupervisorError, match=f"feature tide: {part}: TypeError"):
        getattr(services, part)(*of)


class Timeless(Service):
    again_s = None


@pytest.mark.parametrize(
    "function",
    [lambda _: 1 / 0, lambda _: ["no service"], lambda _: None, lambda _: [Timeless()]],
)
def test_a_service_that_cannot_be_made_names_its_feature(package, function):
    with pytest.raises(SupervisorError, match="feature tide: services_of_a_package:services: "):
        package(function)


def test_a_service_may_refuse_the_start(package):
    def refuse(_):
        raise SupervisorError("needs target.tide")

    with pytest.raises(SupervisorError, match=r"^needs target\.tide$"):
        package(refuse)


async def test_a_stop_ends_the_wait_and_what_is_left_is_recorded(made):
    noted = Noted()
    services, events = made(Endless(), noted)
    assert services.pending() == "checking 1 finding"
    task = asyncio.ensure_future(services.finish(is_stopped=False))
    await asyncio.sleep(0)
    assert noted.calls == []  # closed when the others have finished
    services.hurry()
    await task
    assert noted.calls == ["close"]
    assert [e.kind for e in events] == ["message"]
