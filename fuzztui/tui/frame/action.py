"""One thing that a user can do on a screen: its keys, its text, when it is possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.wire.commands import Command
from fuzztui.tui.base.keynames import key_name
from fuzztui.tui.frame.action_context import (
    ActionContext,
    HomeContext,
    WhyNot,
    why_no_row,
    with_keys,
)


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
    local: bool = False
    """Whether the action is impossible in a browser: it names files of this machine, or needs the
    user's own terminal."""
    command: Callable[..., Command] | None = None
    """Makes the command that this action sends. Its scope's screen passes what the row means there:
    id and instance of an entry, a selection of mutants, or its own context of the row."""
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
        if self.local and now.browser:
            return "not in a browser"
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
        """Whether this action is for another table or other rows; the footer leaves it out then."""
        return self.id in now.about.elsewhere()

    def title(self, now: ActionContext) -> str:
        """Return the present label; a key that switches something on and off has two labels."""
        if self.id == "campaign.pause" and now.state == "paused":
            return "Resume"
        if self.id == "instance.pause":
            what = "host" if now.on_hosts else "instance"
            if now.on_hosts and now.instance and now.instance_state == "failed":
                return "Try host again"
            return f"{'Resume' if now.instance_state == 'paused' else 'Pause'} {what}"
        if self.id == "table.mark" and now.marked:
            return f"{now.marked:,} marked"
        if self.id == "replay.play" and now.mode == "replay":
            return "Play" if now.paused_replay else "Pause"
        if self.id == "overview.hosts" and now.on_hosts:
            return "Instances"
        return now.about.labels().get(self.id, self.label)

    def place(self, now: ActionContext) -> int:
        """Return the order in the footer now; 0: it is not shown there."""
        # The number of marks comes first: the next command acts on the marked rows.
        first = (now.marked and self.id == "table.mark") or (
            isinstance(now.about, HomeContext) and now.row and self.id == "table.select"
        )
        return 1 if first else self.footer


# ------------------------------- for the row under the cursor of several tables


def view_input(scope: str, group: str) -> Action:
    """Return the action that shows the input of a row."""
    return Action(
        f"{scope}.view_input", ("i",), "View",
        "Show the input, its bytes, or what changed against its parent", group,
        scope=scope, footer=11, run="input.view",
    )  # fmt: skip


def editor(scope: str, group: str, what: str) -> Action:
    """Return the action that opens ``what`` in the user's editor."""
    return Action(
        f"{scope}.edit", ("e",), "Editor", f"Open {what} in $EDITOR", group,
        scope=scope, check=why_no_row, footer=18, run="row.edit", local=True,
    )  # fmt: skip


def source_link(scope: str, group: str, what: str) -> Action:
    """Return the action that opens the Source screen at the line ``what``."""
    return Action(
        f"{scope}.source", ("L",), "Source", f"Open the Source screen at {what}", group,
        scope=scope, check=why_no_row, footer=17, run="row.source",
    )  # fmt: skip
