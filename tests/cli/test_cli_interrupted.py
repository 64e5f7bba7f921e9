"""Ctrl-C while a campaign starts names what is left; a signal ends a command wherever it comes."""

import signal
import subprocess
import sys

import pytest

from fuzztui.cli import run as cli
from fuzztui.kernel.remote.lock import RunLock


@pytest.mark.parametrize("ran", [False, True])
def test_ctrl_c_names_what_is_left(tmp_path, monkeypatch, capsys, ran):
    (tmp_path / "supervisor").mkdir()
    locks = []

    def interrupted(options, where, *, over):
        if ran:
            locks.append(RunLock(where))
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_shown", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cli.show(None, tmp_path, over=False)
    err = capsys.readouterr().err
    assert (f"fuzztui ctl {tmp_path} stop" in err) is ran
    assert str(tmp_path) in err


def test_a_start_that_ends_with_its_starter_is_waited_for(tmp_path, capsys):
    (tmp_path / "supervisor").mkdir()
    lock = RunLock(tmp_path)  # the supervisor has not yet noticed

    def noticed(_s):
        lock.release()

    with pytest.MonkeyPatch.context() as m, pytest.raises(KeyboardInterrupt):
        m.setattr(cli.time, "sleep", noticed)
        with cli._left_behind(tmp_path, 60.0):
            raise KeyboardInterrupt
    assert "stop" not in capsys.readouterr().err


MADE = """
import os, sys, tempfile
import fuzztui.cli

class Signalled:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), int(sys.argv[1]))

def run(argv):
    made = tempfile.TemporaryDirectory(dir=sys.argv[2])  # its `with` has not begun
    class Reactive:
        part = Signalled()

fuzztui.cli._run = run
sys.exit(fuzztui.cli.main([]))
"""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)]
)
def test_a_signal_while_a_class_is_made(tmp_path, number, status):
    argv = [sys.executable, "-c", MADE, str(int(number)), str(tmp_path)]
    assert subprocess.run(argv, check=False).returncode == status
    assert [*tmp_path.iterdir()] == []


DROPPED = """
import gc, os, sys, threading, time
import fuzztui.cli

start = threading.Thread.start
threading.Thread.start = lambda thread: (start(thread), time.sleep(0.2))  # a busy machine

def collected(phase, info):
    gc.callbacks.remove(collected)
    os.kill(os.getpid(), int(sys.argv[1]))

def run(argv):
    gc.callbacks.append(collected)
    gc.collect()
    threading.Event().wait()

fuzztui.cli._run = run
sys.exit(fuzztui.cli.main([]))
"""


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)]
)
def test_a_signal_in_a_callback_whose_exceptions_are_dropped(number, status):
    argv = [sys.executable, "-c", DROPPED, str(int(number))]
    done = subprocess.run(argv, check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (status, b"")
