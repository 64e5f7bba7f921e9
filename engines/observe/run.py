"""Runs of a target in which types of parameters are observed, outside of a campaign.

The target is loaded once, and instrumented, so that no input takes longer than it may; forked
children run the inputs, one after the other. One that dies or hangs takes the types with it that
its last input has shown; the next child continues behind that input.

The request is a JSON file: ``functions`` (names of parameters, and ``return``, by function by
module) and ``inputs`` (how many a generator makes). Prints JSON lines:
``{"progress"}`` now and then; last ``{"observed", "inputs", "of", "lost"}``: full names of types by
parameter by function, how many of the inputs were run, and how many of those killed their process
or took too long.
"""

from __future__ import annotations

import contextlib
import gc
import json
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fuzztui.base.text import several
from fuzztui.engines.base.errors import CannotStart, Limited
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.executor import Outcome
from fuzztui.engines.execute.forks import Death, Tell, in_child
from fuzztui.engines.execute.loading import load
from fuzztui.engines.findings.answers import answering
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.loop.stages import BUILTIN, list_seeds
from fuzztui.engines.observe.kinds import UNNAMED, Kinds, alternatives, merge
from fuzztui.engines.observe.watch import CallTracer, Seen
from fuzztui.engines.process.worker import limit_resources

__all__ = ["observe"]

_MAX_SEEDS: Final = 36
_MAX_LOST: Final = 8
_PATIENCE_S: Final = 40.0
_SLOWER: Final = 3
"""So many times the time limit of a trial: watching takes time, too."""
_FIRST: Final = 64
"""Choices of a made input that are there from the beginning, in bytes: an input of its own."""
_EVERY_S: Final = 1.0
_TELL_NOTHING: Final = ("builtins.", "typing.", "None", UNNAMED)


def observe(spec: Spec, file: Path) -> int:
    """Do what the request in ``file`` asks for; returns the exit status."""
    try:
        request = json.loads(file.read_bytes())
    except (OSError, ValueError) as e:
        raise CannotStart(f"{file}: {e}") from None
    limit_resources(spec)
    with answering() as say:
        runner = _Runner(spec, request)
        gc.collect()
        gc.freeze()  # children that collect would copy what is loaded
        runner.run(lambda words: say({"progress": words}))
        done, of = runner.done, len(runner.inputs)
        say({"observed": runner.observed(), "inputs": done, "of": of, "lost": runner.lost})
    return 0


class _Runner:
    """Holds the loaded target and what is known; children do the rest."""

    def __init__(self, spec: Spec, request: dict[str, Any]) -> None:
        target = replace(spec.target, timeout_s=_SLOWER * spec.target.timeout_s)
        self._spec = spec = replace(spec, target=target)
        self._rng = random.Random(0)
        self._executor = load(
            spec, folder=spec.dir / ".scratch", table=EdgeTable(None), draw=self._rng.randbytes
        ).executor
        self._watch = CallTracer(request["functions"])
        self._silence_s = 2 + 2 * spec.target.timeout_s
        self.inputs = [*self._seeds(), *range(request["inputs"] * self._executor.form.choices)]
        self._seen: Seen = {}
        self._bases: dict[str, list[str]] = {}
        self.done = self.lost = 0

    def _seeds(self) -> list[bytes]:
        """Some of the campaign's, from all over the list; the built-in ones if there are none."""
        limit = self._spec.engine.max_size
        files = list_seeds(self._spec.engine.seeds, limit, lambda level, words: None)
        if not files and not self._executor.form.choices:
            files = list(BUILTIN)
        found = []
        for file in files[:: -(-len(files) // _MAX_SEEDS) or 1]:
            with contextlib.suppress(OSError):
                found.append(file.read(limit))
        return found

    def run(self, progress: Any) -> None:
        """Everything; as far as that, where too many inputs are lost or all take too long."""
        until, told = time.monotonic() + _PATIENCE_S, time.monotonic()
        while self._goes_on(until):
            for message in in_child(
                self._work, silence_s=self._silence_s, memory_bytes=self._spec.target.memory_bytes
            ):
                if isinstance(message, Death):
                    if message.how == "raised":
                        raise CannotStart(f"observing types failed, please report: {message.words}")
                    if message.how != "exited":
                        self.lost += 1
                        self.done += 1
                    break
                self._note(message)
                self.done += 1
                if not self._goes_on(until):
                    break
                if time.monotonic() >= told + _EVERY_S:
                    told = time.monotonic()
                    of = several(len(self.inputs), "input")
                    progress(f"observing types: {self.done} of {of}")

    def _goes_on(self, until: float) -> bool:
        left = self.done < len(self.inputs) and self.lost < _MAX_LOST
        return left and time.monotonic() < until

    def _note(self, message: dict[str, Any]) -> None:
        self.lost += message["late"]
        self._bases.update(message["bases"])
        for full, parameters in message["seen"].items():
            known = self._seen.setdefault(full, {})
            for name, kinds in parameters.items():
                merge(known.setdefault(name, {}), kinds)

    def _work(self, tell: Tell) -> None:
        executor, watch = self._executor, self._watch
        executor.in_child()
        for at in range(self.done, len(self.inputs)):
            item = self.inputs[at]
            try:
                executor.fixture.check()
            except Limited:
                return  # the next child has its limits again
            executor.guard.check()
            self._rng.seed(at)
            random.seed(0)
            data = self._rng.randbytes(_FIRST) if isinstance(item, int) else item
            if at == self.done:
                executor.call(data)  # what is imported now is not worth watching
            with watch:
                outcome = executor.call(data).outcome
            late = outcome is Outcome.TIMEOUT
            tell({"seen": watch.news(), "bases": watch.bases, "late": late})

    def observed(self) -> dict[str, dict[str, list[str]]]:
        """Types by parameter by function: builtin types alone are left out."""
        found: dict[str, dict[str, list[str]]] = {}
        for full, parameters in sorted(self._seen.items()):
            for name, kinds in sorted(parameters.items()):
                if _tells(kinds):
                    found.setdefault(full, {})[name] = alternatives(kinds, self._bases)
        return found


def _tells(kinds: Kinds) -> bool:
    """Is there more in it than builtin types? Those alone would only make code unreachable."""
    return any(
        not name.startswith(_TELL_NOTHING) or any(map(_tells, arguments))
        for name, arguments in kinds.items()
    )
