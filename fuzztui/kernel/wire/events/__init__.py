"""Everything that can happen in a campaign, one frozen dataclass per kind of event.

An event contains *what* happened. The supervisor adds its sequence number and campaign time
once, as a :class:`Record`.

Rules for a new kind:

* fields are JSON scalars, lists of scalars, or one flat ``dict``; every field
  except the identifying ones has a default, so that old logs stay readable;
* a kind is never renamed and a field never changes its meaning: add another one;
* the annotation of a number decides its bounds (:mod:`fuzztui.kernel.base.bounds`): ``Count`` for
  counts (-1: unknown), ``int`` for ids and other numbers, ``float`` for seconds, rates and parts;
* strings may contain anything that a hostile target chose: escape them before drawing.
"""

from __future__ import annotations

from fuzztui.kernel.wire.events.base import EVENT_KINDS, Event, Record, Unknown, register
from fuzztui.kernel.wire.events.campaign import (
    HOST_STATES,
    BudgetSet,
    CampaignEnded,
    CampaignStarted,
    CampaignState,
    HostState,
    SupervisorStarted,
)
from fuzztui.kernel.wire.events.commands import (
    CommandApplied,
    CommandIssued,
    CommandProgress,
    CommandRejected,
)
from fuzztui.kernel.wire.events.entries import (
    ComparisonsReported,
    EntriesSeeded,
    EntryDescribed,
    EntrySaved,
    InputShown,
)
from fuzztui.kernel.wire.events.findings import (
    ExampleSaved,
    FindingDescribed,
    FindingSaved,
    SkippedFrames,
    VerdictsChanged,
)
from fuzztui.kernel.wire.events.instances import (
    ALL_GONE,
    DIRECTORY_GONE,
    InstanceHello,
    InstanceState,
    PassiveInstance,
    Resources,
    Synced,
)
from fuzztui.kernel.wire.events.messages import (
    END,
    NEW_FINDINGS,
    NEWS,
    STALL,
    UNGUIDED,
    Message,
    Notified,
    RecordsLost,
)
from fuzztui.kernel.wire.events.mutants import (
    MutantPositions,
    MutantProgress,
    MutantRuns,
    MutantsFound,
    MutantsShard,
    MutantState,
    MutationStats,
    PhaseStarted,
)
from fuzztui.kernel.wire.events.mutators import MutatorStats
from fuzztui.kernel.wire.events.properties import PropertiesFound, PropertyFigures
from fuzztui.kernel.wire.events.source import CoverageBuild, LinesCovered, SourceFile
from fuzztui.kernel.wire.events.stats import Stats
from fuzztui.kernel.wire.events.targeting import GoalsUncovered, TargetingStats
