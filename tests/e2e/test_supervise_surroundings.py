"""A machine that lacks what a campaign needs: the start is refused, with the reason."""

import json
import os
import shutil
import subprocess

import pytest
from homes import FUZZTUI
from waiting import DEADLINE_S

from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.wire.events import InstanceState, Message

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
            ["unshare", "-m", "sh", "-c", script], cwd=home.path, env={**home.env, "F": FUZZTUI},
            capture_output=True, text=True, timeout=DEADLINE_S, check=False,
        )  # fmt: skip
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


READ_ONLY = r"""
mount -t tmpfs tmpfs fs
"$F" c.toml --detach --set campaign.budget=1h || exit 0
saved() { ls fs/run/out/main/queue | wc -l; }
until test "$(saved)" -gt 3; do sleep 0.1; done
# Another mount on top: files that are open stay writable, and the log is one.
mount --bind fs fs && mount -o remount,ro,bind fs || exit 0
before=$(saved)
until grep -q 'Read-only file system' fs/run/supervisor/lock; do sleep 0.1; done
"$F" status fs/run --json > during.json
umount fs
until test "$(saved)" -gt "$before"; do sleep 0.1; done
while grep -q 'Read-only file system' fs/run/supervisor/lock; do sleep 0.1; done
"$F" ctl fs/run stop
while test -n "$("$F" status fs/run --json | tee after.json | grep '"pid": [0-9]' | head -1)"; do
  sleep 0.1
done
cp -r fs/run kept; ls fs/run/out/main/queue > queue.txt; cat fs/run/supervisor/stderr >&2
"""


def test_a_file_system_that_turns_read_only(home):
    """It is reported although the log can be written; nothing is lost, and the engine continues."""
    done = in_namespace(home, READ_ONLY)
    if not (home.path / "queue.txt").exists():
        pytest.skip(f"no namespace of mounts here: {done.stderr}")
    assert "Traceback" not in done.stderr
    during = json.loads((home.path / "during.json").read_text())
    assert "Read-only file system" in during["trouble"]
    assert during["state"] == "running"
    after = json.loads((home.path / "after.json").read_text())
    assert after["trouble"] is None
    assert after["corpus"] == len((home.path / "queue.txt").read_text().split())
    records = list(LogReader(home.path / "kept").records())
    said = [r.event.level for r in records if isinstance(r.event, Message)]
    assert "error" in said
    assert said[-1] == "info"
    assert all(r.event.restarts == 0 for r in records if isinstance(r.event, InstanceState))
