"""Running inputs one after the other, each known only when the last has ended: how does it fail?

In a forked child that continues for as long as it lives; the next one begins where it died or
the caller wants what ran before to have no part in it. How an input fails is said as the campaign
says it: by the signature that groups findings.
"""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import os
import random
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart, Limited
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.descriptors import high_copy
from fuzztui.engines.execute.executor import Outcome
from fuzztui.engines.execute.failures import last_place
from fuzztui.engines.execute.forks import Death, Tell, in_child
from fuzztui.engines.execute.limits import lowered_signature, lowered_text
from fuzztui.engines.execute.loading import load
from fuzztui.engines.findings.differential import DifferentialOracle
from fuzztui.engines.findings.triage import FailureTriage
from fuzztui.engines.inputs.source import Rejected
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.process.noted import NotedInput

__all__ = ["InputRunner", "TrialResult"]

_MOST: Final = 1000
"""A child runs so many at most: what it leaks is gone with it."""
_SILENCE_TIMES: Final = 2
_WELL: Final = (Outcome.SUCCESS, Outcome.INVALID)
_DUMPS: Final = re.compile(r"^(?:Timeout|Fatal Python error)\b", re.MULTILINE)
_SIZES: Final = struct.Struct("<QQ")


@dataclass(frozen=True, slots=True)
class TrialResult:
    """``signature``: of the failure, "" for none; ``outcome``: what it was, in a word.

    ``data``: the bytes that make the input again. ``starts``: where each choice begins, if that
    is known. ``clean``: nothing ran before it in its process; ``died``: nothing can after it.
    """

    signature: str
    outcome: str
    data: bytes
    starts: Sequence[int]
    clean: bool
    died: bool = False


class InputRunner:
    """Holds the loaded target; its children run the inputs."""

    def __init__(self, spec: Spec, folder: Path) -> None:
        """Load the target. ``folder``: where it runs if the campaign does not say.

        Raises :class:`CannotStart`.
        """
        self.strict = False
        """Is an input that needs more choices than it has none? Else they are drawn, as ``repro``
        draws them. Holds for children that begin from now on."""
        self.deadly = False
        """Is what choices were drawn to be told before an input may kill its process?"""
        self._aligned = False
        self._rng = random.Random(0)
        self._tell: Tell = lambda value: None
        self._memory_bytes = spec.target.memory_bytes
        self._hangs_s = spec.target.timeout_s + 1
        self._silence_s = 2 + _SILENCE_TIMES * spec.target.timeout_s
        loaded = load(
            spec,
            folder=folder,
            table=EdgeTable(None),
            draw=self._draw,
            generated=NotedInput,
        )
        self._executor, self._table = loaded.executor, loaded.table
        self._spec, self._target = spec, loaded.target
        self._rival: DifferentialOracle | None = None
        self._trace = _high(os.memfd_create("trace"))
        self._child: _Child | None = None

    @property
    def choices(self) -> bool:
        """Are the inputs a generator's choices?"""
        return self._executor.form.choices

    def run(self, data: bytes, *, fresh: bool = False, like: bytes = b"") -> TrialResult:
        """Run one input; ``fresh``: in a child that has run nothing yet. Raises ``CannotStart``.

        ``like``: another one, in which each choice lies where it does in ``data``: each is found
        by where in the generator it is drawn then, and is 0 where that has none.
        """
        child = self._child
        if child is None or fresh or child.runs >= _MOST:
            self.close()
            child = self._child = self._new()
        drawn = b""
        built: dict[str, Any] = {}
        clean = not child.runs
        for message in child.ask(data, like):
            if isinstance(message, Death):
                self.close()
                if message.how == "exited" and not clean:  # what ran before has made it deaf
                    return self.run(data, fresh=True, like=like)
                signature, outcome = self._dead(message)
                used = base64.b64decode(built["used"]) if built else data + drawn
                return TrialResult(signature, outcome, used, built.get("starts", ()), clean, True)
            if "drawn" in message:
                drawn += base64.b64decode(message["drawn"])
            elif "built" in message:
                built = message["built"]
            else:
                used, starts = base64.b64decode(message["used"]), message["starts"]
                return TrialResult(message["signature"], message["outcome"], used, starts, clean)
        raise AssertionError("a death is the last that is heard")

    @property
    def runs(self) -> int:
        """How many inputs the child has run that is to run the next one."""
        return 0 if self._child is None else self._child.runs

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _dead(self, death: Death) -> tuple[str, str]:
        if death.how in ("raised", "exited"):
            raise CannotStart(f"running inputs failed, please report this: the child {death.words}")
        size = os.fstat(self._trace).st_size
        trace = os.pread(self._trace, size, 0).decode(errors="replace")
        # Also of an input that took its time, but did end.
        place = last_place(_DUMPS.split(trace)[-1], self._table.files())
        if death.stopped:
            return f"stopped by {death.stopped}", Outcome.TIMEOUT
        if death.how == "hung":
            return f"timeout @ {place}", Outcome.TIMEOUT
        return f"{death.words} @ {place}", Outcome.FAILURE

    def _new(self) -> _Child:
        self._table.refresh()
        os.ftruncate(self._trace, 0)
        os.lseek(self._trace, 0, os.SEEK_SET)
        try:
            return _Child(self._work, self._silence_s, self._memory_bytes)
        except OSError as e:
            raise CannotStart(
                f"no process is available to run inputs in: {e.strerror or e}"
            ) from None

    # -------------------------------------------------------------------- in the child

    def _work(self, tell: Tell, orders: int) -> None:
        self._tell = tell
        executor = self._executor
        executor.in_child()
        self._rival = DifferentialOracle.of(self._target, self._spec.target, executor)
        if self.deadly and isinstance(executor.form, NotedInput):
            executor.form.on_built = lambda: tell({"built": self._used(executor.form.used(b""))})
        faulthandler.enable(self._trace, all_threads=False)
        while (order := _take(orders)) is not None:
            data, like = order
            try:
                executor.fixture.check()
            except Limited:
                return  # the next child has its limits again
            executor.guard.check()
            self._rng.seed(0)
            random.seed(0)
            # Where it is, should it hang where Python code cannot be interrupted.
            faulthandler.dump_traceback_later(self._hangs_s, file=self._trace)
            verdict = self._verdict(data, like)
            faulthandler.cancel_dump_traceback_later()
            tell(verdict)

    def _verdict(self, data: bytes, like: bytes) -> dict[str, Any]:
        form = self._executor.form
        self._aligned = bool(like) and isinstance(form, NotedInput)
        if like and isinstance(form, NotedInput):
            self._executor.fixture.restore()
            if annotated := self._executor.guarded(lambda: form.annotate(like), None):
                form.expect(data, annotated)
        execution = self._executor.run(data)
        outcome, signature = execution.outcome, ""
        difference = None
        if outcome in _WELL and self._rival is not None:
            difference = self._rival.differs(execution)
        try:
            self._executor.fixture.check_limits()
        except Limited as e:  # as in a campaign, this outdoes a failure, which could not be saved
            signature, outcome = lowered_signature(lowered_text(e.number, 0)), Outcome.TIMEOUT
        else:
            if outcome not in _WELL:
                triage = FailureTriage(self._executor, self._table.files())
                signature = triage.classify(execution).signature
            elif difference is not None:
                signature = difference.failure.signature
        return {
            "signature": signature,
            "outcome": outcome,
            **self._used(execution.data),
        }

    def _used(self, data: bytes) -> dict[str, Any]:
        form = self._executor.form
        starts = list(form.starts) if isinstance(form, NotedInput) else []
        return {"used": base64.b64encode(data).decode(), "starts": starts}

    def _draw(self, n: int) -> bytes:
        if self._aligned:
            return bytes(n)
        if self.strict:
            raise Rejected("there are no more choices")
        drawn = self._rng.randbytes(n)
        self._tell({"drawn": base64.b64encode(drawn).decode()})
        return drawn


