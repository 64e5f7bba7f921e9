"""Hands findings of Hypothesis tests to Hypothesis: saves them as its failing examples."""

from __future__ import annotations

from fuzztui.engines.inputs.inputs import GeneratedInput
from fuzztui.engines.inputs.source import Rejected
from fuzztui.engines.loop.context import Context
from fuzztui.engines.strategies.given import Pending
from fuzztui.engines.suite.examples import NotSaved, save_example
from fuzztui.kernel.wire.events import ExampleSaved


class ExampleKeeper:
    """Runs a finding once more to learn its choices in Hypothesis' form, and saves these."""

    def __init__(self, context: Context) -> None:
        self._executor, self._log = context.executor, context.log
        self._directory = context.spec.target.examples
        self._warned: set[str] = set()

    def save(self, file: str, data: bytes) -> None:
        """Save a finding's input, and report it. Failures are messages, each of them once.

        ``file``: the finding's, in the instance directory.
        """
        form = self._executor.form
        assert isinstance(form, GeneratedInput)
        made: list[object] = []

        def again() -> None:
            made.append(form.build(data))
            try:
                self._executor.function(made[0])
            except Rejected:
                made.clear()

        self._executor.prepare(data)
        self._executor.guarded(again, None)
        pending = made[0] if made else None
        if not isinstance(pending, Pending) or pending.explicit:
            return  # a strategy failed, a function without any, an @example that pytest runs too
        try:
            save_example(pending, self._directory)
        except NotSaved as e:
            self._warn(f"{pending.test.name}: the example is not saved for Hypothesis: {e}")
        except OSError as e:
            self._warn(f"{self._directory}: no example can be saved: {e.strerror or e}")
        except Exception as e:
            self._warn(
                f"{pending.test.name}: the example is not saved for Hypothesis:"
                f" {type(e).__name__}: {' '.join(str(e).split()):.200}"
            )
        else:
            self._log.write(ExampleSaved(self._log.instance, file))

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._log.message("warning", text)
