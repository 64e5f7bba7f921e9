"""The state of a campaign after some prefix of its log.

Plain data, changed only by :func:`fuzztui.kernel.model.fold.apply`. Tables are dicts keyed by id
and grow at their end. Their rows (:class:`Entry`, :class:`Finding`, :class:`Mutant`) are frozen and
replaced as a whole: states of different times share them, so seeking is cheap
(:mod:`fuzztui.kernel.model.chain`).
Series are bounded (:mod:`fuzztui.kernel.model.series`). A state can be stored as JSON
(:mod:`fuzztui.kernel.model.checkpoint`).
"""

from __future__ import annotations

from fuzztui.kernel.model.state.campaign import (
    MAX_PROPERTIES,
    MAX_PROPERTY_NAME,
    RECENT_COMMANDS,
    RECENT_RECORDS,
    State,
)
from fuzztui.kernel.model.state.changes import Changes
from fuzztui.kernel.model.state.commands import CommandEffect, CommandStatus
from fuzztui.kernel.model.state.engines import MixtureChange, UncoveredGoal
from fuzztui.kernel.model.state.instances import FILE_COUNTS, NO_STATS, Host, Instance
from fuzztui.kernel.model.state.mutants import MUTANT_STATES, Mutant
from fuzztui.kernel.model.state.part import StatePart
from fuzztui.kernel.model.state.saved import Children, Entry, Finding, FindingVerdict
from fuzztui.kernel.model.state.source import CoverageStep, SourceRow
