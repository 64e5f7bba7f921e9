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

# All that the files define: a new kind needs no second mention here.
from fuzztui.kernel.wire.events.base import *
from fuzztui.kernel.wire.events.campaign import *
from fuzztui.kernel.wire.events.commands import *
from fuzztui.kernel.wire.events.entries import *
from fuzztui.kernel.wire.events.findings import *
from fuzztui.kernel.wire.events.instances import *
from fuzztui.kernel.wire.events.messages import *
from fuzztui.kernel.wire.events.mutants import *
from fuzztui.kernel.wire.events.mutators import *
from fuzztui.kernel.wire.events.properties import *
from fuzztui.kernel.wire.events.source import *
from fuzztui.kernel.wire.events.stats import *
from fuzztui.kernel.wire.events.targeting import *
from fuzztui.kernel.wire.events.targets import *
