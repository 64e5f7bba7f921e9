"""``fuzztui repro`` of an input of a fleet that was started by hand."""

from __future__ import annotations

import io

import pytest
from watch_lab import Fuzzer

from fuzztui.cli import main
from fuzztui.cli.output import FAILED, FINDINGS, USAGE


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def crash(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fuzzer = Fuzzer(tmp_path / "out/main", ago=7200)
    (tmp_path / "target").write_text('#!/bin/sh\ntouch ran; [ -s "$1" ] && kill -SEGV $$\n')
    (tmp_path / "target").chmod(0o700)
    (fuzzer.path / "cmdline").write_text("./target\n@@\n")
    fuzzer.put("crashes/id:000000,sig:11,src:000000,op:havoc")
    return "main/crashes/id:000000,sig:11,src:000000,op:havoc"


def test_the_command_in_its_files_runs_only_with_consent(crash, tmp_path, monkeypatch, capsys):
    for stdin in (io.StringIO("y\n"), Terminal("n\n"), Terminal("")):
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["repro", "out", crash]) == FAILED
        assert str(tmp_path / "target") in capsys.readouterr().out
        assert not (tmp_path / "ran").exists()
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert main(["repro", "out", crash]) == FINDINGS
    assert (tmp_path / "ran").exists()
    assert "SIGSEGV" in capsys.readouterr().err


def test_an_argument_is_passed_on_as_it_is(crash, tmp_path, monkeypatch, capsys):
    (tmp_path / "out/main/cmdline").write_text("./target\n@@\na\u2028b\f\n\n")
    (tmp_path / "target").write_text('#!/bin/sh\nshift; printf "%s|" "$@" >ran\n')
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    main(["repro", "out", crash])
    assert (tmp_path / "ran").read_bytes().decode() == "a\u2028b\f||"


def test_files_without_a_command_are_refused(crash, tmp_path, monkeypatch, capsys):
    (tmp_path / "out/main/cmdline").unlink()
    assert main(["repro", "out", crash]) == USAGE
    assert "cmdline" in capsys.readouterr().err
    assert main(["repro", "out", "main/crashes/none"]) == USAGE
