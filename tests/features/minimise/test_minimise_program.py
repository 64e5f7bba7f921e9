"""Inputs of which the oracle says the same, made smaller; stopped, the smallest so far is kept."""

import asyncio
from types import SimpleNamespace

from fuzztui.features.minimise.program_inputs import minimise_by_oracle
from fuzztui.features.minimise.rewrite import Search


class Judge:
    """Finds an input wrong if it contains ``x``; counts its runs."""

    runs = 0

    async def findings(self, data):
        self.runs += 1
        return [(SimpleNamespace(signature="S"), [])] if b"x" in data else []


def made_smaller(judge, stop=lambda: False):
    data = b"filling " * 8 + b"x" + b"filling " * 8
    return asyncio.run(minimise_by_oracle(judge, data, Search(lambda *_: None, 600.0, stop))), data


def test_until_nothing_more_can_go():
    (found, note), _ = made_smaller(Judge())
    assert (found, note) == (b"x", "")


def test_a_stop_keeps_the_smallest_so_far():
    judge, whole = Judge(), Judge()
    made_smaller(whole)
    (found, note), data = made_smaller(judge, stop=lambda: judge.runs >= 5)
    assert b"x" in found
    assert len(found) < len(data)
    assert note
    assert judge.runs < whole.runs
