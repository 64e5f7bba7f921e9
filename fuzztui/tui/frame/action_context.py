"""Which actions are possible now, and the reason for each one that is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fuzztui.model.selectors import ENDED
from fuzztui.model.state import Instance
from fuzztui.tui.base.keynames import key_name
from fuzztui.tui.frame.home_context import HomeContext
from fuzztui.tui.frame.property_actions import PropertyContext
from fuzztui.tui.frame.targeting_actions import TargetingContext
from fuzztui.wire.commands import Command
from fuzztui.wire.mixture import Mixture, stuck

FUZZING = frozenset({"", "running", "stalled"})
"""States of an instance that is fuzzing a queue entry now; "" means that the state is unknown."""


@dataclass(frozen=True, slots=True)
class ActionContext:
    """What decides whether an action is possible."""

    mode: str = "live"
    """``live`` or ``replay``."""
    state: str = "empty"
    """The campaign's state."""
    engine: str = ""
    """The campaign's engine."""
    stage: str = ""
    """Phase of a fuzz-first campaign: ``mutants`` or ``target``; an empty string in others."""
    go_on: bool = False
    """Whether mutants have budget left, so that restarting the campaign continues their phase."""
    control: bool = True
    """False if the campaign was opened for viewing only."""
    read_only: str = ""
    """Why this user may not steer the campaign, or does not want to; an empty string: may."""
    remote: bool = False
    """Whether the run is on another machine, so that only its supervisor can change it."""
    has_run: bool = False
    """Whether there is a run directory, not only a log."""
    watched: bool = False
    """Whether this is a watched campaign of someone else, which cannot be steered from here."""
    alive: bool | None = None
    """Whether a supervisor holds the run's lock; None while unknown."""
    instances: frozenset[str] = frozenset()
    instance: str = ""
    """The instance that the row under the cursor belongs to."""
    instance_state: str = ""
    capabilities: frozenset[str] | None = None
    """Commands that this instance's engine can execute; for mutants, which all instances share:
    commands that any engine can execute. None until an engine has reported them."""
    unable: Mapping[str, str] = field(default_factory=dict)
    """Why that engine cannot execute a command, by the command's name."""
    also: tuple[ActionContext, ...] = ()
    """Of marked rows: the contexts of the other instances that they belong to."""
    row: bool = False
    """Whether the cursor is on a row."""
    marked: int = 0
    """Number of marked rows, on which commands act instead of the row under the cursor."""
    mutant: str = ""
    """State of the mutant under the cursor; of a selection: the state that all its mutants
    share."""
    phase: str = ""
    """Progress of the mutant under the cursor in the worklist: fuzzing, waiting, done, ...; an
    empty string for a selection, or without a worklist."""
    minimising: bool = False
    """Whether the finding under the cursor is being minimised."""
    measuring: bool = False
    """Whether the coverage is being measured from the screen of the source."""
    coverage_build: bool = False
    """Whether the campaign has the build for gcov that lines of C targets need."""
    paused_replay: bool = False
    mutators: bool = False
    """Whether the campaign has statistics of text mutators, or its log was not read yet."""
    mixture: Mixture | None = None
    """The mixture after all pending commands; None except on the screen of mutators."""
    adaptive: bool = False
    """Whether that mixture is adaptive."""
    undo: str = ""
    """Why the user's last steering cannot be undone; an empty string: it can be."""
    aims: bool = False
    """Whether the campaign's engine targets types, or its log was not read yet."""
    aiming: TargetingContext | None = None
    """The row under the cursor on the screen of types; None on other screens."""
    suite: bool = False
    """Whether the campaign has properties, or its log was not read yet."""
    property: PropertyContext | None = None
    """The row under the cursor on the screen of properties; None on other screens."""
    hosts: bool = False
    """Whether the campaign runs on hosts."""
    on_hosts: bool = False
    """Whether the Overview shows the table of hosts."""
    home: HomeContext | None = None
    """The runs on the home screen; None on the screens of a campaign."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The keys that the user has set, by the id of the action; others have the registry's."""


_NAMED_KEY = re.compile(r"\{([a-z_.]+):([^{}]+)\}")


