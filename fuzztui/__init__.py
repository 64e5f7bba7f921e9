"""fuzztui: a terminal monitor and controller for fuzz campaigns.

This package is also exposed to the interpreter of the project under test
(only ``fuzztui.engines``, ``fuzztui.kernel.wire``, ``fuzztui.kernel.base.atomic`` and
``fuzztui.harness`` are imported there), so this module imports nothing.
Scripts use ``fuzztui.open_run`` (docs/interfaces.md); ``__init__.pyi`` lists the names.
"""

__version__ = "0.2.0"

_OF_SCRIPTS = ("open_run", "Run", "RunEntry", "RunError", "RunFinding", "RunMutant", "RunSeries",
               "RunState", "Steering")  # fmt: skip


def __getattr__(name: str) -> object:
    """Import the Python API when a script first uses it."""
    if name not in _OF_SCRIPTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # no statement: import-linter would take it for ours

    return getattr(import_module("fuzztui.api"), name)
