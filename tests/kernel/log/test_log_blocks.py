"""The container: ordinary gzip to others, an index to us, harmless when damaged."""

import gzip
import os
import subprocess
import zlib

import pytest

from fuzztui.kernel.log.blocks import (
    HEAD,
    HEADER_SIZE,
    RECORDS,
    BlockError,
    RecordRange,
    SealedBlock,
    find_next,
    pack,
    unpack,
    walk,
)
from fuzztui.kernel.log.files import LogError, open_regular

TEXTS = [f"line {n}\n".encode() * 50 for n in range(5)]


@pytest.fixture
def container(tmp_path):
    path = tmp_path / "c.gz"
    with path.open("wb") as f:
        for n, text in enumerate(TEXTS):
            f.write(pack(text, RECORDS, RecordRange(n * 10 + 1, n * 10 + 10, n, n + 0.5, 10)))
    return path


@pytest.fixture
def fd(container):
    fd = os.open(container, os.O_RDWR)
    yield fd
    os.close(fd)


def blocks(fd):
    return list(walk(fd, 0, os.fstat(fd).st_size))


def test_standard_tools_read_it(container):
    whole = b"".join(TEXTS)
    assert subprocess.run(["zcat", container], capture_output=True, check=True).stdout == whole
    assert subprocess.run(["gzip", "-t", container], check=True).returncode == 0
    assert gzip.decompress(container.read_bytes()) == whole


def test_walking_needs_only_headers(fd, monkeypatch):
    monkeypatch.setattr(zlib, "decompressobj", None)
    found = blocks(fd)
    assert [(b.first, b.last, b.t0, b.t1, b.count) for b in found] == [
        (n * 10 + 1, n * 10 + 10, n, n + 0.5, 10) for n in range(5)
    ]
    assert [b.end for b in found] == [b.offset for b in found[1:]] + [os.fstat(fd).st_size]


def test_members_are_read_one_by_one(fd):
    found = blocks(fd)
    for n in (3, 0, 4):
        assert unpack(fd, found[n]) == TEXTS[n]


def test_every_truncation_leaves_the_whole_members(fd):
    found = blocks(fd)
    for size in range(os.fstat(fd).st_size + 1):
        assert [b.end for b in walk(fd, 0, size)] == [b.end for b in found if b.end <= size]


def test_damage_is_found_and_stepped_over(fd):
    found = blocks(fd)
    os.pwrite(fd, b"\xff" * 8, found[1].offset)
    assert blocks(fd) == found[:1]
    assert find_next(fd, found[1].offset, os.fstat(fd).st_size) == found[2].offset
    assert find_next(fd, found[4].offset + 1, os.fstat(fd).st_size) == -1
    os.pwrite(fd, b"\xff" * 8, found[2].offset + HEADER_SIZE + 4)
    with pytest.raises(BlockError, match=f"byte {found[2].offset} "):
        unpack(fd, found[2])


@pytest.mark.parametrize(
    "span",
    [
        RecordRange(0, 5, 0, 1, 5),  # after=0: would go back
        RecordRange(5, 4, 0, 1, 5),
        RecordRange(1, 1 << 63, 0, 1, 5),
        RecordRange(1, 5, 2, 1, 5),
        RecordRange(1, 5, float("nan"), 1, 5),
        RecordRange(1, 5, 0, float("inf"), 5),
    ],
)
def test_headers_that_make_no_sense_are_no_members(tmp_path, span):
    path = tmp_path / "x.gz"
    path.write_bytes(pack(b"x\n", RECORDS, span))
    fd = os.open(path, os.O_RDONLY)
    assert not blocks(fd)
    os.close(fd)


def test_a_member_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("fuzztui.kernel.log.blocks.LARGEST", 1 << 20)
    path = tmp_path / "bomb.gz"
    path.write_bytes(pack(bytes(2 << 20), HEAD, RecordRange(1, 1, 0, 0, 1)))
    fd = os.open(path, os.O_RDONLY)
    with pytest.raises(BlockError, match="more than 1 MiB"):
        unpack(fd, blocks(fd)[0])
    os.close(fd)


def test_a_block_that_is_gone_is_an_error(fd):
    with pytest.raises(BlockError, match="cut off"):
        unpack(fd, SealedBlock(1, 2, 0, 0, 1, 10_000_000, 100, RECORDS))


def test_fifos_and_directories_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(LogError, match="not a regular file"):
        open_regular(tmp_path / "fifo")
    with pytest.raises(LogError, match="not a regular file"):
        open_regular(tmp_path)
