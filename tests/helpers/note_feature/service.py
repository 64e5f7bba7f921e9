"""The service of notes, in the process that owns the campaign's log."""

from __future__ import annotations

from collections.abc import Mapping

from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.service import Handler, Progress, Service, ServiceContext
from note_feature import InstanceNoted, Note


class NoteService(Service):
    """Carries out the command: the note becomes an event."""

    def __init__(self, context: ServiceContext) -> None:
        self._state, self._record = context.state, context.record

    def handlers(self) -> Mapping[str, Handler]:
        """The handler of ``note``."""
        return {Note.name: self._note}

    async def _note(self, command: Note, _: Progress) -> str:
        names = [command.instance] if command.instance else list(self._state.instances)
        if len(names) != 1 or names[0] not in self._state.instances:
            raise SupervisorError(f"name one instance of {', '.join(self._state.instances)}")
        self._record(InstanceNoted(names[0], command.text))
        return f"noted on {names[0]}"
