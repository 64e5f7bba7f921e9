"""Files that are replaced as a whole, and what a killed writer leaves."""

from __future__ import annotations

import errno
import os
import signal
import threading
from pathlib import Path

import pytest

from fuzztui.kernel.base import atomic
from fuzztui.kernel.base.atomic import PART, publish_text, replace_bytes, replace_text
from fuzztui.kernel.base.files import check_writable


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_the_content_is_replaced_and_is_its_owners_alone(tmp_path):
    replace_text(tmp_path / "a", "one")
    replace_text(tmp_path / "a", "tw\udcff\n")
    assert (tmp_path / "a").read_bytes() == b"tw\xff\n"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["a"]


def test_a_writer_that_is_killed_leaves_one_file_which_the_next_one_uses(tmp_path, monkeypatch):
    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    for _ in range(3):
        if not (pid := os.fork()):
            monkeypatch.setattr(atomic.os, "write", die)
            replace_text(tmp_path / "a", "lost")
            os._exit(1)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    assert names(tmp_path) == [f"{PART}0"]
    replace_text(tmp_path / "a", "kept")
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "kept"


def test_two_writers_at_one_moment_write_two_files(tmp_path, monkeypatch):
    """The second one begins and ends while the first one has written half."""
    write, inner = os.write, []

    def half(fd, data):
        if not inner:
            inner.append(True)
            replace_text(tmp_path / "b", "second")
        return write(fd, data[:2])

    monkeypatch.setattr(atomic.os, "write", half)
    replace_text(tmp_path / "a", "first")
    assert (tmp_path / "a").read_text() == "first"
    assert (tmp_path / "b").read_text() == "second"
    assert names(tmp_path) == ["a", "b"]


@pytest.mark.slow
def test_many_writers_of_one_file_never_show_a_part(tmp_path):
    path = tmp_path / "a"
    contents = [bytes([n]) * 5000 for n in range(4)]
    replace_bytes(path, contents[0])
    seen = set()

    def write(data):
        for _ in range(200):
            replace_bytes(path, data)
            seen.add(path.read_bytes())

    threads = [threading.Thread(target=write, args=[data]) for data in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen <= set(contents)
    assert names(tmp_path) == ["a"]


def test_a_full_disk_leaves_the_old_content_and_no_other_file(tmp_path, monkeypatch):
    replace_text(tmp_path / "a", "old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic.os, "write", full)
    with pytest.raises(OSError, match="No space"):
        replace_text(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "old"
    assert names(tmp_path) == ["a"]


def test_what_is_in_the_way_is_passed_over_and_left_as_it_is(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / f"{PART}0").symlink_to(tmp_path / "precious")
    os.mkfifo(tmp_path / f"{PART}1")  # opening one to write would block
    (tmp_path / f"{PART}2").mkdir()
    replace_text(tmp_path / "a", "{}")
    assert (tmp_path / "a").read_text() == "{}"
    assert (tmp_path / "precious").read_text() == "precious"
    assert names(tmp_path) == [f"{PART}0", f"{PART}1", f"{PART}2", "a", "precious"]


def test_a_folder_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        replace_text(tmp_path / "gone" / "a", "x")


def test_what_another_user_left_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / f"{PART}0").write_text("theirs")
    (tmp_path / f"{PART}1").write_text("theirs too")
    real = os.open

    def refuse(path, *args, **kwargs):
        flags = args[0]
        if str(path).endswith(f"{PART}0") and not flags & os.O_EXCL:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, *args, **kwargs)

    monkeypatch.setattr(atomic.os, "open", refuse)  # an ordinary user, and a file of root's
    monkeypatch.setattr(atomic.os, "geteuid", lambda: os.getuid() + 1)  # root, and another's file
    replace_text(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"
    assert names(tmp_path) == [f"{PART}0", f"{PART}1", "a"]
    assert (tmp_path / f"{PART}1").read_text() == "theirs too"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be another user for a moment")
@pytest.mark.parametrize(("left_by", "next_one"), [(0, 65534), (65534, 0)])
def test_a_part_of_another_users_writer_blocks_nobody(tmp_path, left_by, next_one):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / f"{PART}0").write_text("left")
    (folder / f"{PART}0").chmod(0o600)
    os.chown(folder / f"{PART}0", left_by, left_by)
    if not (pid := os.fork()):
        try:
            os.chdir(folder)  # the folders above are closed to others
            os.setresuid(next_one, next_one, next_one)
            replace_text(Path("a"), "new")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    assert (folder / "a").read_text() == "new"
    assert (folder / "a").stat().st_uid == next_one
    assert (folder / f"{PART}0").read_text() == "left"


def test_a_content_that_must_be_on_the_disk_is_waited_for(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(
        atomic.os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}"))
    )
    replace_bytes(tmp_path / "a", b"x")
    assert synced == []
    replace_bytes(tmp_path / "a", b"y", sync=True)
    assert synced == [str(tmp_path / f"{PART}0"), str(tmp_path)]


def test_a_folder_in_which_no_file_can_be_created_is_named():
    """Not one that is full of the parts of other writers."""
    for write in (
        lambda: replace_text(Path("/proc/nope"), "x"),
        lambda: check_writable(Path("/proc")),
    ):
        with pytest.raises(PermissionError) as found:
            write()
        assert found.value.filename == "/proc"


def test_a_published_file_is_for_others_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    file = tmp_path / "metrics.prom"
    before = os.umask(0o022)
    try:
        publish_text(file, "old")
        publish_text(file, "new")
    finally:
        os.umask(before)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o644)
    assert [path.name for path in tmp_path.iterdir()] == ["metrics.prom"]
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    publish_text(pipe, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_link_to_a_file_stays_and_dev_stdout_is_written_to(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    publish_text(link, "new")
    assert link.is_symlink() and file.read_text() == "new"
    (tmp_path / "second").symlink_to(link)
    publish_text(tmp_path / "second", "newer")
    assert link.is_symlink() and file.read_text() == "newer"
    # As "> out" makes it: a link into /proc that leads to a regular file.
    with (tmp_path / "out").open("w") as out:
        stdout = tmp_path / "stdout"
        stdout.symlink_to(f"/proc/self/fd/{out.fileno()}")
        publish_text(stdout, "text")
    assert stdout.is_symlink() and (tmp_path / "out").read_text() == "text"