def with_keys(text: str, now: ActionContext) -> str:
    """Return ``text`` with keys in place of ``{action.id:registry's key}``."""

    def key(match: re.Match[str]) -> str:
        keys = now.keys.get(match[1], (match[2],))
        return key_name(keys[0]) if keys else "the key"

    return _NAMED_KEY.sub(key, text)


WhyNot = Callable[[ActionContext], str]


def always(now: ActionContext) -> str:
    """Return an empty string: the check of an action that is always possible."""
    return ""


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that a user can do.

    ``scope``: always (everywhere), app (on all screens of a campaign), table, or a screen's name.
    ``needs`` is the capability that the row's engine must have announced. ``footer``: order in the
    footer, 0 is not shown there.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    group: str
    scope: str = "app"
    needs: str = ""
    does: str = ""
    """What an engine without the capability cannot do: completes "cannot ..."."""
    footer: int = 0
    check: WhyNot = always
    mode: str = ""
    """The only mode (live or replay) that has this action; in the other mode the action is hidden,
    not greyed."""
    ended: bool = False
    """Whether the action is for campaigns that have ended; before, the footer hides the action."""
    engine: str = ""
    """The only engine whose campaigns show this action in the footer. Their supervisor executes
    the action itself, so that their instances need not announce the capability."""
    queue: bool | None = None
    """True: in the footer of fuzz-first campaigns only; False: of other campaigns only; None: of
    all."""
    hosts: bool = False
    """Whether only campaigns on hosts show this action in the footer."""
    command: Callable[..., Command] | None = None
    """Makes the command that this action sends. Its scope's screen passes what the row means there:
    id and instance of an entry, a selection of mutants, or a :class:`TargetingContext`."""
    run: str = ""
    """The action whose method carries this one out, too; an empty string: it has its own."""
    args: tuple[Any, ...] = ()
    """Arguments of that method."""

    @property
    def method(self) -> tuple[str, tuple[Any, ...]]:
        """The name of the method that carries out this action, and its arguments.

        It is a method of the focused widget, one of its ancestors, the screen or the application,
        whichever has it first: ``do_SCOPE_command`` if the row has a command, otherwise
        ``do_ID``, with underscores in place of dots.
        """
        if self.command is not None:
            return f"do_{self.scope}_command", (self,)
        return "do_" + (self.run or self.id).replace(".", "_"), self.args

    def keys_now(self, now: ActionContext) -> tuple[str, ...]:
        """Return this action's keys: the user's, or the registry's; the user may have left none."""
        return now.keys.get(self.id, self.keys)

    def with_keys(self, now: ActionContext) -> Action:
        """Return this action with the user's keys."""
        return replace(self, keys=self.keys_now(now))

    def key_label(self, now: ActionContext) -> str:
        """Return the name of this action's first key; an empty string without a key."""
        return next(map(key_name, self.keys_now(now)), "")

    def why_not(self, now: ActionContext) -> str:
        """Return why this action is impossible now, for users; an empty string if possible."""
        if self.mode and now.mode != self.mode:
            return f"only in a {self.mode}" if self.mode == "replay" else "not in a replay"
        if self.ended and now.state not in ENDED:
            return "the campaign has not ended"
        reason = with_keys(self.check(now), now)
        if reason or not self.needs:
            return reason
        return next(filter(None, map(self._why_unable, (now, *now.also))), "")

    def _why_unable(self, now: ActionContext) -> str:
        """Why the engine of the row cannot carry out this action."""
        engine = f"{now.instance}'s engine" if now.instance else "this campaign's engine"
        if why := now.unable.get(self.needs):
            return f"{engine} cannot {self.does}: {why}"
        if self.engine and self.engine == now.engine:
            return ""
        if now.capabilities is None:
            return f"{now.instance or 'the engine'} has not reported its capabilities yet"
        if self.needs not in now.capabilities:
            return f"{engine} cannot {self.does}"
        return ""

    def elsewhere(self, now: ActionContext) -> bool:
        """Whether the footer leaves this action out, which is for another table or other rows."""
        if now.home is not None:
            return self.id in now.home.elsewhere()
        return now.aiming is not None and self.id in now.aiming.elsewhere()

    def title(self, now: ActionContext) -> str:
        """Return the label now: a key that switches something on and off has two."""
        if self.id == "campaign.pause" and now.state == "paused":
            return "Resume"
        if self.id == "instance.pause":
            what = "host" if now.on_hosts else "instance"
            return f"{'Resume' if now.instance_state == 'paused' else 'Pause'} {what}"
        if self.id == "table.mark" and now.marked:
            return f"{now.marked:,} marked"
        if self.id == "replay.play" and now.mode == "replay":
            return "Play" if now.paused_replay else "Pause"
        if self.id == "finding.minimise" and now.minimising:
            return "Cancel"
        if self.id == "source.measure" and now.measuring:
            return "Cancel"
        if self.id == "overview.hosts" and now.on_hosts:
            return "Instances"
        if self.id == "mixture.adaptive" and now.adaptive:
            return "Hold fixed"
        if self.id.startswith("types.") and now.aiming is not None:
            return now.aiming.labels().get(self.id, self.label)
        if now.property is not None:
            return now.property.labels().get(self.id, self.label)
        if now.home is not None:
            return now.home.labels().get(self.id, self.label)
        return self.label

    def place(self, now: ActionContext) -> int:
        """Return the order in the footer now; 0: it is not shown there."""
        # The number of marks comes first: it says on what the next command acts.
        first = (now.marked and self.id == "table.mark") or (
            now.home is not None and now.row and self.id == "table.select"
        )
        return 1 if first else self.footer


