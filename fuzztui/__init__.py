"""fuzztui: a terminal monitor and controller for fuzz campaigns.

This package is also exposed to the interpreter of the project under test
(only ``fuzztui.engines``, ``fuzztui.kernel.wire``, ``fuzztui.kernel.base.atomic`` and
``fuzztui.harness`` are imported there), so this module imports nothing.
"""

__version__ = "0.2.0"
