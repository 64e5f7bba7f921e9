"""Files are looked for where they are, and nowhere that a log must not lead to."""

import os
from pathlib import Path

import pytest

from fuzztui.features.inputs.screen.hexview import reading
from fuzztui.kernel.model.state import Entry, Finding, Instance, State
from fuzztui.tui.labels.run_files import RunFile, place_of, settled, shown

CRASH = Finding("main/crashes/a", "main", "crash", "crashes/a", 0.0)


def state(directory=""):
    return State(instances={"main": Instance("main", directory=directory)})


def test_in_the_run_or_where_the_instance_is():
    run = Path("/runs/r")
    assert place_of(CRASH, state(), run) == RunFile(run, "out/main/crashes/a")
    assert place_of(CRASH, state(), None) is None
    assert place_of(CRASH, state("/fuzz/main"), None) == RunFile(Path("/fuzz/main"), "crashes/a")
    assert place_of(CRASH, state("/fuzz/main"), run).path == Path("/fuzz/main/crashes/a")
    assert place_of(CRASH, state("not/absolute"), None) is None
    assert place_of(Entry("main/1", "main", 1, 0.0), state(), run) is None  # no file yet
    hang = Finding("main/x", "main", "hang", "x", 0.0)
    assert place_of(hang, State(), run).relative == "out/main/hangs/x"


def test_names_for_people():
    assert shown(CRASH, state(), Path("/runs/r")) == "out/main/crashes/a"
    assert shown(CRASH, state(), None) == "out/main/crashes/a"
    assert shown(CRASH, state("/fuzz/main"), None) == "/fuzz/main/crashes/a"


def test_what_was_put_aside_is_found_in_the_latest_folder(tmp_path):
    for name in ("crashes", "crashes.2026-01-01", "crashes.2026-02-01", "crashes.2026-03-01"):
        (tmp_path / "out" / "main" / name).mkdir(parents=True)
    place = RunFile(tmp_path, "out/main/crashes/a")
    assert settled(place) == place  # it is nowhere
    for month in ("01", "02"):
        (tmp_path / "out" / "main" / f"crashes.2026-{month}-01" / "a").write_bytes(b"old" * 2)
    assert settled(place).relative == "out/main/crashes.2026-02-01/a"
    (tmp_path / "out" / "main" / "crashes" / "a").write_bytes(b"new")
    assert settled(place) == place
    entry = RunFile(tmp_path, "out/main/queue/a")
    assert settled(entry) == entry


@pytest.mark.parametrize("relative", ["crashes/../../secret", "../secret", "crashes/\0", "hangs/x"])
def test_nothing_outside_is_read(tmp_path, relative):
    root = tmp_path / "main"
    (root / "crashes").mkdir(parents=True)
    (tmp_path / "secret").write_text("secret")
    (root / "crashes.x").mkdir()
    os.symlink(tmp_path / "secret", root / "crashes.x" / "gone")
    for wanted in (relative, "crashes/gone"):
        name, load = reading(RunFile(root, wanted))
        assert name
        preview = load()
        assert preview.problem
        assert not preview.data
