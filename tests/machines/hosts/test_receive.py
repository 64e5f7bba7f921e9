"""Sending files and receiving them: only what is missing, and nowhere else."""

import json
import os
import zlib
from pathlib import Path

import pytest

from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.machines.hosts import receive
from fuzztui.machines.hosts.gather import Parcel, digest_of
from fuzztui.machines.hosts.protocol import to_text
from fuzztui.machines.hosts.receive import Receiver
from fuzztui.machines.hosts.sending import ship
from fuzztui.machines.hosts.shipping import Shipment
from fuzztui.machines.hosts.ssh import HostError
from fuzztui.run.campaign.places import HostPlace


class Pair:
    """A hub's tree, and a host that receives it; counts what goes over."""

    def __init__(self, path: Path) -> None:
        self.tree = path / "tree"
        self.tree.mkdir()
        self.run = path / "run"
        self.receiver = Receiver(self.run)
        self.sent: list[bytes] = []
        self.progress: list[str] = []
        self.cut_after = -1

    def shipment(self) -> Shipment:
        parcel = Parcel()
        parcel.add_trees([self.tree])
        parcel.stand_in(self.tree / "nowhere", "cwd")
        files, directories = parcel.finished(), tuple(parcel.directories)
        return Shipment(HostPlace("h", "h", 1), "~/r", "", files, directories, ())

    async def ask(self, what: str, patience: float = 0.0, **fields):
        body = json.loads(json.dumps(fields))
        try:
            if what == "ship":
                return self.receiver.ship(body)
            if len(self.sent) == self.cut_after:
                raise ConnectionError
            self.sent += [p["data"] for p in body["pieces"]]
            return self.receiver.blob(body)
        except ProtocolError as e:
            return {"error": str(e)}

    async def ship(self) -> int:
        """How many pieces were sent."""
        before = len(self.sent)
        await ship(self.shipment(), self.ask, self.progress.append)
        return len(self.sent) - before

    @property
    def there(self) -> Path:
        return self.run / "shipped/tree0-tree"


@pytest.fixture
def pair(tmp_path):
    return Pair(tmp_path)


async def test_all_arrives_with_its_mode(pair):
    (pair.tree / "a/b").mkdir(parents=True)
    (pair.tree / "a/b/run").write_bytes(b"#!x")
    (pair.tree / "a/b/run").chmod(0o755)
    (pair.tree / "empty").touch()
    assert await pair.ship() == 1
    assert (pair.there / "a/b/run").read_bytes() == b"#!x"
    assert os.access(pair.there / "a/b/run", os.X_OK)
    assert (pair.there / "empty").read_bytes() == b""
    assert (pair.run / "shipped/cwd").is_dir()
    assert pair.run.stat().st_mode & 0o077 == 0
    assert not (pair.run / "supervisor/incoming").exists()


async def test_odd_names(pair):
    names = {b"\xff", b"a\nb", "ü €".encode(), b"-rf", b"x" * 255}
    for name in names:
        (pair.tree / os.fsdecode(name)).write_bytes(name)
    await pair.ship()
    there = {os.fsencode(p.name): p.read_bytes() for p in pair.there.iterdir()}
    assert there == {name: name for name in names}


async def test_only_what_has_changed_is_sent_again(pair):
    for name in "abc":
        (pair.tree / name).write_text(name)
    assert await pair.ship() == 3
    pair.receiver = Receiver(pair.run)
    assert await pair.ship() == 0
    (pair.tree / "b").write_text("new")
    assert await pair.ship() == 1
    assert (pair.there / "b").read_text() == "new"


async def test_what_the_target_has_changed_is_mended(pair):
    (pair.tree / "a").write_text("one")
    await pair.ship()
    (pair.there / "a").write_text("two")
    (pair.there / "made").write_text("by the target")
    assert await pair.ship() == 1
    assert (pair.there / "a").read_text() == "one"
    assert (pair.there / "made").exists()


