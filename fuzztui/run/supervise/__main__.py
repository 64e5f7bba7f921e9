"""``python -m fuzztui.run.supervise RUN``: the supervisor's process."""

from __future__ import annotations

import sys

from fuzztui.run.supervise.owner import run_process
from fuzztui.run.supervise.supervisor import Supervisor

if __name__ == "__main__":
    sys.exit(run_process("fuzztui.run.supervise", Supervisor))
