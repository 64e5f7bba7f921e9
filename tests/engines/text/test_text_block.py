"""The block in Python: what makes no sense is no block, whoever wrote it.

That C and Python agree on it is shown with the C library (test_afl_text_library.py).
"""

import math
import os
import struct
import threading
from pathlib import Path

import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzztui.engines.text.block import SIZE, MutatorCounters, StatsBlock, Writer, read_block
from fuzztui.engines.text.table import ARMS

USED = 128 + 64 * len(ARMS)


def sound(block: StatsBlock) -> bool:
    parts = (block.havoc, block.text, block.splice)
    counts = [n for a in block.arms for n in (a.tried, a.applied, a.found, a.crashes, a.weight)]
    return (
        all(0 <= part <= 1 + 1e-6 for part in parts)
        and math.isclose(sum(parts), 1, abs_tol=1e-5)
        and len(block.arms) == len(ARMS)
        and 0 <= block.trials <= 1 << 53
        and all(0 <= n <= 1 << 53 for n in counts)
    )


@pytest.fixture(scope="module")
def good(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("block") / ".text"
    block = StatsBlock(
        0.1, 0.6, 0.3, True, 12345, [MutatorCounters(i, i, i, i, i, i, i) for i in range(len(ARMS))]
    )
    Writer(path, block)
    assert read_block(path) == block
    assert path.stat().st_size == SIZE
    return path.read_bytes()


@given(st.data())
@settings(max_examples=examples(150))
def test_whatever_is_in_the_file_is_sound_or_no_block(good, tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / f"hostile-{os.getpid()}"
    image = bytearray(good)
    spoilt = st.tuples(st.integers(0, USED), st.binary(min_size=1, max_size=20))
    for at, noise in data.draw(st.lists(spoilt, max_size=4)):
        image[at : at + len(noise)] = noise
    cut = data.draw(st.sampled_from([SIZE, SIZE, USED, USED - 1, 127, 16, 0]))
    path.write_bytes(image[:cut])
    block = read_block(path)
    assert block is None or sound(block)
    assert sound(Writer(path, StatsBlock()).block)


def test_a_double_that_is_no_number(good, tmp_path):
    for value in (math.nan, math.inf, -0.5, 2.0):
        image = bytearray(good)
        struct.pack_into("<d", image, 40, value)
        (tmp_path / "b").write_bytes(image)
        assert read_block(tmp_path / "b") is None


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda p: os.symlink("/etc/passwd", p)])
def test_something_else_in_its_place(tmp_path, make):
    path = tmp_path / ".text"
    make(path)
    assert read_block(path) is None
    writer = Writer(path, StatsBlock())
    writer.block.trials = 3
    writer.publish()
    assert read_block(path) is None
    assert Path("/etc/passwd").read_bytes()[:7] != b"fuzztui"


def test_there_is_none(tmp_path):
    assert read_block(tmp_path / "none") is None
    assert read_block(tmp_path / "no" / "where") is None
    Writer(tmp_path / "no" / "where", StatsBlock()).publish()


def test_a_change_that_was_cut_off_keeps_the_counts_only(good, tmp_path):
    path = tmp_path / ".text"
    image = bytearray(good)
    image[16] |= 1
    path.write_bytes(image)
    assert read_block(path) is None
    Writer(path, StatsBlock(0.5, 0.5, 0.0))
    found = read_block(path)
    assert found and (found.havoc, found.adaptive, found.trials) == (0.5, False, 12345)


def test_readers_never_see_half_a_change(tmp_path):
    """Two mixtures take turns; nobody sees anything in between."""
    path = tmp_path / ".text"
    writer = Writer(path, StatsBlock())
    over = threading.Event()

    def write() -> None:
        for i in range(4000):
            b = writer.block
            b.havoc, b.text, b.splice = (1.0, 0.0, 0.0) if i % 2 else (0.0, 0.0, 1.0)
            for arm in b.arms:
                arm.weight = i % 2
            writer.publish(settings=True)
        over.set()

    thread = threading.Thread(target=write)
    thread.start()
    seen = 0
    while not over.is_set():
        block = read_block(path)
        if block and block.text == 0.0:
            assert {arm.weight for arm in block.arms} == {int(block.havoc)}
            seen += 1
    thread.join()
    assert seen
