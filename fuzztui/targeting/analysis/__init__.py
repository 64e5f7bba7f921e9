"""The static analysis of SpotOn: which types influence which goals of a Python application.

"Generator-Based Fuzzers with Type-Based Targeted Mutation", III-B. :func:`find_targets` asks a
child process for the analysis; everything that imports mypy is imported there only.
"""

from fuzztui.targeting.analysis.child import find_targets
from fuzztui.targeting.analysis.document import (
    AnalysedConstant,
    AnalysedGoal,
    Influence,
    TargetingAnalysis,
)
from fuzztui.targeting.analysis.request import Request, TargetsError

__all__ = [
    "AnalysedConstant",
    "AnalysedGoal",
    "Influence",
    "Request",
    "TargetingAnalysis",
    "TargetsError",
    "find_targets",
]
