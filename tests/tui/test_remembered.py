"""The theme that was chosen comes back; nothing that is wrong with its file is in the way."""

import os
import stat

import pytest

from fuzztui.tui.base.user_state import MAX_OPENED, ViewOptions, recall, remember, state_file

THEMES = {"midwatch", "daylight"}


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "fuzztui"


def test_what_is_remembered_is_recalled(state):
    assert recall(THEMES) == ("", "")
    remember("daylight")
    assert recall(THEMES) == ("daylight", "")
    remember("midwatch")
    assert recall(THEMES) == ("midwatch", "")
    assert [f.name for f in state.iterdir()] == ["theme"]
    assert stat.S_IMODE(state.stat().st_mode) == 0o700


@pytest.mark.parametrize("home", ["", "relative"])
def test_without_a_state_home_it_is_in_the_home(tmp_path, monkeypatch, home):
    monkeypatch.setenv("XDG_STATE_HOME", home)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_file("theme") == tmp_path / ".local" / "state" / "fuzztui" / "theme"


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"nope\n", b"x" * 10_000, b"a\nb\n", b"\x1b[31m\n"]
)
def test_a_broken_file_is_one_message(state, data):
    state.mkdir(parents=True)
    (state / "theme").write_bytes(data)
    name, problem = recall(THEMES)
    assert name == ""
    assert problem.startswith(f"{state / 'theme'}: ")
    assert "\x1b" not in problem
    remember("daylight")  # choosing one mends it
    assert recall(THEMES) == ("daylight", "")


def test_what_is_no_file_is_not_waited_for(state):
    state.mkdir(parents=True)
    os.mkfifo(state / "theme")
    assert recall(THEMES)[0] == ""
    assert "not a regular file" in recall(THEMES)[1]


def test_where_nothing_can_be_written_nothing_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")  # root may write into any directory
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    remember("daylight")
    assert recall(THEMES)[0] == ""


def test_a_full_disk_leaves_the_old_one(state, monkeypatch):
    remember("daylight")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    remember("midwatch")
    assert recall(THEMES) == ("daylight", "")
    assert [f.name for f in state.iterdir()] == ["theme"]


def test_options_are_there_the_next_time(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    options = ViewOptions(stored=True)
    assert "log.clock" not in options
    options.set("log.clock", True)
    options.set("types.idle", True)
    options.set("types.idle", False)
    options.store()
    again = ViewOptions(stored=True)
    assert "log.clock" in again and "types.idle" not in again


@pytest.mark.parametrize("what", ["a directory", "a pipe", "too long", "no text"])
def test_a_broken_file_of_options_is_none(monkeypatch, tmp_path, what):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = tmp_path / "fuzztui" / "opened"
    file.parent.mkdir()
    match what:
        case "a directory":
            file.mkdir()
        case "a pipe":
            os.mkfifo(file)
        case "too long":
            file.write_text("log.clock\n" * MAX_OPENED)
        case _:
            file.write_bytes(b"\xff\xfe")
    options = ViewOptions(stored=True)
    assert "log.clock" not in options
    options.set("log.clock", True)
    options.store()  # a full disk, or such a file: no error
