"""What a host answers about itself."""

import shutil
import sys
from pathlib import Path

import pytest

from fuzztui.kernel.remote.protocol import ProtocolError
from fuzztui.machines.hosts.facts import CHECKS, host_facts
from fuzztui.run.campaign.rundir import prepare_run


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_the_machine(home):
    facts = host_facts(home / "run", {"path": "~/deep/er/run", "engine": "zest"})
    assert facts["path"] == f"{home}/deep/er/run"
    assert facts["existing"] == str(home) and facts["writable"] is True
    assert 0 < facts["memory_free"] <= facts["memory"]
    assert 0 < facts["disk_free"] <= facts["disk"]
    assert facts["cores"] > 0 and facts["python"] == sys.executable
    assert "afl" not in facts
    assert not (home / "deep").exists()


def test_a_path_below_a_file(home):
    (home / "file").touch()
    assert host_facts(home, {"path": "~/file/run"})["writable"] is False


def test_afl(home, monkeypatch):
    assert host_facts(home, {"engine": "afl"})["afl"]["path"] == (shutil.which("afl-fuzz") or "")
    monkeypatch.setenv("PATH", str(home))
    assert host_facts(home, {"engine": "afl"})["afl"] == {"path": "", "version": ""}


@pytest.mark.parametrize(("where", "goes"), [(CHECKS + "/box-1", True), ("~/run", False)])
def test_only_what_was_for_a_check_is_removed(home, where, goes):
    run = Path(where).expanduser()
    run.mkdir(parents=True)
    host_facts(run, {"remove": True})
    assert run.exists() is not goes
    host_facts(Path(CHECKS).expanduser() / "..", {"remove": True})
    assert (home / ".cache/fuzztui").exists() is goes


def target(home: Path, text: str) -> dict:
    prepare_run(home / "run")
    return host_facts(home / "run", {"campaign": text})["target"]


AFL = '[target]\ncommand = ["@fuzztui-run@/shipped/prog"]\n[engine]\nkind = "afl"\n'


def program(home: Path, data: bytes) -> None:
    path = home / "run/shipped/prog"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    path.chmod(0o755)


def test_a_program_for_another_processor(home):
    prepare_run(home / "run")
    own = bytearray(Path("/proc/self/exe").read_bytes()[:64])
    own[18] ^= 1
    program(home, bytes(own))
    found = target(home, AFL)
    assert "processor" in found["problem"] and found["advice"]


def test_a_program_that_fits(home):
    prepare_run(home / "run")
    program(home, b"#!/bin/sh\n")
    assert target(home, AFL)["problem"] == ""


def test_a_program_that_did_not_arrive(home):
    found = target(home, AFL)
    assert found["key"] == "target.command" and found["problem"]


def test_a_campaign_that_is_none(home):
    with pytest.raises(ProtocolError):
        target(home, "[")
