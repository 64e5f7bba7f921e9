import json
import os
from collections import Counter, deque
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.codec import MAX_EVENT, encode_event
from fuzztui.kernel.wire.events import (
    CommandApplied,
    EntryDescribed,
    Event,
    GoalsUncovered,
    Message,
    MutantRuns,
    MutantsFound,
    MutantState,
    MutationStats,
    Record,
    RecordsLost,
    Stats,
    TargetingStats,
    Unknown,
)
from fuzztui.run.observe.relay import CHUNK, Logged, Offsets, Relay, end_torn_line, relayed


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.jsonl"


def relay(path, offset=0, done=None):
    return Relay(path, "main", offset, done or Logged())


def test_the_directory_says_which_instance(path):
    path.write_text('{"k":"message","level":"info","text":"t","instance":"other"}\n{"k":"new"}\n')
    read = [Message("info", "t", "main"), Unknown("new", {"instance": "main"})]
    assert relay(path).read() == read


def test_a_torn_line_waits_for_its_end(path):
    line = encode_event(Message("info", "täxt", "main")).encode() + b"\n"
    tail = relay(path)
    assert tail.read() == []
    path.write_bytes(line + line[:9])
    assert tail.read() == [Message("info", "täxt", "main")]
    assert tail.read() == []
    with path.open("ab") as f:
        f.write(line[9:])
    assert tail.read() == [Message("info", "täxt", "main")]
    assert tail.offset == 2 * len(line)
    assert tail.skipped_lines() is None


def test_a_dead_writers_line_is_ended(path):
    end_torn_line(path)
    assert not path.exists()
    path.write_bytes(b'{"k":"mess')
    end_torn_line(path)
    end_torn_line(path)
    assert path.read_bytes() == b'{"k":"mess\n'
    tail = relay(path)
    assert tail.read() == []
    warning = tail.skipped_lines()
    assert warning is not None
    assert "1 line that is no event" in warning.text


def test_lines_that_are_no_event_of_an_engines(path):
    lines = [
        *(b"", b"[]", b"{}", b"\xff\xfe"),
        b'{"k":"campaign_ended","state":"finished"}',
        b'{"k":"stats","instance":"main","execs":1}',
        b'{"k":"entry_described","id":"one"}',
        b'{"k":"message","level":"info","text":"\\ud800"}',
        b'{"k":"future","x":NaN}',
        b"[" * 100_000,
        b'{"k":"message","level":"info","text":"good","instance":""}',
    ]
    path.write_bytes(b"\n".join(lines) + b"\n")
    tail = relay(path)
    events = tail.read(last=True)
    assert [e.text for e in events if isinstance(e, Message)] == ["\ud800", "good"]
    assert len(events) == 2
    warning = tail.skipped_lines()
    assert warning is not None
    assert "8 lines" in warning.text


def test_an_endless_line_is_passed_over(path):
    path.write_bytes(b"x" * (2 * MAX_EVENT + 7) + b'\n{"k":"future"}\n')
    tail = relay(path)
    assert tail.read(last=True) == [Unknown("future", {"instance": "main"})]
    assert tail.offset == path.stat().st_size


def test_a_program_of_thousands_of_mutants_comes_in_parts(path):
    item = {"id": "x" * 100, "line": 3, "before": "y" * 120, "after": "z" * 120}
    told = [MutantsFound("main", f"m{n}", mutants=[item] * 200) for n in range(20)]
    path.write_text("".join(encode_event(e) + "\n" for e in told))
    tail, events, reads = relay(path), [], 0
    while tail.offset < path.stat().st_size:
        events += tail.read()
        reads += 1
        left = path.stat().st_size - tail.offset
        assert tail.behind or left < CHUNK, "what is left is asked for at once"
    assert events == told
    assert reads > 3
    assert tail.read() == []
    assert not tail.behind


def test_a_torn_line_is_not_asked_for_again_and_again(path):
    path.write_text('{"k":"a"}\n{"k":"mess')
    tail = relay(path)
    assert len(tail.read()) == 1
    assert not tail.behind


def test_a_file_that_became_shorter_is_read_from_its_start(path):
    path.write_text('{"k":"a"}\n')
    tail = relay(path, offset=500)
    assert [e.name for e in tail.read()] == ["a"]
    assert "shorter" in tail.skipped_lines().text


