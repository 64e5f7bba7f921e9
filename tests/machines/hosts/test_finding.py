"""``box:RUN``: which run is meant, and which of its files others may read."""

import os
from pathlib import Path

import pytest

from fuzztui.cli.remote_runs import spec_of
from fuzztui.kernel.remote.lock import RunLock
from fuzztui.kernel.remote.mirrored import GONE
from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.machines.hosts.finding import NoRun, find_run
from fuzztui.machines.hosts.looking import read_file


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("fuzztui.machines.hosts.finding.supervised_runs", lambda: [])
    return tmp_path


def make_run(path: Path, age_s: int = 0) -> Path:
    for part in ("log", "supervisor"):
        (path / part).mkdir(parents=True)
    os.utime(path / "log", (10**9 - age_s, 10**9 - age_s))
    return path


@pytest.mark.parametrize(
    ("given", "run"),
    [
        ("mine", "mine"),
        ("./mine", "mine"),
        ("~/mine", "mine"),
        ("mine/log", "mine"),
        ("a", "runs/a"),
        ("runs/a", "runs/a"),
        ("of-hub", ".local/share/fuzztui/runs/of-hub"),
        ("runs", "runs/b"),  # the latest
        ("", ".local/share/fuzztui/runs/of-hub"),  # the latest of all
    ],
)
def test_a_run_is_found_by_what_users_write(home, given, run):
    make_run(home / "mine", 5)
    make_run(home / "runs/a", 30)
    make_run(home / "runs/b", 20)
    make_run(home / ".local/share/fuzztui/runs/of-hub", 10)
    assert find_run(given) == home / run


def test_an_absolute_path_is_no_name_in_the_usual_places(home):
    make_run(home / "runs/x")
    assert find_run(str(home / "runs/x")) == home / "runs/x"
    with pytest.raises(NoRun):
        find_run("/x")
    with pytest.raises(NoRun, match="no such user"):
        find_run("~no-such-user-here/x")


def test_the_running_one_is_meant_and_of_several_one_is_to_be_named(home):
    make_run(home / "runs/new")
    locks = [RunLock(make_run(home / "runs/old", 100))]
    assert find_run("") == home / "runs/old"
    locks.append(RunLock(make_run(home / "runs/older", 200)))
    with pytest.raises(NoRun, match=r"runs/old, .*runs/older"):
        find_run("")
    for lock in locks:
        lock.release()


@pytest.mark.parametrize("given", ["", "none", "~/none", "a\0b"])
def test_no_run(home, given):
    with pytest.raises(NoRun):
        find_run(given)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("box:", ("box", "")),
        ("ann@box:runs/x", ("ann@box", "runs/x")),
        ("box:/abs/a b:c", ("box", "/abs/a b:c")),
        ("[::1]:x", ("[::1]", "x")),
        ("runs/x", None),
        ("dir/a:b", None),
        ("-oProxyCommand=x:y", ("-oProxyCommand=x", "y")),  # refused later
    ],
)
def test_what_names_another_machine(text, spec):
    assert spec_of(Path(text)) == spec


def test_a_path_that_exists_here_is_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_run(tmp_path / "box:x")
    assert spec_of(Path("box:x")) is None
    assert spec_of(None) is None


# --------------------------------------------------------------------------- files


@pytest.fixture
def run(tmp_path) -> Path:
    run = make_run(tmp_path / "run")
    (run / "out/main/queue").mkdir(parents=True)
    (run / "out/main/queue/id:0").write_bytes(b"\0x")
    (run / "supervisor/stderr").write_text("private")
    (tmp_path / "secret").write_text("secret")
    return run


def test_inputs_are_read(run):
    assert read_file(run, "out/main/queue/id:0") == b"\0x"
    with pytest.raises(ProtocolError, match=GONE):
        read_file(run, "out/main/queue/id:1")


@pytest.mark.parametrize(
    "path",
    [
        "supervisor/stderr", "log/campaign.jsonl.gz", "out/../supervisor/stderr", "../secret",
        "/etc/passwd", "out/\0", "", ".", 7, None, ["out"],
    ],
)  # fmt: skip
def test_no_other_file_is_read(run, path):
    with pytest.raises(ProtocolError):
        read_file(run, path)


def test_links_out_of_the_run_are_not_followed(run, tmp_path):
    (run / "out/main/queue/link").symlink_to(tmp_path / "secret")
    (run / "out/linked").symlink_to(tmp_path)
    os.mkfifo(run / "out/main/queue/fifo")
    for path in ("out/main/queue/link", "out/linked/secret"):
        with pytest.raises(OSError, match="outside"):
            read_file(run, path)
    with pytest.raises(OSError):
        read_file(run, "out/main/queue/fifo")


def test_a_huge_file_is_refused(run):
    with (run / "out/main/queue/huge").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ProtocolError, match="larger"):
        read_file(run, "out/main/queue/huge")
