"""afl-fuzz on our own mutator: nothing that it is fed makes mutate.c go wrong."""

import os
import subprocess

import pytest
from compiled_text import harness
from homes import AFL_ENV, write_seeds
from skipped import needs_afl

pytestmark = [pytest.mark.slow, needs_afl()]

SEEDS = [
    b"seed-012\x03\x00\x40\x00int f(int a, char *b) {\n  if (a == 0 && b) return 1;\n  a++;\n}\n",
    b"seed-345\x0f\x30\x00\x41(a, b, c); while (x < y) { ; ; }\n\n}\n ( ) ;\0;\0;",
    b"seed-678\x00\x05\x00\x00",
]


def test_fuzzing_the_mutator_finds_no_crash(tmp_path):
    env = {**os.environ, **AFL_ENV, "AFL_USE_ASAN": "1", "AFL_USE_UBSAN": "1"}
    flags = "-fno-sanitize-recover=all"
    program = harness("afl-clang-fast", tmp_path / "harness", flags, **env)
    (seeds,) = write_seeds(tmp_path, *SEEDS)
    out = tmp_path / "out"
    # A limit that a machine at rest for a moment does not reach: that would be a hang.
    argv = ["afl-fuzz", "-E", "10000", "-t", "10000", "-m", "none", "-i", seeds, "-o", out]
    argv += ["--", program]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    stats = dict(
        map(str.strip, line.split(":", 1))
        for line in (out / "default/fuzzer_stats").read_text().splitlines()
    )
    assert int(stats["execs_done"]) >= 10_000
    assert int(stats["corpus_count"]) > len(SEEDS)
    crashes = [p.read_bytes() for p in (out / "default/crashes").glob("id*")]
    assert (stats["saved_crashes"], stats["saved_hangs"], crashes) == ("0", "0", [])
