"""What all tests share: how many examples Hypothesis tries, and what spares the machine."""

from __future__ import annotations

import gc
import os
import sys

import pytest
from examples import load_profile

load_profile()

# A shell that forbids bytecode would have each of the hundreds of Pythons that the tests start
# compile all of fuzztui, and each worker rewrite the assertions of all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is loaded stays: no collection and no census of live functions walks it again."""
    gc.collect()
    gc.freeze()