def row_context(instance: Instance | None) -> ActionContext:
    """Return the context of a row of ``instance``; None: the row's instance is unknown."""
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


def rows_context(instances: Iterable[Instance | None]) -> ActionContext:
    """Return the context of rows of several instances: possible is what all their engines can do.

    An action that one of them cannot carry out names that instance.
    """
    first, *others = map(row_context, instances)
    return replace(first, also=tuple(others))


def shared_context(instances: Iterable[Instance]) -> ActionContext:
    """Return the context of a row that all instances share: what any running engine can do."""
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


def why_not_steer(now: ActionContext) -> str:
    """Why the campaign cannot be steered."""
    if now.mode == "replay":
        return "this is a replay: the campaign cannot be steered"
    if now.watched:
        return "watched only: start the campaign with fuzztui to steer it"
    if not now.control:
        return "opened for viewing only"
    if now.read_only:
        return now.read_only
    if now.state in ENDED:
        return f"the campaign has {now.state}"
    if now.alive is False:
        return "no hub is running" if now.hosts else "no supervisor is running"
    if now.state in ("empty", "starting"):
        return "the campaign is still starting"
    return ""


def why_not_pause(now: ActionContext) -> str:
    """Why the campaign cannot be paused or stopped."""
    return why_not_steer(now) or (
        "the campaign is already stopping" if now.state == "stopping" else ""
    )


def why_not_undo(now: ActionContext) -> str:
    """Why the user's last steering cannot be undone. After the end a command undoes verdicts."""
    ended = without_supervisor(now) and now.state in ENDED
    return ("" if ended else why_not_pause(now)) or now.undo


def why_not_steer_instance(now: ActionContext) -> str:
    """Why the instance under the cursor cannot be steered."""
    what = "no host that runs" if now.on_hosts else "no instance"
    return why_not_pause(now) or ("" if now.instance else f"{what} under the cursor")


def why_not_skip_current(now: ActionContext) -> str:
    """Why the instance under the cursor cannot leave its entry."""
    if reason := why_not_steer_instance(now):
        return reason
    return "" if now.instance_state in FUZZING else f"{now.instance} is {now.instance_state}"


def why_not_minimise(now: ActionContext) -> str:
    """Why the finding under the cursor cannot be minimised."""
    # Without a supervisor the screen runs the command itself.
    reason = "" if without_supervisor(now) else why_not_steer(now)
    return reason or why_no_row(now)


