"""Adding seeds: what is written, what is refused, and that our own engines take it."""

import os
import threading
from pathlib import Path

import pytest

from fuzztui.cli import ctl
from fuzztui.cli.output import USAGE, CliError
from fuzztui.cli.parser import parse
from fuzztui.engines.directory.sync import Sync
from fuzztui.kernel.wire.commands import AddSeed, Minimise, SkipCurrent
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.instances.add_seed import MAX_SEED, add_seed


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def queue(out: Path) -> list[tuple[str, bytes]]:
    return sorted((p.name, p.read_bytes()) for p in (out / "added/queue").iterdir())


def test_a_file_becomes_the_next_entry(out, tmp_path):
    (tmp_path / "a,b:c\n\x1b é.xml").write_bytes(b"<a>")
    (tmp_path / "second").write_bytes(b"2" * MAX_SEED)
    assert add_seed(out, tmp_path / "a,b:c\n\x1b é.xml").detail.startswith("seed 0 added; ")
    assert add_seed(out, tmp_path / "second").detail.startswith("seed 1 added; ")
    assert queue(out) == [
        ("id:000000,time:0,execs:0,orig:a_b_c__ _.xml".replace(" ", "_"), b"<a>"),
        ("id:000001,time:0,execs:0,orig:second", b"2" * MAX_SEED),
    ]
    assert [p.name for p in (out / "added").iterdir()] == ["queue"]
    assert all(p.stat().st_mode & 0o077 == 0 for p in (out / "added").rglob("*"))


def test_ids_go_on_after_the_last(out, tmp_path):
    (tmp_path / "s").write_bytes(b"s")
    (out / "added/queue").mkdir(parents=True)
    (out / "added/queue/id:000041,time:0,execs:0,orig:x").write_bytes(b"x")
    (out / "added/queue/foreign").write_bytes(b"x")
    assert add_seed(out, tmp_path / "s").detail.startswith("seed 42 added")


def test_a_directory_gives_all_its_files(out, tmp_path):
    seeds = tmp_path / "seeds"
    (seeds / "deeper").mkdir(parents=True)
    for name in ("b", "a"):
        (seeds / name).write_bytes(name.encode())
    (seeds / "empty").touch()
    (seeds / "large").write_bytes(b"x" * (MAX_SEED + 1))
    (seeds / "dangling").symlink_to("nowhere")
    os.mkfifo(seeds / "fifo")
    said = add_seed(out, seeds)
    assert said.made == ["added/0", "added/1"]
    assert said.detail.startswith("seeds 0 to 1 added (4 files skipped: ")
    assert [data for _, data in queue(out)] == [b"a", b"b"]
    (seeds / "b").unlink()
    assert add_seed(out, seeds).detail.startswith("seed 2 added (4 files")


def test_a_symlink_of_the_users_is_followed(out, tmp_path):
    (tmp_path / "real").write_bytes(b"r")
    (tmp_path / "link").symlink_to("real")
    add_seed(out, tmp_path / "link")
    assert queue(out) == [("id:000000,time:0,execs:0,orig:link", b"r")]


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda p: p.touch(), "is empty: a seed needs at least one byte"),
        (lambda p: p.write_bytes(b"x" * (MAX_SEED + 1)), "is larger than 1 MiB"),
        (os.mkfifo, "is not a regular file"),
        (lambda p: p.symlink_to("/dev/zero"), "is not a regular file"),
        (lambda p: p.symlink_to(p), "Too many levels of symbolic links"),
        (lambda p: p.mkdir(), "contains no file that can be a seed"),
        (lambda p: None, "No such file or directory"),
    ],
)
def test_what_cannot_be_a_seed_is_refused(out, tmp_path, make, why):
    make(tmp_path / "seed")
    with pytest.raises(SupervisorError, match=why) as refusal:
        add_seed(out, tmp_path / "seed")
    assert str(refusal.value).startswith(f"{tmp_path}/seed: ")
    assert not (out / "added").exists() or queue(out) == []


def test_a_queue_that_cannot_be_written(out, tmp_path):
    (tmp_path / "s").write_bytes(b"s")
    (out / "added").write_bytes(b"in the way")
    with pytest.raises(SupervisorError, match=r"added.*: "):
        add_seed(out, tmp_path / "s")


def test_several_at_once_take_different_numbers(out, tmp_path):
    (tmp_path / "s").write_bytes(b"s")
    add_seed(out, tmp_path / "s")
    threads = [
        threading.Thread(target=lambda: [add_seed(out, tmp_path / "s") for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [int(name[3:9]) for name, _ in queue(out)] == list(range(81))


class Store:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)


def test_our_own_engines_take_it(out, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(name.encode())
    (out / "main").mkdir()
    add_seed(out, tmp_path / "one")
    sync = Sync(out, Store(out / "main"), 100)
    first = sync.propose()
    assert first is not None and (first.data, first.peer, first.src) == (b"one", "added", 0)
    first.begun()
    add_seed(out, tmp_path / "two")
    again = Sync(out, Store(out / "main"), 100)  # started again
    second = again.propose()
    assert second is not None and second.data == b"two"


# ------------------------------------------------------------------------ ctl


def command(*argv):
    options = parse(["ctl", "run", *argv])
    return ctl.ACTIONS[options.action].make(options)


def test_what_a_script_asks_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("add-seed", "a/../b.xml") == AddSeed(f"{tmp_path}/b.xml")
    assert command("add-seed", "/x/y") == AddSeed("/x/y")
    assert command("skip-current") == SkipCurrent()
    assert command("skip-current", "--instance", "s1") == SkipCurrent("s1")
    name = "id:000000,sig:06,src:000000,time:2,execs:3,op:havoc,rep:2"
    for text in (f"main/crashes/{name}", f"runs/x/out/main/crashes/{name}"):
        assert command("minimise", text) == Minimise(f"crashes/{name}", "main")
    assert command("minimise", "crashes.2026-01-01-00:00:00/x", "--instance", "s1") == Minimise(
        "crashes.2026-01-01-00:00:00/x", "s1"
    )
    assert command("minimise", "hangs/x") == Minimise("hangs/x")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["add-seed"], "needs a file"),
        (["add-seed", "x", "--instance", "main"], "is for all instances"),
        (["skip-current", "12"], "takes no ID"),
        (["minimise"], "needs a finding's file"),
        (["minimise", "12"], "needs a finding's file"),
        (["minimise", "main/queue/id:000001"], "crashes/NAME or main/crashes/NAME"),
    ],
)
def test_wrong_commands_are_refused(argv, words):
    with pytest.raises(CliError, match=words) as failure:
        command(*argv)
    assert failure.value.code == USAGE
