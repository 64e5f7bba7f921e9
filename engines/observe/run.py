"""Run a target outside of a campaign to observe the types of parameters.

The target is loaded once, instrumented to enforce time limits. Forked children run the inputs one
after the other. If a child dies or hangs, the types of its last input are lost; the next child
continues after this input.

The request is a JSON file: ``functions`` (names of parameters, and ``return``, by function by
module) and ``inputs`` (number of inputs that a generator makes). Prints JSON lines:
``{"progress"}`` repeatedly, and at the end ``{"observed", "inputs", "of", "lost"}``: full names of
types by parameter by function, the number of inputs that were run, of all inputs, and of inputs
that killed their process or exceeded the time limit.
"""

from __future__ import annotations

import contextlib
import gc
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import Limited
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.executor import Outcome
from fuzztui.engines.execute.forks import ChildHost, Death, Tell
from fuzztui.engines.execute.loading import load
from fuzztui.engines.findings.answers import answering, read_request
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.loop.stages import BUILTIN, list_seeds
from fuzztui.engines.observe.kinds import UNNAMED, Kinds, alternatives, merge
from fuzztui.engines.observe.watch import CallTracer, Seen
from fuzztui.engines.process.worker import limit_resources
from fuzztui.kernel.base.text import several

_MAX_SEEDS: Final = 36
_MAX_LOST: Final = 8
_PATIENCE_S: Final = 40.0
_SLOWER: Final = 3
"""Factor of the time limit of a trial, because observing takes time."""
_FIRST: Final = 64
"""Bytes of random choices with which a generated input starts."""
_EVERY_S: Final = 1.0
_UNSPECIFIC: Final = ("builtins.", "typing.", "None", UNNAMED)


def observe(spec: Spec, file: Path) -> int:
    """Execute the request in ``file``. Returns the exit status."""
    request = read_request(file)
    limit_resources(spec)
    with answering() as say:
        runner = _Runner(spec, request)
        gc.collect()
        gc.freeze()  # else garbage collection in children would copy the loaded objects
        runner.run(lambda words: say({"progress": words}))
        done, of = runner.done, len(runner.inputs)
        say({"observed": runner.observed(), "inputs": done, "of": of, "lost": runner.lost})
    return 0


class _Runner:
    """The loaded target, the observed types, and the children that run the inputs."""

    def __init__(self, spec: Spec, request: dict[str, Any]) -> None:
        target = replace(spec.target, timeout_s=_SLOWER * spec.target.timeout_s)
        self._spec = spec = replace(spec, target=target)
        self._rng = random.Random(0)
        self._executor = load(
            spec, folder=spec.dir / ".scratch", table=EdgeTable(None), draw=self._rng.randbytes
        ).executor
        self._watch = CallTracer(request["functions"])
        self._host = ChildHost.of(spec.target, "observing types")
        self._until = 0.0
        self.inputs = [*self._seeds(), *range(request["inputs"] * self._executor.form.choices)]
        self._seen: Seen = {}
        self._bases: dict[str, list[str]] = {}
        self.done = self.lost = 0

    def _seeds(self) -> list[bytes]:
        """Some of the campaign's seeds, evenly spread; the built-in seeds if there are none."""
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
        """Run all inputs; fewer if too many are lost or the total time is used up."""
        self._until, reported = time.monotonic() + _PATIENCE_S, time.monotonic()

        def answer(message: dict[str, Any]) -> bool:
            nonlocal reported
            self._note(message)
            if self._goes_on() and time.monotonic() >= reported + _EVERY_S:
                reported = time.monotonic()
                progress(f"observing types: {self.done} of {several(len(self.inputs), 'input')}")
            return self._goes_on()

        for _ in self._host.series(self._goes_on, self._work, answer, self._ended):
            pass

    def _ended(self, death: Death) -> None:
        if death.how != "exited":
            self.lost += 1
            self.done += 1

    def _goes_on(self) -> bool:
        left = self.done < len(self.inputs) and self.lost < _MAX_LOST
        return left and time.monotonic() < self._until

    def _note(self, message: dict[str, Any]) -> None:
        self.done += 1
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
                return  # the next child starts with the limits restored
            executor.guard.check()
            self._rng.seed(at)
            random.seed(0)
            data = self._rng.randbytes(_FIRST) if isinstance(item, int) else item
            if at == self.done:
                executor.call(data)  # a first run without tracing, which may import modules
            with watch:
                outcome = executor.call(data).outcome
            late = outcome is Outcome.TIMEOUT
            tell({"seen": watch.news(), "bases": watch.bases, "late": late})

    def observed(self) -> dict[str, dict[str, list[str]]]:
        """Types by parameter by function; parameters with only builtin types are left out."""
        found: dict[str, dict[str, list[str]]] = {}
        for full, parameters in sorted(self._seen.items()):
            for name, kinds in sorted(parameters.items()):
                if _is_specific(kinds):
                    found.setdefault(full, {})[name] = alternatives(kinds, self._bases)
        return found


def _is_specific(kinds: Kinds) -> bool:
    """Whether other than builtin types were observed, which would only make code unreachable."""
    return any(
        not name.startswith(_UNSPECIFIC) or any(map(_is_specific, arguments))
        for name, arguments in kinds.items()
    )