texts = st.text(max_size=8)
engine_events = st.one_of(
    st.builds(Message, st.just("info"), texts, st.just("main")),
    st.builds(EntryDescribed, st.just("main"), st.integers(0, 3)),
    st.builds(CommandApplied, st.sampled_from(["c1", "c2"]), st.just("main")),
    st.builds(MutantState, st.just("main"), texts, st.sampled_from(["alive", "killed"])),
    st.builds(MutantRuns, st.just("main"), st.dictionaries(texts, st.just([1, 2, 3]))),
    st.builds(MutationStats, st.just("main"), st.floats(0, 9)),
    st.builds(MutantsFound, st.just("main"), texts, mutants=st.just([{"id": "a"}])),
)
own_events = st.one_of(
    st.builds(Stats, st.just("main"), st.integers(0, 9)),
    st.builds(CommandApplied, st.sampled_from(["x1", "x2"]), st.just("main")),
)


@given(
    events=st.lists(engine_events, max_size=30),
    own=st.lists(own_events, max_size=30),
    data=st.data(),
)
def test_each_line_once_wherever_the_supervisor_was_killed(tmp_path_factory, events, own, data):
    """Log and offsets are cut at any two moments, the offsets not after the log."""
    path = tmp_path_factory.mktemp("relay") / "events.jsonl"
    path.write_text("".join(encode_event(e) + "\n" for e in events))
    ends = [0]
    for event in events:
        ends.append(ends[-1] + len(encode_event(event)) + 1)
    logged = data.draw(st.integers(0, len(events)))
    saved = data.draw(st.integers(0, logged))
    after: list[Event] = []  # the log after the offsets' seq: theirs, and ours in between
    mine = deque(own)
    for event in events[saved:logged]:
        while mine and data.draw(st.booleans()):
            after.append(mine.popleft())
        after.append(event)
    records = [Record(n, 0.0, e) for n, e in enumerate([*after, *mine], 1)]
    tail = Relay(path, "main", ends[saved], relayed(records).get("main", Logged()))
    assert tail.read(last=True) == events[logged:]


def test_offsets_are_only_believed_when_the_log_holds_them(tmp_path):
    path = tmp_path / "offsets.json"
    assert Offsets.load(path, 10) == Offsets(0, {})
    Offsets(10, {"main": 123}).save(path)
    assert Offsets.load(path, 10) == Offsets(10, {"main": 123})
    assert Offsets.load(path, 9) == Offsets(0, {})  # the machine crashed: the log lost its end
    for wrong in ("", "[]", "{", '{"seq": "1", "bytes": {}}', "[" * 100_000):
        path.write_text(wrong)
        assert Offsets.load(path, 10) == Offsets(0, {})
    path.write_text(json.dumps({"seq": 1, "bytes": {"main": -5, "s1": "x", "s2": 7}}))
    assert Offsets.load(path, 10) == Offsets(1, {"s2": 7})
    path.unlink()
    os.mkfifo(path)
    assert Offsets.load(path, 10) == Offsets(0, {})


@given(
    events=st.lists(st.builds(EntryDescribed, st.just("main"), st.integers(0, 99)), max_size=30)
    | st.lists(st.builds(Message, st.just("info"), st.just("twice"), st.just("main"))),
    data=st.data(),
)
def test_lines_that_the_log_lost_are_carried_again_and_no_others(tmp_path_factory, events, data):
    """Lost at the start, in the middle, at the end, and among lines that are alike."""
    events = [*{(e.kind, getattr(e, "id", n)): e for n, e in enumerate(events)}.values()]
    path = tmp_path_factory.mktemp("relay") / "events.jsonl"
    path.write_text("".join(f"{encode_event(e)}\n" for e in events))
    lost = data.draw(st.sets(st.integers(0, max(len(events) - 1, 0))))
    log = [
        Record(n, 0.0, RecordsLost(n) if n - 1 in lost else event)
        for n, event in enumerate(events, 1)
    ]
    done = relayed(log).get("main", Logged())
    again = relay(path, done=done).read(last=True)
    kept = [record.event for record in log if not isinstance(record.event, RecordsLost)]
    assert Counter(map(encode_event, [*kept, *again])) == Counter(map(encode_event, events))


words = st.sampled_from(["pending", "alive", "killed", "skipped"])
mutants = st.sampled_from(["a", "b", "c"])


def runs_of(**counts):
    return MutantRuns("main", {key: [count, 0, 0] for key, count in counts.items()})


def goals(*gone, anew=False, **reached):
    left = {at: {"frontier": n % 2 == 1, "reached": n, "types": []} for at, n in reached.items()}
    return GoalsUncovered("main", 9, left, list(gone), anew)


def drawn(lost):
    """In place of ``st.data()``: an example that draws this."""
    return SimpleNamespace(draw=lambda strategy: lost)


