"""Many inputs on the target, outside of a campaign: how each ends, and what it covers.

The target is loaded once; forked children run the inputs, one after the other. No input
spoils the others: a child ends at the first that does not end well, and only the verdict of
a child's first input is believed, so that what earlier ones have left behind blames nobody.

The request is a JSON file: ``inputs`` (paths), ``edges`` (a file that keeps the numbers of
cells from one batch to the next, "" for none), ``modules`` (whose files are told), ``words``
(whether failures are described), ``answers`` (whether a digest of what comes back is told),
``lines`` (a directory: of files in it the lines that are executed are told; "" for none).
Prints JSON lines: ``loaded``, once, then ``verdict``, ``words`` and ``answer`` by the input's
number; and ``lines`` by file, those that were not told before.
"""

from __future__ import annotations

import base64
import contextlib
import gc
import hashlib
import importlib.util
import json
import random
import re
import sys
import zlib
from pathlib import Path
from resource import getrlimit
from types import FrameType
from typing import Any, Final

from fuzztui.base.atomic import replace_bytes
from fuzztui.engines.base.errors import CannotStart, Limited
from fuzztui.engines.base.regular_files import read_regular
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.executor import Execution, Executor, Outcome
from fuzztui.engines.execute.forks import Death, Tell, in_child
from fuzztui.engines.execute.limits import lowered_signature, lowered_text
from fuzztui.engines.execute.loading import load
from fuzztui.engines.findings.answers import Say, answering
from fuzztui.engines.findings.triage import FailureTriage
from fuzztui.engines.instrument.edges import EdgeTable
from fuzztui.engines.process.worker import limit_resources

__all__ = ["batch"]

_ALIKE: Final = 16
"""So many failures that happen again in a clean child, and none that does not: all are believed."""

_SILENCE_TIMES: Final = 2
_WELL: Final = (Outcome.SUCCESS, Outcome.INVALID)
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{6,}")


def batch(spec: Spec, file: Path) -> int:
    """Run what the request in ``file`` asks for; returns the exit status."""
    try:
        request = json.loads(file.read_bytes())
    except (OSError, ValueError) as e:
        raise CannotStart(f"{file}: {e}") from None
    limit_resources(spec)
    with answering() as say:
        runner = _Runner(spec, request, say)
        gc.collect()
        gc.freeze()  # children that collect would copy what is loaded
        runner.run()
    return 0


