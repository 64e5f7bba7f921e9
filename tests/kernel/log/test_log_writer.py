"""The writer: stamps, tails, sealing, full disks, and what it finds when it opens a log."""

import errno
import gzip
import json
import os
import resource
import threading
from contextlib import suppress

import pytest

from fuzztui.kernel.log import writer as writer_module
from fuzztui.kernel.log.files import SEALED, LogError, list_tails
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import TAIL_RECORDS, LogWriter
from fuzztui.kernel.wire.events import EntrySaved, Message, Record, RecordsLost, Stats


def note(n):
    return Message("info", f"number {n}")


def fill(writer, n):
    records = [writer.append(note(writer.last_seq + 1), writer.last_seq / 10) for _ in range(n)]
    writer.flush()
    return records


def closed_log(directory, n, **options):
    """The records of a log that was written and closed."""
    writer = LogWriter(directory)
    records = fill(writer, n)
    writer.close(**options)
    return records


def read(directory):
    return list(LogReader(directory).records())


@pytest.fixture
def small_tails(monkeypatch):
    monkeypatch.setattr(writer_module, "TAIL_RECORDS", 10)


def test_stamps(tmp_path):
    writer = LogWriter(tmp_path / "log")
    assert (writer.last_seq, writer.last_t) == (0, 0.0)
    assert writer.append(note(1), 1.23456) == Record(1, 1.2346, note(1))
    assert writer.append(note(2), 0.5).t == 1.2346, "time never goes back"
    assert writer.append(note(3), float("nan")).t == 1.2346
    assert (writer.last_seq, writer.last_t) == (3, 1.2346)
    writer.close()


def test_records_of_another_log_keep_number_and_time(tmp_path):
    writer = LogWriter(tmp_path)
    copies = [Record(3, 1.5, note(1)), Record(4, 1.5, note(2), "h1", 7, 0.5)]
    for record in copies:
        writer.copy(record)
    for earlier in (Record(4, 2.0, note(3)), Record(5, 1.0, note(3))):
        with pytest.raises(ValueError, match="is not after"):
            writer.copy(earlier)
    writer.flush()
    assert read(tmp_path) == copies
    writer.close()


def test_what_append_returns_is_what_is_read(tmp_path):
    writer = LogWriter(tmp_path)
    records = fill(writer, 5)
    assert read(tmp_path) == records
    writer.close()


def test_nothing_is_visible_before_the_flush(tmp_path):
    writer = LogWriter(tmp_path)
    writer.append(note(1), 0)
    reader = LogReader(tmp_path)
    assert reader.last_seq == 0
    writer.flush()
    reader.refresh()
    assert reader.last_seq == 1
    writer.close()


def test_an_event_that_could_not_be_read_again_is_refused_and_leaves_no_gap(tmp_path):
    writer = LogWriter(tmp_path)
    with pytest.raises(ValueError, match="stability"):
        writer.append(Stats("main", stability=float("inf")), 0)
    assert writer.append(note(1), 0).seq == 1
    writer.close()


def test_full_tails_become_members_and_go(tmp_path):
    records = closed_log(tmp_path, 2 * TAIL_RECORDS + 300)
    tails = list_tails(tmp_path)
    assert [first for first, _ in tails] == [2 * TAIL_RECORDS + 1]
    sealed = gzip.decompress((tmp_path / SEALED).read_bytes()).splitlines()
    assert [json.loads(line)["s"] for line in sealed] == list(range(1, 2 * TAIL_RECORDS + 1))
    assert read(tmp_path) == records


def test_tails_are_bounded_in_bytes_too(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "TAIL_BYTES", 4000)
    writer = LogWriter(tmp_path)
    records = []
    for n in range(40):
        records.append(writer.append(Message("info", "x" * 1000), n))
        writer.flush()
    for _, path in list_tails(tmp_path):
        with suppress(FileNotFoundError):  # sealed meanwhile
            assert path.stat().st_size < 6000
    writer.close()
    assert len(LogReader(tmp_path)._source.index) > 5
    assert read(tmp_path) == records


def test_reopening_goes_on_in_the_same_tail(tmp_path):
    records = []
    for _ in range(4):
        writer = LogWriter(tmp_path)
        assert writer.last_seq == len(records)
        assert writer.last_t == (records[-1].t if records else 0)
        records += fill(writer, 100)
        writer.close()
    assert len(list_tails(tmp_path)) == 1
    assert read(tmp_path) == records


def test_two_writers_are_refused(tmp_path):
    writer = LogWriter(tmp_path)
    with pytest.raises(LogError, match="another process"):
        LogWriter(tmp_path)
    writer.close()
    LogWriter(tmp_path).close()


