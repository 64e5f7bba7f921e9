"""Operands of comparisons from a CmpLog map, in the layouts of AFL++'s versions."""

import random
from pathlib import Path

import numpy as np
import pytest

from fuzztui.engines.inputs.operands import edits_of_bytes
from fuzztui.features.fuzzfirst import repair
from fuzztui.features.fuzzfirst.build_tree import BuildTree
from fuzztui.features.fuzzfirst.prune import Input
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError

HEADERS_404, HEADERS_NOW = 65536, 65536 * 2 // 8
"""Words of the headers before the operands: 8 bytes each in AFL++ 4.04c, 2 in later versions."""


def words_of(headers, words_of_pair, second, pairs):
    words = np.zeros(headers + 32 * 100 * words_of_pair, np.uint64)
    words[7] = 0x00A3_0000_0000_0001
    for number, (one, other) in enumerate(pairs):
        at = headers + number * 32 * words_of_pair
        words[at], words[at + second] = one, other
    return words


@pytest.mark.parametrize(
    ("headers", "size", "second"), [(HEADERS_404, 4, 1), (HEADERS_NOW, 9, 4)], ids=["4.04c", "now"]
)
def test_operands_are_found_in_each_layout(headers, size, second):
    checksum, stored = 0x8D1F_00E2, int.from_bytes(b"AAAA", "little")
    pairs = repair._pairs(words_of(headers, size, second, [(1, 3), (stored, checksum), (300, 0)]))
    found = {(pair.value, pair.wanted) for pair in pairs}
    assert (stored, checksum) in found and (300, 0) in found
    assert (1, 3) not in found  # soon found without help
    made = {edit.data for edit in edits_of_bytes(b"AAAA....", pairs, random.Random(0), text=False)}
    assert checksum.to_bytes(4, "little") + b"...." in made


def segments():
    rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return [int(row.split()[1]) for row in rows]


def test_the_map_is_empty_and_gone_afterwards():
    with repair._cmplog_map() as (number, words):
        assert not words.any() and len(words) * 8 == repair._MAP_BYTES
        words[5] = 1
        assert number in segments()
    assert number not in segments()


def test_a_full_map_gives_a_bounded_number_of_pairs():
    words = np.arange(1 << 22, dtype=np.uint64)
    assert len(repair._pairs(words)) <= 2 * repair._MOST_PAIRS
    assert not words.any()  # for the next near miss


@pytest.fixture
def repairing(tmp_path):
    """A repair of a campaign whose build is the given command."""

    def make(build):
        source = tmp_path / "origin" / "source"
        source.mkdir(parents=True, exist_ok=True)
        file = tmp_path / "c.toml"
        file.write_text(
            '[campaign]\noutput = "run"\n[target]\ncommand = ["./prog"]\nsource = "origin/source"\n'
            f"build = '''{build}'''\n[engine]\nkind = \"afl\"\nseeds = [\"origin\"]\n"
        )
        run = RunDir(tmp_path / "run")
        origin = BuildTree(tmp_path / "origin", source)
        return repair.NearMissRepair(
            load(file).campaign, run, origin, Path("build/prog"), limit=60.0
        )

    return make


async def test_a_build_that_fails_is_reported_once_and_never_taken_as_good(repairing, tmp_path):
    near = tmp_path / "near"
    near.write_bytes(b"near")
    took = []

    async def take(one, made):
        took.append((one, made))

    for _ in range(2):  # also by the next start
        broken = repairing("touch prog; echo 'prog.c:3: error: no such thing' >&2; exit 7")
        said = "(?s)AFL_LLVM_CMPLOG=1 failed with exit status 7:.*prog.c:3: error: no such thing"
        with pytest.raises(SupervisorError, match=said):
            await broken([Input(near, "m1/0", "d")], take)
        await broken([Input(near, "m1/0", "d")], take)
    assert took == []


async def test_a_large_near_miss_is_left_out(repairing, tmp_path):
    near = tmp_path / "near"
    near.write_bytes(b"n" * (repair.LARGEST + 1))
    took = []

    async def take(one, made):
        took.append(made)

    await repairing("printf '#!/bin/sh\\n' > prog; chmod +x prog")([Input(near, "m1/0", "d")], take)
    assert took == [[]]
