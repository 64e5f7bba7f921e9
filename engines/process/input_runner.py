"""Run inputs one after the other, and report the signature of each failure, as a campaign does.

The next input may depend on the result of the previous one. A forked child runs the inputs. A new
child starts when the previous one died, or when the caller wants a child that has run nothing yet.
"""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import os
import random
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart, Limited
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.executor import Outcome
from fuzztui.engines.execute.failures import COMPILED, last_place
from fuzztui.engines.execute.forks import ChildHost, Death, Tell
from fuzztui.engines.execute.limits import high_copy, lowered_signature, lowered_text
from fuzztui.engines.execute.loading import load
from fuzztui.engines.findings.differential import DifferentialOracle
from fuzztui.engines.findings.triage import FailureTriage, FrameRules
from fuzztui.engines.inputs import draws
from fuzztui.engines.inputs.dictionary import Constants
from fuzztui.engines.inputs.draws import CallSpan, Draw, NotingSource
from fuzztui.engines.inputs.source import Rejected, Source
from fuzztui.engines.instrument.counters import trace_crashes
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.instrument.importer import Application
from fuzztui.engines.spoton.form import TypedInput
from fuzztui.engines.strategies import values
from fuzztui.engines.strategies.given import Pending


class NotedInput(TypedInput):
    """The input that a generator makes; :attr:`notes` has what was drawn."""

    on_built: Callable[[], None] | None = None
    """Called when the input is complete; not called if the target may draw more while it runs."""

    def build(self, data: bytes) -> object:
        """Run the generator."""
        made = super().build(data)
        if self.on_built is not None and not (isinstance(made, Pending) and made.more):
            self.on_built()
        return made

    def _plain(self, data: bytes) -> Source:
        return NotingSource(data, self._limit, self._more, self._magic)

    @property
    def notes(self) -> dict[str, Any]:
        """The draws and spans as JSON; empty if choices were found by execution index."""
        source = self._source
        if not isinstance(source, NotingSource):
            return {}
        source.leave(1)
        return {"draws": source.notes, "spans": source.spans}


def draws_of(notes: Mapping[str, Any]) -> tuple[Sequence[Draw], Sequence[CallSpan]]:
    """The draws and spans of :attr:`NotedInput.notes`."""
    made = [_KINDS[kind](*details) for kind, *details in notes.get("draws", ())]
    return made, [CallSpan(*span) for span in notes.get("spans", ())]


_KINDS: Final = {**draws.KINDS, **values.KINDS}

_MAX_RUNS: Final = 1000
"""Inputs after which a child is replaced, because targets leak memory."""
_WELL: Final = (Outcome.SUCCESS, Outcome.INVALID)
_DUMPS: Final = re.compile(r"^(?:Timeout|Fatal Python error)\b", re.MULTILINE)
_SIZES: Final = struct.Struct("<QQ")


@dataclass(frozen=True, slots=True)
class TrialResult:
    """How one input ended. ``signature``: of its failure; an empty string if it did not fail.

    ``outcome``: a value of :class:`Outcome`. ``data``: the bytes that make the input again.
    ``notes``: its draws (:func:`draws_of`); empty if unknown. ``clean``: the input was the first in
    its process. ``died``: the process ended.
    """

    signature: str
    outcome: str
    data: bytes
    notes: Mapping[str, Any]
    clean: bool
    died: bool = False


