"""The reader: places, paging, following, foreign files."""

import errno
import gzip
import os
import random
import subprocess

import pytest

from fuzztui.kernel.log import gzipped, plain, sources
from fuzztui.kernel.log import writer as writer_module
from fuzztui.kernel.log.files import SEALED, LogError, list_tails
from fuzztui.kernel.log.lines import Problems
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.codec import encode_record
from fuzztui.kernel.wire.events import Message, Record, Unknown


def write(directory, count, *, name="", at_rest=False):
    """A log of messages, two a second."""
    writer = LogWriter(directory)
    for n in range(1, count + 1):
        writer.append(Message("info", f"{name} {n}"), n // 2)
    writer.close(at_rest=at_rest)


@pytest.fixture
def small_members(monkeypatch):
    monkeypatch.setattr(writer_module, "TAIL_RECORDS", 10)


@pytest.fixture
def run(tmp_path, small_members):
    """A run whose log has members of 10 records and a tail of 5."""
    write(tmp_path / "log", 75)
    return tmp_path


def numbers(reader, *args, **kw):
    return [r.seq for r in reader.records(*args, **kw)]


def test_every_place_that_names_a_log(run):
    for path in (run, run / "log"):
        reader = LogReader(path)
        assert numbers(reader) == list(range(1, 76))
        assert (reader.last_seq, reader.last_t) == (75, 37.0)
    assert numbers(LogReader(run / "log" / SEALED)) == list(range(1, 71))
    assert numbers(LogReader(list_tails(run / "log")[0][1])) == list(range(71, 76))


def test_records_from_anywhere(run):
    reader = LogReader(run)
    for after in range(77):
        assert numbers(reader, after) == list(range(after + 1, 76))
        assert numbers(reader, after, 13) == list(range(after + 1, min(after + 14, 76)))
    assert numbers(reader, 0, 0) == []


def test_few_blocks_are_decoded_and_remembered(run, monkeypatch):
    reader = LogReader(run)
    decoded = []
    real = reader._source.load
    monkeypatch.setattr(reader._source, "load", lambda b: decoded.append(b.first) or real(b))
    for _ in range(3):
        assert numbers(reader, 34, 3) == [35, 36, 37]
    assert decoded == [31]


def test_a_generator_goes_on_over_refreshes_and_sealing(run):
    reader = LogReader(run)
    records = reader.records()
    seen = [next(records).seq for _ in range(73)]
    write(run / "log", 30)
    reader.refresh()
    seen += [r.seq for r in records]
    assert seen == list(range(1, 106))


def test_no_log_is_an_error_in_words(tmp_path):
    with pytest.raises(LogError, match="no such file"):
        LogReader(tmp_path / "none")
    with pytest.raises(LogError, match="no campaign log"):
        LogReader(tmp_path)
    os.mkfifo(tmp_path / "x.jsonl")
    with pytest.raises(LogError, match="regular file"):
        LogReader(tmp_path / "x.jsonl")


def test_a_log_that_has_not_begun(tmp_path):
    (tmp_path / "log").mkdir()
    reader = LogReader(tmp_path)
    assert (reader.last_seq, reader.last_t, numbers(reader)) == (0, 0.0, [])
    write(tmp_path / "log", 1)
    reader.refresh()
    assert reader.last_seq == 1


def test_fifos_and_strangers_in_the_directory_do_no_harm(run):
    log = run / "log"
    os.mkfifo(log / "tail-000000000999.jsonl")
    (log / "tail-x.jsonl").write_text("no")
    (log / "tail-000000000888.jsonl").mkdir()
    reader = LogReader(run)
    assert numbers(reader) == list(range(1, 76))
    assert len([p for p in reader.problems if "regular" in p]) == 2


def write_lines(path, records):
    path.write_text("".join(encode_record(r) + "\n" for r in records))
    return path


def many(n):
    rng = random.Random(n)
    t, records = 0.0, []
    for seq in range(1, n + 1):
        t = round(t + rng.random(), 4)
        records.append(Record(seq, t, Message("info", "x" * rng.randrange(100))))
    return records


def test_plain_files_are_indexed(tmp_path, monkeypatch):
    monkeypatch.setattr(plain, "PIECE", 50_000)
    monkeypatch.setattr(plain, "_CHUNK_LINES", 100)
    records = many(3333)
    reader = LogReader(write_lines(tmp_path / "a.jsonl", records))
    assert list(reader.records()) == records
    assert numbers(reader, 3210, 5) == list(range(3211, 3216))
    for r in records[::97]:
        assert numbers(reader, r.seq - 1, 1) == [r.seq]
    assert len(reader._source.hot) < 101
    assert not reader.problems


def test_plain_files_may_grow(tmp_path, monkeypatch):
    monkeypatch.setattr(plain, "_CHUNK_LINES", 10)
    records = many(55)
    path = tmp_path / "a.jsonl"
    path.touch()
    reader = LogReader(path)
    with path.open("a") as f:
        for n, record in enumerate(records, 1):
            line = encode_record(record) + "\n"
            f.write(line[:7])
            f.flush()
            reader.refresh()
            assert reader.last_seq == n - 1
            f.write(line[7:])
            f.flush()
            reader.refresh()
            assert reader.last_seq == n
    assert list(reader.records()) == records


def test_any_gzip_file(run, tmp_path):
    records = list(LogReader(run).records())[:70]
    log = run / "log" / SEALED
    plain = tmp_path / "again.jsonl.gz"
    unpacked = subprocess.run(["zcat", log], capture_output=True, check=True).stdout
    plain.write_bytes(gzip.compress(unpacked))
    assert list(LogReader(plain).records()) == records
    torn = tmp_path / "torn.jsonl.gz"
    torn.write_bytes(plain.read_bytes()[:-30])
    reader = LogReader(torn)
    seen = list(reader.records())
    assert seen == records[: len(seen)]
    assert len(seen) > 50  # what comes before the damage is read
    assert reader.problems
    garbage = tmp_path / "garbage.jsonl.gz"
    garbage.write_bytes(b"\0" * 100)
    reader = LogReader(garbage)
    assert reader.last_seq == 0
    assert reader.problems


def test_a_foreign_gzip_file_is_looked_at_before_it_is_unpacked(tmp_path, monkeypatch):
    unpacked = []
    monkeypatch.setattr(gzipped, "write_all", lambda fd, data: unpacked.append(len(data)))
    bomb = tmp_path / "bomb.jsonl.gz"
    bomb.write_bytes(gzip.compress(bytes(20 << 20)))
    with pytest.raises(LogError, match="no record"):
        LogReader(bomb)
    assert not unpacked


def test_the_user_sets_how_much_is_unpacked(tmp_path, monkeypatch):
    records = many(2000)
    log = write_lines(tmp_path / "a.jsonl", records)
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    monkeypatch.setattr(gzipped, "PIECE", 10_000)
    monkeypatch.setenv("FUZZTUI_UNPACK_GIB", "0.00002")
    with pytest.raises(LogError, match="FUZZTUI_UNPACK_GIB=4e-05 "):
        LogReader(packed)
    monkeypatch.setenv("FUZZTUI_UNPACK_GIB", "1")
    assert list(LogReader(packed).records()) == records
    monkeypatch.setenv("FUZZTUI_UNPACK_GIB", "much")
    with pytest.raises(LogError, match="FUZZTUI_UNPACK_GIB='much'"):
        LogReader(packed)


def test_a_full_temporary_directory_is_named(tmp_path, monkeypatch):
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(write_lines(tmp_path / "a.jsonl", many(9)).read_bytes()))

    def full(fd, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(gzipped, "write_all", full)
    with pytest.raises(LogError, match=r"No space left .* TMPDIR"):
        LogReader(packed)


@pytest.mark.parametrize(
    "line",
    [
        '{"s":4,"t":1e11,"k":"x"}',
        '{"s":4000000000000000000,"t":3,"k":"x"}',
        '{"s":9,"t":3,"k":"x"}',
        '{"s":4,"t":99,"k":"x"}',
    ],
)
@pytest.mark.parametrize("chunk", [3, 4, 1000])
def test_one_absurd_record_does_not_swallow_what_follows(tmp_path, monkeypatch, line, chunk):
    monkeypatch.setattr(plain, "_CHUNK_LINES", chunk)
    records = many(8)
    lines = [encode_record(r) for r in records]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join([*lines[:3], line, *lines[4:]]) + "\n")
    reader = LogReader(path)
    assert list(reader.records()) == records[:3] + records[4:]
    assert any("left out" in problem for problem in reader.problems)


