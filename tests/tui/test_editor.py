"""The user's editor: which command line, and that the screen comes back."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from fakes import running

from fuzztui.tui.base import editor
from fuzztui.tui.base.editor import NoEditor, edit_copy, edit_file, editor_command

FILE = Path("/src/a b.py")


@pytest.mark.parametrize(
    ("env", "line", "command"),
    [
        ({"EDITOR": "vim"}, 12, ["vim", "+12", "/src/a b.py"]),
        ({"EDITOR": "vim -R"}, 0, ["vim", "-R", "/src/a b.py"]),
        ({"VISUAL": "emacs -nw", "EDITOR": "vi"}, 3, ["emacs", "-nw", "+3", "/src/a b.py"]),
        ({"EDITOR": "/usr/bin/hx"}, 7, ["/usr/bin/hx", "/src/a b.py:7"]),
        ({"EDITOR": "code"}, 7, ["code", "--wait", "--goto", "/src/a b.py:7"]),
    ],
)
def test_the_command_line_fits_the_editor(env, line, command):
    assert editor_command(env, FILE, line) == command


def test_without_a_variable_a_known_editor_is_taken(monkeypatch):
    monkeypatch.setattr(editor.shutil, "which", lambda name: name == "nano")
    assert editor_command({"EDITOR": ""}, FILE) == ["nano", str(FILE)]
    monkeypatch.setattr(editor.shutil, "which", lambda name: None)
    with pytest.raises(NoEditor):
        editor_command({}, FILE)


@pytest.mark.parametrize("chosen", ["/nowhere/at/all", "'unclosed", "sh -c 'exit 127'"])
def test_an_editor_that_cannot_be_started_is_one_message(chosen, tmp_path):
    with pytest.raises(NoEditor):
        edit_file(nullcontext(), {"EDITOR": chosen}, tmp_path / "x")


def test_an_input_is_opened_as_a_copy(tmp_path):
    script = tmp_path / "editor"
    seen = tmp_path / "seen"
    script.write_text(f'#!/bin/sh\ncp "$1" {seen}\necho "$1" > {seen}.name\necho more >> "$1"\n')
    script.chmod(0o755)
    edit_copy(nullcontext(), {"EDITOR": str(script)}, "../-x\x1b[31m id:0,op:havoc", b"\xff\0x")
    assert seen.read_bytes() == b"\xff\0x"
    name = Path(f"{seen}.name").read_text().rstrip("\n")
    assert name.isprintable() and Path(name).is_absolute() and not Path(name).exists()


@pytest.mark.slow
async def test_a_terminal_that_cannot_be_given_away_is_one_message(drive, tmp_path):
    entry = tmp_path / "out/main/queue"
    entry.mkdir(parents=True)
    (entry / "id:000000,time:1").write_bytes(b"x")
    async with drive(running(), run=tmp_path) as d:  # a pilot has no terminal
        await d.press("2")
        await d.until(lambda: d.screen._preview is not None)
        await d.press("e")
        assert len(d.notices()) == 1
