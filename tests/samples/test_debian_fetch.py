"""sample_campaigns/debian/fetch.py: tarballs from a mirror, once, and only the right ones."""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

FETCH = Path(__file__).parents[2] / "sample_campaigns/debian/fetch.py"
POOL = "pool/main/t/tool/tool_1+2.orig.tar.xz"


def tarball(files: dict[str, str]) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:xz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return whole.getvalue()


class Mirror:
    """A mirror in a directory, and an empty home of somebody who downloads from it."""

    def __init__(self, path: Path) -> None:
        self.url = (path / "mirror").as_uri()
        self.kept = path / "cache/fuzztui/sources/tool_1+2.orig.tar.xz"
        self.into = path / "into"
        self.file = path / "mirror" / POOL
        self.file.parent.mkdir(parents=True)
        self.env = {**os.environ, "XDG_CACHE_HOME": str(path / "cache")}
        (path / "cwd").mkdir()
        self.cwd = path / "cwd"

    def put(self, files: dict[str, str]) -> str:
        data = tarball(files)
        self.file.write_bytes(data)
        return hashlib.sha256(data).hexdigest()

    def fetch(self, sha256: str, url: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", FETCH, POOL, sha256, self.into],
            env={**self.env, "FUZZTUI_DEBIAN_MIRROR": url or self.url},
            cwd=self.cwd, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    def unpacked(self) -> list[str]:
        return sorted(str(f.relative_to(self.into)) for f in self.into.rglob("*") if f.is_file())


@pytest.fixture
def mirror(tmp_path):
    return Mirror(tmp_path)


def test_the_second_time_it_is_not_downloaded(mirror):
    sha256 = mirror.put({"tool-1/a.c": "int a;", "tool-1/sub/b.c": "int b;"})
    done = mirror.fetch(sha256)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("downloading file:///")
    assert mirror.unpacked() == ["a.c", "sub/b.c"]
    again = mirror.fetch(sha256, "http://127.0.0.1:9")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert [p.name for p in mirror.kept.parent.iterdir()] == [mirror.kept.name]


def test_a_tarball_without_one_directory_is_unpacked_as_it_is(mirror):
    assert mirror.fetch(mirror.put({"a.c": "", "lib/b.c": ""})).returncode == 0
    assert mirror.unpacked() == ["a.c", "lib/b.c"]


def test_what_cannot_be_downloaded_is_said_with_what_to_do(mirror):
    done = mirror.fetch("0" * 64, "http://127.0.0.1:9/debian")
    assert done.returncode == 1
    assert (
        "http://127.0.0.1:9/debian/pool/main/t/tool/tool_1%2B2.orig.tar.xz cannot be" in done.stderr
    )
    assert f"into {mirror.kept.parent}, or name another mirror with FUZZTUI_DEBIAN" in done.stderr
    assert "Traceback" not in done.stderr
    assert not mirror.into.exists()


@pytest.mark.parametrize("url", ["nonsense", "http://[", "file:///nowhere"])
def test_a_mirror_that_is_none(mirror, url):
    done = mirror.fetch("0" * 64, url)
    assert done.returncode == 1
    assert "cannot be downloaded: " in done.stderr
    assert "Traceback" not in done.stderr


def test_another_file_than_the_right_one_is_neither_used_nor_kept(mirror):
    found = mirror.put({"tool-1/evil.c": ""})
    done = mirror.fetch("0" * 64)
    assert done.returncode == 1
    assert f"its sha256 is {found}, not {'0' * 64}" in done.stderr
    assert not mirror.into.exists()
    assert not mirror.kept.exists()


def test_a_damaged_file_in_the_cache_is_replaced(mirror):
    sha256 = mirror.put({"tool-1/a.c": ""})
    mirror.kept.parent.mkdir(parents=True)
    mirror.kept.write_bytes(b"half of")
    done = mirror.fetch(sha256)
    assert "is damaged, downloading it again" in done.stdout
    assert mirror.unpacked() == ["a.c"]
    assert hashlib.sha256(mirror.kept.read_bytes()).hexdigest() == sha256


def test_without_a_cache_it_works_as_well(mirror):
    sha256 = mirror.put({"tool-1/a.c": ""})
    Path(mirror.env["XDG_CACHE_HOME"]).write_text("a file in the way")
    done = mirror.fetch(sha256)
    assert (done.returncode, done.stderr) == (0, "")
    assert "cannot be kept for the next build" in done.stdout
    assert mirror.unpacked() == ["a.c"]
