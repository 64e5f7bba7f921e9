"""Commands as users call them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from fuzztui.cli import main
from fuzztui.cli.output import DONE


class Said(NamedTuple):
    """What a command has printed."""

    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cli(capsys):
    """Runs a command, which must end with ``code``; returns what was printed since the last one."""

    def call(*words: object, code: int = DONE) -> Said:
        try:
            ended = main([str(word) for word in words])
        except SystemExit as e:  # what argparse ends
            ended = e.code
        said = Said(*capsys.readouterr())
        assert ended == code, said
        return said

    return call
