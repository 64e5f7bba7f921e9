"""A real terminal for tests: tmux, driven by keys, read as text."""

from __future__ import annotations

import shlex
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping


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
            f"{line}; echo; echo exit=$?; sleep 3600",
        )  # fmt: skip

    def _tmux(self, *args: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._name, *args], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise AssertionError(f"tmux {args[0]}: {done.stderr}")
        return done.stdout

    def keys(self, *keys: str) -> None:
        """Type; names as tmux has them (Enter, Escape, Tab, C-p)."""
        for key in keys:
            self._tmux("send-keys", "-t", "0", key)

    def text(self) -> str:
        """What is on the screen now."""
        return self._tmux("capture-pane", "-p", "-t", "0")

    def wait(self, wanted: str | Callable[[str], bool], seconds: float = 60) -> str:
        """Wait until the screen shows ``wanted``; returns the screen."""
        end = time.monotonic() + seconds
        while True:
            text = self.text()
            if wanted(text) if callable(wanted) else wanted in text:
                return text
            if time.monotonic() > end:
                raise AssertionError(f"no {wanted!r} on the screen within {seconds} s:\n{text}")
            time.sleep(0.1)

    def close(self) -> None:
        """Kill the terminal and what runs in it (SIGHUP)."""
        subprocess.run(["tmux", "-L", self._name, "kill-server"], capture_output=True, check=False)