class _Runner:
    """Holds the loaded target and what is known; children do the rest."""

    def __init__(self, spec: Spec, request: dict[str, Any], say: Say) -> None:
        self._inputs: list[str] = request["inputs"]
        self._words: bool = request["words"]
        self._answers: bool = request["answers"]
        self._say = say
        self._limit = spec.engine.max_size
        self._memory_bytes = spec.target.memory_bytes
        self._silence_s = 2 + _SILENCE_TIMES * spec.target.timeout_s
        self._rng = random.Random(0)
        self._lines = _Lines(request["lines"])
        edges: str = request["edges"]
        with self._lines:  # what is executed when it is imported, all inputs execute
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
        say({"loaded": {name: _place(name) for name in request["modules"]}})
        self._lines.tell(say)
        self._confirmed = 0
        self._refuted = self._doubted = False
        """Doubted: the next input has failed in a child that had run others before it."""

    def run(self) -> None:
        """Everything."""
        at = 0
        while at < len(self._inputs):
            at = self._child(at)

    @property
    def _believing(self) -> bool:
        return self._confirmed >= _ALIKE and not self._refuted

    def _child(self, start: int) -> int:
        """A child from input ``start`` on; returns where the next has to start."""
        self._table.refresh()  # what an earlier child was the first to import has its number
        at, well = start, True
        for message in in_child(
            lambda tell: self._work(start, tell),
            silence_s=self._silence_s,
            memory_bytes=self._memory_bytes,
        ):
            if isinstance(message, Death):
                return self._dead(message, start, at, well=well)
            self._say(message)
            if "verdict" in message:
                at = int(message["verdict"][0]) + 1
                well = message["verdict"][1] in (*_WELL, "unfit")
                self._note(well=well)
        raise AssertionError("a death is the last that is heard")

    def _note(self, *, well: bool) -> None:
        if not well:
            self._confirmed += 1
        elif self._doubted:
            self._refuted = True
        self._doubted = False

    def _dead(self, death: Death, start: int, at: int, *, well: bool) -> int:
        """``well``: its last verdict was no failure. Returns where the next has to start."""
        if death.how == "raised":
            raise CannotStart(f"running inputs failed, please report this: the child {death.words}")
        if at >= len(self._inputs):
            return at
        if death.how == "exited" or (at > start and not self._believing):
            self._doubted = well
            return at
        how = "hung" if death.how == "hung" else "died"
        self._note(well=False)
        self._say({"verdict": [at, how, "", max(0, -death.status) if how == "died" else 0]})
        if self._words:
            category, signature = ("hang", "timeout") if how == "hung" else ("crash", death.words)
            title = f"the process {death.words}"
            if death.stopped:
                signature = f"stopped by {death.stopped}"
                title = f"the target {death.words}"
            self._say({"words": [at, _words(category, f"{signature} @ ", title)]})
        return at + 1

    def _work(self, start: int, tell: Tell) -> None:
        executor, table = self._executor, self._table
        executor.in_child()
        for at in range(start, len(self._inputs)):
            data = read_regular(self._inputs[at], self._limit)
            if data is None:
                tell({"verdict": [at, "unfit", "", 0]})
                continue
            try:
                executor.fixture.check()
            except Limited:
                return  # the next child has its limits again
            executor.guard.check()
            self._rng.seed(0)  # what a recording lacks is the same in every run
            with self._lines:
                execution = executor.run(data)
            self._lines.tell(tell)
            lowered = _lowered(executor)
            outcome = Outcome.TIMEOUT if lowered else execution.outcome
            well = outcome in _WELL
            if not well and at > start and not self._believing:
                return
            if table.dirty:
                with contextlib.suppress(OSError):
                    table.save(replace_bytes)
            if self._words and not well:
                title = f"the target {lowered}"
                words = _words("hang", lowered_signature(lowered), title) if lowered else None
                tell({"words": [at, words or self._described(execution)]})
            if self._answers and well:
                tell({"answer": [at, self._answer(execution)]})
            tell({"verdict": [at, outcome, self._trace(execution), 0]})
            if lowered or not (well or self._believing):
                return  # the next child has its limits again

    def _trace(self, execution: Execution) -> str:
        size = self._executor.coverage.size
        cells = execution.observed.to_bytes(size, "little")
        return base64.b64encode(zlib.compress(cells, 1)).decode()

    def _answer(self, execution: Execution) -> str:
        """Of the value, or of the class of the exception that was expected."""
        value, error = execution.value, execution.error
        if error is None:
            text = self._executor.guarded(lambda: f"{type(value).__qualname__} {value!r}", "")
        else:
            text = type(error).__qualname__
        plain = _ADDRESS.sub("0x", f"{execution.outcome} {text}")
        return hashlib.sha256(plain.encode("utf-8", "backslashreplace")).hexdigest()[:32]

    def _described(self, execution: Execution) -> dict[str, str]:
        executor = self._executor
        triage = FailureTriage(executor, self._table.files())
        failure = triage.classify(execution)
        told = triage.describe(execution, executor.guard.where, flaky=False)
        return {
            **_words(failure.category, failure.signature, told.title),
            "place": failure.place,
            "detail": told.detail,
            "input": told.input,
        }


class _Lines:
    """Notes lines of files in a directory that are executed while it is entered."""

    def __init__(self, directory: str) -> None:
        self._below = directory.rstrip("/") + "/"
        self._wanted = bool(directory)
        self._told: set[tuple[str, int]] = set()
        self._seen: set[tuple[str, int]] = set()

    def __enter__(self) -> None:
        if self._wanted:
            sys.settrace(self._call)

    def __exit__(self, *_: object) -> None:
        if self._wanted:
            sys.settrace(None)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        return self._line if frame.f_code.co_filename.startswith(self._below) else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self._seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line

    def tell(self, say: Say) -> None:
        """Those that were not told before."""
        by_file: dict[str, list[int]] = {}
        for file, line in sorted(self._seen - self._told):
            by_file.setdefault(file, []).append(line)
        self._told |= self._seen
        if by_file:
            say({"lines": by_file})


def _lowered(executor: Executor) -> str:
    """What the input that has run did to a hard resource limit; "" if nothing."""
    try:
        executor.fixture.check_limits()
    except Limited as e:
        return lowered_text(e.number, getrlimit(e.number)[1])
    return ""


def _words(category: str, signature: str, title: str) -> dict[str, str]:
    return {"category": category, "signature": signature, "title": title}


def _place(name: str) -> str:
    """The file that a module of that name is loaded from, "" if it cannot be imported."""
    module = sys.modules.get(name)
    if module is not None:
        return str(getattr(module, "__file__", None) or "")
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        return ""
    return "" if spec is None else str(spec.origin or "")
