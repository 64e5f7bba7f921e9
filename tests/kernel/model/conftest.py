"""What tests of the model share."""

from __future__ import annotations

import pytest

from fuzztui.kernel.wire.commands import COMMAND_NAMES
from fuzztui.kernel.wire.events import EVENT_KINDS


@pytest.fixture
def registries_as_before():
    """Forget the events and commands that a test defines."""
    kinds, names = dict(EVENT_KINDS), dict(COMMAND_NAMES)
    yield
    for kept, registry in ((kinds, EVENT_KINDS), (names, COMMAND_NAMES)):
        for name in registry.keys() - kept.keys():
            registry.pop(name)
