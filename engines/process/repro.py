"""Reproduce one saved input without instrumentation and journal, and leave its output visible."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from resource import getrlimit
from typing import Final

from fuzztui.engines.base.clock import fix_clock
from fuzztui.engines.base.errors import CANNOT_START, CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.executor import Executor, Outcome
from fuzztui.engines.execute.failures import hang_text, title_of, traceback_text
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.execute.forks import how_it_ended
from fuzztui.engines.execute.limits import Limits, lowered_text
from fuzztui.engines.execute.loading import form_of, lowered_on_import
from fuzztui.engines.execute.message_oracle import MessageOracle
from fuzztui.engines.execute.pipe import Pipe
from fuzztui.engines.findings.differential import DifferentialOracle
from fuzztui.engines.findings.triage import UNMADE
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.inputs.source import Source
from fuzztui.engines.instrument.edges import CoverageMap
from fuzztui.engines.instrument.guard import Guard
from fuzztui.engines.instrument.target import Target, load_target
from fuzztui.engines.process.apart import apart
from fuzztui.engines.strategies.given import Pending
from fuzztui.engines.suite.examples import NotSaved, save_example
from fuzztui.kernel.base.text import visible

_WELL: Final = "well"
_FAILS: Final = "fails"
_SAVED: Final = "saved"
_CANNOT_START: Final = "refused"


def reproduce(spec: Spec, file: Path, *, save: bool = False) -> int:
    """Run the input in ``file`` and print its outcome. Returns 1 if the input fails, else 0.

    ``save``: hand a failing input to Hypothesis, see :mod:`fuzztui.engines.suite.examples`, print
    why that is impossible as ``{"saved": REASON}``, an empty reason if it is done, and return 0.

    The target runs in a child. This process prints the outcome, because the target may forbid its
    own process to write files, or the child may be stopped or killed.
    """
    try:
        data = file.read_bytes()
    except OSError as e:
        raise CannotStart(f"{file}: {e.strerror or e}") from None
    this, pipe = os.getpid(), Pipe()
    outcome: dict[str, str] = {}

    def receive() -> None:
        outcome.update((word, str(text)) for word, text in pipe.received())

    def work() -> int:
        pipe.enter_child()
        try:
            failing: list[object] = []
            status, text = _run(spec, data, failing)
            if save:
                pipe.send(_SAVED, _saved(failing, spec.target.examples))
        except CannotStart as e:
            pipe.send(_CANNOT_START, str(e))
            return CANNOT_START
        pipe.send(_FAILS if status else _WELL, text)
        return status

    try:
        status = apart(work, meanwhile=receive)
        if os.getpid() != this:
            return status
        receive()
    except CannotStart as e:
        _print(f"hang: {e}")
        return 1
    finally:
        pipe.close()
    if _CANNOT_START in outcome:
        raise CannotStart(outcome[_CANNOT_START])
    if save:
        _print(json.dumps({"saved": outcome.get(_SAVED, how_it_ended(status))}))
        return 0
    for word in (_WELL, _FAILS):
        if word in outcome:
            _print(outcome[word].rstrip("\n"))
    if status < 0 or (status == 0 and not outcome):
        _print(f"failure: the process {how_it_ended(status)}")
        return 1
    return int(_FAILS in outcome) if outcome else status


def _print(text: str) -> None:
    """Print a line at once; nothing more after the reader (``head``, for example) has gone."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(spec: Spec, data: bytes, failing: list[object]) -> tuple[int, str]:
    """Load the target and run the input. Returns 1 if the input fails, else 0, and the outcome.

    ``failing``: gets the target's argument if the input fails.
    """
    limits = Limits()
    os.environ.update(spec.target.env)
    if spec.target.cwd:
        os.chdir(spec.target.cwd)
    fix_clock(spec.target.clock)
    target = load_target(spec.target, None)
    if (lost := limits.settle()) >= 0:
        raise lowered_on_import(spec, lost)
    result = _result(spec, target, data, failing)
    lost = limits.restore()
    with contextlib.suppress(OSError, ValueError):  # files forbidden, or the target closed it
        sys.stdout.flush()
    if lost >= 0:  # reported in place of a failure, as in a campaign, which could not save it
        return 1, f"hang: the target {lowered_text(lost, getrlimit(lost)[1])}"
    return result


