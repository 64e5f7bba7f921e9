"""Run many inputs on the target, outside of a campaign: how each ends, and what it covers.

The target is loaded once. Forked children run the inputs, one after the other. A child ends at the
first failing input. A failure counts only if the input was the first of its child, because state
that earlier inputs left may have caused it.

The request is a JSON file: ``inputs`` (paths), ``edges`` (a file that keeps the numbers of cells
from one batch to the next; empty: none), ``modules`` (names whose files are reported), ``words``
(whether failures are described), ``answers`` (whether a digest of each returned value is
reported), ``lines`` (a directory, or a list of files: executed lines of files in it are reported;
empty: none).
Prints JSON lines: ``loaded``, once; ``verdict``, ``words`` and ``answer`` with the input's number;
and ``lines`` by file, each line once; with ``import`` those that ran on import.
"""

from __future__ import annotations

import base64
import contextlib
import faulthandler
import gc
import hashlib
import importlib.util
import os
import random
import re
import sys
import zlib
from contextlib import AbstractContextManager
from pathlib import Path
from resource import getrlimit
from typing import Any, Final

from fuzztui.engines.base.errors import CannotStart, Limited
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.executor import Execution, Executor, Outcome
from fuzztui.engines.execute.failures import last_place
from fuzztui.engines.execute.forks import ChildHost, Death, Tell
from fuzztui.engines.execute.limits import lowered_signature, lowered_text
from fuzztui.engines.execute.loading import load
from fuzztui.engines.findings.answers import Say, answering, read_request
from fuzztui.engines.findings.findings import basis_of
from fuzztui.engines.findings.triage import FailureTriage
from fuzztui.engines.instrument.counters import trace_crashes
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.instrument.lines import LineRecorder
from fuzztui.engines.process.worker import limit_resources
from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.files import read_if_regular, temporary_file
from fuzztui.kernel.wire.finding_kinds import CRASH, HANG

_CONFIRMED: Final = 16
"""Failures confirmed in a fresh child, without a refuted one, after which all are believed."""
_MAX_STACK: Final = 8000
_WELL: Final = (Outcome.SUCCESS, Outcome.INVALID)
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{6,}")


def batch(spec: Spec, file: Path) -> int:
    """Run the request in ``file`` and print the results. Returns the exit status."""
    request = read_request(file)
    limit_resources(spec)
    with answering() as say:
        runner = _Runner(spec, request, say)
        gc.collect()
        gc.freeze()  # a collection in a child would copy the loaded target's memory
        runner.run()
    return 0


