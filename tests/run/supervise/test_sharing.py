"""``campaign.group``: what members of the group can read of a run, and what stays private."""

import grp
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.events import EntrySaved, Message
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, prepare_run
from fuzztui.run.supervise.sharing import RunSharing

CAMPAIGN = """
[target]
function = "os.path:basename"
include = ["posixpath"]
[engine]
kind = "zest"
"""


def group() -> grp.struct_group:
    """A group that this user can give files to, if possible not the one that files get anyway."""
    known = {g.gr_gid: g for g in grp.getgrall()}
    gids = [g for g in known if g != os.getegid()] if os.geteuid() == 0 else os.getgroups()
    return known[next((g for g in gids if g in known and g != os.getegid()), os.getegid())]


@pytest.fixture
def campaign(tmp_path):
    file = tmp_path / "c.toml"
    file.write_text(CAMPAIGN)
    return load(file).campaign


@pytest.fixture
def run_dir(tmp_path) -> RunDir:
    prepare_run(tmp_path / "run")
    run_dir = RunDir(tmp_path / "run")
    for folder in ("queue", "crashes", "crashes.2026", ".synced"):
        (run_dir.instance("main") / folder).mkdir(mode=0o700, parents=True)
    for name in ("queue/id:0", "crashes/id:0", "crashes.2026/id:1", "fuzzer_stats"):
        file = run_dir.instance("main") / name
        file.touch(0o600)
    (run_dir.path / "campaign.toml").touch(0o600)
    for name in ("lock", "socket", "stderr"):
        (run_dir.supervisor / name).touch(0o600)
    (run_dir.path / "mutants").mkdir(mode=0o700)
    return run_dir


def shared(path: Path) -> bool:
    """Whether the group, and nobody else, can read a file, or look into a directory."""
    now = path.lstat()
    wanted = 0o750 if stat.S_ISDIR(now.st_mode) else 0o640
    return now.st_gid == group().gr_gid and now.st_mode & 0o777 == wanted


def test_screens_find_all_that_they_read(campaign, run_dir):
    sharing = RunSharing(replace(campaign, group=group().gr_name), run_dir)
    sharing.share_all()
    out = run_dir.instance("main")
    for path in (
        run_dir.path, run_dir.campaign, run_dir.log, run_dir.supervisor,
        run_dir.supervisor / "lock", run_dir.supervisor / "socket", run_dir.out, out,
        out / "queue", out / "queue/id:0", out / "crashes/id:0", out / "crashes.2026/id:1",
    ):  # fmt: skip
        assert shared(path), path
    for path in (run_dir.supervisor / "stderr", run_dir.path / "mutants", out / ".synced"):
        assert not path.lstat().st_mode & 0o077, path
    # What is made later, also by afl-fuzz, whose files are private.
    writer = LogWriter(run_dir.log)
    writer.append(Message("info", "x"), 0.0)
    writer.flush()
    assert all(shared(tail) for tail in run_dir.log.glob("tail-*"))
    writer.close()
    later = out / "queue/id:1"
    later.touch(0o600)
    sharing.saw(EntrySaved("main", 1, "queue/id:1"))
    assert shared(later)


async def test_files_that_are_replaced_are_shared_again(campaign, run_dir):
    sharing = RunSharing(replace(campaign, group=group().gr_name), run_dir)
    sharing.share_all()
    (run_dir.supervisor / "socket").unlink()
    (run_dir.supervisor / "socket").touch(0o600)
    (run_dir.instance("s1") / "queue").mkdir(mode=0o700, parents=True)
    await sharing.run()
    assert shared(run_dir.supervisor / "socket")
    assert shared(run_dir.instance("s1") / "queue")


def test_a_link_that_the_target_makes_shares_nothing_else(campaign, run_dir, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir(mode=0o700)
    (secret / "key").touch(0o600)
    queue = run_dir.instance("main") / "queue"
    (queue / "link").symlink_to(secret / "key")
    os.mkfifo(queue / "fifo", 0o600)
    (queue / "hard").hardlink_to(secret / "key")  # as afl-fuzz does with seeds
    (run_dir.instance("s1")).mkdir()
    (run_dir.instance("s1") / "queue").symlink_to(secret)
    RunSharing(replace(campaign, group=group().gr_name), run_dir).share_all()
    assert secret.stat().st_mode & 0o777 == 0o700
    assert (secret / "key").stat().st_mode & 0o777 == 0o600
    assert (queue / "fifo").stat().st_mode & 0o777 == 0o600


def test_without_the_key_a_run_is_private(campaign, run_dir):
    sharing = RunSharing(campaign, run_dir)
    sharing.share_all()
    assert run_dir.path.stat().st_mode & 0o777 == 0o700
    assert sharing.access.gid == -1 and not sharing.on


def test_a_group_that_does_not_exist(campaign, run_dir):
    named = replace(campaign, group="no-such-group")
    with pytest.raises(SupervisorError, match=r"campaign\.group.*no-such-group.*groupadd"):
        RunSharing(named, run_dir)
    # The campaign file of the hub's machine: here the run goes on, and nobody else may read it.
    sharing = RunSharing(replace(named, host="h1"), run_dir)
    assert not sharing.on and sharing.notes[0].level == "warning"


def test_a_closed_directory_above_the_run_is_named(campaign, run_dir, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o700)
    prepare_run(tmp_path / "closed/run")
    other = RunDir(tmp_path / "closed/run")
    sharing = RunSharing(replace(campaign, group=group().gr_name), other)
    assert any("closed" in note.text or str(tmp_path.parent) in note.text for note in sharing.notes)


def test_steering_needs_a_group(tmp_path):
    from fuzztui.run.campaign import CampaignError

    file = tmp_path / "c.toml"
    file.write_text("[campaign]\ngroup_may_steer = true\n" + CAMPAIGN)
    with pytest.raises(CampaignError, match="group_may_steer"):
        load(file)
