"""Entries go both ways once each; files of the other fuzzer may be anything."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from waiting import wait_until

from fuzztui.kernel.base.publish import publish_new
from fuzztui.kernel.wire.events import FindingSaved
from fuzztui.machines.siblings import exchange as module
from fuzztui.machines.siblings.exchange import SiblingExchange
from fuzztui.machines.sync.peers import MAX_BYTES
from fuzztui.run.campaign.rundir import RunDir, prepare_run


class Beside:
    """A run beside another fuzzer, whose directories are ``corpus`` and ``crashes``."""

    def __init__(self, path: Path) -> None:
        prepare_run(path / "run")
        self.run = RunDir(path / "run")
        self.corpus, self.crashes = path / "corpus", path / "crashes"
        self.queue = self.run.instance("main") / "queue"
        self.queue.mkdir(parents=True)
        self.corpus.mkdir()
        self.crashes.mkdir()
        self.again()

    def again(self, *, export: bool = True, has_triage: bool = True) -> SiblingExchange:
        """As after a restart of the supervisor, which notes all entries of the importer."""
        table = {"name": "lf", "corpus": str(self.corpus), "crashes": str(self.crashes)}
        self.exchange = SiblingExchange(
            self.run, {**table, "export": export}, "main", has_triage=has_triage
        )
        for file in sorted(self.queue.iterdir()):
            self.exchange.entry(f"queue/{file.name}")
        return self.exchange

    def found(self, number: int, data: bytes) -> None:
        """The importer saves an entry."""
        name = f"id:{number:06d},src:000000,op:havoc"
        (self.queue / name).write_bytes(data)
        self.exchange.entry(f"queue/{name}")

    def has(self, folder: str = "queue") -> list[bytes]:
        files = sorted((self.run.instance("lf") / folder).iterdir())
        return [file.read_bytes() for file in files]


def write(directory: Path, name: str, data: bytes) -> Path:
    """A file that was written a while ago."""
    (directory / name).write_bytes(data)
    os.utime(directory / name, (1e9, 1e9))
    return directory / name


def counts(exchange: SiblingExchange) -> dict[str, int]:
    return {key: number for key, number in exchange.figures.items() if key != "behind"}


def sha1(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


@pytest.fixture
def beside(tmp_path: Path) -> Beside:
    return Beside(tmp_path)


def test_both_ways_and_no_echo(beside: Beside) -> None:
    write(beside.corpus, sha1(b"theirs"), b"theirs")
    beside.found(0, b"ours")
    assert beside.exchange.go() == ""
    assert beside.has() == [b"theirs"]
    assert (beside.corpus / sha1(b"ours")).read_bytes() == b"ours"
    assert counts(beside.exchange) == {"files": 1, "imported": 1, "exported": 1, "crashes": 0}
    beside.found(1, b"theirs")  # an instance has imported it from another instance
    write(beside.corpus, "a copy of ours", b"ours")
    write(beside.corpus, sha1(b"more"), b"more")
    wait_until(lambda: (beside.exchange.go(), beside.exchange.figures["imported"] == 2)[1])
    assert beside.has() == [b"theirs", b"more"]
    assert len(list(beside.corpus.iterdir())) == 4
    assert beside.exchange.figures["exported"] == 1


def test_a_restart_takes_nothing_twice(beside: Beside) -> None:
    write(beside.corpus, "one", b"theirs")
    write(beside.crashes, "crash-1", b"fails")
    beside.found(0, b"before it was trimmed")
    beside.exchange.go()
    next(beside.queue.iterdir()).write_bytes(b"trimmed")
    os.utime(beside.corpus / sha1(b"before it was trimmed"), (1e9, 1e9))
    after = beside.again()
    after.go()
    assert beside.has() == [b"theirs"], "what was exported is known, also when it was trimmed"
    assert counts(after) == {"files": 1, "imported": 1, "exported": 2, "crashes": 1}
    assert len(after.new_findings()) == 1


def test_crashes_are_findings_or_entries(beside: Beside) -> None:
    write(beside.crashes, "crash-abc", b"fails")
    write(beside.crashes, "again", b"fails")
    beside.exchange.go()
    assert beside.has("crashes") == [b"fails"]
    (finding,) = beside.exchange.new_findings()
    assert isinstance(finding, FindingSaved)
    assert finding.instance == "lf"
    assert (beside.run.instance("lf") / finding.file).read_bytes() == b"fails"
    assert beside.exchange.figures["crashes"] == 2
    beside.again(has_triage=False).go()
    assert beside.has() == [b"fails"], "the engine runs it when it imports it"


def test_only_so_many_crashes(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.MOST, "crashes", 2)
    monkeypatch.setattr(module, "AT_ONCE", 2)
    for n in range(5):
        write(beside.crashes, f"crash-{n}", b"%d" % n)
    beside.again()
    assert "limit of 2 inputs" in beside.exchange.go()
    beside.exchange.go()
    assert len(beside.exchange.new_findings()) == 2
    assert not beside.exchange.new_findings(), "each once"


def test_hostile_files_are_left_out(beside: Beside, tmp_path: Path) -> None:
    secret = write(tmp_path, "secret", b"secret")
    for directory in (beside.corpus, beside.crashes):
        os.mkfifo(directory / "fifo")
        (directory / "link").symlink_to(secret)
        (directory / "folder").mkdir()
        write(directory, "empty", b"")
        write(directory, "large", b"x" * (MAX_BYTES + 1))
        write(directory, ".hidden", b"hidden")
        write(directory, "a\x1b[31m\n,sum:0\u202e", b"good" + directory.name.encode())
    assert beside.exchange.go() == ""
    assert beside.has() == [b"goodcorpus"]
    assert beside.has("crashes") == [b"goodcrashes"]
    names = [p.name for p in beside.run.instance("lf").glob("*/*")]
    assert all("\x1b" not in name and "\n" not in name for name in names)


def test_no_file_of_the_sibling_is_replaced(beside: Beside, tmp_path: Path) -> None:
    write(beside.corpus, sha1(b"ours"), b"something else")
    outside = tmp_path / "outside"
    (beside.corpus / sha1(b"mine")).symlink_to(outside)
    beside.found(0, b"ours")
    beside.found(1, b"mine")
    beside.exchange.go()
    assert (beside.corpus / sha1(b"ours")).read_bytes() == b"something else"
    assert not outside.exists()
    assert beside.exchange.figures["exported"] == 0


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
@pytest.mark.parametrize("kind", ["link", "fifo", "file"])
def test_nothing_is_followed_that_comes_while_a_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, links: bool
) -> None:
    file, outside = tmp_path / "corpus" / "name", tmp_path / "outside"
    file.parent.mkdir()

    def put() -> None:
        if kind == "link":
            file.symlink_to(outside)
        elif kind == "fifo":
            os.mkfifo(file)
        else:
            file.write_bytes(b"theirs")

    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    assert not publish_new(file, b"ours", put)
    assert not outside.exists()
    assert [p.name for p in file.parent.iterdir()] == ["name"]
    assert kind != "file" or file.read_bytes() == b"theirs"
    file.unlink()
    assert publish_new(file, b"ours", lambda: None)
    assert [p.name for p in file.parent.iterdir()] == ["name"]
    assert file.read_bytes() == b"ours"


def test_a_file_that_cannot_be_made_names_the_directory(tmp_path: Path) -> None:
    """The same text in each pass: otherwise the log gets an event for each."""
    with pytest.raises(FileNotFoundError) as caught:
        publish_new(tmp_path / "gone" / "name", b"ours", lambda: None)
    assert caught.value.filename == str(tmp_path / "gone")


def test_an_exported_file_has_the_mode_of_a_new_one(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    mask = os.umask(0o022)
    try:
        with monkeypatch.context() as watched:  # another thread would make files without its mask
            watched.setattr(os, "umask", lambda _: pytest.fail("is of the whole process"))
            beside.found(0, b"ours")
            assert beside.exchange.go() == ""
    finally:
        os.umask(mask)
    assert (beside.corpus / sha1(b"ours")).stat().st_mode & 0o777 == 0o644


def test_a_directory_may_come_late_and_go(tmp_path: Path) -> None:
    beside = Beside(tmp_path)
    beside.corpus.rmdir()
    beside.found(0, b"ours")
    write(beside.crashes, "crash", b"fails")
    assert "waiting for it" in beside.exchange.go()
    assert beside.exchange.new_findings(), "the other directory is read all the same"
    real = tmp_path / "elsewhere"
    real.mkdir()
    write(real, "one", b"theirs")
    beside.corpus.symlink_to(real)
    assert beside.exchange.go() == ""
    assert beside.has() == [b"theirs"]
    assert (real / sha1(b"ours")).exists()
    beside.corpus.unlink()
    assert str(beside.corpus) in beside.exchange.go()


def test_a_file_in_place_of_a_directory_is_named(beside: Beside) -> None:
    beside.crashes.rmdir()
    beside.crashes.write_bytes(b"")
    assert beside.exchange.go().startswith(f"{beside.crashes}: this is no directory")


def test_a_link_may_lead_to_another_directory(tmp_path: Path) -> None:
    beside = Beside(tmp_path)
    beside.corpus.rmdir()
    for day in ("monday", "tuesday"):
        (tmp_path / day).mkdir()
        write(tmp_path / day, "one", day.encode())
        (tmp_path / "next").symlink_to(day)
        (tmp_path / "next").rename(beside.corpus)
        assert beside.exchange.go() == ""
    assert beside.has() == [b"monday", b"tuesday"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_a_directory_that_cannot_be_read_or_written(beside: Beside) -> None:
    write(beside.corpus, "one", b"theirs")
    beside.found(0, b"ours")
    beside.corpus.chmod(0o500)
    try:
        assert "Permission denied" in beside.exchange.go()
    finally:
        beside.corpus.chmod(0o700)
    wait_until(lambda: (beside.exchange.go(), beside.exchange.figures["imported"])[1] == 1)
    assert (beside.corpus / sha1(b"ours")).exists()


def test_a_disk_that_is_full_loses_nothing(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    write(beside.corpus, "one", b"theirs")
    with monkeypatch.context() as broken:

        def full(self: module.QueueWriter) -> None:
            self._waiting.clear()
            raise OSError(28, "No space left on device")

        broken.setattr(module.QueueWriter, "flush", full)
        assert "No space left" in beside.exchange.go()
    assert beside.exchange.go() == ""
    assert beside.has() == [b"theirs"]


def test_only_so_many_inputs(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.MOST, "corpus", 3)
    for n in range(9):
        write(beside.corpus, f"f{n}", b"%d" % n)
    beside.again()
    assert "limit of 3 inputs" in beside.exchange.go()
    beside.exchange.go()
    assert len(beside.has()) == 3
    assert beside.exchange.figures["behind"]


def test_a_file_counts_once_while_it_is_there(beside: Beside) -> None:
    write(beside.corpus, "one", b"theirs")
    write(beside.corpus, "two", b"more")
    beside.exchange.go()
    os.utime(beside.corpus / "one", (2e9, 1e9))
    os.utime(beside.corpus / "two", (1e9, 9e8))
    beside.exchange.go()
    assert beside.exchange.figures["files"] == 2
    (beside.corpus / "two").unlink()
    beside.exchange.go()
    assert (beside.exchange.figures["files"], beside.exchange.figures["imported"]) == (1, 2)
    write(beside.corpus, "two", b"more")
    wait_until(lambda: (beside.exchange.go(), beside.exchange.figures["files"])[1] == 2)


def test_imports_do_not_wait_for_exports(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a resume all entries are exported again, and nothing of it is new."""
    write(beside.corpus, "one", b"theirs")
    for n in range(3):
        beside.found(n, b"ours %d" % n)
    beside.exchange.go()
    monkeypatch.setattr(module, "AT_ONCE", 1)
    after, before = beside.again(), beside.exchange.taken
    assert after.figures["behind"], "nothing is read yet"
    for _ in range(9):
        after.go()
        assert after.taken == before == 1, "neither an echo, nor news"