def test_gaps_and_reversed_logs_are_problems(tmp_path):
    records = many(30)
    for kept in (records[:10] + records[12:], records[3:], records[::-1]):
        reader = LogReader(write_lines(tmp_path / "a.jsonl", kept))
        list(reader.records())
        assert reader.problems
    assert (
        "records 1 to 3 are missing"
        in LogReader(write_lines(tmp_path / "a.jsonl", records[3:])).problems[0]
    )
    torn = write_lines(tmp_path / "a.jsonl", records)
    torn.write_bytes(torn.read_bytes()[:-4])
    reader = LogReader(torn)
    reader.check()
    assert "cut off" in reader.problems[0]


def test_a_closed_log_that_was_cut_between_two_members_is_damaged(tmp_path, small_members):
    write(tmp_path, 30, at_rest=True)
    assert not LogReader(tmp_path).problems
    for block in reversed(LogReader(tmp_path)._source.index):
        os.truncate(tmp_path / SEALED, block.end)
        reader = LogReader(tmp_path)
        assert numbers(reader) == list(range(1, block.last + 1))
        assert len(reader.problems) == 1


def test_members_of_another_log_are_left_out(tmp_path, small_members):
    blocks = {}
    for name in "ab":
        write(tmp_path / name, 30, name=name, at_rest=True)
        data = (tmp_path / name / SEALED).read_bytes()
        blocks[name] = [data[b.offset : b.end] for b in LogReader(tmp_path / name)._source.index]
    (a, _, *rest), (_, b, _) = blocks["a"], blocks["b"]
    sealed = tmp_path / "a" / SEALED
    sealed.write_bytes(b"".join([a, b, *rest]))
    reader = LogReader(tmp_path / "a")
    assert {r.event.text[0] for r in reader.records()} == {"a"}
    assert any("another log" in problem for problem in reader.problems)


