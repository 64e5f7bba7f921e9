"""The service of a feature, whose errors end neither the campaign nor other services."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from fuzztui.kernel.base.plugins import PluginError
from fuzztui.kernel.model.feature import Feature, list_of
from fuzztui.kernel.wire.events import Event, Message
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.service import Handler, Service, ServiceContext

T = TypeVar("T")


def package_services(feature: Feature, context: ServiceContext) -> list[PackageService]:
    """Return the services of a feature. Raises :class:`SupervisorError`."""
    try:
        made = feature.objects(feature.services, Service, context)
        return [PackageService(feature, service, context.record) for service in made]
    except PluginError as e:
        if isinstance(e.__cause__, SupervisorError):
            raise e.__cause__ from None
        raise SupervisorError(str(e)) from e
    except Exception as e:
        raise SupervisorError(feature.fault(feature.services, e)) from e


class PackageService(Service):
    """Passes all calls on to a package's service; reports errors as messages, once per method."""

    def __init__(self, feature: Feature, service: Service, record: Callable[..., None]) -> None:
        self._feature, self._service, self._record = feature, service, record
        self._failed: set[str] = set()
        self.again_s, self.directory = float(service.again_s), str(service.directory)

    def handlers(self) -> Mapping[str, Handler]:
        """Return the handlers. Raises :class:`SupervisorError`."""
        return self._at_start("handlers", lambda: dict(self._service.handlers()))

    def at_start(self) -> Sequence[Event]:
        """Return the events. Raises :class:`SupervisorError`."""
        return self._at_start("at_start", lambda: list_of(Event, self._service.at_start()))

    def setup(self, progress: Callable[[str], None]) -> Sequence[Message]:
        """Let the service prepare what it needs. Raises :class:`SupervisorError`."""
        return self._at_start("setup", lambda: list_of(Message, self._service.setup(progress)))

    def _at_start(self, method: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except SupervisorError:
            raise
        except Exception as e:
            raise SupervisorError(self._feature.fault(method, e)) from e

    def saw(self, event: Event) -> None:
        """Pass an event on, until the service has failed with one."""
        if "saw" not in self._failed:
            try:
                self._service.saw(event)
            except Exception as e:
                self._fails("saw", e)

    @property
    def pending(self) -> str:
        """What is left to do; an empty string if the service fails to say."""
        try:
            return str(self._service.pending)
        except Exception as e:
            self._fails("pending", e)
            return ""

    async def run(self) -> None:
        """Let the service work."""
        await self._call("run", self._service.run)

    async def finish(self) -> None:
        """Let the service do what is left."""
        await self._call("finish", self._service.finish)

    async def close(self) -> None:
        """Let the service end what it has begun."""
        await self._call("close", self._service.close)

    async def ended(self, end: str, reason: str) -> None:
        """Let the service do what it does last."""
        await self._call("ended", self._service.ended, end, reason)

    async def _call(self, method: str, call: Callable[..., Awaitable[None]], *args: Any) -> None:
        try:
            await call(*args)  # TypeError if it is no coroutine function
        except Exception as e:
            self._fails(method, e)

    def _fails(self, method: str, error: Exception) -> None:
        if method not in self._failed:
            self._failed.add(method)
            self._record(Message("error", self._feature.fault(method, error)))
