"""SIGTERM just before the screen, in a callback where Python drops its exception."""

import signal
import subprocess
import sys

LOST = """
import os, signal, threading, weakref
from fuzztui import cli
from fuzztui.tui.base.terminal import restored_at_exit

class Thing:
    pass

def screen(argv):
    thing = Thing()
    gone = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
    del thing
    print("still here", flush=True)
    with restored_at_exit(0):
        threading.Event().wait()

cli._run = screen
cli.main([])
"""


def test_a_signal_whose_exception_was_dropped_ends_the_screen():
    done = subprocess.run(
        [sys.executable, "-c", LOST], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout == "still here\n"
    assert done.returncode == -signal.SIGTERM
