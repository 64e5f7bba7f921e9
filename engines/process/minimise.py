"""Minimise a failing input: the smallest found input with the same signature (engines/README.md).

Prints JSON lines: ``{"size", "tries", "part"}`` every 0.2 s, with ``"best"``, the input in base64,
when a smaller one was found. ``part``: an estimate of the share that is done. The last line also
has ``"end"``: why minimising ended early, for example because of SIGTERM; empty if nothing was left
to try.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import signal
import time
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.findings.answers import Say, answering
from fuzztui.engines.inputs.attempts import Attempt
from fuzztui.engines.inputs.reduce import Reducer
from fuzztui.engines.inputs.simplify import Simplifier
from fuzztui.engines.process.input_runner import InputRunner, TrialResult, draws_of
from fuzztui.engines.process.worker import limit_resources
from fuzztui.kernel.base.text import several, span

_REPEATED: Final = 3
"""Runs, each in a fresh process, that must all have the same signature before minimising starts."""
_PROGRESS_S: Final = 0.2
"""Seconds between two progress lines."""


def minimise(spec: Spec, file: Path, tries: int, seconds: float) -> int:
    """Minimise the input in ``file`` with at most ``tries`` runs, in about ``seconds`` at most.

    Returns the exit status. Raises :class:`CannotStart` if the input does not fail, or is flaky.
    """
    try:
        data = file.read_bytes()
    except OSError as e:
        raise CannotStart(f"{file}: {e.strerror or e}") from None
    limit_resources(spec)
    with answering() as say:
        runner = InputRunner(spec, Path.cwd())
        gc.collect()
        gc.freeze()  # a collection in a child would copy the loaded target's memory
        with contextlib.closing(runner):
            _Search(runner, say, tries, seconds).run(data)
    return 0


class _Enough(Exception):
    """Minimising ends early; the message says why."""


class _Search:
    """Runs attempts for the reducer, within the limits, and reports the progress."""

    def __init__(self, runner: InputRunner, say: Say, tries: int, seconds: float) -> None:
        self._runner, self._say = runner, say
        self._max_tries, self._max_s = tries, seconds
        self._tries = 0
        self._wanted = ""
        self._always_fresh = False
        """Whether every input is run in a fresh child."""
        self._stopped = False
        self._reported_at, self._reported = 0.0, b""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, signum: int, frame: object) -> None:
        self._stopped = True

    def run(self, data: bytes) -> None:
        """Check the input, minimise it, report the end. Raises :class:`CannotStart`."""
        self._deadline = time.monotonic() + self._max_s
        first = self._checked(data)
        self._reported = data
        start = Attempt(True, first.data, *draws_of(first.notes))
        self._reducer = (
            Simplifier(start, self._attempt, self._redraw, constants=self._runner.compared)
            if self._runner.choices
            else Reducer(start, self._attempt)
        )
        last = {}
        try:
            self._reducer.run()
            last["end"] = ""
        except _Enough as e:
            last["end"] = str(e)
        finally:  # the best input is reported even after an error
            self._report(**last)

    def _checked(self, data: bytes) -> TrialResult:
        """Run the input several times. Raises :class:`CannotStart` if flaky or not failing."""
        runner = self._runner
        first = runner.run(data, fresh=True)  # may draw choices that the input lacks
        if not first.signature:
            raise CannotStart(f"cannot minimise: the input does not fail ({first.outcome})")
        self._wanted, runner.strict, runner.deadly = first.signature, True, first.died
        for _ in range(_REPEATED):
            if self._stopped:
                raise CannotStart("stopped before the finding was reproduced")
            again = runner.run(first.data, fresh=True)
            if again.signature != first.signature:
                others = again.signature or again.outcome
                raise CannotStart(
                    "cannot minimise: the input is flaky, it fails with different signatures:"
                    f" {first.signature}; then: {others}"
                )
        if again.died and runner.run(again.data, fresh=True).signature != first.signature:
            runner.deadly = False  # the target draws more while it runs
            return first
        # If the input fails only once in a process, no process can be used again.
        self._always_fresh = runner.runs > 0 and runner.run(first.data).signature != first.signature
        return again

    def _attempt(self, data: bytes) -> Attempt:
        return self._judged(data, self._run(data, fresh=self._always_fresh))

    def _redraw(self, data: bytes, like: bytes) -> Attempt:
        return self._judged(data, self._run(data, fresh=self._always_fresh, like=like))

    def _judged(self, data: bytes, result: TrialResult) -> Attempt:
        if result.signature == self._wanted and not result.clean:
            # An earlier input may have caused the failure.
            result = self._run(result.data, fresh=True)
        if result.signature == self._wanted and result.died and result.data != data:
            # More choices may have been drawn after ``result.data`` was reported.
            result = self._run(result.data, fresh=True)
        same = result.signature == self._wanted
        if time.monotonic() - self._reported_at > _PROGRESS_S:
            self._report()
        short = bool(result.notes.get("short"))
        return Attempt(same, result.data, *draws_of(result.notes), short)

    def _run(self, data: bytes, *, fresh: bool, like: bytes = b"") -> TrialResult:
        if self._stopped:
            raise _Enough("stopped")
        if self._tries >= self._max_tries:
            raise _Enough(f"stopped after {several(self._tries, 'try', 'tries')}")
        if time.monotonic() > self._deadline:
            raise _Enough(f"stopped after {span(self._max_s)}")
        self._tries += 1
        return self._runner.run(data, fresh=fresh, like=like)

    def _report(self, **more: str) -> None:
        self._reported_at = time.monotonic()
        best = self._reducer.best.data
        part = round(self._reducer.part, 3)
        line: dict[str, Any] = {"size": len(best), "tries": self._tries, "part": part, **more}
        if best != self._reported:
            self._reported = best
            line["best"] = base64.b64encode(best).decode()
        self._say(line)
