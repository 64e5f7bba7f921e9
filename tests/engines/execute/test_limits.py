"""Hard resource limits that a target lowers, tried in child processes: they cannot be raised."""

import subprocess
import sys

import pytest

LOWER = """
import resource, sys
from fuzztui.engines.execute.limits import Limits
error = {error}
limits = Limits()
assert limits.explains(error) == -1
soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
resource.setrlimit(resource.RLIMIT_NPROC, ({limit}, {limit}))
assert limits.restore() == -1, "it does no harm to what starts no process"
sys.exit(limits.explains(error) == resource.RLIMIT_NPROC)
"""


@pytest.mark.parametrize(
    ("error", "explained"),
    [
        ('BlockingIOError(11, "Resource temporarily unavailable")', True),
        ('RuntimeError("can\'t start new thread")', True),
        ('RuntimeError("another")', False),
        ("ValueError()", False),
        ("None", False),
    ],
)
def test_a_process_that_cannot_be_started(error: str, explained: bool) -> None:
    code = LOWER.format(error=error, limit=0)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == explained