async def test_what_is_no_longer_shipped_is_removed(pair):
    (pair.tree / "a").write_text("one")
    (pair.tree / "b").write_text("two")
    await pair.ship()
    (pair.tree / "a").unlink()
    await pair.ship()
    assert [p.name for p in pair.there.iterdir()] == ["b"]


async def test_a_directory_and_a_file_change_places(pair):
    (pair.tree / "a").mkdir()
    (pair.tree / "a/x").write_text("1")
    (pair.tree / "b").write_text("2")
    await pair.ship()
    (pair.tree / "a/x").unlink()
    (pair.tree / "a").rmdir()
    (pair.tree / "b").unlink()
    (pair.tree / "a").write_text("1")
    (pair.tree / "b").mkdir()
    (pair.tree / "b/x").write_text("3")
    await pair.ship()
    assert (pair.there / "a").read_text() == "1"
    assert (pair.there / "b/x").read_text() == "3"


async def test_the_same_content_is_sent_once(pair):
    for name in "abc":
        (pair.tree / name).write_text("the same")
    assert await pair.ship() == 1
    assert {(pair.there / name).read_text() for name in "abc"} == {"the same"}


async def test_a_large_file_goes_in_pieces_and_continues_after_a_cut(pair):
    data = os.urandom(300_000)
    (pair.tree / "large").write_bytes(data)
    pair.cut_after = 2
    with pytest.raises(ConnectionError):
        await pair.ship()
    first = len(pair.sent)
    pair.cut_after = -1
    pair.receiver = Receiver(pair.run)
    await pair.ship()
    assert (pair.there / "large").read_bytes() == data
    raw = sum(len(zlib.decompress(receive.to_bytes(text))) for text in pair.sent)
    assert first == 2 and raw == len(data)
    assert pair.progress


async def test_many_small_files_share_messages(pair):
    asked = []
    original = pair.ask

    async def counted(what, patience=0.0, **fields):
        asked.append(what)
        return await original(what, **fields)

    pair.ask = counted
    for i in range(500):
        (pair.tree / str(i)).write_text(str(i))
    assert await pair.ship() == 500
    assert asked.count("blob") < 10


async def test_a_file_that_changes_meanwhile(pair):
    (pair.tree / "a").write_text("one")
    shipment = pair.shipment()
    (pair.tree / "a").write_text("two")
    with pytest.raises(HostError) as error:
        await ship(shipment, pair.ask, pair.progress.append)
    assert "rest" in error.value.advice
    assert not (pair.there / "a").exists()


async def test_a_disk_without_room(pair):
    (pair.tree / "a").write_text("one")

    async def ask(what, patience=0.0, **fields):
        return {**await pair.ask(what, **fields), "free": 10}

    with pytest.raises(HostError) as error:
        await ship(pair.shipment(), ask, pair.progress.append)
    assert "free space" in error.value.advice


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"missing": []},
        {"missing": {"0" * 32: 0}},
        {"missing": {"HASH": -5}},
        {"missing": {"HASH": 1000}},
        {"missing": {"HASH": "x"}},
        {"error": "No space left on device\x1b[2J"},
    ],
)
async def test_a_host_that_answers_nonsense(pair, answer):
    (pair.tree / "a").write_text("one")
    shipment = pair.shipment()
    text = json.dumps(answer).replace("HASH", shipment.files[0].hash)

    async def ask(what, patience=0.0, **fields):
        return json.loads(text)

    with pytest.raises(HostError) as error:
        await ship(shipment, ask, pair.progress.append)
    assert "\x1b" not in str(error.value)


# ------------------------------------------------------------------ a hub that is hostile

HASH = digest_of([b"evil"])


def row(path: str, **other):
    fields = {"path": path, "size": 4, "hash": HASH, "mode": 0o644} | other
    return [fields["path"], fields["size"], fields["hash"], fields["mode"]]


