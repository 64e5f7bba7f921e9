"""Running one saved input, plainly: no instrumentation, no journal, output untouched."""

from __future__ import annotations

import faulthandler
import os
import random
import sys
from pathlib import Path

from fuzztui.engines.core.alarm import Alarm
from fuzztui.engines.core.edges import CoverageMap
from fuzztui.engines.core.errors import Refusal
from fuzztui.engines.core.executor import Execution, Executor, Outcome
from fuzztui.engines.core.failures import title_of, traceback_text
from fuzztui.engines.core.fixture import Fixture
from fuzztui.engines.core.guard import Guard, TrialTimeout
from fuzztui.engines.core.inputs import InputForm
from fuzztui.engines.core.loading import form_of
from fuzztui.engines.core.rival import Rival
from fuzztui.engines.core.source import Rejected
from fuzztui.engines.core.spec import Spec
from fuzztui.engines.core.target import Target, load_target
from fuzztui.engines.core.triage import UNMADE
from fuzztui.wire.text import visible

__all__ = ["reproduce"]


def reproduce(spec: Spec, file: Path) -> int:
    """Run the input in ``file`` and print what came of it; 1 if it fails, else 0."""
    try:
        data = file.read_bytes()
    except OSError as e:
        raise Refusal(f"{file}: {e.strerror or e}") from None
    os.environ.update(spec.target.env)
    file = file.absolute()
    if spec.target.cwd:
        os.chdir(spec.target.cwd)
    target = load_target(spec.target, None)
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
            # The choices say nothing to a person: what they make is the input.
            guard.stop()
            print(visible(f"input: {argument!r:.100000}"), flush=True)
            guard.start()
        value = target.function(argument)
        guard.stop()
        first = Execution(Outcome.SUCCESS, data, 0, value)
        words = f"success: {value!r:.500}"
    except invalid as e:
        guard.stop()
        if spec.target.oracle.message and Alarm(spec.target.oracle.message).said(e):
            return _failed(e, when)
        first = Execution(Outcome.INVALID, data, 0, None, e)
        words = f"invalid, as expected: {title_of(e, when)}"
    except TrialTimeout:
        print(f"timeout{when}: longer than {spec.target.timeout_s:g} s")
        return 1
    except BaseException as e:
        guard.stop()
        return _failed(e, when)
    finally:
        guard.disarm()
        faulthandler.cancel_dump_traceback_later()
        sys.stdout.flush()
    print(visible(words))
    return 0 if target.against is None else _contrasted(spec, target, form, first)


def _failed(error: BaseException, when: str) -> int:
    words = f"failure: {title_of(error, when)}\n{traceback_text(error)}"
    print(visible(words, lines=True), end="")
    return 1


def _contrasted(spec: Spec, target: Target, form: InputForm, first: Execution) -> int:
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
    difference = Rival(executor, target.compare, names=names).differs(first)
    guard.disarm()
    if difference is None:
        print(visible(f"{names[1]} does the same"))
        return 0
    print(visible(f"differs: {difference.title}\n{difference.detail}", lines=True), end="")
    return 1
