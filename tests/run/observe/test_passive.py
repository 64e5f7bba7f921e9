"""Passive instances: directories in ``out/`` that a hub or a sync fills."""

import os

import pytest

from fuzztui.features.watch.directories import is_instance
from fuzztui.kernel.wire.events import PassiveInstance
from fuzztui.run.observe import passive
from fuzztui.run.observe.passive import MARK, PassiveDirectories, make_passive, source_of


def put(directory, *numbers):
    (directory / "queue").mkdir(exist_ok=True)
    for n in numbers:
        (directory / f"queue/id:{n:06d},op:x").write_text("x")


def test_only_marked_directories_are_passive_instances(tmp_path):
    make_passive(tmp_path / "box_main", "box")
    put(tmp_path / "box_main", 0, 1)
    put_fuzzer = tmp_path / "stranger"
    put_fuzzer.mkdir()
    put(put_fuzzer, 0)
    make_passive(tmp_path / ".hidden", "x")
    (tmp_path / "link").symlink_to(tmp_path / "box_main")
    seen = PassiveDirectories(tmp_path)
    assert seen.look({"main"}) == [PassiveInstance("box_main", "box", 2)]
    assert seen.look({"main"}) == []


def test_an_instance_of_the_campaign_is_never_passive(tmp_path):
    make_passive(tmp_path / "main", "a mistake")
    assert PassiveDirectories(tmp_path).look({"main"}) == []


def test_a_growing_number_is_reported_sooner_than_one_that_hardly_grows(tmp_path, monkeypatch):
    make_passive(tmp_path / "box", "there")
    put(tmp_path / "box", *range(20))
    seen = PassiveDirectories(tmp_path)
    assert seen.look(()) == [PassiveInstance("box", "there", 20)]
    put(tmp_path / "box", 20)
    assert seen.look(()) == []
    monkeypatch.setattr(passive.time, "monotonic", lambda: 1e9)
    assert seen.look(()) == [PassiveInstance("box", "there", 21)]
    put(tmp_path / "box", *range(21, 40))
    assert seen.look(()) == [PassiveInstance("box", "there", 40)]


def test_another_source_is_reported(tmp_path):
    make_passive(tmp_path / "box", "there")
    seen = PassiveDirectories(tmp_path)
    seen.look(())
    make_passive(tmp_path / "box", "elsewhere")
    assert seen.look(()) == [PassiveInstance("box", "elsewhere", 0)]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"from": 7}', b"\xff", b"[" * 4000, b"{}"])
def test_a_mark_may_contain_anything(tmp_path, content):
    (tmp_path / MARK).write_bytes(content)
    assert source_of(str(tmp_path)) == "unknown"


def test_a_mark_that_is_no_file_is_none(tmp_path):
    os.mkfifo(tmp_path / MARK)
    assert source_of(str(tmp_path)) is None


def test_no_fuzzer_is_watched_in_one(tmp_path):
    make_passive(tmp_path / "box", "there")
    put(tmp_path / "box", 0)
    (tmp_path / "box/crashes").mkdir()
    assert not is_instance(str(tmp_path / "box"))
