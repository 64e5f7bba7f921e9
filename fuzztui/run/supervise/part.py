"""``python -m fuzztui.run.supervise.part RUN``: the supervisor of one target of several."""

from __future__ import annotations

import signal
import sys

if __name__ == "__main__":
    # The whole campaign may order a pause before this process can carry it out.
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    from fuzztui.run.supervise.owner import run_process
    from fuzztui.run.supervise.supervisor import Supervisor

    sys.exit(run_process("fuzztui.run.supervise.part", Supervisor))
