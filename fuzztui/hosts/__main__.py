"""``python -m fuzztui.hosts RUN``: the process of the hub of a campaign on several hosts."""

from __future__ import annotations

import sys

from fuzztui.hosts.hub import Hub
from fuzztui.supervise.owner import run_process

if __name__ == "__main__":
    sys.exit(run_process("fuzztui.hosts", Hub))
