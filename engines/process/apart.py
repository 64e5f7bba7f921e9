"""Run a target in a child of the process that was asked, outside of a campaign.

Whoever started this process is then not the parent of the target's: a target that stops its parent
(SIGSTOP) stops this process, which its own parent sees, and one that stops itself is seen here.
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

__all__ = ["apart"]

_LOOK_S: Final = 0.02


def apart(
    work: Callable[[], int], parent: int = 0, meanwhile: Callable[[], None] = lambda: None
) -> int:
    """Call ``work`` in a forked child; returns its exit status, -N if signal N killed it.

    In the child, returns what ``work`` returns. The child dies with this process, and this process
    with its parent, the process ``parent`` (0: whichever it is now). SIGTERM is for the child.
    ``meanwhile`` is called every 20 ms in this process.
    Raises :class:`CannotStart`, in this process, if the child stays stopped.
    """
    die_with(parent or os.getppid())
    this = os.getpid()
    child = os.fork()
    if child == 0:
        die_with(this)
        return work()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child reports where it was
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, number))
    stops = StopWatch(child)
    while not (ended := has_ended(child)) and not stops.look():
        meanwhile()
        time.sleep(_LOOK_S)
    if not ended:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not ended:
        raise CannotStart(stopped_text(stops.name))
    return status
