"""An event of one run as the merged log has it: with names that no other run has."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.events import Event

_KEY: Final = re.compile(r"([^/]+)/(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Renamer:
    """Puts the run's ``name`` before names in its events.

    With an empty name, :meth:`instance` and :meth:`key` change nothing.
    """

    name: str

    def instance(self, name: str) -> str:
        """The name of an instance; no name stays none."""
        return f"{self.name}_{name}" if self.name and name else name

    def key(self, key: str) -> str:
        """The key of an entry or a finding: ``main/12``. Any other text is not changed."""
        found = _KEY.fullmatch(key)
        return f"{self.instance(found[1])}/{found[2]}" if found else key

    def command(self, id_: str) -> str:
        """The id of a command."""
        return f"{self.name}:{id_}" if id_ else ""

    def event(self, event: Event) -> Event:
        """Return the event with all its names changed."""
        change: dict[str, Any] = {}
        if isinstance(event, ev.Unknown):
            if isinstance(name := event.data.get("instance"), str):
                change["data"] = {**event.data, "instance": self.instance(name)}
            return replace(event, **change)
        known = {f.name for f in fields(event)}
        change |= {n: self.instance(getattr(event, n)) for n in ("instance", "sync") if n in known}
        match event:
            case ev.CommandIssued():
                change["id"], change["step"] = self.command(event.id), self.command(event.step)
                change["undoes"] = [self.command(str(id_)) for id_ in event.undoes]
                target = event.command.get("instance")
                if isinstance(target, str) and target:
                    change["command"] = {**event.command, "instance": self.instance(target)}
            case ev.CommandApplied() | ev.CommandRejected() | ev.CommandProgress():
                change["id"] = self.command(event.id)
                if isinstance(event, ev.CommandApplied):
                    change["made"] = [self.key(str(key)) for key in event.made]
            case ev.MutantState():
                change["killer"] = self.key(event.killer)
            case ev.MutantProgress():
                change["slot"] = self.instance(event.slot)
            case ev.MutantRuns():
                change["near"] = {id_: self._near(near) for id_, near in event.near.items()}
            case ev.EntriesSeeded():
                change["origins"] = {n: self._origin(of) for n, of in event.origins.items()}
            case ev.Synced():
                change["peers"] = {self.instance(str(p)): n for p, n in event.peers.items()}
            case ev.Notified():
                change["findings"] = [self.key(str(key)) for key in event.findings]
            case _:
                pass
        return replace(event, **change)

    def _near(self, near: Any) -> Any:
        match near:
            case [str(entry), how]:
                return [self.key(entry), how]
        return near

    def _origin(self, origin: Any) -> Any:
        return self.key(origin) if isinstance(origin, str) else origin
