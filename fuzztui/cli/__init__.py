"""The command line: commands, their arguments and their output.

:data:`fuzztui.cli.help.EXIT_CODES` lists the exit codes.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from threading import Lock, Thread
from types import FrameType
from typing import Any

_AGAIN_S = 0.01
"""Seconds until a signal is sent again: the callback in which it came has returned then."""


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    before, hook = signal.getsignal(signal.SIGTERM), sys.unraisablehook
    if before == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = partial(_send_again, hook)
    if isinstance(sys.stdout, io.TextIOWrapper):  # an ASCII terminal gets escapes, not an error
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except (KeyboardInterrupt, _TerminatedError, RuntimeError) as e:
        # Python 3.11 makes a RuntimeError of what a handler raises while a class is made.
        came = e.__cause__ if isinstance(e, RuntimeError) else e
        if isinstance(came, KeyboardInterrupt):
            return 130
        if isinstance(came, _TerminatedError):
            # Frees the frames: one may hold a temporary directory whose `with` has not begun, and
            # which is removed only when nothing refers to it.
            e.__traceback__ = came.__traceback__ = None
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        raise
    finally:
        sys.unraisablehook = hook
        if before == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, before)


class _TerminatedError(BaseException):
    """SIGTERM: temporary files are removed on the way out, and then the process dies of it."""


def _terminate(_signum: int, _frame: FrameType | None) -> None:
    raise _TerminatedError


def _send_again(hook: Callable[[Any], object], dropped: Any) -> None:
    """Send a signal again whose exception came in a callback, where Python drops it: of the garbage
    collection, of an import.
    """
    number = {_TerminatedError: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}.get(
        dropped.exc_type
    )
    if number is None:
        hook(dropped)
    else:
        returns = Lock()  # a start may take longer than the wait

        def send() -> None:
            with returns:
                time.sleep(_AGAIN_S)
            os.kill(os.getpid(), number)

        with returns:
            Thread(target=send, daemon=True).start()


def _run(argv: list[str]) -> int:
    if argv[:1] == ["complete-words"]:  # a shell waits: nothing of what follows is imported
        from fuzztui.cli.completing import complete

        return complete(argv[1:])
    # Imported here, not above: this takes 0.2 s, in which Ctrl-C must not print a traceback.
    from fuzztui.cli.parser import parse
    from fuzztui.kernel.base.plugins import PluginError

    try:
        return _carry_out(parse(argv), argv)
    except PluginError as e:  # any import may need the features
        from fuzztui.cli.output import FAILED, say

        say(str(e))
        return FAILED


def _carry_out(options: Any, argv: list[str]) -> int:
    from fuzztui.cli import damage
    from fuzztui.cli.output import FAILED, say
    from fuzztui.cli.remote_runs import on_this_machine
    from fuzztui.kernel.base.errors import UserError

    damage.forget()
    try:
        with on_this_machine(options, argv[0] if argv else ""):
            return damage.finish(int(options.command(options)))
    except UserError as failure:
        say(str(failure))
        return damage.finish(failure.code)
    except BrokenPipeError:
        # The reader of stdout has ended (fuzztui status | head): not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as e:
        say(f"{e.filename}: {e.strerror}" if e.filename else f"output: {e.strerror or e}")
        return FAILED
