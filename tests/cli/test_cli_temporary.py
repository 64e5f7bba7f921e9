"""Commands without a place for temporary files: they say what is wrong, and what to do."""

from __future__ import annotations

import tempfile

import pytest

from fuzztui.kernel.base.files import temporary_directory, temporary_file, temporary_place

CAMPAIGN = """
[campaign]
name = "c"
output = "run"
[target]
function = "tomllib:loads"
[engine]
kind = "mu2"
"""


@pytest.fixture
def missing(tmp_path, monkeypatch):
    """The directory of temporary files is not there."""
    place = tmp_path / "missing"
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv("TMPDIR", str(place))
    return place


@pytest.mark.parametrize("command", [["mutants", "list"], ["targets"], ["check"], ["watch"]])
def test_a_command_that_needs_one(tmp_path, missing, monkeypatch, cli, command):
    file = tmp_path / "c.toml"
    file.write_text(CAMPAIGN)
    main_ = tmp_path / "afl" / "main"
    (main_ / "queue").mkdir(parents=True)
    (main_ / "fuzzer_stats").write_text("start_time : 1\nlast_update : 2\nfuzzer_pid : 1\n")
    (main_ / "queue" / "id:000000,orig:x").write_bytes(b"x")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    of = [str(main_.parent)] if command == ["watch"] else [str(file)]
    said = cli(*command, *of, code=1).err
    assert str(missing) in said
    assert "TMPDIR" in said


def test_errors_name_the_place(missing):
    for make in (temporary_directory, temporary_file):
        with pytest.raises(OSError, match="set TMPDIR") as caught:
            make()
        assert caught.value.filename == str(missing)


def test_no_place_at_all(monkeypatch):
    def nowhere() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", nowhere)
    monkeypatch.delenv("TMPDIR", raising=False)
    with pytest.raises(OSError, match="No usable temporary directory found") as caught:
        temporary_place()
    assert caught.value.filename == "/tmp"
