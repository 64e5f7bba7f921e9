"""What scripts and notebooks use: :func:`open_run`, as ``fuzztui.open_run``.

docs/interfaces.md says what is stable; ``fuzztui/__init__.pyi`` lists the names.
"""

from fuzztui.api.rows import RunEntry, RunFinding, RunMutant, RunSeries
from fuzztui.api.runs import Run, RunError, RunState, Steering, open_run

__all__ = [
    "Run", "RunEntry", "RunError", "RunFinding", "RunMutant", "RunSeries", "RunState", "Steering",
    "open_run",
]  # fmt: skip