def test_sealing_happens_elsewhere(tmp_path, small_tails, monkeypatch):
    """Appending and flushing go on while a member is (here: for ever) being written."""
    gate = threading.Event()
    real = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda fd: (gate.wait(), real(fd)))
    writer = LogWriter(tmp_path)
    records = fill(writer, 95)
    assert read(tmp_path) == records
    assert len(list_tails(tmp_path)) == 10
    gate.set()
    writer.close()
    assert len(list_tails(tmp_path)) == 1
    assert read(tmp_path) == records


@pytest.fixture
def file_limit():
    """Sets how large a file of this process may become: writes end short, then fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_loses_nothing(tmp_path, file_limit):
    writer = LogWriter(tmp_path)
    reader = LogReader(tmp_path)
    records = fill(writer, 10)
    path = list_tails(tmp_path)[0][1]
    file_limit(path.stat().st_size + 100)
    for n in range(3):
        records += [writer.append(note(n), 2) for _ in range(10)]
        with pytest.raises(OSError, match="File too large"):
            writer.flush()
        reader.refresh()
        seen = list(reader.records())
        assert seen == records[: len(seen)]
        assert 10 <= len(seen) < 14
    file_limit(resource.RLIM_INFINITY)
    records.append(writer.append(note(99), 3))
    writer.flush()
    reader.refresh()
    assert list(reader.records()) == records
    assert not reader.problems
    writer.close()


def test_a_new_tail_that_cannot_be_made_is_made_later(tmp_path, small_tails, monkeypatch):
    writer = LogWriter(tmp_path)
    records = fill(writer, 10)
    real = writer_module.open_regular

    def refuse(path, *args):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(writer_module, "open_regular", refuse)
    records += [writer.append(note(n), 9) for n in range(25)]
    for _ in range(2):
        with pytest.raises(OSError, match="No space"):
            writer.flush()
    monkeypatch.setattr(writer_module, "open_regular", real)
    writer.close()
    assert read(tmp_path) == records


def test_a_member_that_cannot_be_written_stays_a_tail(tmp_path, small_tails, monkeypatch):
    full = True
    real = os.fdatasync

    def sync(fd):
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(fd)

    monkeypatch.setattr(os, "fdatasync", sync)
    writer = LogWriter(tmp_path)
    records = fill(writer, 45)
    assert read(tmp_path) == records
    full = False
    writer.close()
    assert len(list_tails(tmp_path)) == 1
    assert (tmp_path / SEALED).stat().st_size > 0
    assert read(tmp_path) == records


def test_a_torn_line_is_cut_and_its_number_used_again(tmp_path):
    records = closed_log(tmp_path, 3)
    path = list_tails(tmp_path)[0][1]
    path.write_bytes(path.read_bytes() + b'{"s":4,"t":')
    assert read(tmp_path) == records
    records += closed_log(tmp_path, 2)
    reader = LogReader(tmp_path)
    assert [r.seq for r in reader.records()] == [1, 2, 3, 4, 5]
    assert list(reader.records()) == records
    assert not reader.problems


def test_a_tail_that_was_sealed_but_not_removed_is_not_counted_twice(tmp_path, small_tails):
    writer = LogWriter(tmp_path)
    records = fill(writer, 10)
    path = list_tails(tmp_path)[0][1]
    copy = path.read_bytes()
    records += fill(writer, 5)
    writer.close()
    path.write_bytes(copy)
    assert read(tmp_path) == records
    LogWriter(tmp_path).close()
    assert not path.exists()
    assert read(tmp_path) == records


@pytest.mark.slow
@pytest.mark.parametrize("before_flush", [False, True])
def test_a_log_that_is_killed_while_it_is_closed_is_not_damaged(tmp_path, before_flush):
    """At any byte of the last member and of the end mark; the tail goes after both are written."""
    writer = LogWriter(tmp_path)
    records = fill(writer, 10)
    path = list_tails(tmp_path)[0][1]
    tail = path.read_bytes()
    writer.close(at_rest=True)
    whole = (tmp_path / SEALED).read_bytes()
    for size in range(len(whole) + 1):
        path.write_bytes(tail)
        (tmp_path / SEALED).write_bytes(whole[:size])
        reader = LogReader(tmp_path)
        assert (list(reader.records()), reader.check(), reader.problems) == (records, True, [])
        writer = LogWriter(tmp_path)
        assert (writer.last_seq, writer.repairs) == (10, [])
        if not before_flush:
            fill(writer, 1)
        writer.close()  # as if it were killed: no end mark is written
        reader = LogReader(tmp_path)
        assert (reader.last_seq, reader.problems) == (10 if before_flush else 11, [])
        writer = LogWriter(tmp_path)
        assert writer.repairs == []
        writer.close()
        for file in tmp_path.iterdir():
            file.unlink()


def test_a_torn_member_is_made_again_from_its_tail(tmp_path, small_tails):
    writer = LogWriter(tmp_path)
    records = fill(writer, 10)
    path = list_tails(tmp_path)[0][1]
    copy = path.read_bytes()
    records += fill(writer, 5)
    writer.close()
    sealed = tmp_path / SEALED
    whole = sealed.read_bytes()
    for damage in (whole[:-3], whole[:20], whole[:-40] + bytes(40)):
        path.write_bytes(copy)
        sealed.write_bytes(damage)
        LogWriter(tmp_path).close()
        assert sealed.read_bytes() == whole
        assert read(tmp_path) == records
    assert not list(tmp_path.glob("*damaged*"))


def test_damage_in_the_middle_costs_only_what_is_damaged(tmp_path, small_tails):
    records = closed_log(tmp_path, 45)
    sealed = tmp_path / SEALED
    data = bytearray(sealed.read_bytes())
    second = LogReader(tmp_path)._source.index[1]
    data[second.offset + 2] ^= 255
    sealed.write_bytes(data)
    assert read(tmp_path) == records, "only its header was damaged"
    data[second.offset + second.size - 20] ^= 255
    sealed.write_bytes(data)
    kept = records[:10] + records[20:]
    reader = LogReader(tmp_path)
    assert list(reader.records()) == kept
    assert reader.problems
    with suppress(BaseException):
        gzip.decompress(sealed.read_bytes())
        raise AssertionError("the test damages nothing")
    kept += closed_log(tmp_path, 10)
    reader = LogReader(tmp_path)
    assert reader.check()
    seen = list(reader.records())
    assert [r for r in seen if not isinstance(r.event, RecordsLost)] == kept
    assert [(r.event.first, r.seq) for r in seen if isinstance(r.event, RecordsLost)] == [(11, 20)]
    assert not reader.problems, "a repaired log is sound"
    lines = gzip.decompress(sealed.read_bytes()).splitlines()
    assert [json.loads(line)["s"] for line in lines] == [*range(1, 11), *range(20, 51)]
    (aside,) = tmp_path.glob("*.damaged-*")
    assert aside.read_bytes() == data[second.offset : second.end]


def test_foreign_lines_in_a_tail_are_put_aside(tmp_path):
    records = closed_log(tmp_path, 5)
    path = list_tails(tmp_path)[0][1]
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2:2] = [b"\x1b[31m not a record\n"]
    path.write_bytes(b"".join(lines))
    before = path.read_bytes()
    reader = LogReader(tmp_path)
    assert list(reader.records()) == records
    assert len(reader.problems) == 1
    records += closed_log(tmp_path, 5)
    reader = LogReader(tmp_path)
    assert list(reader.records()) == records
    assert not reader.problems
    assert [p.read_bytes() for p in tmp_path.glob("*.damaged")] == [before]


def test_a_lost_tail_end_is_kept_aside_when_nothing_covers_it(tmp_path, small_tails):
    records = closed_log(tmp_path, 21)
    sealed = tmp_path / SEALED
    sealed.write_bytes(sealed.read_bytes()[:-5])
    for _, tail in list_tails(tmp_path):
        tail.unlink()
    reader = LogReader(tmp_path)
    kept = list(reader.records())
    assert kept == records[: len(kept)]
    assert len(kept) >= 10
    assert reader.problems
    writer = LogWriter(tmp_path)
    writer.close()
    assert writer.last_seq == 21
    *seen, end = LogReader(tmp_path).records()
    assert [r for r in seen if not isinstance(r.event, RecordsLost)] == kept
    assert seen[-1].seq == 20, "as the member's header says"
    assert (end.event.first, end.seq) == (21, 21), "and no end was found"
    (aside,) = tmp_path.glob("*damaged*")
    assert aside.stat().st_size > 100


@pytest.mark.parametrize("name", [SEALED, "tail-000000000001.jsonl"])
def test_a_fifo_in_the_way_is_an_error_in_words(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(LogError, match="not a regular file"):
        LogWriter(tmp_path)


def test_a_directory_that_cannot_be_written_is_an_oserror(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="file"):
        LogWriter(tmp_path / "file" / "log")


def test_long_records(tmp_path):
    writer = LogWriter(tmp_path)
    event = EntrySaved("main", 1, "f" * (3 << 20))
    records = [writer.append(event, 0), writer.append(note(1), 0)]
    writer.flush()
    assert read(tmp_path) == records
    writer.close()
    assert read(tmp_path) == records


def test_a_log_at_rest_is_one_file_for_zcat(tmp_path):
    records = closed_log(tmp_path, 7, at_rest=True)
    assert list_tails(tmp_path) == []
    sealed = gzip.decompress((tmp_path / SEALED).read_bytes()).splitlines()
    assert [json.loads(line)["s"] for line in sealed] == list(range(1, 8))
    records += closed_log(tmp_path, 2)
    assert read(tmp_path) == records
