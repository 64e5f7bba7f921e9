"""The screens of a run in a pseudo-terminal that answers as a test wants."""

import os
import pty
import select
import subprocess
import sys
import termios

from waiting import wait_until

from fuzztui.tui.base.background_query import QUESTION

CALL = """
import sys
from pathlib import Path
from fuzztui.tui import run_app
from fuzztui.kernel.wire import events as ev
run = Path(sys.argv[1])
sys.exit(run_app(
    None if "watch" in sys.argv else run, run, mode=sys.argv[2], at=float(sys.argv[3]),
    theme=None if "remembered" in sys.argv else "contrast", control="watch" not in sys.argv,
))
"""


class Terminal:
    """The screens in a pseudo-terminal.

    ``answer``: how the terminal answers the question for its background; None: never.
    """

    def __init__(self, *arguments, stderr=None, env=(), answer=None):
        self.master, slave = pty.openpty()
        self.slave = os.dup(slave)  # what is left in its input when the program has ended
        self.attributes = termios.tcgetattr(slave)
        self.answer = answer
        sizes = {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}
        env = {**os.environ, **sizes, "XDG_STATE_HOME": str(arguments[0]), **dict(env)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", CALL, *map(str, arguments)],
            stdin=slave,
            stdout=slave,
            stderr=slave if stderr is None else stderr,
            env=env,
            start_new_session=True,
        )
        os.close(slave)
        self.seen = b""

    def until(self, words):
        def printed():
            if words not in self.seen and select.select([self.master], [], [], 0)[0]:
                try:
                    self._read()
                except OSError:
                    assert words in self.seen, (self.process.wait(60), self.seen[-2000:])
            return words in self.seen

        wait_until(printed, lambda: self.seen[-2000:])

    def _read(self):
        self.seen += os.read(self.master, 65536)
        if self.answer is not None and QUESTION in self.seen:
            answer, self.answer = self.answer, None
            self.press(answer)

    def drain(self):
        while select.select([self.master], [], [], 0)[0]:
            try:
                self._read()
            except OSError:  # all of it
                return

    def ended(self):
        """Its exit status; read meanwhile: it could not write its last words to a full pipe."""

        def over():
            self.drain()
            return self.process.poll() is not None

        wait_until(over, lambda: self.seen[-2000:])
        return self.process.returncode

    def press(self, key):
        os.write(self.master, key)

    def left(self):
        """Input that the program has left to the shell."""
        raw = termios.tcgetattr(self.slave)
        raw[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(self.slave, termios.TCSANOW, raw)
        return os.read(self.slave, 4096) if select.select([self.slave], [], [], 0)[0] else b""

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)
