"""Running one saved input, plainly: no instrumentation, no journal, output untouched."""

from __future__ import annotations

import faulthandler
import os
import random
import sys
from pathlib import Path

from fuzztui.engines.core.errors import Refusal
from fuzztui.engines.core.failures import title_of, traceback_text
from fuzztui.engines.core.guard import Guard, TrialTimeout
from fuzztui.engines.core.loading import form_of
from fuzztui.engines.core.source import Rejected
from fuzztui.engines.core.spec import Spec
from fuzztui.engines.core.target import load_target
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
    form = form_of(target, spec.engine.max_size, random.Random(0).randbytes)
    guard = Guard(spec.target.timeout_s)
    guard.arm()
    # A hang in C: print the stack and exit 1.
    faulthandler.dump_traceback_later(spec.target.timeout_s + 2, exit=True)
    invalid: tuple[type[BaseException], ...] = (Rejected, *target.expected)
    try:
        guard.start()
        argument = form.build(data)
        if target.generator is not None:
            # The choices say nothing to a person: what they make is the input.
            guard.stop()
            print(visible(f"input: {argument!r:.100000}"), flush=True)
            guard.start()
        value = target.function(argument)
        guard.stop()
    except invalid as e:
        guard.stop()
        print(visible(f"invalid, as expected: {title_of(e)}"))
        return 0
    except TrialTimeout:
        print(f"timeout: longer than {spec.target.timeout_s:g} s")
        return 1
    except BaseException as e:
        guard.stop()
        print(visible(f"failure: {title_of(e)}\n{traceback_text(e)}", lines=True), end="")
        return 1
    finally:
        guard.disarm()
        faulthandler.cancel_dump_traceback_later()
        sys.stdout.flush()
    print(visible(f"success: {value!r:.500}"))
    return 0
