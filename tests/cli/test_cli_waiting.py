"""What is seen while a target is built: words, and on a terminal that time continues."""

from __future__ import annotations

import io
import re
import sys

import pytest
from waiting import wait_until

from fuzztui.cli import progress as waiting
from fuzztui.cli.progress import Waiting, time_left


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch, stderr: io.StringIO) -> str:
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(waiting, "SILENT_S", 0.1)
    with Waiting() as progress:
        progress("building")
        if stderr.isatty():
            see_the_clock(stderr)
        progress("linking")
    return stderr.getvalue()


def see_the_clock(stderr: io.StringIO) -> None:
    wait_until(lambda: " s" in stderr.getvalue())


def test_on_a_terminal_the_seconds_are_counted_and_nothing_is_left_of_them(monkeypatch):
    text = shown(monkeypatch, Terminal())
    assert re.fullmatch(r"fuzztui: building\n(\r\x1b\[K\d+ s)+\r\x1b\[Kfuzztui: linking\n", text), (
        repr(text)
    )


def test_elsewhere_there_are_the_words_alone(monkeypatch):
    assert shown(monkeypatch, io.StringIO()) == "fuzztui: building\nfuzztui: linking\n"


def test_an_error_does_not_leave_the_clock_behind(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(waiting, "SILENT_S", 0.02)
    with pytest.raises(RuntimeError), Waiting():
        see_the_clock(terminal)
        raise RuntimeError
    assert re.search(r"\d s", terminal.getvalue())
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("spent", "done", "left", "text"),
    [(0.5, 4, 9, ""), (10, 0, 9, ""), (100, 1000, 500, ", 50s left"),
     (20, 4, 16, ", 26s to 4m left"), (60, 16, 32, ", 1m00s to 4m left")],
)  # fmt: skip
def test_an_estimate_of_few_steps_is_a_range(spent, done, left, text):
    assert time_left(spent, done, left) == text
