"""Whatever is cut off a log, what is left is a clean prefix and can be written on."""

import shutil
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from event_strategies import events
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzztui.kernel.log import writer as writer_module
from fuzztui.kernel.log.files import SEALED, list_tails
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.events import Message, RecordsLost

RECORDS = 47
TAIL = 10


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    directory = tmp_path_factory.mktemp("log")
    with mock.patch.object(writer_module, "TAIL_RECORDS", TAIL):
        writer = LogWriter(directory)
        for n in range(1, RECORDS + 1):
            writer.append(Message("info", f"number {n}"), n)
        writer.close()
    return directory


def sealed_upto(reader):
    return reader._source.index[-1].last if reader._source.index else 0


@settings(
    max_examples=examples(150),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_truncation_at_any_byte(log, data):
    whole = list(LogReader(log).records())
    with tempfile.TemporaryDirectory() as tmp:
        copy = Path(shutil.copytree(log, Path(tmp) / "log"))
        tail = list_tails(copy)[0][1]
        victim = data.draw(st.sampled_from([copy / SEALED, tail]))
        with victim.open("r+b") as f:
            f.truncate(data.draw(st.integers(0, victim.stat().st_size)))
        if victim != tail:
            tail.unlink()
        reader = LogReader(copy)
        reader.check()
        seen = list(reader.records())
        assert seen == whole[: len(seen)]
        assert len(seen) >= (RECORDS // TAIL * TAIL if victim == tail else 0)
        # Lines of a tail have no mark of their end; an empty log is one that was never started.
        assert bool(reader.problems) == (victim != tail and (copy / SEALED).stat().st_size > 0)
        writer = LogWriter(copy)
        assert writer.last_seq >= len(seen)
        seen.append(writer.append(Message("info", "on"), 99))
        writer.close()
        reader = LogReader(copy)
        reader.check()
        assert not reader.problems
        after = list(reader.records())
        lost = [r for r in after if isinstance(r.event, RecordsLost)]
        assert [r for r in after if r not in lost] == seen
        assert not (lost and victim == tail)


@settings(
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_damage_costs_only_what_it_hit(log, data):
    """Bytes overwritten anywhere: what is read is in order, and the writer continues."""
    whole = {r.seq: r for r in LogReader(log).records()}
    with tempfile.TemporaryDirectory() as tmp:
        copy = Path(shutil.copytree(log, Path(tmp) / "log"))
        victim = data.draw(st.sampled_from([copy / SEALED, list_tails(copy)[0][1]]))
        junk = data.draw(st.binary(min_size=1, max_size=12))
        at = data.draw(st.integers(0, victim.stat().st_size - 1))
        with victim.open("r+b") as f:
            f.seek(at)
            f.write(junk)
        seqs = [r.seq for r in LogReader(copy).records()]
        assert seqs == sorted(set(seqs))
        writer = LogWriter(copy)
        record = writer.append(Message("info", "on"), 99)
        writer.close()
        after = list(LogReader(copy).records())
        assert after[-1] == record
        lost = whole.keys() - {r.seq for r in after}
        assert len(lost) <= 2 * TAIL


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), events()),
        st.tuples(st.sampled_from(["flush", "look", "reopen", "crash"]), st.none()),
    ),
    max_size=60,
)


@settings(max_examples=examples(60))
@given(STEPS, st.integers(1, 6))
def test_whatever_the_writer_does_a_follower_sees_exactly_what_was_flushed(steps, tail):
    with (
        tempfile.TemporaryDirectory() as tmp,
        mock.patch.object(writer_module, "TAIL_RECORDS", tail),
    ):
        directory = Path(tmp)
        writer = LogWriter(directory)
        follower = LogReader(directory)
        flushed, buffered, seen = [], [], []
        for step, event in [*steps, ("flush", None), ("look", None)]:
            if step == "append":
                buffered.append(writer.append(event, len(buffered)))
            elif step == "look":
                follower.refresh()
                seen += follower.records(len(seen))
                assert seen == flushed
            else:
                if step == "crash":
                    writer._waiting.clear()  # what was not flushed dies with its writer
                    buffered.clear()
                else:
                    writer.flush()
                    flushed += buffered
                    buffered.clear()
                if step != "flush":
                    writer.close()
                    writer = LogWriter(directory)
        writer.close()
        assert list(LogReader(directory).records()) == flushed
        assert follower.problems == []
