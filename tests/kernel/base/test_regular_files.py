"""What a directory may hold: only regular files are listed and read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fuzztui.kernel.base.files import files_in, read_if_regular, real_path


def test_only_regular_files_are_read_and_nothing_is_left_open(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 100)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    before = set(os.listdir("/proc/self/fd"))
    assert read_if_regular(tmp_path / "file", 10) == b"x" * 10
    for name in ("link", "fifo", "directory", "nothing", "file/x"):
        assert read_if_regular(tmp_path / name, 10) is None
    # What other tests have left may be closed meanwhile.
    assert set(os.listdir("/proc/self/fd")) <= before


def test_a_text_that_names_no_file_has_no_real_path(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert real_path(tmp_path / "link") == Path(os.path.realpath(tmp_path)) / "file"
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    assert read_if_regular(real_path(tmp_path / "circle"), 10) is None
    for text in ("a\0b", "a\ud800"):
        with pytest.raises(OSError, match="not the name of a file"):
            real_path(text)


def test_regular_files_by_name_without_hidden_ones(tmp_path):
    queue = tmp_path / "queue"
    names = ("b", "a\nb", ".hidden", ".state/deterministic_done/a", "more/c", "id:000003,gone")
    for name in names:
        file = queue / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")
    os.mkfifo(queue / "pipe")
    (queue / "link").symlink_to("/etc/passwd")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"x")
    (queue / "away").symlink_to(tmp_path / "outside")
    found = [str(file.relative_to(tmp_path)) for file in files_in([queue])]
    assert found == ["queue/a\nb", "queue/b", "queue/more/c"]
    one = queue / ".hidden"
    assert list(files_in([one, queue / "pipe", tmp_path / "nowhere"])) == [one]
