"""Everything that a user can do here: one table.

Bindings, the footer, the command palette and the help screen are generated from
:data:`ACTIONS`. An action's ``id`` is stable: users' keymaps name it. What an action
does is the method ``do_<id with underscores>`` of the focused widget, one of its
ancestors, the screen or the application, whichever has it first.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding, BindingType

from fuzztui.tui.frame.action_context import (
    Action,
    ActionContext,
    a_type,
    aiming,
    entry,
    finding,
    fuzzing,
    instance,
    mixing,
    mixture,
    operators,
    pausable,
    row,
    types,
)
from fuzztui.tui.frame.mutant_actions import MUTANTS
from fuzztui.tui.frame.targeting_actions import Aiming

__all__ = ["ACTIONS", "BY_ID", "GROUPS", "Action", "ActionContext", "bindings", "method_name"]


_SCREENS = (
    Action("view.overview", ("1",), "Overview", "Totals, charts, instances, events", "Screens"),
    Action("view.corpus", ("2",), "Corpus", "Every queue entry, its lineage and bytes", "Screens"),
    Action("view.findings", ("3",), "Findings", "Crashes and hangs by their cause", "Screens"),
    Action("view.mutants", ("4",), "Mutants", "Mutants, their score, who killed them", "Screens"),
    Action("view.log", ("5",), "Log", "Every event of the campaign", "Screens"),
    Action(
        "view.operators",
        ("6",),
        "Operators",
        "Operators on text: which pay, and the mixture; trials are inputs that they made",
        "Screens",
        check=operators,
    ),
    Action(
        "view.types", ("7",), "Types",
        "What a spoton engine aims at: types, and the goals that are left", "Screens",
        check=types,
    ),
)  # fmt: skip

_STEERING = (
    Action(
        "campaign.pause", ("p",), "Pause",
        "Pause the whole campaign, or resume it", "Campaign",
        check=pausable, footer=15, mode="live",
    ),
    Action(
        "campaign.stop", ("x",), "Stop",
        "End the campaign cleanly; everything found is kept", "Campaign",
        check=pausable, footer=15, mode="live",
    ),
    Action(
        "instance.pause", ("P",), "Pause instance",
        "Pause the instance under the cursor, or resume it", "Campaign",
        scope="overview", check=instance, footer=10, mode="live",
    ),
    Action(
        "instance.skip_current", ("n",), "Next entry",
        "Let the instance leave the queue entry that it fuzzes now", "Campaign",
        scope="fuzzing", needs="skip-current", does="leave the current entry",
        check=fuzzing, footer=15, mode="live", engine="afl",
    ),
    Action(
        "campaign.add_seed", ("a",), "Add seed",
        "Give the campaign another input to start from", "Campaign",
        needs="add-seed", does="take seeds while it runs",
        check=pausable, footer=16, mode="live", engine="afl",
    ),
    Action(
        "entry.promote", ("u",), "Promote",
        "Fuzz this entry next, with a favoured entry's energy", "Corpus",
        scope="corpus", needs="promote", does="promote entries",
        check=entry, footer=10, mode="live",
    ),
    Action(
        "entry.skip", ("d",), "Skip",
        "Never pick this entry again", "Corpus",
        scope="corpus", needs="skip", does="skip entries", check=entry, footer=11, mode="live",
    ),
    Action(
        "entry.reset", ("r",), "Reset",
        "Forget that this entry was skipped, promoted or demoted", "Corpus",
        scope="corpus", needs="reset", does="reset entries", check=entry, footer=12, mode="live",
    ),
    Action(
        "entry.demote", ("D",), "Demote",
        "Pick this entry as rarely as the engine can, with the least energy", "Corpus",
        scope="corpus", needs="demote", does="demote entries", check=entry, footer=17, mode="live",
    ),
)  # fmt: skip

_MIXTURE = tuple(
    Action(
        f"mixture.{name}", (key,), label, text, "Operators",
        scope="operators", needs="mixture", does="change its mixture while it runs",
        check=check, footer=footer, mode="live",
    )
    for name, key, label, text, check, footer in (
        ("text", "less_than_sign", "Havoc→text", "Move 5% of the steps from havoc to text",
         mixing(0, -1), 10),
        ("havoc", "greater_than_sign", "Text→havoc", "Move 5% of the steps from text to havoc",
         mixing(0, 1), 11),
        ("splice", "left_square_bracket", "Text→splice",
         "Move 5% of the steps from text to splice", mixing(1, -1), 12),
        ("unsplice", "right_square_bracket", "Splice→text",
         "Move 5% of the steps from splice to text", mixing(1, 1), 13),
        ("adaptive", "A", "Adaptive",
         "Let what pays become more probable by itself, or hold the mixture as it is",
         mixture, 9),
    )
)  # fmt: skip

_TYPES = (
    Action(
        "types.other", ("t",), "Targets",
        "From the types to the goals that are left, or back", "Types",
        scope="types", footer=1,
    ),
    *(
        Action(
            f"types.{name}", (key,), label, text, "Types",
            scope="types", needs=needs, does=does, check=aiming(against), footer=footer,
            mode="live",
        )
        for name, key, label, text, needs, does, against, footer in (
            ("raise", "greater_than_sign", "Raise", "Aim at this type twice as often",
             "weigh-type", "weigh types", Aiming.raising, 11),
            ("lower", "less_than_sign", "Lower", "Aim at this type half as often",
             "weigh-type", "weigh types", Aiming.lowering, 12),
            ("ban", "b", "Ban", "Never aim at this type, or do so again",
             "weigh-type", "weigh types", Aiming.weighing, 13),
            ("pin", "o", "Pin", "Aim at this goal only, until it is covered; or end that",
             "pin-target", "pin a goal", Aiming.pinning, 10),
            ("less", "left_square_bracket", "Less", "5% less of the mutations aim at types",
             "targeted", "change how much it aims while it runs", Aiming.less, 14),
            ("more", "right_square_bracket", "More", "5% more of the mutations aim at types",
             "targeted", "change how much it aims while it runs", Aiming.more, 14),
            ("ignore", "d", "Ignore", "Leave this goal out of what is aimed at, or end that",
             "ignore-target", "ignore a goal", Aiming.ignoring, 14),
        )
    ),
    Action(
        "types.find", ("backspace",), "Find",
        "Go to the latest queue entry or crash that aiming at this type brought", "Types",
        scope="types", check=a_type, footer=22,
    ),
    Action(
        "types.copy", ("c",), "Copy",
        "Copy the type's name, or the goal's location, as `fuzztui ctl` takes it", "Types",
        scope="types", check=row, footer=23,
    ),
)  # fmt: skip

_LOOKING = (
    Action(
        "operator.find", ("backspace",), "Find",
        "Go to the latest queue entry or crash that it found", "Operators",
        scope="operators", check=row, footer=22,
    ),
    Action(
        "operator.copy", ("c",), "Copy name",
        "Copy its name; the ones of text are those of `fuzztui mutate --list`", "Operators",
        scope="operators", check=row, footer=23,
    ),
    Action(
        "entry.copy", ("c",), "Copy path",
        "Copy the path of the entry's file", "Corpus",
        scope="corpus", check=row, footer=13,
    ),
    Action(
        "entry.parent", ("backspace",), "Parent",
        "Go to the entry that this one was made from", "Corpus",
        scope="corpus", check=row, footer=14,
    ),
    Action(
        "finding.copy", ("c",), "Copy repro",
        "Copy the command line that reproduces this finding", "Findings",
        scope="findings", check=row, footer=10,
    ),
    Action(
        "finding.copy_path", ("C",), "Copy path",
        "Copy the path of the finding's file", "Findings",
        scope="findings", check=row, footer=11,
    ),
    Action(
        "finding.minimise", ("m",), "Minimise",
        "Look for a smaller input with the same outcome", "Findings",
        scope="findings", check=finding, footer=13, mode="live",
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
        "replay.previous", ("comma",), "Previous find", "To the crash, hang or kill before",
        "Replay", mode="replay",
    ),
    Action(
        "replay.next", ("full_stop",), "Next find", "To the next crash, hang or kill", "Replay",
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
    )
)

_SORTING = (
    # Also from the details beside a table.
    Action(
        "table.sort", ("s",), "Sort", "Sort by the next column (or click on its title)", "Tables",
        scope="sorting", footer=21,
    ),
    Action(
        "table.reverse", ("S",), "Reverse", "Turn the order round", "Tables", scope="sorting",
    ),
)  # fmt: skip

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
        "Leave the screen; the campaign continues", "Fuzztui", footer=29,
    ),
)  # fmt: skip

ACTIONS: tuple[Action, ...] = (
    *_SCREENS,
    *_STEERING,
    *MUTANTS,
    *_MIXTURE,
    *_TYPES,
    *_LOOKING,
    *_REPLAY,
    *_TABLE,
    *_SORTING,
    *_APP,
)
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
