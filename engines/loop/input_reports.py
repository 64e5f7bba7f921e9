"""Events about the inputs that an instance has saved: facts about an entry, generated inputs."""

from __future__ import annotations

from fuzztui.engines.execute.executor import Outcome
from fuzztui.engines.execute.shown import input_text
from fuzztui.engines.loop.context import Context
from fuzztui.engines.loop.corpus import CorpusEntry, Steerable
from fuzztui.kernel.wire.events import EntryDescribed, InputShown


class InputReports:
    """Reports saved inputs as events."""

    def __init__(self, context: Context, scheduler: Steerable) -> None:
        self._log, self._executor, self._scheduler = context.log, context.executor, scheduler

    def describe(self, entry: CorpusEntry) -> None:
        """Report an entry as an event."""
        self._log.write(
            EntryDescribed(
                instance=self._log.instance,
                id=entry.id,
                reasons=list(entry.reasons),
                edges=entry.edges,
                favored=entry.favored,
                outcome=str(Outcome.SUCCESS if entry.valid else Outcome.INVALID),
                steer=self._scheduler.steer_of(entry.id),
                kills=entry.kills,
                calls=entry.calls,
            )
        )

    def show(self, row: str, data: bytes) -> None:
        """Report what the generator makes of saved choices, which mean nothing to a user."""
        executor = self._executor
        if not executor.form.choices:
            return
        shown = executor.guarded(lambda: input_text(executor.form.build(data)), None)
        if shown is not None:
            self._log.write(
                InputShown(
                    self._log.instance, row, shown.form, shown.text, shown.length, shown.picture
                )
            )
