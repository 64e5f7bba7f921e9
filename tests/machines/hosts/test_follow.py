"""What a host sends of its log to a hub of many instances."""

from fuzztui.kernel.wire.events import EntrySaved, Event, Record, Resources, Stats
from fuzztui.machines.hosts.follow import latest
from fuzztui.machines.hosts.member import ALL_STATISTICS, gathered_s


def test_of_statistics_that_wait_the_last_of_each_instance_is_sent() -> None:
    events: list[Event] = [
        Stats("a", execs=1),
        Stats("b", execs=1),
        EntrySaved("a", 1),
        Resources("a", 0.5),
        Stats("a", execs=2),
        EntrySaved("a", 2),
        Stats("a", execs=3),
    ]
    sent = latest(Record(n, float(n), event) for n, event in enumerate(events, 1))
    assert [record.seq for record in sent] == [2, 3, 4, 6, 7]
    assert latest([]) == []


def test_a_hub_of_few_instances_gets_all() -> None:
    assert gathered_s(ALL_STATISTICS) == 0
    assert 1 < gathered_s(5 * ALL_STATISTICS) <= 10
    assert gathered_s(100 * ALL_STATISTICS) == 10
