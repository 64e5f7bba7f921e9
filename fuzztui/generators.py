"""Generators of structured inputs, for ``[target] generator`` (docs/spoton.md)."""

from fuzztui.engines import generators
from fuzztui.engines.generators import *  # noqa: F403
from fuzztui.engines.strategies import from_strategy, from_type

__all__ = generators.__all__ + ["from_strategy", "from_type"]  # noqa: RUF005
