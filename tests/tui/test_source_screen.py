"""The Source screen: files, lines, and the ways from them and to them."""

import pytest
from fakes import Log
from mutated import PROGRAM, mutated

from fuzztui.wire import events as ev


def covered(log: Log) -> Log:
    """The program of ``mutated`` with the coverage of its lines."""
    return log


async def test_the_file_is_open_with_its_mutants(drive):
    async with drive(mutated()) as d:
        await d.press("8")
        await d.until(lambda: "def is_digit" in d.text())
        print(d.text())
