"""Running one saved input, plainly: no instrumentation, no journal, output untouched."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import random
import sys
from pathlib import Path
from resource import getrlimit
from typing import Final

from fuzztui.base.text import visible
from fuzztui.engines.base.errors import CANNOT_START, CannotStart
from fuzztui.engines.base.spec import Spec
from fuzztui.engines.execute.executor import Execution, Executor, Outcome
from fuzztui.engines.execute.failures import title_of, traceback_text
from fuzztui.engines.execute.fixture import Fixture
from fuzztui.engines.execute.forks import how_it_ended
from fuzztui.engines.execute.limits import Limits, lowered_text
from fuzztui.engines.execute.loading import form_of, lowered_on_import
from fuzztui.engines.execute.message_oracle import MessageOracle
from fuzztui.engines.execute.pipe import Pipe
from fuzztui.engines.findings.differential import DifferentialOracle
from fuzztui.engines.findings.triage import UNMADE
from fuzztui.engines.inputs.inputs import InputForm
from fuzztui.engines.inputs.source import Rejected
from fuzztui.engines.instrument.edges import CoverageMap
from fuzztui.engines.instrument.guard import Guard, TrialTimeout
from fuzztui.engines.instrument.target import Target, load_target
from fuzztui.engines.process.apart import apart

__all__ = ["reproduce"]

_WELL: Final = "well"
_FAILS: Final = "fails"
_REFUSED: Final = "refused"


def reproduce(spec: Spec, file: Path) -> int:
    """Run the input in ``file`` and print what came of it; 1 if it fails, else 0.

    The target runs in a child: this process reports what came of it, since the target may forbid
    its own to write files, and also that it was stopped, or killed.
    """
    try:
        data = file.read_bytes()
    except OSError as e:
        raise CannotStart(f"{file}: {e.strerror or e}") from None
    this, pipe = os.getpid(), Pipe()
    said: dict[str, str] = {}

    def hear() -> None:
        said.update((word, str(text)) for word, text in pipe.heard())

    def work() -> int:
        pipe.settle_in()
        try:
            status, text = _run(spec, data)
        except CannotStart as e:
            pipe.say(_REFUSED, str(e))
            return CANNOT_START
        pipe.say(_FAILS if status else _WELL, text)
        return status

    try:
        status = apart(work, meanwhile=hear)
        if os.getpid() != this:
            return status
        hear()
    except CannotStart as e:
        print(f"hang: {e}")
        return 1
    finally:
        pipe.close()
    if _REFUSED in said:
        raise CannotStart(said[_REFUSED])
    for word in (_WELL, _FAILS):
        if word in said:
            print(said[word].rstrip("\n"), flush=True)
    if status < 0 or (status == 0 and not said):
        print(f"failure: the process {how_it_ended(status)}")
        return 1
    return int(_FAILS in said) if said else status


def _run(spec: Spec, data: bytes) -> tuple[int, str]:
    """Load the target, and run the input; 1 if it fails, else 0, and what came of it."""
    limits = Limits()
    os.environ.update(spec.target.env)
    if spec.target.cwd:
        os.chdir(spec.target.cwd)
    target = load_target(spec.target, None)
    if (lost := limits.settle()) >= 0:
        raise lowered_on_import(spec, lost)
    result = _result(spec, target, data)
    lost = limits.restore()
    with contextlib.suppress(OSError, ValueError):  # no files, or it has closed the stream
        sys.stdout.flush()
    if lost >= 0:  # as in a campaign, this outdoes a failure, which could not be saved
        return 1, f"hang: the target {lowered_text(lost, getrlimit(lost)[1])}"
    return result


def _result(spec: Spec, target: Target, data: bytes) -> tuple[int, str]:
    form = form_of(target, spec.engine, random.Random(0).randbytes)
    guard = Guard(spec.target.timeout_s)
    guard.arm()
    # A hang in C: print the stack and exit 1.
    faulthandler.dump_traceback_later(spec.target.timeout_s + 2, exit=True)
    invalid: tuple[type[BaseException], ...] = (Rejected, *target.expected)
    when = UNMADE
    try:
        guard.start()
        argument = form.build(data)
        when = ""
        if target.generator is not None:
            # The choices say nothing to a user: what they make is the input.
            guard.stop()
            print(visible(f"input: {argument!r:.100000}"), flush=True)
            guard.start()
        value = target.function(argument)
        guard.stop()
        first = Execution(Outcome.SUCCESS, data, 0, value)
        words = f"success: {value!r:.500}"
    except invalid as e:
        guard.stop()
        if spec.target.oracle.message and MessageOracle(spec.target.oracle.message).said(e)[0]:
            return _failed(e, when)
        first = Execution(Outcome.INVALID, data, 0, None, e)
        words = f"invalid, as expected: {title_of(e, when)}"
    except TrialTimeout:
        return 1, f"timeout{when}: longer than {spec.target.timeout_s:g} s"
    except BaseException as e:
        guard.stop()
        return _failed(e, when)
    finally:
        guard.disarm()
        faulthandler.cancel_dump_traceback_later()
    if target.against is None:
        return 0, visible(words)
    status, more = _contrasted(spec, target, form, first)
    return status, f"{visible(words)}\n{more}"


def _failed(error: BaseException, when: str) -> tuple[int, str]:
    words = f"failure: {title_of(error, when)}\n{traceback_text(error)}"
    return 1, visible(words, lines=True)


def _contrasted(spec: Spec, target: Target, form: InputForm, first: Execution) -> tuple[int, str]:
    """Run the second implementation, too."""
    guard, fixture = Guard(spec.target.timeout_s), Fixture(Path.cwd())
    assert target.against is not None
    executor = Executor(
        target.against,
        form,
        target.expected,
        coverage=CoverageMap(),
        guard=guard,
        fixture=fixture,
    )
    names = spec.target.function, spec.target.oracle.against
    guard.arm()
    difference = DifferentialOracle(executor, target.compare, names=names).differs(first)
    guard.disarm()
    if difference is None:
        return 0, visible(f"{names[1]} does the same")
    return 1, visible(f"differs: {difference.title}\n{difference.detail}", lines=True)
