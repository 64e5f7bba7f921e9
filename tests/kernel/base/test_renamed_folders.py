"""Where the files of findings are after a resumed afl-fuzz has renamed their directory."""

import os

import pytest

from fuzztui.kernel.base.renamed_folders import present_file, renamed


@pytest.fixture
def instance(tmp_path):
    for name in ("crashes", "crashes.2026-01", "crashes.2026-02", "hangs.2026-01", "crashes-x"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_the_latest_directory_is_the_first(instance):
    assert [path.name for path in renamed(instance, "crashes")] == [
        "crashes.2026-02",
        "crashes.2026-01",
    ]
    assert renamed(instance / "gone", "crashes") == renamed(instance / "a\0b", "crashes") == []


def test_the_newest_file_of_a_name(instance):
    assert present_file(instance, "crashes", "a") is None
    (instance / "crashes.2026-01" / "a").touch()
    assert present_file(instance, "crashes", "a") == instance / "crashes.2026-01" / "a"
    os.mkfifo(instance / "crashes.2026-02" / "a")
    assert present_file(instance, "crashes", "a") == instance / "crashes.2026-01" / "a"
    (instance / "crashes" / "a").touch()
    assert present_file(instance, "crashes", "a") == instance / "crashes" / "a"
    assert present_file(instance, "crashes", "a\0") is None
