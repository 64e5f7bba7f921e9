"""The log while its writer is another process that is killed at any instant."""

import itertools
import os
import random
import signal
import time

import pytest
from examples import examples

from fuzztui.kernel.log import writer as writer_module
from fuzztui.kernel.log.files import list_tails
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.events import Message


def text(seq):
    return f"{seq} " + "x" * (seq * 7919 % 300)


def write_until_killed(directory, acknowledge, seed):
    """In the child: append and flush without end; says each flushed number."""
    rng = random.Random(seed)
    writer = LogWriter(directory)
    while True:
        for _ in range(rng.randrange(1, 30)):
            writer.append(Message("info", text(writer.last_seq + 1)), writer.last_seq / 100)
        writer.flush()
        os.write(acknowledge, b"%d\n" % writer.last_seq)


class Follower:
    """A reader that follows and checks every record that it gets."""

    def __init__(self, directory):
        self.reader = LogReader(directory)
        self.seq = 0
        self.t = 0.0

    def look(self):
        self.reader.refresh()
        for record in self.reader.records(self.seq):
            assert record.seq == self.seq + 1, "a gap or a duplicate"
            assert record.event == Message("info", text(record.seq))
            assert record.t >= self.t
            self.seq, self.t = record.seq, record.t
        assert self.reader.problems == []
        assert self.reader.last_seq == self.seq


def kill_rounds(directory, rounds, seed, records=0):
    """So many, and more if there are not so many records by then: on a busy machine."""
    rng = random.Random(seed)
    directory.mkdir()
    LogWriter(directory).close()
    follower = Follower(directory)
    for n in itertools.count():
        if n >= rounds and follower.seq >= records:
            break
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                write_until_killed(directory, write_end, n)
            finally:
                os._exit(1)
        os.close(write_end)
        until = time.monotonic() + rng.random() ** 2 * 0.08
        while time.monotonic() < until:
            follower.look()
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        assert os.WIFSIGNALED(status), "the writer failed by itself"
        with os.fdopen(read_end) as f:
            said = [int(line) for line in f if line.endswith("\n")]
        # A reader that comes later sees all that was flushed, and what the follower saw.
        late = Follower(directory)
        late.look()
        follower.look()
        assert late.seq == follower.seq >= max(said, default=0)
    writer = LogWriter(directory)
    assert writer.last_seq == follower.seq
    writer.close()
    follower.look()
    assert len(list_tails(directory)) <= 1
    assert not list(directory.glob("*damaged*"))
    return follower.seq


@pytest.mark.slow
def test_sigkill_at_any_instant(tmp_path, monkeypatch):
    monkeypatch.setattr(writer_module, "TAIL_RECORDS", 40)
    assert kill_rounds(tmp_path / "log", 30, seed=1, records=200) >= 200


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(4))
def test_sigkill_at_any_instant_many_times(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(writer_module, "TAIL_RECORDS", 17 + 100 * seed)
    kill_rounds(tmp_path / "log", examples(75), seed=seed)
