"""The static analysis of SpotOn: which types influence which goals of a Python application.

"Generator-Based Fuzzers with Type-Based Targeted Mutation", III-B. :func:`find_targets` runs the
analysis in a child process. Modules that import mypy are imported only in the child process.
"""

from fuzztui.features.targeting.analysis.child import find_targets
from fuzztui.features.targeting.analysis.document import (
    AnalysedConstant,
    AnalysedGoal,
    Influence,
    Request,
    TargetingAnalysis,
    TargetsError,
)

__all__ = [
    "AnalysedConstant",
    "AnalysedGoal",
    "Influence",
    "Request",
    "TargetingAnalysis",
    "TargetsError",
    "find_targets",
]
