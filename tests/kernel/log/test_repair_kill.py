"""The repair of a damaged log, killed or out of disk at every step: nothing readable is lost."""

import errno
import gzip
import json
import os
import shutil
import signal
from collections import Counter
from pathlib import Path

import pytest

from fuzztui.kernel.log import writer as writer_module
from fuzztui.kernel.log.files import CHECKPOINTS, SEALED, list_tails, tail_name
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.session import CheckpointKeeper, LiveClock, Session
from fuzztui.kernel.wire.codec import encode_record
from fuzztui.kernel.wire.events import Message, RecordsLost
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.supervise.campaign_log import CampaignLog

STEPS = ("open", "write", "ftruncate", "fsync", "replace", "rename", "unlink")
"""Functions of ``os`` by which a file or directory is changed."""


def write_log(directory, at_rest):
    """Five members; ``at_rest``: of a writer that closed the log; else killed with two tails."""
    writer = LogWriter(directory)
    session = Session(directory, LiveClock())
    keeper = CheckpointKeeper(directory, session)
    for n in range(57 if at_rest else 68):
        record = writer.append(Message("info", f"{n} " + "x" * (n * 7919 % 300)), n / 10)
        apply(session.state, [record])
        writer.flush()
        keeper.keep()
        if not at_rest and n == 50:
            writer._sealer.submit = lambda job: None
    writer.close(at_rest=at_rest)
    keeper.close()


