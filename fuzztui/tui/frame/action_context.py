"""What can be done now, and why something cannot: actions against situations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from fuzztui.model.selectors import ENDED
from fuzztui.model.state import Instance
from fuzztui.tui.frame.targeting_actions import Aiming
from fuzztui.wire.mixture import Mixture, stuck

FUZZING = frozenset({"", "running", "stalled"})
"""States of an instance that is at some queue entry now ("": nobody has said)."""


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What the answer to "can this be done now?" depends on."""

    mode: str = "live"
    """live or replay."""
    state: str = "empty"
    """The campaign's state."""
    engine: str = ""
    """The campaign's engine."""
    stage: str = ""
    """mutants or target, if the campaign fuzzes mutants one by one and then the target."""
    go_on: bool = False
    """Whether mutants have budget left, for when the campaign is started again."""
    control: bool = True
    """False when the campaign was opened to be looked at only."""
    watched: bool = False
    """Whether it is someone else's campaign, which nobody here can steer."""
    alive: bool | None = None
    """Whether a supervisor holds the run; None while that is not known yet."""
    instances: frozenset[str] = frozenset()
    instance: str = ""
    """The instance that the row under the cursor belongs to."""
    instance_state: str = ""
    capabilities: frozenset[str] | None = None
    """What that instance's engine can obey (of mutants, which are everybody's: any engine
    here); None while it has not said."""
    unable: Mapping[str, str] = field(default_factory=dict)
    """Why that engine cannot obey a command, by the command's name."""
    row: bool = False
    """Whether the cursor is on a row."""
    mutant: str = ""
    """The state of the mutant under the cursor (of all that are meant, if they agree)."""
    phase: str = ""
    """Where the mutant under the cursor is in the queue, if there is one: fuzzing, waiting,
    done, ...; "" of many."""
    minimising: bool = False
    """Whether the finding under the cursor is being minimised."""
    paused_replay: bool = False
    operators: bool = False
    """Whether the campaign has figures of text mutators, or its log was not read yet."""
    mixture: Mixture | None = None
    """Their mixture when all that was asked for is done; None where that is not looked at."""
    adaptive: bool = False
    """Whether that mixture moves by itself."""
    aims: bool = False
    """Whether the campaign's engine aims at types, or its log was not read yet."""
    aiming: Aiming | None = None
    """What can be asked about types; None where they are not looked at."""


WhyNot = Callable[[ActionContext], str]


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
    engine: str = ""
    """Only this engine's campaigns have it in the footer. Their supervisor sees to it
    itself, so that their instances need not announce it."""
    queue: bool | None = None
    """True: only campaigns that fuzz mutants one by one have it in the footer; False: only
    others; None: all."""

    def why_not(self, now: ActionContext) -> str:
        """The reason why this cannot be done now, for users; "" when it can."""
        if self.mode and now.mode != self.mode:
            return f"only in a {self.mode}" if self.mode == "replay" else "not in a replay"
        reason = self.check(now)
        if reason or not self.needs:
            return reason
        engine = f"{now.instance}'s engine" if now.instance else "this campaign's engine"
        if why := now.unable.get(self.needs):
            return f"{engine} cannot {self.does}: {why}"
        if self.engine and self.engine == now.engine:
            return ""
        if now.capabilities is None:
            return f"{now.instance or 'the engine'} has not said yet what it can do"
        if self.needs not in now.capabilities:
            return f"{engine} cannot {self.does}"
        return ""

    def elsewhere(self, now: ActionContext) -> bool:
        """Whether it is for the other table of a screen that has two."""
        return now.aiming is not None and self.id in now.aiming.elsewhere()

    def title(self, now: ActionContext) -> str:
        """The label; pausing and resuming share a key."""
        if self.id == "campaign.pause" and now.state == "paused":
            return "Resume"
        if self.id == "instance.pause" and now.instance_state == "paused":
            return "Resume instance"
        if self.id == "replay.play" and now.mode == "replay":
            return "Play" if now.paused_replay else "Pause"
        if self.id == "finding.minimise" and now.minimising:
            return "Cancel"
        if self.id == "mixture.adaptive" and now.adaptive:
            return "Hold fixed"
        if self.id.startswith("types.") and now.aiming is not None:
            return now.aiming.labels().get(self.id, self.label)
        return self.label


def over(instance: Instance | None) -> ActionContext:
    """The situation on a row of ``instance``, or on one whose instance is not known."""
    if instance is None:
        return ActionContext()
    said = instance.capabilities or instance.engine
    return ActionContext(
        row=True,
        instance=instance.id,
        instance_state=instance.state,
        capabilities=frozenset(instance.capabilities) if said else None,
        unable=dict(instance.unable),
    )


def over_all(instances: Iterable[Instance]) -> ActionContext:
    """The situation on a row of nobody's: what any living engine can do, or why none can."""
    able: set[str] | None = None
    unable: dict[str, str] = {}
    for instance in list(instances):
        if instance.state not in ENDED and (instance.capabilities or instance.engine):
            able = (able or set()) | set(instance.capabilities)
            unable |= instance.unable
    return ActionContext(
        capabilities=None if able is None else frozenset(able),
        unable={name: why for name, why in unable.items() if name not in (able or ())},
    )


