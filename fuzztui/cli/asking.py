"""Questions on the terminal."""

from __future__ import annotations

import contextlib
import sys
import termios
from typing import TextIO

from fuzztui.cli.output import UsageError, say
from fuzztui.kernel.base.text import visible


def agreed(question: str) -> bool:
    """Ask for consent on the terminal. What was typed before the question is no answer to it."""
    with contextlib.suppress(OSError, termios.error):
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    say(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


class Asking:
    """Asks the user on the terminal; answers by itself if the user wants the default answers."""

    def __init__(self, defaults: bool, output: TextIO) -> None:
        """``defaults``: take the default answer of every question; ``output``: for messages."""
        self._output = output
        terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
        self.asks = terminal and not defaults
        self.possible = terminal or defaults
        """Whether questions can be answered: by the user on a terminal, or by the defaults."""

    def tell(self, text: str) -> None:
        """Print a message; its unprintable characters, which may come from files, are escaped."""
        print(visible(text, lines=True), file=self._output, flush=True)

    def ask(self, question: str, default: str) -> str:
        """Return the answer, or ``default`` for an empty one. Raises :class:`CliError`."""
        if not self.asks:
            return default
        shown = f" [{default}]" if default else ""
        try:
            return input(f"{question}{shown}: ").strip() or default
        except (EOFError, UnicodeDecodeError):
            self.tell("")
            raise UsageError("no answer: nothing was written") from None

    def agree(self, question: str, *, default: bool = True) -> bool:
        """Ask for yes or no."""
        while True:
            answer = self.ask(f"{question} [{'Y/n' if default else 'y/N'}]", "").lower()
            if answer in ("", "y", "yes", "n", "no"):
                return answer.startswith("y") if answer else default
            self.tell("  y or n, please")
