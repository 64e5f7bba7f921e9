"""``isolation.json`` and ``mutants.json``."""

from pathlib import Path

import pytest

from fuzztui.engines.base.errors import RestartWorker
from fuzztui.engines.execute.isolation import Isolation, SuspectMutants, read_index, write_index


def test_it_outlives_the_worker(tmp_path: Path) -> None:
    isolation = Isolation.load(tmp_path)
    isolation.outside["m:f:math:0:-"] = "it hung"
    isolation.mark_flaky(b"flaky")
    with pytest.raises(RestartWorker):
        isolation.check_suspects(b"\xff\x00", ["a", "b"])
    again = Isolation.load(tmp_path)
    assert again.outside == {"m:f:math:0:-": "it hung"}
    assert again.suspects == SuspectMutants(b"\xff\x00", ["a", "b"])
    assert again.is_flaky(b"flaky")
    assert not again.is_flaky(b"other")


@pytest.mark.parametrize("torn", [b"", b"{", b"[]", b'{"outside": 3}', b"\xff\xfe", b"null"])
def test_a_torn_file_is_an_empty_one(tmp_path: Path, torn: bytes) -> None:
    (tmp_path / "isolation.json").write_bytes(torn)
    isolation = Isolation.load(tmp_path)
    assert (dict(isolation.outside), len(isolation.flaky)) == ({}, 0)
    assert isolation.suspects is None


@pytest.mark.slow
def test_a_target_that_is_never_the_same_does_not_fill_the_memory(tmp_path: Path) -> None:
    isolation = Isolation(tmp_path / "nowhere" / "isolation.json")  # not writable: no matter
    for i in range(6000):
        isolation.mark_flaky(b"%d" % i)
    assert len(isolation.flaky) <= 5000
    assert isolation.is_flaky(b"5999")
    assert not isolation.is_flaky(b"0")


def test_the_index(tmp_path: Path) -> None:
    assert read_index(tmp_path) == []
    write_index(tmp_path, [("a", "1"), ("b", "2")])
    assert read_index(tmp_path) == [("a", "1"), ("b", "2")]
    (tmp_path / "mutants.json").write_bytes(b'[["a"')
    assert read_index(tmp_path) == []