@example(events=[runs_of(a=1, b=1), runs_of(a=2)], data=drawn({0}))
@example(events=[runs_of(a=1), runs_of(a=2), runs_of(a=1)], data=drawn({0}))
@example(events=[runs_of(a=1), runs_of(a=2), runs_of(a=1)], data=drawn({2}))
@example(
    events=[MutantState("main", "a", "alive"), MutantState("main", "a", "killed")], data=drawn({0})
)
@example(
    events=[
        MutantState("main", "a", "alive"),
        MutantState("main", "b", "killed"),
        MutantState("main", "a", "killed"),
    ],
    data=drawn({0, 1}),
)
@example(events=[goals(a=1, anew=True), goals("a", b=2)], data=drawn({0}))
@example(events=[goals(anew=True), goals(a=1)], data=drawn({0}))
@example(events=[goals(a=1, anew=True), goals(b=2)], data=drawn({0}))
@example(events=[goals(a=1), goals("a"), goals(a=2)], data=drawn({1}))
@given(
    events=st.lists(
        st.one_of(
            st.builds(TargetingStats, st.just("main"), targets=st.integers(0, 9)),
            st.builds(goals, st.sampled_from("ab"), c=st.integers(0, 3), d=st.integers(0, 3)),
            st.builds(goals, st.sampled_from("cd"), a=st.integers(0, 3), b=st.integers(0, 3)),
            st.builds(MutantState, st.just("main"), mutants, words),
            st.builds(
                MutantRuns,
                st.just("main"),
                st.dictionaries(mutants, st.lists(st.integers(0, 5), min_size=3, max_size=3)),
            ),
            st.builds(
                MutantsFound,
                st.just("main"),
                st.just("m"),
                mutants=st.lists(
                    st.fixed_dictionaries({"id": mutants, "line": st.integers(0, 3)}), max_size=3
                ),
            ),
            st.builds(MutationStats, st.just("main"), st.integers(0, 9).map(float)),
        ),
        min_size=2,
        max_size=20,
    ),
    data=st.data(),
)
def test_what_was_lost_changes_nothing_that_is_newer(tmp_path_factory, events, data):
    """A repaired log says in the end of each mutant what the whole log says."""
    path = tmp_path_factory.mktemp("relay") / "events.jsonl"
    path.write_text("".join(f"{encode_event(e)}\n" for e in events))
    lost = data.draw(st.sets(st.integers(0, len(events) - 1), min_size=1))
    whole = [Record(n, 0.0, event) for n, event in enumerate(events, 1)]
    log = [replace(r, event=RecordsLost(r.seq)) if n in lost else r for n, r in enumerate(whole)]
    again = relay(path, done=relayed(log).get("main", Logged())).read(last=True)
    log += [Record(n, 0.0, event) for n, event in enumerate(again, len(log) + 1)]
    before, after = State(), State()
    apply(before, whole)
    apply(after, log)

    def known(state):
        return {key: (row.state, row.line, row.counts) for key, row in state.mutants.items()}, (
            state.mutation,
            state.types,
            state.uncovered_goals,
        )

    assert known(after) == known(before)


def test_a_line_like_one_that_the_log_holds_is_new_once_the_file_was_read(path):
    line = MutantState("main", "a", "alive")
    path.write_text(encode_event(line) + "\n")
    own = Message("info", "said by the supervisor", "main")
    log = [RecordsLost(1), line, own]
    tail = relay(path, done=relayed(Record(n, 0.0, e) for n, e in enumerate(log, 1))["main"])
    assert tail.read() == []
    assert tail.read() == []
    with path.open("a") as f:
        f.write(encode_event(own) + "\n")
    assert tail.read() == [own]


def test_offsets_from_before_records_were_lost_are_a_fresh_start(tmp_path):
    path = tmp_path / "offsets.json"
    Offsets(7, {"main": 99}).save(path)
    assert Offsets.load(path, 10) == Offsets(7, {"main": 99})
    assert Offsets.load(path, 10, lost=3) == Offsets(0, {}, 3)
    Offsets(9, {"main": 99}, 3).save(path)
    assert Offsets.load(path, 10, lost=3).seq == 9
    path.write_text('{"seq": 7, "bytes": {"main": 99}}')
    assert Offsets.load(path, 10).seq == 7, "as earlier versions wrote it"


def test_an_old_state_of_a_mutant_is_not_recorded_behind_its_kill(path):
    old, other = (MutantState("main", key, "alive") for key in "ab")
    kill = MutantState("main", "a", "killed")
    path.write_text("".join(f"{encode_event(e)}\n" for e in (old, other, kill)))
    done = relayed([Record(2, 0.0, RecordsLost(1)), Record(3, 0.0, kill)])["main"]
    assert relay(path, done=done).read() == [other]
