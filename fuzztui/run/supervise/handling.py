"""What the command routers of supervisors and of hubs share: run handlers, combine answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from fuzztui.kernel.model.state import State
from fuzztui.kernel.remote.protocol import APPLIED, REJECTED, CommandAnswer, CommandRequest
from fuzztui.kernel.remote.server import unanswered
from fuzztui.kernel.wire.commands import Command
from fuzztui.kernel.wire.events import CommandApplied, CommandProgress, CommandRejected, Event
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.process.service import Handler

Summary = Callable[[Sequence[CommandAnswer]], str]
"""Returns one text for several answers."""


class LogContext(Protocol):
    """The part of a supervisor or hub that both command routers use."""

    @property
    def state(self) -> State:
        """The state of the campaign."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The handlers of commands that the owner itself carries out, by the command's name."""

    def record(self, *events: Event) -> None:
        """Log events."""

    def flush(self) -> bool:
        """Write the log. Returns False if that fails."""


@dataclass(slots=True)
class OpenCommand:
    """A command without a result: who has not answered yet, and the answers so far."""

    request: CommandRequest
    done: asyncio.Future[CommandAnswer] = field(default_factory=unanswered)
    waiting: set[str] = field(default_factory=set)
    """Names of instances, or of hosts; an empty string: the owner of the log itself."""
    answers: dict[str, CommandAnswer] = field(default_factory=dict)
    """The answers until now, by the names as in ``waiting``."""

    @property
    def command(self) -> Command:
        """The command itself."""
        return self.request.command


class HandlerTasks:
    """Runs the handlers of commands that no engine carries out, each in a task of its own.

    ``progress`` is called with news of a handler, ``finished`` with its result; both log the event.
    """

    def __init__(
        self,
        progress: Callable[[CommandProgress], None],
        finished: Callable[[CommandApplied | CommandRejected], None],
    ) -> None:
        self._progress = progress
        self._finished = finished
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, handlers: Mapping[str, Handler], command_id: str, command: Command) -> bool:
        """Start the handler of a command. Returns False if the command has none."""
        handler = handlers.get(command.name)
        if handler is None:
            return False
        task = asyncio.get_running_loop().create_task(self._run(handler, command_id, command))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _run(self, handler: Handler, command_id: str, command: Command) -> None:
        def progress(text: str, part: float) -> None:
            self._progress(CommandProgress(command_id, text, part))

        try:
            answer = await handler(command, progress)
        except SupervisorError as e:
            self._finished(CommandRejected(command_id, "", str(e)))
        except Exception as e:
            self._finished(CommandRejected(command_id, "", f"internal error: {e!r}"))
            raise
        else:
            if not isinstance(answer, CommandApplied):  # a package's may be anything
                answer = CommandApplied("", detail=answer if isinstance(answer, str) else "")
            self._finished(replace(answer, id=command_id))

    def close(self) -> None:
        """Cancel the handlers that still run."""
        for task in self._tasks:
            task.cancel()


def combined(answers: Sequence[CommandAnswer], command: Command, summary: Summary) -> CommandAnswer:
    """Return one answer: applied if all are, or if one is and the command has ``any_applies``."""
    if len(answers) == 1:
        return answers[0]
    applied = [a for a in answers if a.result == APPLIED]
    if applied and (len(applied) == len(answers) or command.any_applies):
        return CommandAnswer(APPLIED, summary(answers))
    return CommandAnswer(REJECTED, summary([a for a in answers if a.result != APPLIED]))