def flip_bit(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 4
    path.write_bytes(data)
    return bytes(data)


def flip_in_member(directory):
    path = directory / SEALED
    block = LogReader(directory)._source.index[2]
    whole = path.read_bytes()
    data = flip_bit(path, block.offset + block.size * 2 // 3)
    return data[block.offset : block.end], whole[block.offset : block.end]


def flip_in_header(directory):
    block = LogReader(directory)._source.index[1]
    return (flip_bit(directory / SEALED, block.offset + 3)[block.offset : block.end],)


def lose_a_member(directory):
    path = directory / SEALED
    block = LogReader(directory)._source.index[1]
    data = path.read_bytes()
    path.write_bytes(data[: block.offset] + data[block.end :])
    return ()


def members(directory):
    """The bytes of each member, and those behind them (the mark of the end)."""
    data = (directory / SEALED).read_bytes()
    index = LogReader(directory)._source.index
    return [data[block.offset : block.end] for block in index], data[index[-1].end :]


def reverse(directory):
    parts, end = members(directory)
    (directory / SEALED).write_bytes(b"".join(parts[::-1]) + end)
    return ()


def reverse_all_and_flip_in_header(directory):
    """The mark of the end comes first; and the header of the second member is damaged."""
    parts, end = members(directory)
    parts[1] = parts[1][:3] + bytes([parts[1][3] ^ 4]) + parts[1][4:]
    (directory / SEALED).write_bytes(end + b"".join(parts[::-1]))
    return (parts[1],)


def repeat_a_member(directory):
    parts, end = members(directory)
    (directory / SEALED).write_bytes(b"".join([*parts[:3], parts[1], *parts[3:], end]))
    return (parts[1],)


def lose_the_last_member(directory):
    """The mark of the end names its last record."""
    parts, end = members(directory)
    (directory / CHECKPOINTS).unlink()
    (directory / SEALED).write_bytes(b"".join([*parts[:-1], end]))
    return ()


def flip_in_end_mark(directory):
    return (flip_bit(directory / SEALED, -3)[-9:],)


def cut_off(directory):
    path = directory / SEALED
    block = LogReader(directory)._source.index[3]
    path.write_bytes(path.read_bytes()[: block.offset])
    return ()


def cut_off_unknown_to_checkpoints(directory):
    (directory / CHECKPOINTS).unlink()
    return cut_off(directory)


def cut_within(directory):
    path = directory / SEALED
    block = LogReader(directory)._source.index[3]
    data = path.read_bytes()[: block.offset + block.size // 2]
    path.write_bytes(data)
    return (data[block.offset :],)


def blank_lines(path, *numbers, end=b""):
    """Zeros in place of lines of a file, before their ``end``; what the first of them is now."""
    lines = path.read_bytes().splitlines(keepends=True)
    for n in numbers:
        lines[n] = b"\0" * (len(lines[n]) - len(end)) + end
    path.write_bytes(b"".join(lines))
    return (lines[numbers[0]],)


def break_tail(directory):
    return blank_lines(list_tails(directory)[0][1], 3)


def break_tail_begin(directory):
    return blank_lines(list_tails(directory)[0][1], 0)


def break_tail_end(directory):
    return blank_lines(list_tails(directory)[-1][1], -1, end=b"\n")


def break_sealed_tail(directory):
    """The writer was killed when the first tail was sealed, and not yet removed."""
    first, path = list_tails(directory)[0]
    sealed = [encode_record(r) + "\n" for r in LogReader(directory).records(first - 4, 3)]
    path.with_name(tail_name(first - 3)).write_text(sealed[0] + "\0\0\n" + sealed[2])
    return ()


def lose_a_tail(directory):
    list_tails(directory)[0][1].unlink()
    return ()


def overlap_a_tail(directory):
    """The first tail begins with records that are sealed, too."""
    first, path = list_tails(directory)[0]
    sealed = [encode_record(r) + "\n" for r in LogReader(directory).records(first - 4, 3)]
    lines = "".join(sealed) + path.read_text()
    path.unlink()
    path.with_name(tail_name(first - 3)).write_text(lines)
    return ()


def overlap_and_break_a_tail(directory):
    """So does a tail with damaged lines: among those that are sealed, behind them, at the end."""
    overlap_a_tail(directory)
    return blank_lines(list_tails(directory)[0][1], 5, 1, -1, end=b"\n")


def break_everything(directory):
    return (*break_tail(directory), flip_in_member(directory)[0])


DAMAGES = [
    (True, flip_in_member),
    (True, flip_in_header),
    (True, lose_a_member),
    (True, reverse),
    (True, reverse_all_and_flip_in_header),
    (True, repeat_a_member),
    (True, lose_the_last_member),
    (True, flip_in_end_mark),
    (True, cut_off),
    (True, cut_off_unknown_to_checkpoints),
    (True, cut_within),
    (False, flip_in_member),
    (False, break_tail),
    (False, break_tail_begin),
    (False, reverse),
    (False, break_tail_end),
    (False, break_sealed_tail),
    (False, lose_a_tail),
    (False, overlap_a_tail),
    (False, overlap_and_break_a_tail),
    (False, break_everything),
]


@pytest.fixture
def small(monkeypatch):
    """Members of a dozen records, and checkpoints of as many."""
    monkeypatch.setattr(writer_module, "TAIL_RECORDS", 12)
    monkeypatch.setattr("fuzztui.kernel.log.checkpoints.EVERY", 10)
    monkeypatch.setattr(
        "fuzztui.kernel.log.checkpoints.CheckpointWriter._log_size", lambda self: 1 << 40
    )
    for name in ("fsync", "fdatasync"):  # slow, and a killed process needs none
        monkeypatch.setattr(os, name, lambda fd: None)


@pytest.fixture(params=DAMAGES, ids=lambda d: f"{d[1].__name__}{'' if d[0] else ' with tails'}")
def damaged(request, tmp_path, small):
    """A damaged log, and its damaged bytes."""
    at_rest, damage = request.param
    directory = tmp_path / "log"
    write_log(directory, at_rest)
    kept = damage(directory)[:1]
    return directory, kept


def readable(directory):
    return {r.seq: r for r in LogReader(directory).records() if type(r.event) is not RecordsLost}


def known_lost(directory):
    lost = [r for r in LogReader(directory).records() if type(r.event) is RecordsLost]
    return {seq for r in lost for seq in range(r.event.first or r.seq, r.seq + 1)}


def interrupt(monkeypatch, step, act, *, half=False):
    """``act()`` instead of the ``step``-th change of a file; ``half``: write half before."""
    taken = 0

    def patched(name, real):
        def call(*args, **kwargs):
            nonlocal taken
            if name == "open" and not args[1] & (os.O_CREAT | os.O_RDWR | os.O_WRONLY):
                return real(*args, **kwargs)
            taken += 1
            if taken == step:
                if half and name == "write":
                    real(args[0], bytes(args[1])[: len(args[1]) // 2])
                act()
            return real(*args, **kwargs)

        return call

    for name in STEPS:
        monkeypatch.setattr(os, name, patched(name, getattr(os, name)))


def repair_and_die(directory, step, half):
    """In a child process; False if the repair has fewer steps."""
    pid = os.fork()
    if pid == 0:
        try:
            with pytest.MonkeyPatch.context() as m:
                interrupt(m, step, lambda: os.kill(os.getpid(), signal.SIGKILL), half=half)
                LogWriter(directory)
                os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def check_repaired(directory, before, lost, kept):
    """A repair that comes to its end: all is there, and what is not is known to be lost."""
    writer = LogWriter(directory)
    assert readable(directory).items() >= before.items()
    assert lost <= known_lost(directory) | set(readable(directory))
    assert not known_lost(directory) & set(before)
    assert LogReader(directory).problems == []
    aside = [p.read_bytes() for p in directory.iterdir() if "damaged" in p.name]
    assert all(any(part in data for data in aside) for part in kept)
    assert not [p for p in directory.iterdir() if p.name.endswith(".stale")]
    assert known_lost(directory) <= lost
    last = writer.last_seq
    writer.append(Message("info", "on"), 100.0)
    writer.close(at_rest=True)
    lines = gzip.decompress((directory / SEALED).read_bytes()).splitlines()
    numbers = [json.loads(line)["s"] for line in lines]
    assert numbers == sorted(set(numbers))
    again = LogWriter(directory)
    assert (again.repairs, again.last_seq) == ([], last + 1)
    again.close(at_rest=True)
    reader = LogReader(directory)
    reader.check()
    assert reader.problems == []


def expected(directory, scratch):
    """What an undisturbed repair leaves: the records that are known to be lost."""
    copy = shutil.copytree(directory, scratch)
    LogWriter(copy).close()
    return known_lost(copy)


LOST = {
    reverse: 0,
    reverse_all_and_flip_in_header: 0,
    repeat_a_member: 0,
    flip_in_header: 0,
    flip_in_end_mark: 0,
    break_sealed_tail: 0,
    break_tail_end: 1,
    overlap_and_break_a_tail: 2,
    lose_the_last_member: 9,
}
"""Records of :func:`write_log` that a damage costs."""


@pytest.mark.parametrize("damage", LOST, ids=lambda damage: damage.__name__)
def test_no_more_is_lost_than_was_damaged(tmp_path, small, damage):
    at_rest = (True, damage) in DAMAGES
    directory = tmp_path / "log"
    write_log(directory, at_rest)
    damage(directory)
    reader = LogReader(directory)
    reader.check()
    before = readable(directory)
    assert len(before) == (57 if at_rest else 68) - LOST[damage]
    assert reader.problems
    LogWriter(directory).close(at_rest=at_rest)
    assert readable(directory) == before
    assert len(known_lost(directory)) == LOST[damage]
    reader = LogReader(directory)
    reader.check()
    assert reader.problems == []


def test_damaged_bytes_of_two_repairs_are_both_kept(tmp_path, small):
    directory = tmp_path / "log"
    write_log(directory, True)
    kept = []
    for _ in range(2):
        path = directory / SEALED
        data = flip_bit(path, 3)
        kept.append(data[: LogReader(directory)._source.index[0].end])
        for _ in range(2):  # the second time as after a kill
            path.write_bytes(data)
            LogWriter(directory).close(at_rest=True)
    assert len({*kept}) == 1  # they are the same ones: kept once
    data = flip_bit(path, 4)
    LogWriter(directory).close(at_rest=True)
    aside = [p.read_bytes() for p in directory.glob("*.damaged-*")]
    assert sorted(aside) == sorted([*{*kept}, data[: len(kept[0])]])


@pytest.mark.slow
@pytest.mark.parametrize("half", [False, True], ids=["", "half written"])
def test_a_kill_at_any_step_of_a_repair_loses_nothing(damaged, tmp_path, half):
    directory, kept = damaged
    before = readable(directory)
    lost = expected(directory, tmp_path / "expected")
    assert lost or before
    for step in range(1, 1000):
        run = Path(shutil.copytree(directory, tmp_path / f"{step}"))
        killed = repair_and_die(run, step, half)
        assert readable(run).items() >= before.items(), step
        check_repaired(run, before, lost, kept)
        shutil.rmtree(run)
        if not killed:
            break
    assert step > 3


@pytest.mark.slow
def test_kills_at_two_steps_of_repairs_lose_nothing(damaged, tmp_path):
    directory, kept = damaged
    before = readable(directory)
    lost = expected(directory, tmp_path / "expected")
    for step in range(1, 1000):
        run = Path(shutil.copytree(directory, tmp_path / f"{step}"))
        killed = repair_and_die(run, step, False)
        repair_and_die(run, step // 2 + 1, True)
        check_repaired(run, before, lost, kept)
        shutil.rmtree(run)
        if not killed:
            break


@pytest.mark.slow
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_does_not_take_a_repair_loses_nothing(damaged, tmp_path, number):
    directory, kept = damaged
    before = readable(directory)
    lost = expected(directory, tmp_path / "expected")
    seen = Counter()

    def refuse():
        raise OSError(number, os.strerror(number), "a file")

    for step in range(1, 60):
        run = Path(shutil.copytree(directory, tmp_path / f"{step}"))
        with pytest.MonkeyPatch.context() as m:
            interrupt(m, step, refuse, half=True)
            try:
                LogWriter(run).close()
                seen["done"] += 1
            except OSError:
                seen["refused"] += 1
                seen["done"] = 0
        assert readable(run).items() >= before.items(), step
        check_repaired(run, before, lost, kept)
        shutil.rmtree(run)
        if seen["done"] > 5:  # the last ones are of a thread that tries again, or do not matter
            break
    assert seen["refused"]
    assert seen["done"]


def test_a_start_that_cannot_repair_the_log_says_why(damaged, tmp_path, monkeypatch):
    directory, _ = damaged
    home = RunDir(directory.parent)
    before = readable(directory)

    def refuse():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as m:
        interrupt(m, 1, refuse)
        with pytest.raises(SupervisorError, match=os.strerror(errno.ENOSPC)) as refused:
            CampaignLog(home, lambda event: None, lambda words: None)
    assert str(refused.value).startswith(str(directory))
    assert readable(directory).items() >= before.items()
    CampaignLog(home, lambda event: None, lambda words: None).close()
    assert readable(directory).items() >= before.items()
