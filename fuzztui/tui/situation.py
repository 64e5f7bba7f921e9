"""What can be done now, and why something cannot: actions against situations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fuzztui.model.selectors import ENDED


@dataclass(frozen=True, slots=True)
class Situation:
    """What the answer to "can this be done now?" depends on."""

    mode: str = "live"
    """live or replay."""
    state: str = "empty"
    """The campaign's state."""
    control: bool = True
    """False when the campaign was opened to be looked at only."""
    alive: bool | None = None
    """Whether a supervisor holds the run; None while that is not known yet."""
    instances: frozenset[str] = frozenset()
    instance: str = ""
    """The instance that the row under the cursor belongs to."""
    instance_state: str = ""
    capabilities: frozenset[str] | None = None
    """What that instance's engine can obey (of mutants, which are everybody's: any engine
    here); None while it has not said."""
    row: bool = False
    """Whether the cursor is on a row."""
    mutant: str = ""
    """The state of the mutant under the cursor (of all that are meant, if they agree)."""
    paused_replay: bool = False


WhyNot = Callable[[Situation], str]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do. ``why_not`` gives the reason against it, "" when there is none.

    ``scope``: app (everywhere), table, or a screen's name. ``needs`` is the capability
    that the row's engine must have announced. ``footer``: order there, 0 is not shown.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    group: str
    scope: str = "app"
    needs: str = ""
    does: str = ""
    """What an engine without the capability cannot do, in words."""
    footer: int = 0
    check: WhyNot = field(default=lambda _: "")
    mode: str = ""
    """Only in this mode (live or replay); elsewhere it is hidden, not greyed."""

    def why_not(self, now: Situation) -> str:
        """The reason why this cannot be done now, for people; "" when it can."""
        if self.mode and now.mode != self.mode:
            return f"only in a {self.mode}" if self.mode == "replay" else "not in a replay"
        reason = self.check(now)
        if reason or not self.needs:
            return reason
        if now.capabilities is None:
            return f"{now.instance or 'the engine'} has not said yet what it can do"
        if self.needs not in now.capabilities:
            engine = f"{now.instance}'s engine" if now.instance else "this campaign's engine"
            return f"{engine} cannot {self.does}"
        return ""

    def title(self, now: Situation) -> str:
        """The label; pausing and resuming share a key."""
        if self.id == "campaign.pause" and now.state == "paused":
            return "Resume"
        if self.id == "instance.pause" and now.instance_state == "paused":
            return "Resume instance"
        if self.id == "replay.play":
            return "Play" if now.paused_replay else "Pause"
        return self.label


def steerable(now: Situation) -> str:
    """Against steering anything at all."""
    if now.mode == "replay":
        return "this is a replay: nothing can be steered"
    if not now.control:
        return "opened to look only"
    if now.state in ENDED:
        return f"the campaign is over ({now.state})"
    if now.alive is False:
        return "no supervisor is running"
    if now.state in ("empty", "starting"):
        return "the campaign is still starting"
    return ""


def pausable(now: Situation) -> str:
    """Against pausing or stopping the campaign."""
    return steerable(now) or ("it is stopping" if now.state == "stopping" else "")


def instance(now: Situation) -> str:
    """Against steering the instance under the cursor."""
    return pausable(now) or ("" if now.instance else "no instance under the cursor")


def entry(now: Situation) -> str:
    """Against steering the queue entry under the cursor."""
    return steerable(now) or row(now)


def living(now: Situation) -> str:
    """Against what makes no sense for a mutant that is dead."""
    return mutants(now) or ("it is killed: r tries it anew" if now.mutant == "killed" else "")


def mutants(now: Situation) -> str:
    """Against steering mutants."""
    return steerable(now) or ("" if now.row else "no mutant under the cursor")


def row(now: Situation) -> str:
    """Against what needs a row."""
    return "" if now.row else "no row under the cursor"