def test_bad_lines_are_told_and_left_out(tmp_path):
    records = many(6)
    lines = [encode_record(r) for r in records]
    path = tmp_path / "a.jsonl"
    bad = [
        "",
        "not json",
        "[1]",
        lines[1],  # again
        '{"s":4,"t":NaN,"k":"x"}',
        '{"s":%s,"t":9,"k":"x"}' % (1 << 70),
        '{"s":4,"t":1%s,"k":"x"}' % ("0" * 400),
        "[" * 3000,
        lines[4] + "," + lines[5],
        "\0\0\0",
    ]
    path.write_text("\n".join([*lines[:3], *bad, *lines[3:]]) + "\n")
    reader = LogReader(path)
    assert list(reader.records()) == records
    unreadable, misplaced = reader.problems
    assert unreadable.startswith(f"{path}: 8 lines ")
    assert misplaced.startswith(f"{path}: 1 line after record 3 ")
    list(reader.records())
    assert reader.problems == [unreadable, misplaced]  # none is counted twice


def test_kinds_of_the_future_are_kept(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"s":1,"t":2,"k":"mutant_killed","mutant":7}\n')
    assert list(LogReader(path).records()) == [
        Record(1, 2.0, Unknown("mutant_killed", {"mutant": 7}))
    ]


@pytest.mark.slow
def test_a_file_of_garbage_is_one_problem(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"garbage {n}\n" for n in range(25_500)))
    (problem,) = LogReader(path).problems
    assert "10,000" in problem
    path.write_text("".join(f"garbage {n}\n" for n in range(2_500)))
    (problem,) = LogReader(path).problems
    assert "2,500" in problem
    assert len(problem) < 200 + len(str(path))


def test_problems_are_bounded():
    problems = Problems()
    for n in range(500):
        problems.note(f"problem {n}")
        problems.note_missing(f"file {n}", n, n)
    assert len(problems) == 100
    assert all(problems)


def test_a_file_cut_under_the_reader(run, tmp_path):
    reader = LogReader(run)
    os.truncate(run / "log" / SEALED, 300)
    reader.refresh()
    assert reader.problems
    plain = write_lines(tmp_path / "a.jsonl", many(2500))
    reader = LogReader(plain)
    write_lines(plain, many(5))
    reader.refresh()
    assert reader.last_seq == 5
    assert reader.problems


def test_a_directory_that_grows_while_it_is_listed(tmp_path, monkeypatch):
    """Its listing has the last of the new tails and not those before it."""
    monkeypatch.setattr(writer_module, "TAIL_RECORDS", 10)
    monkeypatch.setattr(writer_module._Sealer, "submit", lambda *_: None)  # a slow disk
    writer = LogWriter(tmp_path)
    reader = LogReader(tmp_path)
    before = list_tails(tmp_path)
    for n in range(45):
        writer.append(Message("info", str(n)), n)
    writer.flush()
    listings = [before, [*before, *list_tails(tmp_path)[3:]]]
    monkeypatch.setattr(
        sources, "list_tails", lambda path: listings.pop(0) if listings else list_tails(path)
    )
    reader.refresh()
    reader.refresh()
    assert [r.seq for r in reader.records()] == list(range(1, 46))
    assert reader.problems == []
    writer.close()
