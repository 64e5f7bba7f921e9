"""The commands that a user can give to a running campaign.

A command names instances and entries by id, never by row. It is sent as one JSON object: from
client to supervisor over the control socket, from supervisor to engine as a line of
``control.jsonl``. The engine or the supervisor answers with ``command_applied`` or
``command_rejected``. The meaning of a command for instances is described in its class. Whether a
handler of the supervisor executes it instead of the engines depends on the campaign's services.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# isort: off
# All that the files define: a new command needs no second mention here. COMMAND_NAMES, which
# messages and `fuzztui ctl` list, has the order of these imports.
from fuzztui.kernel.wire.commands.base import *
from fuzztui.kernel.wire.commands.campaign import *
from fuzztui.kernel.wire.commands.entries import *
from fuzztui.kernel.wire.commands.findings import *
from fuzztui.kernel.wire.commands.mutators import *
from fuzztui.kernel.wire.commands.targeting import *
from fuzztui.kernel.wire.commands.properties import *
from fuzztui.kernel.wire.commands.mutants import *
from fuzztui.kernel.wire.commands.targets import *
from fuzztui.kernel.wire.commands.weights import *
# isort: on

Verdict = MarkEquivalent | SkipMutants | RequeueMutants
"""The commands that a user can also give after the end of a mu2 campaign."""

OfVerdictsFile = JudgeFinding | SkipFrames | CountFrames | AcceptMutants | UnacceptMutants
"""The commands that change nothing but the verdicts file, also after the campaign's end."""


def names_of(base: type[Command]) -> tuple[str, ...]:
    """Return the names of all commands of a class."""
    return tuple(name for name, cls in COMMAND_NAMES.items() if issubclass(cls, base))


def command_class(command: Mapping[str, Any]) -> type[Command]:
    """Return the class of an encoded command; :class:`Command` if it is unknown."""
    name = command.get("c")
    return COMMAND_NAMES.get(name, Command) if isinstance(name, str) else Command
