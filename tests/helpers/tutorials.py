"""Following a page of docs/tutorials: its files, its commands, what it shows of their output."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from doc_commands import TUTORIALS
from waiting import wait_until

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"(?:#|/\*) ([\w/.-]+\.\w+)\b")
"""The first line of a block that is a file."""
LISTED = "calc.toml"
"""A file that a page only shows."""
SIMILAR = 0.5
"""Part of the shown lines that must be in the output: others have figures of another length."""


def pages() -> list[str]:
    return sorted(page.stem for page in TUTORIALS.glob("*.md"))


def lacking(page: str) -> str:
    """The program without which a tutorial cannot be followed; an empty string if there is all."""
    text = (TUTORIALS / f"{page}.md").read_text()
    return "afl-fuzz" if "afl-fuzz" in text and not shutil.which("afl-fuzz") else ""


class Follower:
    """A user in an empty directory. ``on_terminal`` shows the screens of a command, and leaves."""

    def __init__(self, place: Path, env: dict[str, str], on_terminal: Callable[[str], None]):
        self.place, self.on_terminal = place, on_terminal
        self.env = {**os.environ, **env}
        self.env.pop("VIRTUAL_ENV", None)
        self.background: list[subprocess.Popen[bytes]] = []

    def follow(self, page: str) -> None:
        """Do what the blocks of a page say, in their order."""
        output = ""
        for language, block in BLOCK.findall((TUTORIALS / f"{page}.md").read_text()):
            if language == "sh":
                output = "".join(map(self.line, block.splitlines()))
            elif language == "text":
                self.compare(block, output)
            elif (name := FILE.match(block)) and name[1] != LISTED:
                file = self.place / name[1]
                file.parent.mkdir(exist_ok=True)
                file.write_text(block)

    def line(self, line: str) -> str:
        """Run one line; what its comment says is how. Returns what it printed."""
        command, _, comment = line.partition("  #")
        if "in the background" in comment:
            started = subprocess.Popen(command, shell=True, cwd=self.place, env=self.env,
                stdout=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
            self.background.append(started)
            wait_until(
                lambda: len([*self.place.glob("out/*/fuzzer_stats")]) == len(self.background)
            )
            return ""
        if "on a terminal" in comment:
            self.on_terminal(command)
            return ""
        done = subprocess.run(["bash", "-c", command], cwd=self.place, env=self.env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            check=False)  # fmt: skip
        code = re.search(r"exit code (\d+)", comment)
        assert done.returncode == int(code[1] if code else 0), (line, done.stdout)
        return done.stdout

    def compare(self, shown: str, output: str) -> None:
        """Check that the output has most of the shown lines, whatever their figures."""
        shown = re.sub(r"/home/user/\w+", str(self.place), shown)
        printed = masked(output)
        lines = [line for line in map(masked, shown.splitlines()) if line]
        missing = [line for line in lines if line not in printed]
        assert len(missing) <= SIMILAR * len(lines), (missing, output)

    def close(self) -> None:
        for process in self.background:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def masked(text: str) -> str:
    """A text without its figures, and with one blank between words."""
    return " ".join(re.sub(r"[\d,.]*\d", "0", text).split())
