"""Real git repositories whose history a test writes, commit by commit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

_AUTHOR = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in {"NAME": "Ada", "EMAIL": "ada@example.org"}.items()
}


class History:
    """A repository with a linear history; ``commits`` are its hashes, the oldest first."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.commits: list[str] = []
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, at: Path | None = None) -> str:
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        env = {**os.environ, **_AUTHOR}
        done = subprocess.run(
            command, cwd=at or self.root, env=env, capture_output=True, check=True
        )
        return done.stdout.decode(errors="replace").strip()

    def commit(self, files: Mapping[str, str | None], subject: str) -> str:
        """Write files (None: remove) and commit them; return the hash."""
        for name, text in files.items():
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                file.unlink()
            else:
                file.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)
        self.commits.append(self.git("rev-parse", "HEAD"))
        return self.commits[-1]

    def write(self, steps: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        """Add commits, each a subject and the files that it writes, at once: in one process."""
        stream = bytearray()
        for n, (subject, files) in enumerate(steps):
            stream += b"commit refs/heads/main\n"
            stream += b"committer Ada <ada@example.org> %d +0000\n" % (1_700_000_000 + n)
            stream += _data(subject)
            for name, text in files.items():
                stream += b"M 644 inline %b\n" % name.encode() + _data(text)
        command = ["git", "fast-import", "--quiet"]
        subprocess.run(command, cwd=self.root, input=stream, check=True)
        self.git("reset", "-q", "--hard", "main")
        self.commits = self.git("rev-list", "--reverse", "HEAD").split()

    def worktrees(self) -> int:
        return len(self.git("worktree", "list", "--porcelain").split("\n\n"))


def _data(text: str) -> bytes:
    return b"data %d\n%b\n" % (len(text.encode()), text.encode())


def plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what a user's configuration, or a hook that runs the tests, sets for git."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