def why_not_measure(now: ActionContext) -> str:
    """Why the corpus cannot be run again from here."""
    if now.watched or not now.has_run:
        return "there is no run of fuzztui here whose target could be run"
    if now.remote:
        return "the run is on another machine; there: fuzztui coverage RUN"
    if now.engine == "afl" and not now.coverage_build:
        return (
            "lines of C targets need target.coverage = true in the campaign file; set it, and "
            "start the campaign again (docs/source.md)"
        )
    if not now.engine:
        return "the campaign is still starting"
    return ""


def why_not_judge_finding(now: ActionContext) -> str:
    """Why the group under the cursor cannot get a verdict. After the end a command writes it."""
    ended = without_supervisor(now) and now.state in ENDED
    return ("" if ended else why_not_steer(now)) or why_no_row(now)


def without_supervisor(now: ActionContext) -> bool:
    """Whether this is a run of fuzztui without a supervisor."""
    ours = now.mode == "live" and now.control and not (now.watched or now.read_only or now.remote)
    return ours and (now.state in ENDED or (now.alive is False and now.state != "empty"))


def why_not_steer_entry(now: ActionContext) -> str:
    """Why the entry under the cursor cannot be steered."""
    return why_not_steer(now) or why_no_row(now)


def why_killed(now: ActionContext) -> str:
    """Why a command for mutants that are not killed is impossible."""
    killed = now.mutant == "killed"
    return why_not_steer_mutants(now) or (
        "the mutant is already killed; press {mutant.requeue:r} to requeue it" if killed else ""
    )


def judges_ended(now: ActionContext) -> bool:
    """Whether mutants of a campaign that has ended can be judged: a command records the verdict."""
    return without_supervisor(now) and now.state in ENDED and now.engine == "mu2"


def why_not_select_mutants(now: ActionContext) -> str:
    """Why no command about several mutants is possible."""
    return why_no_row(now) if judges_ended(now) else why_not_steer_mutants(now)


def _why_not_judge(now: ActionContext) -> str:
    """Why a mutant that is not in a worklist cannot get a verdict."""
    if not judges_ended(now):
        return why_killed(now)
    open_ = now.mutant in ("", "alive", "pending", "skipped", "equivalent")
    return why_no_row(now) or ("" if open_ else f"the mutant is {now.mutant}")


def why_not_steer_mutants(now: ActionContext) -> str:
    """Why mutants cannot be steered; in fuzz-first: only during the mutant phase they can."""
    reason = why_not_steer(now) or ("" if now.row else "no mutant under the cursor")
    if not reason and now.stage and now.stage != "mutants" and not now.go_on:
        return "the mutant phase is over: its budget is used up, the target is being fuzzed"
    return reason


_OVER = {
    "done": "its turn is over; press {mutant.requeue:r} to give it another turn",
    "refused": "the mutant was rejected; press {mutant.requeue:r} to give it another turn",
    "skipped": "the mutant is skipped; press {mutant.requeue:r} to give it a turn",
    "equivalent": "the mutant is marked equivalent; press {mutant.requeue:r} to give it a turn",
}
_AT_WORK = {
    "pruning": "the mutant is being fuzzed; press {mutant.skip:d} to end its turn",
    "fuzzing": "the mutant is being fuzzed; press {mutant.skip:d} to end its turn",
    "collecting": "its turn has just ended; its inputs are being transferred",
}
_NEVER = {
    "failed": "the mutant does not build; press {mutant.requeue:r} to build it again",
    "dropped": "a duplicate of another mutant or of the original",
}


def why_not_move(now: ActionContext) -> str:
    """Why the mutant cannot get another position: in a worklist it must be waiting."""
    if not now.stage:
        return why_killed(now)
    return why_not_steer_mutants(now) or (_AT_WORK | _OVER | _NEVER).get(now.phase, "")


def why_not_move_step(now: ActionContext) -> str:
    """Why the mutant cannot move up or down in the worklist."""
    return why_not_move(now) or ("" if now.stage else "this campaign has no worklist of mutants")


def why_not_skip(now: ActionContext) -> str:
    """Why the mutant cannot be skipped. A mutant that is being fuzzed can be."""
    if not now.stage:
        return _why_not_judge(now)
    ending = {"collecting": _AT_WORK["collecting"]}
    return why_not_steer_mutants(now) or (ending | _OVER | _NEVER).get(now.phase, "")


