"""Which actions are possible now, and the reason for each one that is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import Instance
from fuzztui.tui.base.keynames import key_name

FUZZING = frozenset({"", "running", "stalled"})
"""States of an instance that is fuzzing a queue entry now; "" means that the state is unknown."""


@dataclass(frozen=True, slots=True)
class RowContext:
    """What a screen knows of the row under the cursor, for its own actions; the base: nothing."""

    def labels(self) -> Mapping[str, str]:
        """Return the present labels of keys that switch something on and off, by action id."""
        return {}

    def elsewhere(self) -> Collection[str]:
        """Return the ids of actions that are for other rows, which the footer leaves out."""
        return ()


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
    control: bool = True
    """False if the campaign was opened for viewing only."""
    read_only: str = ""
    """Why this user may not steer the campaign, or does not want to; an empty string: may."""
    remote: bool = False
    """Whether the run is on another machine, so that only its supervisor can change it."""
    browser: bool = False
    """Whether a browser shows the screens."""
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
    paused_replay: bool = False
    absent: Mapping[str, str] = field(default_factory=dict)
    """Screens that this campaign has not, each with the reason."""
    about: RowContext = field(default_factory=RowContext)
    """The row under the cursor on a screen that has actions of its own."""
    undo: str = ""
    """Why the user's last steering cannot be undone; an empty string: it can be."""
    hosts: bool = False
    """Whether the campaign runs on hosts."""
    on_hosts: bool = False
    """Whether the Overview shows the table of hosts."""
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
About = TypeVar("About", bound=RowContext)


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
    """Return the context of rows of several instances, in which all engines must support an action.

    The reason against an action names the instance whose engine cannot carry it out.
    """
    first, *others = map(row_context, instances)
    return replace(first, also=tuple(others))


def shared_context(instances: Iterable[Instance], about: RowContext, *, row: bool) -> ActionContext:
    """Return the context of a row that all instances share: what any running engine can do.

    ``row``: whether the cursor is on one.
    """
    able: set[str] | None = None
    unable: dict[str, str] = {}
    for instance in list(instances):
        if instance.state not in ENDED and (instance.capabilities or instance.engine):
            able = (able or set()) | set(instance.capabilities)
            unable |= instance.unable
    return ActionContext(
        capabilities=None if able is None else frozenset(able),
        unable={name: why for name, why in unable.items() if name not in (able or ())},
        row=row,
        about=about,
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


def without_supervisor(now: ActionContext) -> bool:
    """Whether this is a run of fuzztui without a supervisor."""
    ours = now.mode == "live" and now.control and not (now.watched or now.read_only or now.remote)
    return ours and (now.state in ENDED or (now.alive is False and now.state != "empty"))


def why_not_show_hosts(now: ActionContext) -> str:
    """Why the table of hosts cannot be shown."""
    if now.state == "empty":
        return "the campaign log has not been read yet"
    return "" if now.hosts else "this campaign has no [hosts]: all of it runs on one machine"


def why_not_show(tab: str) -> WhyNot:
    """Return the check for opening a screen, and for acting on it."""
    return lambda now: now.absent.get(tab, "")


def why_not_about(kind: type[About], tab: str, against: Callable[[About], str]) -> WhyNot:
    """Return the check of a command that needs the row context ``kind`` of the screen ``tab``.

    ``against`` returns why the command is impossible in this context; "" if it is possible.
    """

    def why_not(now: ActionContext) -> str:
        if reason := why_not_pause(now):
            return reason
        return against(now.about) if isinstance(now.about, kind) else why_not_show(tab)(now)

    return why_not


def why_no_row(now: ActionContext) -> str:
    """Why an action that needs a row under the cursor is impossible."""
    return "" if now.row else "no row under the cursor"


@dataclass(frozen=True, slots=True)
class HomeContext(RowContext):
    """The runs that an action is for: the marked ones, else the one under the cursor."""

    chosen: int = 0
    """Their number."""
    unread: int = 0
    """How many of them have logs that were not opened yet."""
    running: int = 0
    """How many of them have a supervisor."""
    resumable: int = 0
    """How many of them have none, but the campaign file to start them again, and budget left."""
    finished: int = 0
    """How many of them have used up their budget, or met a stop condition."""
    live: int = 0
    """Runs that can be shown side by side: with a supervisor, and marked if any is marked."""
    marked: bool = False
    """Whether any run is marked."""
    panes: int | None = None
    """Number of runs that are shown side by side; None: the table is shown."""

    def stopping(self) -> str:
        """Why no run can be stopped."""
        return self._none() or ("" if self.running else "the campaign is not under way")

    def resuming(self) -> str:
        """Why no run can be resumed."""
        if reason := self._none():
            return reason
        if self.resumable:
            return ""
        if self.running:
            return "the campaign is under way already"
        if self.finished:
            return (
                "the campaign has finished; to continue: "
                "fuzztui RUN/campaign.toml --set campaign.budget=LARGER"
            )
        return "the run has no campaign.toml"

    def _none(self) -> str:
        if not self.chosen:
            return "no run under the cursor"
        return "the log is being read" if self.unread == self.chosen else ""

    def showing_beside(self) -> str:
        """Why no runs can be shown side by side."""
        if self.panes is not None or self.live:
            return ""
        what = "no marked run" if self.marked else "no campaign"
        return f"{what} is under way; {{home.resume:r}} resumes one"

    def elsewhere(self) -> Collection[str]:
        """The ids of actions that the footer leaves out: about panes that are not shown, and the
        one of stop and resume that the runs do not need."""
        out = [f"home.run_{n}" for n in range((self.panes or 0) + 1, MAX_PANES + 1)]
        if not self.chosen:
            out += ["home.stop", "home.resume", "home.beside"]
        elif bool(self.running) != bool(self.resumable):
            out.append("home.resume" if self.running else "home.stop")
        return out

    def labels(self) -> dict[str, str]:
        """The current label of the key that switches, by action id."""
        return {"home.beside": "Side by side" if self.panes is None else "Table"}


MAX_PANES = 4
"""Runs that are shown side by side at most."""
