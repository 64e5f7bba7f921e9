"""Everything that a person can do here: one table.

Bindings, the footer, the command palette and the help screen are generated from
:data:`ACTIONS`. An action's ``id`` is stable: users' keymaps name it. What an action
does is the method ``do_<id with underscores>`` of the focused widget, one of its
ancestors, the screen or the application, whichever has it first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from textual.binding import Binding, BindingType

from fuzztui.model.selectors import ENDED

__all__ = ["ACTIONS", "BY_ID", "GROUPS", "Action", "Situation", "bindings", "method_name"]


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
    """What that instance's engine can obey; None while it has not said."""
    row: bool = False
    """Whether the cursor is on a row."""
    paused_replay: bool = False
    pending: frozenset[str] = field(default_factory=frozenset)
    """Names of the commands that were sent for this row and are not answered."""


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
            return f"{now.instance or 'the instance'} has not said yet what it can do"
        if self.needs not in now.capabilities:
            return f"{now.instance}'s engine cannot {self.needs} entries"
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


def _steerable(now: Situation) -> str:
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


def _pausable(now: Situation) -> str:
    return _steerable(now) or ("it is stopping" if now.state == "stopping" else "")


def _instance(now: Situation) -> str:
    return _pausable(now) or ("" if now.instance else "no instance under the cursor")


def _entry(now: Situation) -> str:
    return _steerable(now) or _row(now)


def _row(now: Situation) -> str:
    return "" if now.row else "no row under the cursor"


_SCREENS = (
    Action("view.overview", ("1",), "Overview", "Totals, charts, instances, events", "Screens"),
    Action("view.corpus", ("2",), "Corpus", "Every queue entry, its lineage and bytes", "Screens"),
    Action("view.findings", ("3",), "Findings", "Crashes and hangs by their cause", "Screens"),
    Action("view.log", ("4",), "Log", "Every event of the campaign", "Screens"),
)

_STEERING = (
    Action(
        "campaign.pause", ("p",), "Pause",
        "Pause the whole campaign, or resume it", "Campaign",
        check=_pausable, footer=2, mode="live",
    ),
    Action(
        "campaign.stop", ("x",), "Stop",
        "End the campaign cleanly; everything found is kept", "Campaign",
        check=_pausable, footer=3, mode="live",
    ),
    Action(
        "instance.pause", ("P",), "Pause instance",
        "Pause the instance under the cursor, or resume it", "Campaign",
        scope="overview", check=_instance, footer=10, mode="live",
    ),
    Action(
        "entry.promote", ("u",), "Promote",
        "Fuzz this entry next, with a favoured entry's energy", "Corpus",
        scope="corpus", needs="promote", check=_entry, footer=10, mode="live",
    ),
    Action(
        "entry.skip", ("d",), "Skip",
        "Never pick this entry again", "Corpus",
        scope="corpus", needs="skip", check=_entry, footer=11, mode="live",
    ),
    Action(
        "entry.reset", ("r",), "Reset",
        "Forget that this entry was skipped or promoted", "Corpus",
        scope="corpus", needs="reset", check=_entry, footer=12, mode="live",
    ),
)  # fmt: skip

_LOOKING = (
    Action(
        "entry.copy", ("c",), "Copy path",
        "Copy the path of the entry's file", "Corpus",
        scope="corpus", check=_row, footer=13,
    ),
    Action(
        "entry.parent", ("backspace",), "Parent",
        "Go to the entry that this one was made from", "Corpus",
        scope="corpus", check=_row, footer=14,
    ),
    Action(
        "finding.copy", ("c",), "Copy repro",
        "Copy the command line that reproduces this finding", "Findings",
        scope="findings", check=_row, footer=10,
    ),
    Action(
        "finding.copy_path", ("C",), "Copy path",
        "Copy the path of the finding's file", "Findings",
        scope="findings", check=_row, footer=11,
    ),
    Action(
        "finding.group", ("v",), "Group",
        "One row a cause, or one row a file", "Findings",
        scope="findings", footer=12,
    ),
    Action(
        "log.kind", ("f",), "Kind",
        "Show only finds, steering, instances, messages, or all", "Log",
        scope="log", footer=10,
    ),
    Action(
        "log.instance", ("i",), "Instance",
        "Show only the instance under the cursor, or all", "Log",
        scope="log", footer=11,
    ),
)  # fmt: skip