def _result(spec: Spec, target: Target, data: bytes, failing: list[object]) -> tuple[int, str]:
    wall = spec.target.timeout_wall
    guard = Guard(spec.target.timeout_s, wall=wall)
    message, generator = spec.target.oracle.message, target.generator
    executor = Executor(
        target.function,
        _form_of(target, spec),
        target.expected,
        coverage=CoverageMap(),
        guard=guard,
        fixture=Fixture(Path.cwd()),
        message_oracle=MessageOracle(message) if message else None,
    )
    showing, made = executor, list[object]()
    if generator is not None:

        def shown(source: Source) -> object:
            """Print the input that choices make, because they mean nothing to a user."""
            made.append(generator(source))
            guard.stop()
            _print(visible(f"input: {made[0]!r:.100000}"))
            guard.start()
            return made[0]

        showing = executor.with_form(_form_of(replace(target, generator=shown), spec))
    guard.arm()
    if target.suite is not None:
        target.suite.prepare(data)  # fixtures take their time outside of the trial's limit
    # A hang in C: print the stack and exit 1. Later than the guard, also on a busy machine.
    faulthandler.dump_traceback_later(wall * spec.target.timeout_s + 10, exit=True)
    first = showing.call(data)
    when, error = UNMADE if first.unmade else "", first.error
    if first.outcome is Outcome.TIMEOUT:
        text = f"timeout{when}: longer than {guard.timeout_s:g} s\n{hang_text(guard.where)}"
    elif error is None:
        value = executor.guarded(lambda: f"{first.value!r:.500}", "a value without repr()")
        text = f"success: {value}"
    elif first.outcome is Outcome.INVALID:
        text = f"invalid, as expected: {title_of(error, when)}"
    else:
        if not isinstance(error, executor.expected):  # else oracle.message has made it a failure
            failing.append(made[0] if made else data)
        text = f"failure: {title_of(error, when)}\n{traceback_text(error)}"
    # Not before: texts of values and exceptions are the target's code, and may never end.
    guard.disarm()
    faulthandler.cancel_dump_traceback_later()
    if first.outcome not in (Outcome.SUCCESS, Outcome.INVALID):
        return 1, visible(text, lines=True)
    guard.arm()
    oracle = DifferentialOracle.of(target, spec.target, executor)
    difference = None if oracle is None else oracle.differs(first)
    guard.disarm()
    if oracle is None:
        return 0, visible(text)
    against = f"{spec.target.oracle.against} does the same"
    if difference is not None:
        against = f"differs: {difference.title}\n{difference.detail}"
    return int(difference is not None), f"{visible(text)}\n{visible(against, lines=True)}"


def _form_of(target: Target, spec: Spec) -> InputForm:
    return form_of(target, spec.engine, random.Random(0).randbytes)


def _saved(failing: Sequence[object], directory: str) -> str:
    """Save a failing input for Hypothesis. Returns why that is impossible; empty: it is done."""
    if not failing:
        return "the input does not fail, or only times out"
    if not isinstance(pending := failing[0], Pending):
        return "the input has no choices of a strategy"
    if pending.explicit:
        return "the input is an @example of the test, which pytest runs too"
    try:
        save_example(pending, directory)
    except OSError as e:
        return f"{directory}: {e.strerror or e}"
    except Exception as e:  # Hypothesis, or a database of the project
        return f"{pending.test.name}: {e if isinstance(e, NotSaved) else title_of(e)}"
    return ""
