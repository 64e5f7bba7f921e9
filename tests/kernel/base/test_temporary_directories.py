"""Temporary directories, and signals that come while one is made."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import threading

import pytest

from fuzztui.kernel.base.files import temporary_directory


class Ended(BaseException):
    pass


@pytest.fixture(autouse=True)
def another_thread():
    """The kernel may give a signal of the process to any thread."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_one_is_made_leaves_none(tmp_path, monkeypatch, number, full):
    make = tempfile.mkdtemp

    def made(*args, **kwargs):
        path = "" if full else make(*args, **kwargs)
        os.kill(os.getpid(), number)
        if full:
            raise OSError(28, "No space left on device")
        return path

    def handler(_number, _frame):
        raise Ended

    monkeypatch.setattr(tempfile, "mkdtemp", made)
    before = signal.signal(number, handler)
    try:
        with pytest.raises(Ended):
            temporary_directory(place=tmp_path)
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)
    gc.collect()
    assert [*tmp_path.iterdir()] == []
