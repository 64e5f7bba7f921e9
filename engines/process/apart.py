"""Run a target in a forked child of this process, outside of a campaign.

A target may stop a process with SIGSTOP. If the target stops its parent, that is this process, and
the caller notices; if the target stops itself, this process notices.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import Final

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.execute.forks import StopWatch, has_ended
from fuzztui.engines.execute.overseer import stopped_text
from fuzztui.engines.process.worker import die_with

_POLL_S: Final = 0.02


def apart(
    work: Callable[[], int], parent: int = 0, meanwhile: Callable[[], None] = lambda: None
) -> int:
    """Call ``work`` in a forked child. Returns the child's exit status, -N if signal N killed it.

    In the child, returns the result of ``work``. The child is killed when this process ends, and
    this process when its parent ``parent`` ends (a pid; 0: the present parent). SIGTERM is passed
    on to the child. ``meanwhile`` is called every 20 ms in this process.
    Raises :class:`CannotStart`, in this process, if the child stays stopped.
    """
    die_with(parent or os.getppid())
    this = os.getpid()
    child = os.fork()
    if child == 0:
        die_with(this)
        return work()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child gets it too, and reports where it was
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, number))
    stops = StopWatch(child)
    while not (ended := has_ended(child)) and not stops.look():
        meanwhile()
        time.sleep(_POLL_S)
    if not ended:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not ended:
        raise CannotStart(stopped_text(stops.name))
    return status
