"""Fuzzers of somebody else, and watches of their directories; all end with the test."""

from pathlib import Path

import pytest
from watch_lab import Fuzzer, watching


@pytest.fixture
def fuzzers():
    """Makes fuzzers; those that live die after the test."""
    made: list[Fuzzer] = []

    def make(path: Path, **how) -> Fuzzer:
        made.append(Fuzzer(path, **how))
        return made[-1]

    yield make
    for fuzzer in made:
        fuzzer.die()


@pytest.fixture
def watch(tmp_path):
    with watching(tmp_path) as begin:
        yield begin
