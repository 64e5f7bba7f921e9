"""``python -m fuzztui.run.supervise RUN``: the supervisor's process."""

from __future__ import annotations

import sys
from collections.abc import Callable

from fuzztui.run.campaign import FrozenCampaign
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.supervise.owner import run_process
from fuzztui.run.supervise.supervisor import Supervisor


def _supervisor(
    loaded: FrozenCampaign,
    run_dir: RunDir,
    progress: Callable[[str], None],
    trouble: Callable[[str], None],
) -> Supervisor:
    return Supervisor(loaded.campaign, run_dir, progress, trouble)


def main() -> int:
    """Supervise a campaign to its end. Returns 0, or 1 if the campaign could not start."""
    return run_process("fuzztui.run.supervise", _supervisor)


if __name__ == "__main__":
    sys.exit(main())
