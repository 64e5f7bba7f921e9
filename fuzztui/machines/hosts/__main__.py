"""``python -m fuzztui.machines.hosts RUN``: the process of the hub of a campaign on several
hosts."""

from __future__ import annotations

import sys

from fuzztui.machines.hosts.hub import Hub
from fuzztui.run.supervise.owner import run_process

if __name__ == "__main__":
    sys.exit(run_process("fuzztui.machines.hosts", Hub))