class _Runner:
    """Holds the loaded target, and runs the inputs in children."""

    def __init__(self, spec: Spec, request: dict[str, Any], say: Say) -> None:
        self._inputs: list[str] = request["inputs"]
        self._describes: bool = request["words"]
        self._answers: bool = request["answers"]
        self._say = say
        self._limit = spec.engine.max_size
        self._host = ChildHost.of(spec.target, "running inputs")
        self._stack = temporary_file()
        """The file for the stack that a dying child writes."""
        self._rng = random.Random(0)
        self._lines = _recorder(request["lines"])
        edges: str = request["edges"]
        with self._recording():  # lines executed on import count for all inputs
            loaded = load(
                spec,
                folder=Path.cwd(),
                table=EdgeTable(Path(edges) if edges else None),
                draw=self._rng.randbytes,
            )
        self._executor, self._table = loaded.executor, loaded.table
        try:
            self._table.save(replace_bytes)
        except OSError as e:
            raise CannotStart(f"{edges}: {e.strerror or e}") from None
        say({"loaded": {name: _file_of(name) for name in request["modules"]}})
        self._report_lines(lambda message: say({**message, "import": True}))
        self._start = self._at = 0
        """Number of the first input of the present child, and of that after its last verdict."""
        self._well = True
        """Whether the child's last verdict was not a failure."""
        self._confirmed = 0
        self._refuted = self._doubted = False
        """``_refuted``: a failure has not recurred in a fresh child. ``_doubted``: the next input
        has failed in a child that had run other inputs, so it runs again in a fresh one."""

    def run(self) -> None:
        """Run all inputs."""
        for _ in self._host.series(self._more, self._work, self._answer, self._ended):
            pass

    @property
    def _believing(self) -> bool:
        return self._confirmed >= _CONFIRMED and not self._refuted

    def _more(self) -> bool:
        self._table.refresh()  # with the cells of modules that an earlier child imported
        self._start, self._well = self._at, True
        os.ftruncate(self._stack.fileno(), 0)
        os.lseek(self._stack.fileno(), 0, os.SEEK_SET)
        return self._at < len(self._inputs)

    def _answer(self, message: dict[str, Any]) -> bool:
        self._say(message)
        if "verdict" in message:
            self._at = int(message["verdict"][0]) + 1
            self._well = message["verdict"][1] in (*_WELL, "unfit")
            self._note(well=self._well)
        return True

    def _note(self, *, well: bool) -> None:
        if not well:
            self._confirmed += 1
        elif self._doubted:
            self._refuted = True
        self._doubted = False

    def _ended(self, death: Death) -> None:
        """Attribute the end of a child to the input that was running, if it is the cause."""
        at = self._at
        if at >= len(self._inputs):
            return
        if death.how == "exited" or (at > self._start and not self._believing):
            self._doubted = self._well
            return
        self._at = at + 1
        how = "hung" if death.how == "hung" else "died"
        self._note(well=False)
        self._say({"verdict": [at, how, "", max(0, -death.status) if how == "died" else 0]})
        if self._describes:
            kind, signature = (HANG, "timeout") if how == "hung" else (CRASH, death.words)
            title = f"the process {death.words}"
            if death.stopped:
                signature = f"stopped by {death.stopped}"
                title = f"the target {death.words}"
            stack = self._last_stack()
            place = last_place(stack, self._table.files())
            described = _description(kind.category, f"{signature} @ {place}", title)
            self._say({"words": [at, {**described, "place": place, "detail": stack}]})

    def _last_stack(self) -> str:
        """The stack that faulthandler has written in the last child; empty if it has not."""
        fd = self._stack.fileno()
        return os.pread(fd, _MAX_STACK, 0).decode(errors="replace")

    def _work(self, tell: Tell) -> None:
        executor, table, start = self._executor, self._table, self._start
        executor.in_child()
        faulthandler.enable(self._stack, all_threads=False)
        trace_crashes(self._stack.fileno())
        for at in range(start, len(self._inputs)):
            data = read_if_regular(self._inputs[at], self._limit)
            if data is None:
                tell({"verdict": [at, "unfit", "", 0]})
                continue
            try:
                executor.fixture.check()
            except Limited:
                return  # the next child has its limits again
            executor.guard.check()
            self._rng.seed(0)  # choices that an input lacks are the same in every run
            with self._recording():
                execution = executor.run(data)
            self._report_lines(tell)
            lowered = _lowered(executor)
            outcome = Outcome.TIMEOUT if lowered else execution.outcome
            well = outcome in _WELL
            if not well and at > start and not self._believing:
                return
            if table.dirty:
                with contextlib.suppress(OSError):
                    table.save(replace_bytes)
            if self._describes and not well:
                title, kind = f"the target {lowered}", HANG.category
                hang = _description(kind, lowered_signature(lowered), title) if lowered else None
                tell({"words": [at, hang or self._described(execution)]})
            if self._answers and well:
                tell({"answer": [at, self._digest(execution)]})
            tell({"verdict": [at, outcome, self._trace(execution), 0]})
            if lowered or not (well or self._believing):
                return  # the next child has its limits again

    def _recording(self) -> AbstractContextManager[None]:
        return contextlib.nullcontext() if self._lines is None else self._lines.recording()

    def _report_lines(self, say: Say) -> None:
        """Report the lines that were not reported before."""
        new = {} if self._lines is None else self._lines.take()
        if new:
            say({"lines": {file: sorted(lines) for file, lines in sorted(new.items())}})

    def _trace(self, execution: Execution) -> str:
        size = self._executor.coverage.size
        cells = execution.observed.to_bytes(size, "little")
        return base64.b64encode(zlib.compress(cells, 1)).decode()

    def _digest(self, execution: Execution) -> str:
        """A digest of the returned value, or of the class of the expected exception."""
        value, error = execution.value, execution.error
        if error is None:
            text = self._executor.guarded(lambda: f"{type(value).__qualname__} {value!r}", "")
        else:
            text = type(error).__qualname__
        plain = _ADDRESS.sub("0x", f"{execution.outcome} {text}")
        return hashlib.sha256(plain.encode("utf-8", "backslashreplace")).hexdigest()[:32]

    def _described(self, execution: Execution) -> dict[str, Any]:
        executor = self._executor
        triage = FailureTriage(executor, self._table.files())
        failure = triage.classify(execution)
        guard = executor.guard
        description = triage.describe(execution, guard.where, guard.lasting, flaky=False)
        return {
            **_description(failure.category, failure.signature, description.title),
            "place": failure.place,
            "detail": description.detail,
            "input": description.input,
            "frames": description.frames,
            "basis": basis_of(failure, description.frames),
        }


def _recorder(where: str | list[str]) -> LineRecorder | None:
    """Records executed lines of files in ``where``: a directory, or files; empty: none."""
    if not where:
        return None
    if isinstance(where, list):
        return LineRecorder(frozenset(where).__contains__)
    below = where.rstrip("/") + "/"
    return LineRecorder(lambda file: file.startswith(below))


def _lowered(executor: Executor) -> str:
    """How the last input lowered a hard resource limit; an empty string if it did not."""
    try:
        executor.fixture.check_limits()
    except Limited as e:
        return lowered_text(e.number, getrlimit(e.number)[1])
    return ""


def _description(category: str, signature: str, title: str) -> dict[str, str]:
    return {"category": category, "signature": signature, "title": title}


def _file_of(name: str) -> str:
    """The file of the module of this name; an empty string if it cannot be imported."""
    module = sys.modules.get(name)
    if module is not None:
        return str(getattr(module, "__file__", None) or "")
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        return ""
    return "" if spec is None else str(spec.origin or "")