def steerable(now: ActionContext) -> str:
    """Against steering anything at all."""
    if now.mode == "replay":
        return "this is a replay: nothing can be steered"
    if now.watched:
        return "watched only: start the campaign with fuzztui to steer it"
    if not now.control:
        return "opened to look only"
    if now.state in ENDED:
        return f"the campaign is over ({now.state})"
    if now.alive is False:
        return "no supervisor is running"
    if now.state in ("empty", "starting"):
        return "the campaign is still starting"
    return ""


def pausable(now: ActionContext) -> str:
    """Against pausing or stopping the campaign."""
    return steerable(now) or ("it is stopping" if now.state == "stopping" else "")


def instance(now: ActionContext) -> str:
    """Against steering the instance under the cursor."""
    return pausable(now) or ("" if now.instance else "no instance under the cursor")


def fuzzing(now: ActionContext) -> str:
    """Against what needs an instance that fuzzes."""
    if reason := instance(now):
        return reason
    return "" if now.instance_state in FUZZING else f"{now.instance} is {now.instance_state}"


def finding(now: ActionContext) -> str:
    """Against minimising the finding under the cursor."""
    # Of a run that has ended the screen itself can have it done.
    reason = "" if alone(now) else steerable(now)
    return reason or row(now)


def alone(now: ActionContext) -> bool:
    """Whether it is a run of fuzztui's that has no supervisor any more."""
    ours = now.mode == "live" and now.control and not now.watched
    return ours and (now.state in ENDED or (now.alive is False and now.state != "empty"))


def entry(now: ActionContext) -> str:
    """Against steering the queue entry under the cursor."""
    return steerable(now) or row(now)


def living(now: ActionContext) -> str:
    """Against what makes no sense for a mutant that is dead."""
    return mutants(now) or ("it is killed: r tries it again" if now.mutant == "killed" else "")


def mutants(now: ActionContext) -> str:
    """Against steering mutants: in a queue that is the supervisor's to do, while it lasts."""
    reason = steerable(now) or ("" if now.row else "no mutant under the cursor")
    if not reason and now.stage and now.stage != "mutants" and not now.go_on:
        return "the mutants' turn is over, their budget used up: the target is fuzzed"
    return reason


_OVER = {
    "done": "it was fuzzed: r gives it another turn",
    "refused": "it was refused: r gives it another turn",
    "skipped": "it is skipped: r gives it a turn",
    "equivalent": "you called it equivalent: r gives it a turn",
}
_AT_WORK = {
    "pruning": "it is being fuzzed: d ends that",
    "fuzzing": "it is being fuzzed: d ends that",
    "collecting": "its turn has just ended",
}
_NEVER = {
    "failed": "it does not build: r tries it again",
    "dropped": "it is the same program as another, or as the original",
}


def waiting(now: ActionContext) -> str:
    """Against giving a mutant another place: in a queue it must wait there."""
    if not now.stage:
        return living(now)
    return mutants(now) or (_AT_WORK | _OVER | _NEVER).get(now.phase, "")


def in_queue(now: ActionContext) -> str:
    """Against what only a queue has."""
    return waiting(now) or ("" if now.stage else "this campaign's mutants are in no queue")


def skippable(now: ActionContext) -> str:
    """Against putting a mutant aside: the one that is fuzzed can be, too."""
    if not now.stage:
        return living(now)
    ending = {"collecting": _AT_WORK["collecting"]}
    return mutants(now) or (ending | _OVER | _NEVER).get(now.phase, "")


def promotable(now: ActionContext) -> str:
    """Against more of a mutant: the one that is fuzzed can have more time."""
    return "" if now.stage and now.phase == "fuzzing" and not mutants(now) else waiting(now)


def doubtful(now: ActionContext) -> str:
    """Against the verdict that nothing can kill a mutant."""
    dropped = {"dropped": _NEVER["dropped"]} if now.stage else {}
    return mutants(now) or living(now) or dropped.get(now.phase, "")


def triable(now: ActionContext) -> str:
    """Against trying a mutant again."""
    if reason := mutants(now):
        return reason
    known = {"waiting": "it waits for its turn already", "dropped": _NEVER["dropped"]}
    return (_AT_WORK | known).get(now.phase, "") if now.stage else ""


def operators(now: ActionContext) -> str:
    """Against looking at text mutators."""
    return "" if now.operators else "no engine of this campaign reports text mutators"


def mixture(now: ActionContext) -> str:
    """Against changing the mixture of operators."""
    return pausable(now) or ("" if now.mixture is not None else operators(now))


def mixing(boundary: int, by: int) -> WhyNot:
    """Against moving that boundary of the mixture to that side."""

    def why_not(now: ActionContext) -> str:
        if (reason := mixture(now)) or now.mixture is None:
            return reason
        if now.adaptive:
            return "it is adaptive: A holds it fixed"
        return stuck(now.mixture, boundary, by)

    return why_not


def types(now: ActionContext) -> str:
    """Against looking at types."""
    return "" if now.aims else "this campaign's engine aims at no types"


def aiming(against: Callable[[Aiming], str]) -> WhyNot:
    """Against asking something about types or goals."""

    def why_not(now: ActionContext) -> str:
        reason = pausable(now)
        return reason or (against(now.aiming) if now.aiming is not None else types(now))

    return why_not


def a_type(now: ActionContext) -> str:
    """Against what needs a type under the cursor."""
    return now.aiming.weighing() if now.aiming is not None else types(now)


def row(now: ActionContext) -> str:
    """Against what needs a row."""
    return "" if now.row else "no row under the cursor"
