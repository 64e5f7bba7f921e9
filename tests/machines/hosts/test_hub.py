"""Campaigns on real hosts: one complete log, whatever happens to hub, link and hosts."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from host_lab import Hosts
from hub_lab import HubCampaign
from waiting import DEADLINE_S, wait_until

from fuzztui.kernel.base.files import PLACEHOLDER
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.wire.events import CommandApplied, CommandIssued, HostState, PassiveInstance

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Two hosts whose clocks differ from the tester's."""
    with Hosts(2, tmp_path_factory.mktemp("lab"), (0, -7200)) as hosts:
        yield hosts


@pytest.fixture
def campaign(hosts: Hosts, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[HubCampaign]:
    """A campaign that runs on both hosts; stopped at the end of the test."""
    made = HubCampaign(tmp_path, hosts, f"c{abs(hash(request.node.name)) % 10**8}")
    made.start()
    yield made
    for host in hosts.values():
        host.mend()
    if running(made.run):
        made.fuzztui("ctl", str(made.run), "stop")


def test_one_log_of_two_hosts(campaign, hosts):
    state = campaign.until(lambda s: len(s.findings) >= 3)
    assert {i.id: i.host for i in state.instances.values()} == {
        "h1_main": "h1", "h2_main": "h2", "h2_s1": "h2",
    }  # fmt: skip
    assert abs(state.hosts["h2"].clock_s + 7200) < 30
    assert state.series["execs"].last > 0
    for finding in state.findings.values():  # crashes travel, whole
        mine = (campaign.run / "out" / finding.instance / finding.file).read_bytes()
        there = f"{campaign.over_there}/out/{finding.instance}/{finding.file}"
        assert (
            hosts[state.instances[finding.instance].host]
            .run(f"cat '{there}' | od -An -v -tx1 | tr -d ' \\n'")
            .stdout
            == mine.hex()
        )
    campaign.check_nothing_lost_or_doubled()
    campaign.stop()
    states = {h.name: (h.state, h.campaign) for h in campaign.state().hosts.values()}
    assert states == {"h1": ("ended", "stopped"), "h2": ("ended", "stopped")}
    campaign.check_nothing_lost_or_doubled()


def test_finds_of_a_main_reach_the_main_of_another_host(campaign):
    def peers(host: str) -> str:
        where = f"{campaign.over_there}/out/{host}_main/.synced"
        return campaign.hosts[host].run(f"ls {where}", check=False).stdout

    def entries() -> list[str]:  # without those that only keep an id: h2 has their content
        queue = f"{campaign.over_there}/out/h1_main/queue"
        names = campaign.hosts["h2"].run(f"ls -A {queue}", check=False).stdout.split()
        return [name for name in names if not name.endswith(PLACEHOLDER)]

    campaign.until(lambda s: entries())
    campaign.until(lambda s: "h1_main" in peers("h2"))
    campaign.until(lambda s: "h2_main" in peers("h1"))
    there = entries()
    state = campaign.state()
    own = {e.file.rpartition("/")[2] for e in state.entries.values() if e.instance == "h1_main"}
    assert there and set(there) <= own
    assert not any(n.startswith(".") for n in there)


def test_a_command_reaches_the_host_of_its_instance_and_names_its_author(campaign):
    campaign.fuzztui("ctl", str(campaign.run), "promote", "h2_s1/1")
    applied = [e for e in campaign.events(CommandApplied) if e.instance == "h2_s1"]
    assert len(applied) == 1
    over_there = [
        r.event for r in campaign.log_of(campaign.hosts["h2"]) if isinstance(r.event, CommandIssued)
    ]
    mine = campaign.events(CommandIssued)
    # The account over there is what its kernel proves; the name before it is what the hub says.
    assert [e.by for e in over_there] == [f"{e.by} as fuzz@h2" for e in mine]
    assert not [
        r for r in campaign.log_of(campaign.hosts["h1"]) if isinstance(r.event, CommandIssued)
    ]


def test_a_cut_is_told_and_what_was_sent_meanwhile_is_done_once(campaign):
    campaign.hosts["h1"].cut()
    campaign.until(lambda s: s.hosts["h1"].state == "lost")
    sender = subprocess.Popen(
        [sys.executable, "-m", "fuzztui", "ctl", str(campaign.run), "promote", "h1_main/1"],
        cwd=campaign.directory, env=campaign.env, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    campaign.until(lambda s: any(c.text.startswith("waits until") for c in s.commands.values()))
    campaign.hosts["h1"].mend()
    campaign.until(lambda s: s.hosts["h1"].state == "connected")
    assert sender.wait(DEADLINE_S) == 0
    campaign.check_nothing_lost_or_doubled()
    there = [r.event for r in campaign.log_of(campaign.hosts["h1"])]
    assert len([e for e in there if isinstance(e, CommandIssued)]) == 1
    assert len([e for e in there if isinstance(e, CommandApplied)]) == 1


def test_a_killed_hub_continues_where_it_was(campaign):
    campaign.kill_hub()
    before = campaign.state()
    pids = {i.id: i.pid for i in before.instances.values()}
    for name, host in campaign.hosts.items():
        last = before.hosts[name].seq
        wait_until(lambda h=host, n=last: campaign.log_of(h)[-1].seq > n)
    campaign.fuzztui(campaign.file, "--detach")
    campaign.until(lambda s: s.hosts["h2"].seq > before.hosts["h2"].seq)
    state = campaign.until(lambda s: s.hosts["h1"].seq > before.hosts["h1"].seq)
    assert {i.id: i.pid for i in state.instances.values()} == pids  # the engines have continued
    campaign.check_nothing_lost_or_doubled()


def test_a_host_that_was_rebooted_is_resumed(campaign):
    before = campaign.state()
    campaign.hosts["h2"].reboot()
    campaign.until(
        lambda s: (
            s.hosts["h2"].boot != before.hosts["h2"].boot and s.hosts["h2"].state == "connected"
        )
    )
    execs = before.instances["h2_main"].stats.execs
    campaign.until(lambda s: s.instances["h2_main"].stats.execs > execs)
    assert campaign.state().instances["h1_main"].restarts == 0
    campaign.check_nothing_lost_or_doubled()


def test_a_log_that_lost_its_end_in_a_power_cut_is_followed_from_there(campaign):
    host = campaign.hosts["h1"]
    campaign.until(lambda s: s.hosts["h1"].seq > 30)
    host.cut()
    host.inside("pkill", "-9", "-f", "fuzztui")
    tail = host.inside("sh", "-c", f"ls {campaign.over_there}/log/tail-*.jsonl").split()[-1]
    host.inside(
        "sh", "-c", f"head -n 20 {tail} > {tail}.new; cat {tail}.new > {tail}; rm {tail}.new"
    )
    host.mend()
    campaign.until(lambda s: [e for e in campaign.events(HostState) if e.rewound >= 0])
    campaign.until(lambda s: s.hosts["h1"].seq > 21 and s.hosts["h1"].campaign == "running")
    assert [e.rewound for e in campaign.events(HostState) if e.rewound >= 0] == [20]
    kinds = {}
    for record in campaign.records():  # the newest with a number counts
        if record.host == "h1":
            kinds[record.host_seq] = type(record.event)
    for record in campaign.log_of(host):
        # Neither what the hub has sent, nor what is still under way.
        if not isinstance(record.event, PassiveInstance) and record.seq <= max(kinds):
            assert kinds.get(record.seq) is type(record.event)


def test_a_supervisor_that_died_is_started_again(campaign):
    host = campaign.hosts["h1"]
    pid = campaign.state().hosts["h1"].pid
    host.inside("kill", "-9", str(pid))
    campaign.until(lambda s: s.hosts["h1"].pid not in (0, pid))
    campaign.check_nothing_lost_or_doubled()


def test_a_full_disk_over_there_is_told_and_loses_nothing(campaign):
    host = campaign.hosts["h1"]
    host.fill_disk()
    try:
        campaign.until(lambda s: "cannot be written" in s.hosts["h1"].reason)
    finally:
        host.free_disk()
    campaign.until(lambda s: s.hosts["h1"].state == "connected" and not s.hosts["h1"].reason)
    campaign.check_nothing_lost_or_doubled()


def test_what_a_small_limit_left_on_hosts_follows_with_a_larger_one(hosts, tmp_path):
    campaign = HubCampaign(tmp_path, hosts, "small", keep="60KiB")
    campaign.fuzztui(campaign.file, "--detach")
    state = campaign.until(lambda s: s.state == "failed")
    assert {h.state for h in state.hosts.values()} == {"failed"}
    assert all(h.campaign == "running" and "keep" in h.reason for h in state.hosts.values())
    larger = [f"--set=hosts.{name}.keep=20GiB" for name in hosts]
    campaign.fuzztui(campaign.file, "--detach", *larger)
    campaign.until(lambda s: {h.state for h in s.hosts.values()} == {"connected"})
    campaign.check_nothing_lost_or_doubled()
    for entry in campaign.state().entries.values():
        if entry.instance == "h1_main":
            assert (campaign.run / "out/h1_main" / entry.file).exists()
    campaign.stop()


def test_a_host_that_was_given_up_is_tried_again_on_request(hosts, tmp_path):
    campaign = HubCampaign(tmp_path, hosts, "again")
    campaign.fuzztui("hosts", "check", campaign.file)  # a copy of fuzztui is there
    hosts["h1"].fill_disk()
    try:
        campaign.fuzztui(campaign.file, "--detach")
        campaign.until(lambda s: "h1" in s.hosts and s.hosts["h1"].state == "failed")
    finally:
        hosts["h1"].free_disk()
    campaign.fuzztui("ctl", str(campaign.run), "pause", "--instance", "h1", code=1)
    campaign.fuzztui("ctl", str(campaign.run), "resume", "--instance", "h1")
    campaign.until(lambda s: s.hosts["h1"].campaign == "running" and s.instances["h1_main"].corpus)
    campaign.check_nothing_lost_or_doubled()
    campaign.stop()
