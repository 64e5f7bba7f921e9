"""A machine that lacks what a campaign needs: the start is refused, with the reason."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from homes import FUZZTUI

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root, and unshare"
    ),
]

CAMPAIGN = """
[campaign]
name = "c"
budget = "2s"
output = "fs/run"
[target]
function = "tomllib:loads"
[engine]
kind = "zest"
"""


def in_namespace(home, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script of commands, ``$F`` is fuzztui, with mounts of its own."""
    (home.path / "c.toml").write_text(CAMPAIGN)
    (home.path / "fs").mkdir()
    try:
        return subprocess.run(
            ["unshare", "-m", "sh", "-c", script],
            cwd=home.path,
            env={**home.env, "F": FUZZTUI},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        home.kill_everything()


def test_without_proc_no_campaign_begins(home):
    done = in_namespace(home, 'umount -l /proc && "$F" c.toml --detach; echo "status $?"')
    if "status" not in done.stdout:
        pytest.skip(f"no namespace of mounts here: {done.stderr}")
    assert "status 1" in done.stdout
    assert "/proc" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_that_can_only_be_read(home):
    script = (
        'mount -t tmpfs tmpfs fs && "$F" c.toml --headless >/dev/null 2>&1; '
        "until mount -o remount,ro fs; do sleep 0.1; done; "
        '"$F" status fs/run >/dev/null; echo "status $?"; '
        '"$F" replay fs/run --json >/dev/null; echo "replay $?"; '
        '"$F" c.toml --detach --set campaign.budget=9s; echo "start $?"'
    )
    done = in_namespace(home, script)
    if "status" not in done.stdout:
        pytest.skip(f"no namespace of mounts here: {done.stderr}")
    assert done.stdout.split("\n")[:3] == ["status 0", "replay 0", "start 1"]
    assert "Read-only file system" in done.stderr
    assert "Traceback" not in done.stderr
