"""What a target can do to its own directory does nothing to its supervisor."""

import os
import shutil
import signal
from pathlib import Path

import pytest
from supervised import Supervised

from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire.events import FindingSaved, InstanceState, Message

pytestmark = pytest.mark.slow


@pytest.fixture
def campaign(tmp_path):
    made = Supervised(tmp_path)
    made.start()
    made.until(lambda s: s.state == "running" and len(s.entries) >= 3)
    yield made
    made.clean_up()


def test_strange_files(campaign):
    main = campaign.run / "out/main"
    crashes = main / "crashes"
    odd = [b"[x]", b"\x1b[2J\n\r\t", b"\xff\xfe", "\u202ecrash".encode(), b"x" * 255, b"-rf ~"]
    for name in odd:
        fd = os.open(os.fsencode(crashes) + b"/" + name, os.O_CREAT | os.O_WRONLY)
        os.write(fd, b"boom")
        os.close(fd)
    os.mkfifo(crashes / "fifo")
    (crashes / "link").symlink_to("/dev/zero")
    os.mkfifo(main / "fifo")
    (main / "fifo").rename(main / "fuzzer_stats")
    with (main / "events.jsonl").open("ab") as f:
        f.write(os.urandom(2_000_000) + b"\n" + b"[" * 1_500_000 + b"\n")
    state = campaign.until(lambda s: len(s.findings) == len(odd))
    found = [e.file for e in campaign.events(FindingSaved)]
    assert sorted(found) == sorted(f"crashes/{os.fsdecode(name)}" for name in odd)
    assert all(f.size == 4 for f in state.findings.values())
    entries = len(state.entries)
    campaign.until(lambda s: len(s.entries) > entries + 5)
    campaign.until(lambda _: any("no event" in m.text for m in campaign.events(Message)))
    assert campaign.stderr() == ""
    campaign.kill_supervisor()
    entries = len(campaign.state().entries)
    campaign.start()
    campaign.until(lambda s: len(s.entries) > entries + 5)
    assert sorted(e.file for e in campaign.events(FindingSaved)) == sorted(found)


def test_the_ground_is_pulled_away(campaign):
    main = campaign.run / "out/main"
    before = campaign.state()
    # Away at once: what is deleted file by file may be written to meanwhile, and stay.
    main.rename(campaign.run / "gone")
    shutil.rmtree(campaign.run / "gone", ignore_errors=True)
    # The engine dies of it and is started again, in a directory that is made again.
    campaign.until(lambda s: s.instances["main"].restarts >= 1)
    pid = before.instances["main"].pid
    campaign.until(lambda s: s.instances["main"].state == "running")
    assert campaign.state().instances["main"].pid != pid
    after = campaign.state()
    assert before.entries.keys() <= after.entries.keys()


def test_it_kills_its_own_group_and_says_goodbye_to_its_log(campaign):
    state = campaign.state()
    pid = state.instances["main"].pid
    (campaign.run / "out/main/worker.log").unlink()
    supervisor = running(campaign.run)
    os.killpg(pid, signal.SIGKILL)
    campaign.until(lambda s: s.instances["main"].pid not in (0, pid))
    assert running(campaign.run) == supervisor
    (died,) = [e for e in campaign.events(InstanceState) if e.state == "restarting"]
    assert "SIGKILL" in died.reason
    assert Path(f"/proc/{supervisor}").exists()
