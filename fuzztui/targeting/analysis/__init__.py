"""The static phase of SpotOn: which types influence which code targets of a Python application.

"Generator-Based Fuzzers with Type-Based Targeted Mutation", III-B. :func:`find_targets` asks a
child process for the analysis; everything that imports mypy is imported there only.
"""

from fuzztui.targeting.analysis.child import find_targets
from fuzztui.targeting.analysis.document import Constant, Document, Influence, Target
from fuzztui.targeting.analysis.request import Request, TargetsError

__all__ = ["Constant", "Document", "Influence", "Request", "Target", "TargetsError", "find_targets"]
