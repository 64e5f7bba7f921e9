"""mutate.c under AddressSanitizer and UndefinedBehaviorSanitizer, on random inputs."""

import subprocess

import pytest
from compiled_text import compiler, harness


@pytest.mark.slow
def test_no_mutator_reads_or_writes_where_it_may_not(tmp_path):
    flags = "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wall", "-Wextra"
    program = harness(compiler(), tmp_path / "harness", *flags)
    done = subprocess.run(
        [program, "5000"], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
