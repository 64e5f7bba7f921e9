"""Making an input that fails smaller, as long as it fails with the same signature (docs/house.md).

Prints JSON lines: ``{"size", "tries"}`` now and then, with ``"best"``, the input in base64, where
there is a smaller one; the last one has ``"end"`` too, which is empty, or says in words what ended
it before there was nothing left to try. SIGTERM does that, too.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import signal
import time
from pathlib import Path
from typing import Any, Final

from fuzztui.base.text import several
from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.findings.answers import Say, answering
from fuzztui.engines.inputs.reduce import Attempt, Reducer
from fuzztui.engines.process.input_runner import InputRunner, TrialResult
from fuzztui.engines.process.worker import limit_resources

__all__ = ["minimise"]

_REPEATED: Final = 3
"""Runs, each in a clean process, that must all have the same signature before minimising starts."""
_TELL_S: Final = 0.2


def minimise(spec: Spec, file: Path, tries: int, seconds: float) -> int:
    """Make the input in ``file`` smaller, with so many runs and in about so much time at most.

    Returns the exit status. Raises :class:`CannotStart` where there is nothing to keep.
    """
    try:
        data = file.read_bytes()
    except OSError as e:
        raise CannotStart(f"{file}: {e.strerror or e}") from None
    limit_resources(spec)
    with answering() as say:
        trials = InputRunner(spec, Path.cwd())
        gc.collect()
        gc.freeze()  # children that collect would copy what is loaded
        with contextlib.closing(trials):
            _Search(trials, say, tries, seconds).run(data)
    return 0


class _Enough(Exception):
    """It is over before nothing is left to try: why, in words."""


class _Search:
    """Asks the trials for the reducer, within limits, and tells how far it is."""

    def __init__(self, trials: InputRunner, say: Say, tries: int, seconds: float) -> None:
        self._trials, self._say = trials, say
        self._most, self._seconds = tries, seconds
        self._tries = 0
        self._wanted = ""
        self._each = False
        """Is every input run in a child of its own?"""
        self._stopped = False
        self._told_at, self._told = 0.0, b""
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, signum: int, frame: object) -> None:
        self._stopped = True

    def run(self, data: bytes) -> None:
        """Everything."""
        first = self._checked(data)
        self._told = data
        self._deadline = time.monotonic() + self._seconds
        self._reducer = Reducer(
            Attempt(True, first.data, first.starts),
            self._attempt,
            self._redraw if self._trials.choices else None,
        )
        told = {}
        try:
            self._reducer.run()
            told["end"] = ""
        except _Enough as e:
            told["end"] = str(e)
        finally:  # what is known is kept, whatever has ended it
            self._tell(**told)

    def _checked(self, data: bytes) -> TrialResult:
        """The input as it fails again and again. Raises :class:`CannotStart`."""
        trials = self._trials
        first = trials.run(data, fresh=True)  # with choices that it may lack
        if not first.signature:
            raise CannotStart(f"there is nothing to keep: it does not fail ({first.outcome})")
        self._wanted, trials.strict, trials.deadly = first.signature, True, first.died
        for _ in range(_REPEATED):
            again = trials.run(first.data, fresh=True)
            if again.signature != first.signature:
                others = again.signature or again.outcome
                raise CannotStart(
                    "cannot minimise: the input is flaky, it fails with different signatures:"
                    f" {first.signature}; then: {others}"
                )
        if again.died and trials.run(again.data, fresh=True).signature != first.signature:
            trials.deadly = False  # the target draws more while it runs
            return first
        # Where it cannot fail twice in a process, nothing can be told from one that has failed.
        self._each = trials.runs > 0 and trials.run(first.data).signature != first.signature
        return again

    def _attempt(self, data: bytes) -> Attempt:
        verdict = self._run(data, fresh=self._each)
        if verdict.signature == self._wanted and not verdict.clean:
            # What ran before may have a part in it.
            verdict = self._run(data, fresh=True)
        if verdict.signature == self._wanted and verdict.died and verdict.data != data:
            # Perhaps more was drawn after that.
            verdict = self._run(verdict.data, fresh=True)
        alike = verdict.signature == self._wanted
        if time.monotonic() - self._told_at > _TELL_S:
            self._tell()
        return Attempt(alike, verdict.data, verdict.starts)

    def _redraw(self, data: bytes, like: bytes) -> bytes:
        return self._run(data, fresh=self._each, like=like).data

    def _run(self, data: bytes, *, fresh: bool, like: bytes = b"") -> TrialResult:
        if self._stopped:
            raise _Enough("stopped")
        if self._tries >= self._most:
            raise _Enough(f"stopped after {several(self._tries, 'try', 'tries')}")
        if time.monotonic() > self._deadline:
            raise _Enough(f"stopped after {self._seconds / 60:.3g} min")
        self._tries += 1
        return self._trials.run(data, fresh=fresh, like=like)

    def _tell(self, **more: str) -> None:
        self._told_at = time.monotonic()
        best = self._reducer.best.data
        what: dict[str, Any] = {"size": len(best), "tries": self._tries, **more}
        if best != self._told:
            self._told = best
            what["best"] = base64.b64encode(best).decode()
        self._say(what)
