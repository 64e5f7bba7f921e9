"""The stub that runs first on a host, as a process of its own: without ssh."""

import ast
import base64
import fcntl
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from fuzztui.kernel.base.installation import IN_USE, hold_installation
from fuzztui.machines.hosts import boot

SERVER = "import os, sys; print(sys.argv[1:], os.environ['PYTHONPATH'], sys.stdin.readline())"
PSUTIL = "version_info = (99,)"


def packed(server: str = SERVER, psutil: str = PSUTIL) -> bytes:
    """A small bundle: a server, and a psutil."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for name, text in (("server.py", server), ("native/psutil.py", psutil)):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return data.getvalue()


def name_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def argument(data: bytes, module: str = "server") -> str:
    given = {"hash": name_of(data), "size": len(data), "arguments": ["a b"], "module": module}
    return base64.b64encode(json.dumps(given).encode()).decode()


class Stub:
    """One start of the stub, with a home of its own."""

    def __init__(self, home: Path, data: bytes, limit: int = 0, python: str = sys.executable):
        source = Path(boot.__file__).read_text() + "\nmain(sys.argv[1])\n"
        bounds = ["prlimit", f"--fsize={limit}"] if limit else []
        self.process = subprocess.Popen(
            [*bounds, python, "-I", "-c", source, argument(data)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"HOME": str(home), "PATH": os.environ["PATH"], "XDG_CACHE_HOME": ""},
        )

    def word(self) -> str:
        line = self.process.stdout.readline()
        assert line.startswith(boot.MAGIC), line
        return line.removeprefix(boot.MAGIC).decode().strip()

    def failed(self) -> dict:
        verb, _, rest = self.word().partition(" ")
        assert verb == "failed"
        assert self.process.wait() == 1
        return json.loads(rest)

    def finish(self, data: bytes = b"") -> str:
        out, _ = self.process.communicate(data)
        return out.decode()


@pytest.fixture
def stub(tmp_path):
    started: list[Stub] = []

    def start(data: bytes, **kwargs) -> Stub:
        started.append(Stub(tmp_path, data, **kwargs))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.communicate()


def test_becomes_the_server_which_reads_what_follows(stub, tmp_path):
    data = packed()
    first = stub(data)
    assert first.word() == "need"
    out = first.finish(data + b"for the server\n")
    assert out.startswith("\x00fuzztui-boot 1 ready\n")
    entry = tmp_path / ".cache/fuzztui/lib" / name_of(data)
    assert f"['a b'] {entry}:{entry}/native for the server" in out

    second = stub(data)
    assert second.word() == "have"
    assert second.word() == "ready"
    assert "for it" in second.finish(b"for it\n")


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("")])
def test_a_copy_that_has_lost_a_file_is_replaced(stub, tmp_path, damage):
    data = packed()
    first = stub(data)
    assert first.word() == "need"
    first.finish(data + b"1\n")
    entry = tmp_path / ".cache/fuzztui/lib" / name_of(data)
    (entry / "compiled.so").touch()  # what engines add is no damage
    again = stub(data)
    assert again.word() == "have"
    again.finish(b"2\n")

    damage(entry / "server.py")
    mended = stub(data)
    assert mended.word() == "need"
    assert "for it" in mended.finish(data + b"for it\n")
    assert [p.name for p in entry.parent.iterdir()] == [name_of(data)]


def test_two_starts_at_once_with_an_empty_cache(stub, tmp_path):
    data = packed()
    one, two = stub(data), stub(data)
    assert one.word() == two.word() == "need"
    assert "1 ready" in one.finish(data + b"1\n")
    assert "1 ready" in two.finish(data + b"2\n")
    assert [p.name for p in (tmp_path / ".cache/fuzztui/lib").iterdir()] == [name_of(data)]


def test_an_interrupted_start_leaves_no_entry(stub, tmp_path):
    data = packed()
    cut = stub(data)
    assert cut.word() == "need"
    cut.finish(data[:-1])
    assert not list((tmp_path / ".cache/fuzztui/lib").iterdir())
    assert stub(data).word() == "need"


def test_damaged_bytes_are_refused(stub, tmp_path):
    data = packed()
    damaged = stub(data)
    damaged.word()
    damaged.process.stdin.write(data[:-1] + bytes([data[-1] ^ 1]))
    damaged.process.stdin.flush()
    assert damaged.failed()["what"] == "damaged"
    assert not list((tmp_path / ".cache/fuzztui/lib").iterdir())


def test_a_cache_that_cannot_be_made(stub, tmp_path):
    (tmp_path / ".cache").write_text("")
    assert stub(packed()).failed()["what"] == "os"


def test_old_entries_go_unless_they_are_in_use(stub, tmp_path):
    lib = tmp_path / ".cache/fuzztui/lib"
    for age in range(5):
        (lib / f"old{age}").mkdir(parents=True)
        (lib / f"old{age}" / boot.IN_USE).touch()
        os.utime(lib / f"old{age}" / boot.IN_USE, (1000 - age, 1000 - age))
    (lib / "x.tmp-1").mkdir()
    (lib / "x.tmp-1" / boot.IN_USE).touch()
    data = packed()
    with (lib / "old4" / boot.IN_USE).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        one = stub(data)
        one.word()
        one.finish(data + b"\n")
    assert {p.name for p in lib.iterdir()} == {name_of(data), "old0", "old1", "old4"}


def test_a_running_server_keeps_its_entry(stub, tmp_path):
    data = packed()
    one = stub(data)
    one.word()
    one.process.stdin.write(data)
    one.process.stdin.flush()
    assert one.word() == "ready"  # and now it waits for a line
    lock = tmp_path / ".cache/fuzztui/lib" / name_of(data) / boot.IN_USE
    with lock.open("r+b") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    one.finish(b"\n")
    with lock.open("r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_psutil_of_another_architecture_gives_way_to_the_hosts_own(stub, tmp_path):
    data = packed(psutil="raise ImportError('wrong ELF class')")
    one = stub(data)  # under the tests' Python, which has psutil
    one.word()
    out = one.finish(data + b"\n")
    assert f"{tmp_path}/.cache/fuzztui/lib/{name_of(data)} " in out  # and no native directory


def test_no_psutil_at_all(stub):
    data = packed(psutil="raise ImportError('wrong ELF class')")
    base = getattr(sys, "_base_executable", sys.executable)
    has = subprocess.run([base, "-c", "import psutil"], capture_output=True, check=False)
    if has.returncode == 0:
        pytest.skip("the Python of the virtual environment has psutil, too")
    one = stub(data, python=base)
    one.word()
    one.process.stdin.write(data)
    one.process.stdin.flush()
    failed = one.failed()
    assert failed["what"] == "psutil"
    assert "wrong ELF class" in failed["why"]


def test_a_file_that_cannot_be_written_whole(stub, tmp_path):
    data = packed(server="x" * 100_000)
    one = stub(data, limit=50_000)
    one.word()
    one.process.stdin.write(data)
    one.process.stdin.flush()
    assert one.failed()["what"] == "os"
    assert not list((tmp_path / ".cache/fuzztui/lib").iterdir())


def test_a_supervisor_keeps_the_copy_that_it_runs_from(tmp_path):
    assert boot.IN_USE == IN_USE
    lock = tmp_path / IN_USE
    lock.touch()
    script = (
        "import sys, pathlib; from fuzztui.kernel.base.installation import hold_installation;"
        "hold_installation(pathlib.Path(sys.argv[1], 'fuzztui')); print('held', flush=True);"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"held\n"
        with lock.open("r+b") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process.stdin.close()
    with lock.open("r+b") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_an_installation_by_pip_needs_no_lock(tmp_path):
    hold_installation(tmp_path / "fuzztui")
    assert not list(tmp_path.iterdir())


def test_the_stub_compiles_where_it_can_only_refuse():
    """Python 3.6 is told that it is too old: the text must be valid there."""
    ast.parse(Path(boot.__file__).read_text(), feature_version=(3, 6))
