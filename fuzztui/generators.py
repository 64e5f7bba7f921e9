"""Generators of structured inputs, for ``[target] generator`` (docs/spoton.md)."""

from fuzztui.engines import generators
from fuzztui.engines.generators import *  # noqa: F403

__all__ = generators.__all__