@pytest.mark.parametrize(
    "bad",
    [
        *map(row, ["../x", "a/../../x", "/etc/x", "a//b", "./a", "", "a\0b", "x" * 300, 7]),
        row("a/" * 600 + "b"),
        *(row("a", size=size) for size in (-1, 1 << 40, True)),
        *(row("a", hash=hash) for hash in ("../../x", "0" * 31)),
        row("a", mode=0o4755),
        *(["a"], "a", None),
    ],
)
def test_a_path_that_leads_elsewhere(tmp_path, bad):
    receiver = Receiver(tmp_path / "run")
    with pytest.raises(ProtocolError):
        receiver.ship({"first": True, "files": [bad]})
    assert not list((tmp_path / "run/shipped").iterdir())


@pytest.mark.parametrize("directory", ["..", "/x", "a/../..", ""])
def test_a_directory_that_leads_elsewhere(tmp_path, directory):
    with pytest.raises(ProtocolError):
        Receiver(tmp_path / "run").ship({"first": True, "files": [], "directories": [directory]})


def piece(data: bytes = b"evil", digest: str = HASH, offset: int = 0) -> dict:
    return {"pieces": [{"hash": digest, "offset": offset, "data": to_text(zlib.compress(data))}]}


@pytest.mark.parametrize(
    "body",
    [
        piece(digest="0" * 32),
        piece(offset=1),
        piece(offset=-1),
        piece(b"evil and more"),
        piece(b"live"),
        piece(b"x" * (receive.PIECE + 1)),
        {"pieces": [{"hash": HASH, "offset": 0, "data": "!"}]},
        {"pieces": [{"hash": HASH, "offset": 0, "data": to_text(b"not zlib")}]},
        {"pieces": [{"hash": HASH, "offset": 0, "data": to_text(zlib.compress(b"evil")[:-2])}]},
        {"pieces": [{"hash": [], "offset": 0, "data": ""}]},
        {"pieces": [None]},
        {"pieces": None},
        {},
    ],
)
def test_a_piece_that_does_not_fit(tmp_path, body):
    receiver = Receiver(tmp_path / "run")
    assert receiver.ship({"first": True, "files": [row("a")]})["missing"] == {HASH: 0}
    with pytest.raises(ProtocolError):
        receiver.blob(body)
    assert not list((tmp_path / "run/shipped").iterdir())
    with pytest.raises(ProtocolError):
        receiver.ship({"files": [], "last": True})
    receiver.blob(piece())
    receiver.ship({"files": [], "last": True})
    assert (tmp_path / "run/shipped/a").read_bytes() == b"evil"


def test_no_link_of_the_target_leads_out(tmp_path):
    """A target runs as the same user: it may put links where files are expected."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(b"evil")
    (outside / "x").chmod(0o600)
    receiver = Receiver(tmp_path / "run")
    receiver.ship({"first": True, "files": []})
    shipped = tmp_path / "run/shipped"
    (shipped / "d").symlink_to(outside)
    (shipped / "y").symlink_to(outside / "x")
    answer = receiver.ship({"files": [row("d/x", mode=0o755), row("y")]})
    assert answer["missing"] == {HASH: 0}
    receiver.blob(piece())
    assert not (shipped / "d").is_symlink() and not (shipped / "y").is_symlink()
    assert (outside / "x").stat().st_mode & 0o777 == 0o600

    receiver.ship({"files": [], "last": True})
    (shipped / "d/x").unlink()
    (shipped / "d").rmdir()
    (shipped / "d").symlink_to(outside)
    receiver.ship({"first": True, "files": [], "last": True})  # nothing is shipped any more
    assert (outside / "x").exists()


def test_too_much_at_once(tmp_path):
    receiver = Receiver(tmp_path / "run")
    with pytest.raises(ProtocolError):
        receiver.ship({"first": True, "files": [row("a")] * (receive.MAX_ROWS + 1)})
    half = receive.MAX_BYTES // 2 + 1
    with pytest.raises(ProtocolError):
        receiver.ship({"first": True, "files": [row("a", size=half), row("b", size=half)]})


def test_a_directory_of_other_files_is_no_run(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ProtocolError):
        Receiver(tmp_path).ship({"first": True, "files": []})
