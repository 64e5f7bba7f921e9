"""Programs on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess

from waiting import wait_until


class OnTerminal:
    """A process on a terminal of its own."""

    def __init__(self, argv: list[str], **options) -> None:
        self.fd, inner = pty.openpty()
        self.process = subprocess.Popen(
            argv, stdin=inner, stdout=inner, stderr=inner, start_new_session=True, **options
        )
        os.close(inner)
        self.text = ""

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def until(self, words: str) -> None:
        """Read up to these words."""

        def printed() -> bool:
            if words not in self.text and select.select([self.fd], [], [], 0)[0]:
                try:
                    self.text += os.read(self.fd, 4096).decode(errors="replace")
                except OSError:
                    assert words in self.text, self.text
            return words in self.text

        wait_until(printed, lambda: self.text)
        self.text = self.text.partition(words)[2]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.fd)
