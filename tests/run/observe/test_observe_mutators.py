"""From the block of a text engine to the log: at once, soon, or now and then."""

import pytest

from fuzztui.engines.text.block import BLOCK, StatsBlock, Writer
from fuzztui.engines.text.table import ARMS
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.codec import decode_event, encode_event
from fuzztui.kernel.wire.events import MutatorStats, Record
from fuzztui.kernel.wire.mixture import MAX_ARMS, MAX_NAME, class_of
from fuzztui.run.observe import mutators
from fuzztui.run.observe.directory import DirectoryObserver
from fuzztui.run.observe.mutators import MutatorBlock
from fuzztui.run.observe.relay import Offsets


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(mutators.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def writer(tmp_path):
    return Writer(tmp_path / BLOCK, StatsBlock(0.25, 0.75, 0.0))


def test_arms_are_told_by_their_names_and_nothing_is_told_twice(tmp_path, writer, clock):
    block = MutatorBlock(str(tmp_path), "main")
    first = block.look()
    assert (first.instance, first.havoc, first.text, first.splice) == ("main", 0.25, 0.75, 0.0)
    assert first.names == list(ARMS)
    assert decode_event(encode_event(first)) == first
    assert block.look(last=True) is None
    clock[0] += 100
    assert block.look() is None


def test_what_says_most_is_told_soonest(tmp_path, writer, clock):
    block = MutatorBlock(str(tmp_path), "main")
    block.look()
    arm = writer.block.arms[3]

    def told_after():
        writer.publish(settings=True)
        start = clock[0]
        while (told := block.look()) is None:
            clock[0] += 0.25
            assert clock[0] < start + 60
        return clock[0] - start, told

    arm.tried += 1
    assert told_after()[0] == pytest.approx(mutators.COUNTS_S, abs=0.6)
    arm.found += 1
    seconds, told = told_after()
    assert seconds == pytest.approx(mutators.FINDS_S, abs=0.6)
    assert told.found[3] == 1
    writer.block.havoc, writer.block.text = 0.5, 0.5
    seconds, told = told_after()
    assert seconds <= 0.5
    assert told.havoc == 0.5
    writer.block.adaptive = True
    assert told_after()[0] <= 0.5
    writer.block.havoc, writer.block.text = 0.4, 0.6  # it does so all the time
    assert told_after()[0] == pytest.approx(mutators.COUNTS_S, abs=0.6)


def test_the_last_look_waits_for_nothing(tmp_path, writer, clock):
    block = MutatorBlock(str(tmp_path), "main")
    block.look()
    writer.block.trials += 5
    writer.publish()
    assert block.look() is None
    assert block.look(last=True).trials == 5


@pytest.mark.parametrize("content", [b"", b"x" * 70_000, b"fuzztui text 1\n\0" + b"\xff" * 70_000])
def test_what_is_no_block_is_nothing(tmp_path, clock, content):
    block = MutatorBlock(str(tmp_path), "main")
    assert block.look() is None
    (tmp_path / BLOCK).write_bytes(content)
    assert block.look(last=True) is None


def observer(out, state=None):
    return DirectoryObserver(out, state or State(), Offsets(0, {}), {})


def test_the_observer_tells_them_and_a_new_one_goes_on(tmp_path, writer):
    out = tmp_path / "out"
    (out / "main").mkdir(parents=True)
    block = Writer(out / "main" / BLOCK, StatsBlock(0.5, 0.25, 0.25))
    first = observer(out)
    first.add("main")
    events = [e for e in first.poll().events if isinstance(e, MutatorStats)]
    first.close()
    assert [e.instance for e in events] == ["main"]
    state = State()
    apply(state, [Record(1, 1.0, events[0])])
    second = observer(out, state)
    second.add("main")
    assert not [e for e in second.observe_final("main").events if isinstance(e, MutatorStats)]
    block.block.trials += 1
    block.publish()
    assert [
        e.trials for e in second.observe_final("main").events if isinstance(e, MutatorStats)
    ] == [1]
    second.close()


def test_what_pays_on_a_mutant_is_told_too(tmp_path):
    slot = tmp_path / "m1"
    slot.mkdir()
    Writer(slot / BLOCK, StatsBlock())
    one = observer(tmp_path / "out")
    one.add("m1", mutant=slot)
    told = [e for e in one.observe_final("m1").events if isinstance(e, MutatorStats)]
    assert [e.instance for e in told] == ["m1"]
    one.close()


def test_the_log_takes_all_arms_that_there_are():
    assert len(ARMS) <= MAX_ARMS
    assert max(map(len, ARMS)) <= MAX_NAME
    assert [a for a in ARMS if class_of(a) != "text"] == ["fragment", "balanced", "havoc"]