class _Child:
    """A child that is handed one input after the other."""

    def __init__(self, work: Any, silence_s: float, memory_bytes: int) -> None:
        """Raises OSError."""
        reading, self._writing = os.pipe2(os.O_CLOEXEC)
        orders = _high(reading)
        self.runs = 0

        def begin(tell: Tell) -> None:
            os.close(self._writing)  # its end must be seen
            tell({})
            work(tell, orders)

        self._heard: Iterator[Any] = in_child(begin, silence_s=silence_s, memory_bytes=memory_bytes)
        try:
            first = next(self._heard)
        finally:
            os.close(orders)
        self._dead = first if isinstance(first, Death) else None

    def ask(self, data: bytes, like: bytes) -> Iterator[Any]:
        """What it says of an input: at last a verdict, or its :class:`Death`."""
        self.runs += 1
        order = memoryview(_SIZES.pack(len(data), len(like)) + data + like)
        with contextlib.suppress(BrokenPipeError):  # then it is heard how it died
            while order:
                order = order[os.write(self._writing, order) :]
        if self._dead is not None:
            return iter([self._dead])
        return self._heard

    def close(self) -> None:
        """End it, and all that it has started."""
        os.close(self._writing)
        self._heard.close()  # type: ignore[attr-defined]


def _take(orders: int) -> tuple[bytes, bytes] | None:
    """The next input, and what it is like; None when there is none any more, or no way to it."""
    head = _exactly(orders, _SIZES.size)
    if head is None:
        return None
    size, more = _SIZES.unpack(head)
    both = _exactly(orders, size + more)
    return None if both is None else (both[:size], both[size:])


def _exactly(fd: int, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        try:
            part = os.read(fd, size - len(data))
        except OSError:  # a target has closed it
            return None
        if not part:
            return None
        data += part
    return data


def _high(fd: int) -> int:
    """The same under a number out of the way of targets that close those that they know of."""
    found = high_copy(fd)
    os.close(fd)
    return found
