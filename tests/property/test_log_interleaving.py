"""A reader whose every step is interrupted by a writer that rolls, seals and unlinks."""

import random
import tempfile
from pathlib import Path
from unittest import mock

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import wait_until

from fuzztui.kernel.log import sources
from fuzztui.kernel.log import writer as writer_module
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.events import Message


class Interrupter:
    """Wraps what the reader does with files: before each, the writer may do something."""

    def __init__(self, directory, rng, most):
        self.rng = rng
        self.most = most
        self.writer = LogWriter(directory)
        self.busy = False
        self.left = 0

    def step(self):
        if self.busy or not self.left or self.rng.random() < 0.5:
            return
        self.busy = True
        self.left -= 1
        if self.rng.random() < 0.1:
            self.writer.close()
            self.writer = LogWriter(self.writer._directory)
        for _ in range(self.rng.randrange(self.most)):
            self.writer.append(Message("info", str(self.writer.last_seq + 1)), 0)
        self.writer.flush()
        if self.rng.random() < 0.8:
            sealer = self.writer._sealer
            wait_until(lambda: not (sealer._jobs.qsize() or sealer._backlog))
        self.busy = False

    def around(self, real):
        def wrapped(*args):
            self.step()
            return real(*args)

        return wrapped


@settings(max_examples=examples(40))
@given(st.randoms(use_true_random=False), st.integers(1, 5), st.integers(2, 15))
def test_no_interleaving_shows_a_gap_or_a_duplicate(rng, tail, most):
    rng = random.Random(rng.getrandbits(32))
    with (
        tempfile.TemporaryDirectory() as tmp,
        mock.patch.object(writer_module, "TAIL_RECORDS", tail),
        mock.patch("os.fdatasync"),  # no power is cut here, and there are thousands
    ):
        directory = Path(tmp)
        interrupter = Interrupter(directory, rng, most)
        reader = LogReader(directory)
        seen = 0
        names = ("list_tails", "open_regular", "read_at", "walk", "find_next", "unpack")
        for _ in range(8):
            with mock.patch.multiple(
                sources, **{n: interrupter.around(getattr(sources, n)) for n in names}
            ):
                interrupter.left = 6
                flushed = interrupter.writer.last_seq
                reader.refresh()
                for record in reader.records(seen):
                    seen += 1
                    assert record.seq == seen
                    assert record.event.text == str(seen)
            assert seen >= flushed
            assert reader.problems == []
        interrupter.writer.close()
