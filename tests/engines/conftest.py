"""What the tests of mu2's parts share."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mu2_lab import Lab


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Any]:
    """Makes labs, which a worker's successor shares the directory with, and closes them."""
    labs: list[Lab] = []

    def made(source: str, schedule: Any = None) -> Lab:
        labs.append(Lab(source, tmp_path, schedule))
        return labs[-1]

    yield made
    for lab in labs:
        lab.close()