class InputRunner:
    """Holds the loaded target, and runs inputs in children."""

    def __init__(self, spec: Spec, folder: Path) -> None:
        """Load the target. ``folder``: its working directory if ``target.cwd`` is not set.

        Raises :class:`CannotStart`.
        """
        self.strict = False
        """Whether an input with too few choices is rejected, instead of drawing more as ``repro``
        does. Takes effect for the next child."""
        self.deadly = False
        """Whether children report the drawn choices before the target is called, because an input
        may kill its process. Takes effect for the next child."""
        self._aligned = False
        self._rng = random.Random(0)
        self._short = False
        """Whether the input has too few choices."""
        self._tell: Tell = lambda value: None
        self._hangs_s = spec.target.timeout_s + 1
        self._host = ChildHost.of(spec.target, "running inputs")
        self._constants = Constants()
        loaded = load(
            spec,
            folder=folder,
            table=EdgeTable(None),
            draw=self._draw,
            prepare=self._prepare,
            generated=NotedInput,
        )
        self._executor, self._table = loaded.executor, loaded.table
        self._spec, self._target = spec, loaded.target
        self._rules = FrameRules(spec.sync_dir).rules
        self._differential: DifferentialOracle | None = None
        self._trace = _high(os.memfd_create("trace"))
        self._child: _Child | None = None

    @property
    def choices(self) -> bool:
        """Whether inputs are choices of a generator."""
        return self._executor.form.choices

    @property
    def compared(self) -> list[int]:
        """The integers with which the application compares."""
        found = self._constants.found.values()
        return [c.value for c in found if isinstance(c.value, int) and c.context == "compare"]

    def _prepare(self, application: Application) -> None:
        application.on_constants = self._constants.add

    def run(self, data: bytes, *, fresh: bool = False, like: bytes = b"") -> TrialResult:
        """Run one input. ``fresh``: in a child that has run nothing yet. Raises ``CannotStart``.

        ``like``: an input whose choices begin at the same offsets as those of ``data``. Then each
        choice is looked up by its execution index in ``like``, and is 0 if it is not found.
        """
        child = self._child
        if child is None or fresh or child.runs >= _MAX_RUNS:
            self.close()
            child = self._child = self._new()
        drawn = b""
        built: dict[str, Any] = {}
        clean = not child.runs
        for message in child.ask(data, like):
            if isinstance(message, Death):
                self.close()
                if message.how == "exited" and not clean:  # an earlier input closed its pipe
                    return self.run(data, fresh=True, like=like)
                signature, outcome = self._dead(message)
                used = base64.b64decode(built["used"]) if built else data + drawn
                return TrialResult(signature, outcome, used, built, clean, True)
            if "drawn" in message:
                drawn += base64.b64decode(message["drawn"])
            elif "built" in message:
                built = message["built"]
            else:
                used = base64.b64decode(message["used"])
                return TrialResult(message["signature"], message["outcome"], used, message, clean)
        raise AssertionError("a child's last message is its death")

    @property
    def runs(self) -> int:
        """How many inputs the present child has run; 0: there is no child."""
        return 0 if self._child is None else self._child.runs

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _dead(self, death: Death) -> tuple[str, str]:
        if death.how == "exited":
            raise self._host.defect(death)
        size = os.fstat(self._trace).st_size
        trace = os.pread(self._trace, size, 0).decode(errors="replace")
        # The trace may also have dumps of slow inputs that did end: use the last one.
        dump = trace if COMPILED in trace else _DUMPS.split(trace)[-1]
        place = last_place(dump, self._table.files())
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
            return _Child(self._work, self._host)
        except OSError as e:
            raise CannotStart(f"cannot start a process to run inputs: {e.strerror or e}") from None

    # -------------------------------------------------------------------- in the child

    def _work(self, tell: Tell, orders: int) -> None:
        self._tell = tell
        executor = self._executor
        executor.in_child()
        self._differential = DifferentialOracle.of(self._target, self._spec.target, executor)
        if self.deadly and isinstance(executor.form, NotedInput):
            executor.form.on_built = lambda: tell({"built": self._used(executor.form.used(b""))})
        faulthandler.enable(self._trace, all_threads=False)
        trace_crashes(self._trace)
        while (order := _read_order(orders)) is not None:
            data, like = order
            try:
                executor.fixture.check()
            except Limited:
                return  # the next child has its limits again
            executor.guard.check()
            self._rng.seed(0)
            random.seed(0)
            # Dump the stack, should the input hang where Python code cannot be interrupted.
            faulthandler.dump_traceback_later(self._hangs_s, file=self._trace)
            result = self._result(data, like)
            faulthandler.cancel_dump_traceback_later()
            tell(result)

    def _result(self, data: bytes, like: bytes) -> dict[str, Any]:
        form = self._executor.form
        self._short = False
        self._aligned = bool(like) and isinstance(form, NotedInput)
        if like and isinstance(form, NotedInput):
            self._executor.fixture.restore()
            if annotated := self._executor.guarded(lambda: form.annotate(like), None):
                form.expect(data, annotated)
        execution = self._executor.run(data)
        outcome, signature = execution.outcome, ""
        difference = None
        if outcome in _WELL and self._differential is not None:
            difference = self._differential.differs(execution)
        try:
            self._executor.fixture.check_limits()
        except Limited as e:  # in place of a failure, as in a campaign, which could not save it
            signature, outcome = lowered_signature(lowered_text(e.number, 0)), Outcome.TIMEOUT
        else:
            if outcome not in _WELL:
                triage = FailureTriage(self._executor, self._table.files())
                triage.rules = self._rules
                signature = triage.classify(execution).signature
            elif difference is not None:
                signature = difference.failure.signature
        return {
            "signature": signature,
            "outcome": outcome,
            "short": self._short,
            **self._used(execution.data),
        }

    def _used(self, data: bytes) -> dict[str, Any]:
        form = self._executor.form
        notes = form.notes if isinstance(form, NotedInput) else {}
        return {"used": base64.b64encode(data).decode(), **notes}

    def _draw(self, n: int) -> bytes:
        if self._aligned:
            return bytes(n)
        if self.strict:
            self._short = True
            raise Rejected("there are no more choices")
        drawn = self._rng.randbytes(n)
        self._tell({"drawn": base64.b64encode(drawn).decode()})
        return drawn


class _Child:
    """A child process that runs one input after the other."""

    def __init__(self, work: Callable[[Tell, int], None], host: ChildHost) -> None:
        """Raises OSError."""
        reading, self._writing = os.pipe2(os.O_CLOEXEC)
        orders = _high(reading)
        self.runs = 0

        def begin(tell: Tell) -> None:
            os.close(self._writing)  # else the child would never read the end of the pipe
            tell({})
            work(tell, orders)

        self._messages = host.child(begin)
        try:
            first = next(self._messages)
        finally:
            os.close(orders)
        self._dead = first if isinstance(first, Death) else None

    def ask(self, data: bytes, like: bytes) -> Iterator[Any]:
        """Run an input. Returns the child's messages; the last is the result or a Death."""
        self.runs += 1
        order = memoryview(_SIZES.pack(len(data), len(like)) + data + like)
        with contextlib.suppress(BrokenPipeError):  # the messages end with its Death
            while order:
                order = order[os.write(self._writing, order) :]
        if self._dead is not None:
            return iter([self._dead])
        return self._messages

    def close(self) -> None:
        """End the child, and all processes that it has started."""
        os.close(self._writing)
        self._messages.close()


def _read_order(orders: int) -> tuple[bytes, bytes] | None:
    """Read the next input and its ``like``; None at the end of the pipe, or if it is broken."""
    head = _read_exactly(orders, _SIZES.size)
    if head is None:
        return None
    size, more = _SIZES.unpack(head)
    both = _read_exactly(orders, size + more)
    return None if both is None else (both[:size], both[size:])


def _read_exactly(fd: int, size: int) -> bytes | None:
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
    """Move a descriptor to a high number: targets close the low ones."""
    copy = high_copy(fd)
    os.close(fd)
    return copy
