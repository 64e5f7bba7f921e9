"""Records of hosts: what they change in the campaign, and what only in the host's row."""

import pytest
from restored import restored

from fuzztui.kernel.model.checkpoint import to_json
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import CodecError, decode_record, encode_record


class HubLog:
    """Stamps events as a hub does."""

    def __init__(self) -> None:
        self.state = State()
        self.seq = 0
        self.own(ev.CampaignStarted("c", "zest", wall=1e9))

    def own(self, *events: ev.Event) -> None:
        for event in events:
            self.seq += 1
            apply(self.state, [ev.Record(self.seq, self.seq / 10, event)])

    def relay(self, host: str, seq: int, event: ev.Event, t: float = 5.0) -> None:
        self.seq += 1
        record = ev.Record(self.seq, self.seq / 10, event, host, seq, t)
        apply(self.state, [decode_record(encode_record(record))])


def test_a_record_of_a_host_survives_the_codec() -> None:
    record = ev.Record(3, 1.5, ev.InstanceState("h1_main", "running"), "h1", 17, 0.25)
    assert decode_record(encode_record(record)) == record
    assert decode_record(encode_record(ev.Record(3, 1.5, record.event))).host == ""


@pytest.mark.parametrize(
    "stamp", ['"h":"","hs":1,"ht":0', '"h":"a"', '"h":"a","hs":0,"ht":1', '"h":7,"hs":1,"ht":1']
)
def test_a_line_with_an_impossible_host_is_no_record(stamp: str) -> None:
    with pytest.raises(CodecError):
        decode_record('{"s":1,"t":0,"k":"message","level":"info","text":"x",' + stamp + "}")


def test_positions_and_instances_are_kept_by_host() -> None:
    log = HubLog()
    log.own(ev.HostState("h1", "connected", address="ann@box", run="/r", clock_ms=-3_600_000))
    log.relay("h1", 4, ev.InstanceState("h1_main", "running"), t=7.5)
    log.relay("h1", 5, ev.Stats("h1_main", execs=10))
    log.relay("h2", 2, ev.Stats("h2_main", execs=32))
    hosts = log.state.hosts
    assert (hosts["h1"].seq, hosts["h1"].t, hosts["h1"].clock_s) == (5, 7.5, -3600.0)
    assert hosts["h2"].seq == 2
    assert {i.id: i.host for i in log.state.instances.values()} == {
        "h1_main": "h1", "h2_main": "h2",
    }  # fmt: skip
    assert log.state.series["execs"].last == 42


def test_the_end_of_one_host_is_not_the_end_of_the_campaign() -> None:
    log = HubLog()
    log.own(ev.CampaignState("running"))
    log.relay("h1", 1, ev.SupervisorStarted(77, 1.0, host="box", cores=4))
    log.relay("h2", 1, ev.SupervisorStarted(78, 1.0, host="cox", cores=8))
    log.relay("h1", 2, ev.CampaignEnded("failed", "no space"))
    log.relay("h2", 2, ev.VerdictsChanged())
    state = log.state
    assert state.state == "running"
    assert state.cores == 12
    assert (state.hosts["h1"].campaign, state.hosts["h1"].campaign_reason) == ("failed", "no space")


def test_a_host_that_cannot_write_its_log_has_no_rate_until_it_reports_again() -> None:
    log = HubLog()
    log.own(ev.CampaignState("running"), ev.HostState("h1", "connected"))
    log.relay("h1", 1, ev.InstanceState("h1_main", "running"))
    log.relay("h1", 2, ev.Stats("h1_main", execs=10, execs_per_sec=5.0))
    assert log.state.instances["h1_main"].execs_per_sec == 5.0
    log.own(ev.HostState("h1", "connected", "the disk is full"))
    assert log.state.instances["h1_main"].execs_per_sec == -1.0
    log.own(ev.HostState("h1", "connected"))
    log.relay("h1", 3, ev.Stats("h1_main", execs=20, execs_per_sec=6.0))
    assert log.state.instances["h1_main"].execs_per_sec == 6.0


def test_lost_records_of_a_host_are_counted_in_its_own_numbers() -> None:
    log = HubLog()
    log.relay("h1", 100, ev.RecordsLost(91, "damaged"))
    assert log.state.lost == 10


def test_the_mutant_phase_lasts_until_the_last_host_has_left_it() -> None:
    log = HubLog()
    for host in ("h1", "h2"):
        log.relay(host, 1, ev.PhaseStarted("mutants", {"count": 3, "mutants_s": 60.0}))
    assert (log.state.stage, log.state.plan["count"]) == ("mutants", 6)
    assert log.state.plan["mutants_s"] == 60.0
    log.relay("h1", 2, ev.PhaseStarted("target", {"count": 3}))
    assert log.state.stage == "mutants"
    log.relay("h2", 2, ev.PhaseStarted("target", {"count": 3}))
    assert log.state.stage == "target"


def test_a_checkpoint_keeps_the_hosts() -> None:
    log = HubLog()
    log.own(ev.HostState("h1", "lost", "no answer for 10 s"))
    log.relay("h1", 9, ev.EntrySaved("h1_main", 3, "queue/id:000003"))
    again = restored(to_json(log.state))
    assert again.hosts == log.state.hosts
    assert again.instances["h1_main"].host == "h1"
