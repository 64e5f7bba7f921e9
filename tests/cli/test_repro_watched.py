"""``fuzztui repro`` of an input of a fleet that was started by hand."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from run_logs import run_with
from watch_lab import Fuzzer, watching

from fuzztui.cli import main
from fuzztui.cli.output import DONE, FAILED, FINDINGS, USAGE
from fuzztui.kernel.wire.events import CampaignStarted, FindingDescribed, FindingSaved


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def crash(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    fuzzer = Fuzzer(tmp_path / "out/main", ago=7200)
    (tmp_path / "target").write_text('#!/bin/sh\ntouch ran; [ -s "$1" ] && kill -SEGV $$\n')
    (tmp_path / "target").chmod(0o700)
    (fuzzer.path / "cmdline").write_text("./target\n@@\n")
    fuzzer.put("crashes/id:000000,sig:11,src:000000,op:havoc")
    return "main/crashes/id:000000,sig:11,src:000000,op:havoc"


def test_the_command_in_its_files_runs_only_with_consent(crash, tmp_path, monkeypatch, cli, capsys):
    for stdin in (io.StringIO("y\n"), Terminal("n\n"), Terminal("")):
        monkeypatch.setattr("sys.stdin", stdin)
        assert str(tmp_path / "target") in cli("repro", "out", crash, code=FAILED).out
        assert not (tmp_path / "ran").exists()
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert main(["repro", "out", crash]) == FINDINGS
    assert (tmp_path / "ran").exists()
    assert "SIGSEGV" in capsys.readouterr().err


def test_several_inputs_run_one_after_the_other(crash, tmp_path, monkeypatch, capsys):
    Path("out/main/crashes/id:000001,sig:11").write_bytes(b"")
    (tmp_path / "target").write_text('#!/bin/sh\ncat "$1" >>ran; [ ! -s "$1" ] || kill -SEGV $$\n')
    monkeypatch.setattr("sys.stdin", Terminal("y\n" * 3))
    harmless = "main/crashes/id:000001,sig:11"
    assert main(["repro", "out", harmless, crash, harmless]) == FINDINGS
    assert "input 3 of 3: main/crashes/id:000001" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", Terminal("y\n" * 3))
    assert main(["repro", "out", harmless, harmless]) == 0
    monkeypatch.setattr("sys.stdin", Terminal("n\ny\n"))
    assert main(["repro", "out", harmless, crash]) == FAILED, "one was not run"


def test_an_argument_is_passed_on_as_it_is(crash, tmp_path, monkeypatch, capsys):
    (tmp_path / "out/main/cmdline").write_text("./target\n@@\na\u2028b\f\n\n")
    (tmp_path / "target").write_text('#!/bin/sh\nshift; printf "%s|" "$@" >ran\n')
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    main(["repro", "out", crash])
    assert (tmp_path / "ran").read_bytes().decode() == "a\u2028b\f||"


def test_files_without_a_command_are_refused(crash, tmp_path, monkeypatch, cli):
    (tmp_path / "out/main/cmdline").unlink()
    assert "cmdline" in cli("repro", "out", crash, code=USAGE).err
    assert main(["repro", "out", "main/crashes/none"]) == USAGE


CRASHES = "out/main/crashes"
MINE, OTHER = "id:000000,sig:11,src:000000,op:havoc", "id:000001,sig:11,src:000000,op:havoc"


def groups(capsys, directory="out"):
    """How many files each group of ``status`` has, by whether fuzztui has run them."""
    capsys.readouterr()
    assert main(["status", directory, "--json"]) == DONE
    rows = json.loads(capsys.readouterr().out)["findings"]
    return {not row["signature"].startswith("by-signal-"): row["files"] for row in rows}


@pytest.fixture
def agreed(crash, tmp_path, monkeypatch):
    """Two crashes, of which the first is run."""
    (tmp_path / CRASHES / OTHER).write_bytes(b"y")
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    return lambda: main(["repro", "out", crash])


def test_its_result_comes_into_the_groups_and_the_log(agreed, tmp_path, cli, capsys):
    with watching(tmp_path) as begin:
        watch = begin(tmp_path / "out")
        assert len(watch.state.groups) == 1
        before = sorted(tmp_path.glob("out/**/*"))
        assert agreed() == FINDINGS
        state = watch.until(lambda state: len(state.groups) == 2)
        assert sorted(tmp_path.glob("out/**/*")) == before
        described = state.findings[f"main/crashes/{MINE}"]
        assert (described.category, described.title) == ("crash", "SIGSEGV")
        records = len(watch.records)
        watch.look()
        assert len(watch.records) == records  # once
        later = begin(tmp_path / "out").state  # the history of a watcher that starts afterwards
        assert later.findings[described.key].signature == described.signature
    assert groups(capsys) == {True: 1, False: 1}
    assert f"main/crashes/{MINE}  SIGSEGV" in cli("status", "out").out


def test_its_result_is_of_this_file_wherever_its_fleet_is(agreed, tmp_path, capsys):
    assert agreed() == FINDINGS
    (tmp_path / "out").rename(tmp_path / "moved")
    assert groups(capsys, "moved") == {True: 1, False: 1}
    again = tmp_path / "moved/main/crashes" / MINE
    again.write_bytes(b"another input")
    os.utime(again, ns=(1, 1))
    assert groups(capsys, "moved") == {False: 2}


@pytest.mark.parametrize("text", ["", "{", '{"e": "message"}', "\0" * 100, '{"e": 1}'])
def test_a_damaged_result_is_none(agreed, tmp_path, text, capsys):
    assert agreed() == FINDINGS
    (kept,) = (tmp_path / "home/fuzztui/repro").iterdir()
    kept.write_text(text)
    assert groups(capsys) == {False: 2}
    assert agreed() == FAILED  # at the end of stdin nothing is run
    with watching(tmp_path) as begin:
        watch = begin(tmp_path / "out")
        watch.look()
        assert len(watch.state.groups) == 1


def test_without_a_place_for_it_the_result_is_printed(agreed, tmp_path, capsys):
    (tmp_path / "home").write_text("a file")
    assert agreed() == FINDINGS
    assert "will not show" in capsys.readouterr().err


def test_a_command_that_is_not_here_is_no_question(crash, tmp_path, monkeypatch, cli):
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    (tmp_path / "target").rename(tmp_path / "out/main/crashes/target")
    assert "in which afl-fuzz was started" in cli("repro", "out", crash, code=FAILED).err


def test_without_a_file_the_findings_are_listed(agreed, cli, capsys):
    for directory in ("out", "out/main"):
        listed = cli("repro", directory, code=USAGE).out.splitlines()
        assert {line.split()[0] for line in listed} == {
            f"main/crashes/{MINE}",
            f"main/crashes/{OTHER}",
        }
        for line in listed:  # each can be given as FILE
            assert main(["repro", directory, line.split()[0]]) in (FINDINGS, FAILED)
            capsys.readouterr()


def test_the_findings_of_a_run_are_listed_too(tmp_path, cli):
    run_with(
        tmp_path / "run",
        CampaignStarted("c", "zest", "t"),
        FindingSaved("main", "crash", "crashes/id:000000", 0),
        FindingDescribed("main", "crash", "crashes/id:000000", "s", "\x1b[2JKeyError: 1"),
        at_rest=False,
    )
    (line,) = cli("repro", tmp_path / "run", code=USAGE).out.splitlines()
    assert line.split()[0] == "main/crashes/id:000000"
    assert "KeyError: 1" in line
    assert "\x1b" not in line


@pytest.fixture
def watching_crashes(agreed, tmp_path, monkeypatch, capsys):
    """``watching_crashes(stdin, *options)``: what ``watch`` prints without a screen, its code."""

    def run(stdin: io.StringIO, *options: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.stdin", stdin)
        capsys.readouterr()
        code = main(["watch", "out", *options])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def command_in(text: str) -> str:
    (line,) = (ln for ln in text.splitlines() if ln.startswith("command: "))
    return line.removeprefix("command: ")


def test_the_crashes_of_a_fleet_run_after_one_question_for_a_command(
    watching_crashes, tmp_path, capsys
):
    for stdin in (Terminal("n\n"), Terminal("")):
        code, text = watching_crashes(stdin, "--run-crashes")
        assert code == FAILED
        assert f"{tmp_path}/target @@" in command_in(text)
        assert "for 2 crashes. Run it?" in text
    assert not (tmp_path / "ran").exists()
    code, text = watching_crashes(Terminal("y\n"), "--run-crashes")
    assert (code, text.count("Run it?"), text.count("SIGSEGV, unknown")) == (FINDINGS, 1, 2)
    assert groups(capsys) == {True: 2}
    # Those that were run are not run again.
    assert watching_crashes(Terminal("y\n"), "--run-crashes") == (DONE, "")


def test_a_script_names_the_command_and_another_one_does_not_run(
    watching_crashes, tmp_path, capsys
):
    code, text = watching_crashes(io.StringIO("y\n"), "--run-crashes")
    assert (code, "--trust" in text) == (FAILED, True)
    line = command_in(text)
    (tmp_path / "out/main/cmdline").write_text("./target\n@@\n--more\n")
    code, text = watching_crashes(io.StringIO("y\n"), "--trust", line)
    assert code == FAILED
    assert not (tmp_path / "ran").exists()
    (tmp_path / "out/main/cmdline").write_text("./target\n@@\n")
    assert watching_crashes(io.StringIO(""), "--trust", line)[0] == FINDINGS
    assert groups(capsys) == {True: 2}


def test_each_command_of_a_fleet_is_asked_about(watching_crashes, tmp_path, capsys):
    other = Fuzzer(tmp_path / "out/s1", ago=7200)
    other.put("crashes/id:000000,sig:06,src:000000,op:havoc")
    (other.path / "cmdline").write_text("./target\n")
    code, text = watching_crashes(Terminal("n\ny\n"), "--run-crashes")
    assert (code, text.count("Run it?")) == (FAILED, 2)
    assert "did not crash again" in text  # it reads no stdin
    assert groups(capsys) == {False: 2, True: 1}


def test_crashes_without_a_command_are_named(watching_crashes, tmp_path, capsys):
    (tmp_path / "out/main/cmdline").unlink()
    code, text = watching_crashes(Terminal("y\n"), "--run-crashes")
    assert code == FAILED
    assert f"main/crashes/{MINE}: not run" in text
    (tmp_path / "out/main/cmdline").write_text("./elsewhere\n@@\n")
    code, text = watching_crashes(Terminal("y\n"), "--run-crashes")
    assert (code, "in which afl-fuzz was started" in text) == (FAILED, True)
    assert groups(capsys) == {False: 2}


def test_limits_hold_for_crashes_of_a_fleet(watching_crashes, tmp_path):
    (tmp_path / "target").write_text("#!/bin/sh\n(ulimit -v; ulimit -c; nice) >ran; kill -9 $$\n")
    code, text = watching_crashes(Terminal("y\n"), "--run-crashes")
    memory, core, niceness = (tmp_path / "ran").read_text().split()
    assert f"ulimit -v {memory} &&" in command_in(text)
    assert (core, int(niceness) >= 10, code) == ("0", True, FINDINGS)
