"""Make recording.cast and recording.webp, README's moving picture, from a real campaign.

    apt-get install tmux librsvg2-bin fonts-firacode
    python3 -m pip --python .venv/bin/python install -e '.[samples]'    # Pillow
    .venv/bin/python docs/images/recording.py

Half a minute of README's first campaign: its start, a steering command with its receipt, and its
replay, in which one key goes to the largest gain. A terminal records all bytes (asciicast 2); the
picture has two frames a second of the same screen.
"""

from __future__ import annotations

import io
import json
import os
import pty
import select
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from fuzztui.tui.base.pictures import in_cells

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
COLUMNS, ROWS = 100, 28
FRAME_S = 0.5
WIDTH = 1000
"""Pixels of the picture."""
THEME = TerminalTheme((16, 20, 28), (220, 224, 232), [(0, 0, 0)] * 8)

LIVE = "fuzztui tomllib-mu2.toml"
REPLAY = "fuzztui replay runs/tomllib-mu2"
SCRIPT: tuple[tuple[str, str, float], ...] = (
    ("line", LIVE, 9.0),
    ("key", "4", 1.5),
    ("key", "slash", 0.5),
    ("text", "state=alive", 1.0),
    ("key", "Enter", 1.0),
    ("key", "u", 6.0),
    ("key", "1", 3.0),
    ("key", "q", 0.5),
    ("line", f"clear; fuzztui ctl runs/tomllib-mu2 stop; {REPLAY}", 4.0),
    ("key", "space", 0.5),
    ("key", "]", 2.5),
    ("key", "]", 2.5),
    ("key", "8", 1.0),
    ("key", "v", 1.0),
    ("key", "C-Home", 1.0),
    ("key", "+", 0.5),
    ("key", "+", 0.5),
    ("key", "space", 6.0),
)
"""Kind, what is sent, and the seconds for which the screen is recorded after that."""


class Terminal:
    """A session of tmux, and a terminal that shows it and records all bytes."""

    def __init__(self, folder: Path) -> None:
        self._tmux = ["tmux", "-S", str(folder / "socket"), "-f", "/dev/null"]
        config = folder / "config/fuzztui/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text("tour = false\n")  # the offer would cover the first seconds
        env = {
            "PS1": "$ ", "TERM": "tmux-256color", "COLORTERM": "truecolor", "COLORFGBG": "15;0",
            "PATH": f"{BIN}:{os.environ['PATH']}", "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }  # fmt: skip
        shell = ["env", *(f"{key}={value}" for key, value in env.items()), "sh"]
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        self._run("new-session", "-d", *size, shlex.join(shell))
        self._run("set", "-g", "status", "off")
        self._run("set", "-as", "terminal-features", ",*:RGB")
        self.bytes: list[tuple[float, bytes]] = []
        self._began = time.monotonic()
        pid, self._terminal = pty.fork()
        if not pid:
            os.environ["TERM"] = "xterm-256color"
            os.execvp("tmux", [*self._tmux, "attach"])
        ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        threading.Thread(target=self._record, daemon=True).start()

    def _run(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True)
        return done.stdout

    def _record(self) -> None:
        while select.select([self._terminal], [], [], 60.0)[0]:
            try:
                data = os.read(self._terminal, 65536)
            except OSError:
                return
            self.bytes.append((time.monotonic() - self._began, data))

    def send(self, kind: str, what: str) -> None:
        """Send a command line, a text or the name of a key."""
        if kind == "key":
            self._run("send-keys", "/" if what == "slash" else what)
        else:
            self._run("send-keys", "-l", what)
        if kind == "line":
            self._run("send-keys", "Enter")

    def frame(self) -> str:
        """The screen now, with escape sequences for its colours."""
        return self._run("capture-pane", "-p", "-e")

    def end(self) -> None:
        """End the session."""
        self._run("kill-server")


def frames(terminal: Terminal) -> Iterator[str]:
    """Carry out the script; yield the screen twice a second."""
    for kind, what, seconds in SCRIPT:
        terminal.send(kind, what)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(FRAME_S)
            yield terminal.frame()


def picture(screen: str) -> Image.Image:
    """A screen as an image."""
    console = Console(width=COLUMNS, record=True, file=io.StringIO(), color_system="truecolor")
    # All lines at once: a style may go on in the next line.
    lines = [*screen.split("\n"), *[""] * ROWS][:ROWS]
    console.print(Text.from_ansi("\n".join(lines)), no_wrap=True, crop=True)
    svg = in_cells(console.export_svg(title="fuzztui", theme=THEME))
    png = subprocess.run(
        ["rsvg-convert", "-w", str(WIDTH)], input=svg.encode(), check=True, capture_output=True
    ).stdout
    return Image.open(io.BytesIO(png)).convert("RGB")


def main() -> None:
    """Write both files beside this one."""
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        terminal = Terminal(Path(name))
        shots = list(frames(terminal))
        terminal.end()
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "fuzztui"}
    events = [[round(t, 3), "o", data.decode(errors="replace")] for t, data in terminal.bytes]
    lines = "\n".join(map(json.dumps, [header, *events]))
    (HERE / "recording.cast").write_text(lines + "\n", encoding="utf-8")
    first, *rest = map(picture, shots)
    options = {"save_all": True, "append_images": rest, "duration": int(1000 * FRAME_S), "loop": 0}
    first.save(HERE / "recording.webp", lossless=True, method=6, **options)


if __name__ == "__main__":
    main()