def why_not_promote(now: ActionContext) -> str:
    """Why the mutant cannot be promoted. A mutant that is being fuzzed gets more time."""
    return (
        ""
        if now.stage and now.phase == "fuzzing" and not why_not_steer_mutants(now)
        else why_not_move(now)
    )


def why_not_equivalent(now: ActionContext) -> str:
    """Why the mutant cannot be marked equivalent."""
    if not now.stage:
        return _why_not_judge(now)
    dropped = {"dropped": _NEVER["dropped"]}
    return why_not_steer_mutants(now) or why_killed(now) or dropped.get(now.phase, "")


def why_not_accept(now: ActionContext) -> str:
    """Why the mutant cannot be accepted as a survivor."""
    if now.engine not in ("", "mu2"):
        return "survivors are accepted with engine mu2"
    reason = why_no_row(now) if judges_ended(now) else why_not_steer_mutants(now)
    survives = now.mutant in ("", "alive", "pending")
    return reason or ("" if survives else f"the mutant is {now.mutant}")


def why_not_requeue(now: ActionContext) -> str:
    """Why the mutant cannot be requeued. After the campaign's end this takes back a verdict."""
    if not now.stage and judges_ended(now):
        excluded = now.mutant in ("", "skipped", "equivalent")
        return why_no_row(now) or ("" if excluded else "the mutant is not skipped or equivalent")
    if reason := why_not_steer_mutants(now):
        return reason
    known = {"waiting": "the mutant is already waiting for its turn", "dropped": _NEVER["dropped"]}
    return (_AT_WORK | known).get(now.phase, "") if now.stage else ""


def why_not_show_mutators(now: ActionContext) -> str:
    """Why the screen of text mutators cannot be opened."""
    return "" if now.mutators else "no engine of this campaign reports text mutators"


def why_not_mix(now: ActionContext) -> str:
    """Why the mixture of text mutators cannot be changed."""
    return why_not_pause(now) or ("" if now.mixture is not None else why_not_show_mutators(now))


def why_not_move_boundary(boundary: int, by: int) -> WhyNot:
    """Return the check for moving a boundary of the mixture to one side."""

    def why_not(now: ActionContext) -> str:
        if (reason := why_not_mix(now)) or now.mixture is None:
            return reason
        if now.adaptive:
            return "the mixture is adaptive; press {mixture.adaptive:A} to fix it"
        return stuck(now.mixture, boundary, by)

    return why_not


def why_not_show_hosts(now: ActionContext) -> str:
    """Why the table of hosts cannot be shown."""
    return "" if now.hosts else "this campaign has no [hosts]: all of it runs on one machine"


def why_not_show_types(now: ActionContext) -> str:
    """Why the screen of types cannot be opened."""
    return "" if now.aims else "the engine of this campaign does not target types"


def why_not_show_properties(now: ActionContext) -> str:
    """Why the screen of properties cannot be opened."""
    return "" if now.suite else "this campaign has one target, not a suite"


def why_not_weigh(against: Callable[[PropertyContext], str]) -> WhyNot:
    """Return the check for one command about a property."""

    def why_not(now: ActionContext) -> str:
        return why_not_pause(now) or (
            why_not_show_properties(now) if now.property is None else against(now.property)
        )

    return why_not


def why_not_target(against: Callable[[TargetingContext], str]) -> WhyNot:
    """Return the check for one command about types or goals."""

    def why_not(now: ActionContext) -> str:
        reason = why_not_pause(now)
        return reason or (
            against(now.aiming) if now.aiming is not None else why_not_show_types(now)
        )

    return why_not


def why_no_type(now: ActionContext) -> str:
    """Why an action that needs a type under the cursor is impossible."""
    return now.aiming.weighing() if now.aiming is not None else why_not_show_types(now)


def why_no_row(now: ActionContext) -> str:
    """Why an action that needs a row under the cursor is impossible."""
    return "" if now.row else "no row under the cursor"
