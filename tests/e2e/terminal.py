"""A real terminal for tests: tmux, driven by keys, read as text."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import termios
import uuid
from collections.abc import Callable, Mapping

import psutil
from waiting import wait_until

MODES = (
    "alternate_on",
    "cursor_flag",
    "mouse_any_flag",
    "mouse_sgr_flag",
    "wrap_flag",
)


class Terminal:
    """One tmux server with one window; ``close`` kills it as a lost terminal would be."""

    def __init__(
        self, command: list[str], *, columns: int = 120, rows: int = 40, env: Mapping[str, str]
    ) -> None:
        self._name = f"fuzztui-test-{uuid.uuid4().hex[:8]}"
        settings = [f"{k}={v}" for k, v in env.items()]
        # The exit status stays readable after the program has left the screen.
        # pytest exports COLUMNS and LINES, which Textual takes for the terminal's size.
        env = ["env", "-u", "COLUMNS", "-u", "LINES", "TERM=tmux-256color", "COLORTERM=truecolor"]
        line = shlex.join([*env, *settings, *command])
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
            f"{line}; code=$?; echo; echo exit=$code; sleep 3600",
        )  # fmt: skip

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._name, *args], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise AssertionError(f"tmux {args[0]}: {done.stderr}")
        return done.stdout

    def keys(self, *keys: str, then: str | Callable[[str], bool] = "") -> str:
        """Type; names as tmux has them (Enter, Escape, Tab, C-p).

        With ``then``: wait until the screen shows that; returns the screen.
        """
        for key in keys:
            self._tmux("send-keys", "-t", "0", key)
        return self.wait(then) if then else ""

    def text(self) -> str:
        """What is on the screen now."""
        return self._tmux("capture-pane", "-p", "-t", "0")

    def wait(self, wanted: str | Callable[[str], bool]) -> str:
        """Wait until the screen shows ``wanted``; returns the screen."""

        def shown() -> str:
            text = self.text()
            return text if (wanted(text) if callable(wanted) else wanted in text) else ""

        return wait_until(shown, lambda: f"no {wanted!r} on the screen:\n{self.text()}")

    def modes(self) -> dict[str, str]:
        """What the program has switched on in the terminal, as tmux knows it."""
        line = self._tmux("display-message", "-p", "-t", "0", ";".join(f"#{{{m}}}" for m in MODES))
        values = dict(zip(MODES, line.strip().split(";"), strict=True))
        tty = os.open(
            self._tmux("display-message", "-p", "-t", "0", "#{pane_tty}").strip(),
            os.O_RDONLY | os.O_NOCTTY,
        )
        try:
            local = termios.tcgetattr(tty)[3]
        finally:
            os.close(tty)
        for name in ("ECHO", "ICANON", "ISIG"):
            values[name] = "1" if local & getattr(termios, name) else "0"
        return values

    def pid(self, *words: str) -> int:
        """The process below this terminal with all of ``words`` in its command line."""
        if (pid := self.runs(*words)) is None:
            raise AssertionError(f"no process {words}")
        return pid

    def runs(self, *words: str) -> int | None:
        """As :meth:`pid`; None if there is none."""
        shell = int(self._tmux("display-message", "-p", "-t", "0", "#{pane_pid}"))
        for process in psutil.Process(shell).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if set(words) <= set(process.cmdline()) and process.name() != "env":
                    return process.pid
        return None

    def close(self) -> None:
        """Kill the terminal and what runs in it (SIGHUP)."""
        subprocess.run(["tmux", "-L", self._name, "kill-server"], capture_output=True, check=False)