_REPLAY = (
    Action(
        "replay.play", ("space",), "Play", "Play, or hold the replay", "Replay",
        footer=2, mode="replay",
    ),
    Action(
        "replay.back", ("left",), "Back", "A hundredth of the campaign back", "Replay",
        footer=3, mode="replay",
    ),
    Action(
        "replay.forward", ("right",), "Forward", "A hundredth of the campaign on", "Replay",
        footer=4, mode="replay",
    ),
    Action("replay.slower", ("minus",), "Slower", "Half the speed", "Replay", mode="replay"),
    Action(
        "replay.faster", ("plus", "equals_sign"), "Faster", "Twice the speed", "Replay",
        footer=5, mode="replay",
    ),
    Action(
        "replay.previous", ("comma",), "Previous find", "To the crash or hang before", "Replay",
        mode="replay",
    ),
    Action(
        "replay.next", ("full_stop",), "Next find", "To the next crash or hang", "Replay",
        footer=6, mode="replay",
    ),
    Action("replay.start", ("ctrl+home",), "Start", "To the start", "Replay", mode="replay"),
    Action("replay.end", ("ctrl+end",), "End", "To the end", "Replay", mode="replay"),
)  # fmt: skip

_TABLE = tuple(
    Action(f"table.{name}", keys, label, text, "Tables", scope="table", footer=footer)
    for name, keys, label, text, footer in (
        ("down", ("down", "j"), "Down", "The next row", 0),
        ("up", ("up", "k"), "Up", "The row before", 0),
        ("page_down", ("pagedown", "ctrl+f"), "Page down", "A screenful down", 0),
        ("page_up", ("pageup", "ctrl+b"), "Page up", "A screenful up", 0),
        ("first", ("home", "g"), "First", "The first row", 0),
        ("last", ("end", "G"), "Last", "The last row; the log then follows the campaign", 0),
        ("left", ("shift+left", "h"), "Scroll left", "Columns further left", 0),
        ("right", ("shift+right", "l"), "Scroll right", "Columns further right", 0),
        ("select", ("enter",), "Open", "Open the row, or move to its details", 0),
        ("sort", ("s",), "Sort", "Sort by the next column (or click on its title)", 21),
        ("reverse", ("S",), "Reverse", "Turn the order round", 0),
    )
)

_APP = (
    Action(
        "table.filter", ("slash",), "Filter",
        "Show only rows that hold these words", "Tables", scope="listing", footer=20,
    ),
    Action(
        "table.unfilter", ("escape",), "Show all",
        "Show all rows again; from the details, back to the table", "Tables", scope="listing",
    ),
    Action(
        "focus.next", ("tab",), "Next pane", "Move between the table and the details", "Screens",
    ),
    Action(
        "app.help", ("question_mark",), "Help",
        "Every key, and why a key is grey", "Fuzztui", footer=30,
    ),
    Action(
        "app.palette", ("ctrl+p",), "Commands",
        "Find anything by typing", "Fuzztui", footer=31,
    ),
    Action("app.theme", ("T",), "Theme", "The next of our themes", "Fuzztui"),
    Action(
        "app.quit", ("q", "ctrl+q"), "Leave",
        "Leave the screen; the campaign goes on", "Fuzztui", footer=1,
    ),
)  # fmt: skip

ACTIONS: tuple[Action, ...] = (*_SCREENS, *_STEERING, *_LOOKING, *_REPLAY, *_TABLE, *_APP)
BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(action.group for action in ACTIONS))

_NATIVE = {"focus.next"}
"""Bound by Textual itself; here for the help screen."""


def method_name(action_id: str) -> str:
    """The method that carries an action out."""
    return "do_" + action_id.replace(".", "_")


def bindings(scope: str, among: Iterable[Action] = ACTIONS) -> list[BindingType]:
    """Textual's bindings of one scope; ids are kept, so that a keymap can change the keys.

    Actions are never disabled for Textual: pressing a greyed key tells the reason.
    """
    return [
        Binding(",".join(a.keys), f"app.perform('{a.id}')", a.label, show=False, id=a.id)
        for a in among
        if a.scope == scope and a.id not in _NATIVE
    ]


_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "comma": ",",
    "full_stop": ".",
    "space": "space",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "backspace": "⌫",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "enter": "⏎",
}


def key_name(key: str) -> str:
    """A key as people write it."""
    if key.startswith("ctrl+"):
        return "^" + _NAMES.get(key[5:], key[5:])
    if key.startswith("shift+"):
        return "⇧" + _NAMES.get(key[6:], key[6:])
    return _NAMES.get(key, key)
