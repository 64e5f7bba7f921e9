"""How thorough property tests are: a sixth of the examples, or all of them.

``.ci/run --all`` sets ``HYPOTHESIS_PROFILE=thorough``. The examples depend on the tests alone, so
that a commit passes or fails wherever it is tested;
``HYPOTHESIS_PROFILE=search`` tries others each time, and ten times as many.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

_ALL = 100


def load_profile() -> None:
    """Set the profile that the environment names. None looks at the clock: machines are busy."""
    patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("quick", max_examples=_ALL // 6, derandomize=True, **patient)
    settings.register_profile("thorough", max_examples=_ALL, derandomize=True, **patient)
    settings.register_profile("search", max_examples=10 * _ALL, **patient)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def examples(number: int) -> int:
    """So many when thorough; of a profile in between, as many in proportion."""
    return max(1, number * settings().max_examples // _ALL)
