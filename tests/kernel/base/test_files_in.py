"""Which files a directory of inputs has."""

import os

from fuzztui.kernel.base.files import files_in


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
