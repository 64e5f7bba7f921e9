"""An unexpected error ends the screen with one line; the traceback is in a file."""

import tempfile

import pytest
from fakes import running
from textual.worker import WorkerFailed

from fuzztui.tui.app.failure import FILE, report_failure


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "fuzztui"


def raised(message):
    try:
        raise RuntimeError(message)
    except RuntimeError as e:
        return e


def test_the_cause_in_a_worker_is_reported(state):
    line = report_failure(WorkerFailed(raised("evil\x1b[2J\ud800\n" + "x" * 5000)))
    assert line.isprintable()
    assert "RuntimeError: evil" in line
    assert len(line) < 700
    assert str(state / FILE) in line
    assert "in raised" in (state / FILE).read_text()
    assert (state / FILE).stat().st_mode & 0o777 == 0o600


def test_only_the_latest_is_kept(state):
    for message in ("first", "second"):
        report_failure(raised(message))
    assert [file.name for file in state.iterdir()] == [FILE]
    assert "RuntimeError: second" in (state / FILE).read_text()


def test_without_a_directory_for_state_it_is_a_temporary_file(state, tmp_path, monkeypatch):
    state.write_text("a file in the way")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    line = report_failure(raised("oh"))
    (file,) = tmp_path.glob("fuzztui-error-*")
    assert str(file) in line
    assert "in raised" in file.read_text()


def test_where_nothing_is_writable_the_line_says_so(state, tmp_path, monkeypatch):
    state.write_text("a file in the way")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert "RuntimeError: oh" in report_failure(raised("oh"))


async def test_an_error_in_a_worker_ends_the_application(drive):
    error = raised("oh")

    async def fails():
        raise error

    with pytest.raises(WorkerFailed):
        async with drive(running()) as d:
            d.app.run_worker(fails())
            await d.until(lambda: d.app.failure is not None)
    assert d.app.failure.error is error
    assert d.app.return_code == 1
    assert d.app._exit_renderables == []