def test_after_a_resume_what_is_new_does_not_wait(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(9):
        write(beside.corpus, f"f{n}", b"theirs %d" % n)
        beside.found(n, b"ours %d" % n)
    beside.exchange.go()
    write(beside.corpus, "z", b"new")
    monkeypatch.setattr(module, "AT_ONCE", 1)
    after = beside.again()
    beside.found(9, b"ours and new")
    after.go()
    assert (beside.corpus / sha1(b"ours and new")).exists()
    assert beside.has()[-1] == b"new"


def test_a_corpus_that_cannot_be_written_is_read(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(file: Path, *_: object) -> bool:
        raise PermissionError(13, "Permission denied", str(file))

    write(beside.corpus, "one", b"theirs")
    beside.found(0, b"ours")
    with monkeypatch.context() as unwritable:
        unwritable.setattr(module, "publish_new", refused)
        assert str(beside.corpus) in beside.exchange.go()
    assert beside.has() == [b"theirs"]
    assert beside.exchange.go() == ""
    assert (beside.corpus / sha1(b"ours")).exists()


def test_a_slow_input_is_no_crash(beside: Beside) -> None:
    write(beside.crashes, "slow-unit-abc", b"slow")
    write(beside.crashes, "timeout-abc", b"hangs")
    beside.exchange.go()
    assert beside.has("crashes") == [b"hangs"]
    assert beside.exchange.figures["crashes"] == 1


def test_the_directory_of_an_instance_is_left_alone(beside: Beside) -> None:
    other = beside.run.instance("s3")
    (other / "queue").mkdir(parents=True)
    table = {"name": "s3", "corpus": str(beside.corpus), "crashes": "", "export": True}
    with pytest.raises(FileExistsError, match="another name"):
        SiblingExchange(beside.run, table, "main", has_triage=True)
    assert [p.name for p in other.iterdir()] == ["queue"]


def test_one_pass_is_bounded(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 10)
    for n in range(25):
        write(beside.corpus, f"f{n}", b"theirs %d" % n)
        beside.found(n, b"ours %d" % n)
    beside.exchange.go()
    assert (beside.exchange.figures["exported"], beside.exchange.figures["imported"]) == (10, 10)
    assert beside.exchange.figures["behind"]
    wait_until(lambda: (beside.exchange.go(), beside.exchange.figures["imported"])[1] == 25)
    assert not beside.exchange.figures["behind"]


def test_without_export_nothing_is_written_there(beside: Beside) -> None:
    beside.again(export=False)
    beside.found(0, b"ours")
    write(beside.corpus, "one", b"theirs")
    beside.exchange.go()
    assert [p.name for p in beside.corpus.iterdir()] == ["one"]
    assert beside.has() == [b"theirs"]


def test_a_directory_that_cannot_be_asked_for_is_waited_for(beside: Beside) -> None:
    """As one whose parent may not be read: to ask for it raises an error."""
    beside.corpus = Path("/", "x" * 300)
    exchange = beside.again()
    assert "no such directory" in exchange.go()
    assert exchange.figures["behind"] is False
