"""The registry of actions: everything that a user can do on the screens.

Key bindings, the footer, the command palette and the help screen are generated from
:data:`ACTIONS`. An action's ``id`` is stable, because users' keymaps contain ids.
:attr:`~fuzztui.tui.frame.action_context.Action.method` carries out the action.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding, BindingType

from fuzztui.tui.frame.action_context import (
    Action,
    always,
    why_no_row,
    why_no_type,
    why_not_judge_finding,
    why_not_measure,
    why_not_minimise,
    why_not_mix,
    why_not_move_boundary,
    why_not_pause,
    why_not_show_hosts,
    why_not_show_mutators,
    why_not_show_properties,
    why_not_show_types,
    why_not_skip_current,
    why_not_steer_entry,
    why_not_steer_instance,
    why_not_target,
    why_not_undo,
    why_not_weigh,
)
from fuzztui.tui.frame.home_actions import HOME
from fuzztui.tui.frame.mutant_actions import MUTANTS
from fuzztui.tui.frame.property_actions import PropertyContext
from fuzztui.tui.frame.targeting_actions import TargetingContext
from fuzztui.wire.commands import (
    DemoteEntry,
    IgnoreGoal,
    PinGoal,
    PromoteEntry,
    ResetEntry,
    SetTargetedShare,
    SkipEntry,
    WeighProperty,
    WeighType,
)

_SCREENS = tuple(
    Action(f"view.{tab}", (key,), label, text, "Screens", check=check, run="view", args=(tab,))
    for tab, key, label, text, check in (
        ("overview", "1", "Overview", "Totals, charts, instances, events", always),
        ("corpus", "2", "Corpus", "Every queue entry, its lineage and bytes", always),
        ("findings", "3", "Findings", "Crashes and hangs by signature", always),
        ("mutants", "4", "Mutants", "Mutants, their score, their killers", always),
        ("log", "5", "Log", "Every event of the campaign", always),
        ("mutators", "6", "Mutators", "Text mutators: what each one found, and the mixture",
         why_not_show_mutators),
        ("types", "7", "Types", "Type targeting: the types and the uncovered goals",
         why_not_show_types),
        ("properties", "0", "Properties", "A suite's tests: their shares, corpora and findings",
         why_not_show_properties),
        ("source", "8", "Source", "The target's files: what is covered, mutants, findings by line",
         always),
    )
)  # fmt: skip

_STEERING = (
    Action(
        "campaign.pause", ("p",), "Pause",
        "Pause the whole campaign, or resume it", "Campaign",
        check=why_not_pause, footer=15, mode="live",
    ),
    Action(
        "campaign.stop", ("x",), "Stop",
        "End the campaign cleanly; all findings are kept", "Campaign",
        check=why_not_pause, footer=15, mode="live",
    ),
    Action(
        "app.undo", ("z",), "Undo",
        "Undo your last steering; again: the one before it", "Campaign",
        check=why_not_undo, mode="live",
    ),
    Action(
        "instance.pause", ("P",), "Pause instance",
        "Pause the instance under the cursor, or resume it", "Campaign",
        scope="overview", check=why_not_steer_instance, footer=10, mode="live",
    ),
    Action(
        "instance.skip_current", ("n",), "Next entry",
        "Make the instance continue with another entry", "Campaign",
        scope="fuzzing", needs="skip-current", does="leave the current entry",
        check=why_not_skip_current, footer=15, mode="live", engine="afl",
    ),
    Action(
        "campaign.add_seed", ("a",), "Add seed",
        "Add an input to the running campaign", "Campaign",
        needs="add-seed", does="add seeds during the campaign",
        check=why_not_pause, footer=16, mode="live", engine="afl",
    ),
    Action(
        "entry.promote", ("u",), "Promote",
        "Fuzz this entry next, with the energy of a favored one", "Corpus",
        scope="corpus", needs="promote", does="promote entries",
        check=why_not_steer_entry, footer=10, mode="live", command=PromoteEntry,
    ),
    Action(
        "entry.skip", ("d",), "Skip",
        "Never pick this entry again", "Corpus",
        scope="corpus", needs="skip", does="skip entries",
        check=why_not_steer_entry, footer=11, mode="live", command=SkipEntry,
    ),
    Action(
        "entry.reset", ("r",), "Reset",
        "Undo skip, promote and demote of this entry", "Corpus",
        scope="corpus", needs="reset", does="reset entries",
        check=why_not_steer_entry, footer=12, mode="live", command=ResetEntry,
    ),
    Action(
        "entry.demote", ("D",), "Demote",
        "Pick this entry as rarely as possible, with minimal energy", "Corpus",
        scope="corpus", needs="demote", does="demote entries",
        check=why_not_steer_entry, footer=17, mode="live", command=DemoteEntry,
    ),
)  # fmt: skip

_MIX = "change its mixture during the campaign"

_MIXTURE = (
    *(
        Action(
            f"mixture.{name}", (key,), label, text, "Mutators",
            scope="mutators", needs="mixture", does=_MIX,
            check=why_not_move_boundary(*move), footer=footer, mode="live",
            run="mixture.move", args=move,
        )
        for name, key, label, text, move, footer in (
            ("text", "less_than_sign", "Havoc→text", "Move 5% of the steps from havoc to text",
             (0, -1), 10),
            ("havoc", "greater_than_sign", "Text→havoc", "Move 5% of the steps from text to havoc",
             (0, 1), 11),
            ("splice", "left_square_bracket", "Text→splice",
             "Move 5% of the steps from text to splice", (1, -1), 12),
            ("unsplice", "right_square_bracket", "Splice→text",
             "Move 5% of the steps from splice to text", (1, 1), 13),
        )
    ),
    Action(
        "mixture.adaptive", ("A",), "Adaptive",
        "Make successful mutators more probable, or fix the mixture", "Mutators",
        scope="mutators", needs="mixture", does=_MIX, check=why_not_mix, footer=9, mode="live",
    ),
)  # fmt: skip

_SHARE = "change the targeted share during the campaign"

_PROPERTIES = (
    *(
        Action(
            f"properties.{name}", (key,), label, text, "Properties",
            scope="properties", needs=WeighProperty.name, does="weigh properties",
            check=why_not_weigh(against), footer=footer, mode="live", command=command,
        )
        for name, key, label, text, against, command, footer in (
            ("raise", "greater_than_sign", "Raise", "Give this property twice the share",
             PropertyContext.raising, PropertyContext.raised, 11),
            ("lower", "less_than_sign", "Lower", "Give this property half the share",
             PropertyContext.lowering, PropertyContext.lowered, 12),
            ("off", "b", "Off", "Give this property no turns, or turns again",
             PropertyContext.weighing, PropertyContext.switched, 13),
        )
    ),
    Action(
        "properties.find", ("backspace",), "Find",
        "Go to the latest finding of this property", "Properties",
        scope="properties", check=why_no_row, footer=22,
    ),
    Action(
        "properties.copy", ("c",), "Copy name",
        "Copy the property's name, for pytest", "Properties",
        scope="properties", check=why_no_row, footer=23,
    ),
)  # fmt: skip

_TYPES = (
    Action(
        "types.other", ("t",), "Goals",
        "Switch between the types and the uncovered goals", "Types",
        scope="types", footer=1,
    ),
    *(
        Action(
            f"types.{name}", (key,), label, text, "Types",
            scope="types", needs=kind.name, does=does, check=why_not_target(against),
            footer=footer, mode="live", command=command,
        )
        for name, key, label, text, kind, does, against, command, footer in (
            ("raise", "greater_than_sign", "Raise", "Target this type twice as often",
             WeighType, "weigh types", TargetingContext.raising, TargetingContext.raised, 11),
            ("lower", "less_than_sign", "Lower", "Target this type half as often",
             WeighType, "weigh types", TargetingContext.lowering, TargetingContext.lowered, 12),
            ("ban", "b", "Ban", "Never target this type, or allow it again",
             WeighType, "weigh types", TargetingContext.weighing, TargetingContext.banned, 13),
            ("pin", "o", "Pin", "Target only this goal until it is covered, or unpin it",
             PinGoal, "pin a goal", TargetingContext.pinning, TargetingContext.pinned_or_not, 10),
            ("less", "left_square_bracket", "Less", "Target types with 5% fewer of the mutations",
             SetTargetedShare, _SHARE, TargetingContext.less, TargetingContext.with_less, 14),
            ("more", "right_square_bracket", "More", "Target types with 5% more of the mutations",
             SetTargetedShare, _SHARE, TargetingContext.more, TargetingContext.with_more, 14),
            ("ignore", "d", "Ignore", "Never target this goal, or allow it again",
             IgnoreGoal, "ignore a goal", TargetingContext.ignoring,
             TargetingContext.ignored_or_not, 14),
        )
    ),
    Action(
        "types.idle", ("i",), "Idle",
        "Show or leave out the types that are not drawn (0%)", "Types",
        scope="types", footer=19,
    ),
    Action(
        "types.find", ("backspace",), "Find",
        "Go to the latest entry or finding from targeting this type", "Types",
        scope="types", check=why_no_type, footer=22,
    ),
    Action(
        "types.copy", ("c",), "Copy",
        "Copy the type's name, or the goal's location, for `fuzztui ctl`", "Types",
        scope="types", check=why_no_row, footer=23,
    ),
)  # fmt: skip

_SOURCE = (
    Action(
        "source.other", ("t",), "Files", "Switch between the files and the lines", "Source",
        scope="source", footer=1,
    ),
    *(
        Action(
            f"source.{name}", (key,), label, text, "Source", scope="source", footer=footer,
            run="source.next", args=(step,),
        )
        for name, key, label, text, step, footer in (
            ("next", "n", "Next", "Go to the next line that is on the frontier, or has a finding "
             "or survivor", 1, 9),
            ("previous", "N", "Previous", "Go to the previous such line", -1, 0),
        )
    ),
    Action(
        "source.mutants", ("m",), "Mutants", "Go to the mutants of this line, one after the other",
        "Source", scope="source", check=why_no_row, footer=10,
    ),
    Action(
        "source.finding", ("f",), "Finding", "Go to the finding that ends on this line", "Source",
        scope="source", check=why_no_row, footer=11,
    ),
    Action(
        "source.first", ("backspace",), "First entry",
        "Go to the entry that was the first to execute this line", "Source",
        scope="source", check=why_no_row, footer=12,
    ),
    Action(
        "source.smallest", ("b",), "Smallest",
        "Go to the smallest entry that executes this line; measures it at first", "Source",
        scope="source", check=why_no_row, footer=13,
    ),
    Action(
        "source.measure", ("r",), "Measure",
        "Run the corpus again: the smallest entry of each line, and coverage that the log lacks",
        "Source", scope="source", check=why_not_measure, footer=14,
    ),
    Action(
        "source.edit", ("e",), "Editor", "Open the file at this line in $EDITOR", "Source",
        scope="source", check=why_no_row, footer=18, run="row.edit",
    ),
    Action(
        "source.copy", ("c",), "Copy location", "Copy path and line", "Source",
        scope="source", check=why_no_row, footer=23,
    ),
    *(
        Action(
            f"{scope}.source", ("L",), "Source", f"Open the Source screen at {what}", label,
            scope=scope, check=why_no_row, footer=17, run="row.source",
        )
        for scope, label, what in (
            ("mutants", "Mutants", "the mutant's line"),
            ("findings", "Findings", "the line at which the stack ends"),
            ("types", "Types", "the goal's line"),
        )
    ),
)  # fmt: skip

_LOOKING = (
    *(
        Action(
            f"{scope}.view_input", ("i",), "View",
            "Show the input, its bytes, or what changed against its parent", label,
            scope=scope, footer=11, run="input.view",
        )
        for scope, label in (("corpus", "Corpus"), ("findings", "Findings"))
    ),
    *(
        Action(
            f"{scope}.edit", ("e",), "Editor", f"Open {what} in $EDITOR", label,
            scope=scope, check=why_no_row, footer=18, run="row.edit",
        )
        for scope, label, what in (
            ("corpus", "Corpus", "a copy of the input"),
            ("findings", "Findings", "a copy of the input"),
            ("mutants", "Mutants", "the mutant's file at its line"),
        )
    ),
    Action(
        "overview.hosts", ("t",), "Hosts",
        "Switch between the instances and the hosts with their sums; enter: those of one host",
        "Campaign",
        scope="overview", check=why_not_show_hosts, footer=11, hosts=True,
    ),
    Action(
        "overview.copy_next", ("c",), "Copy command",
        "Copy a command line of the closing card; again: the one after it", "Campaign",
        scope="overview", footer=9, mode="live", ended=True,
    ),
    Action(
        "mutator.find", ("backspace",), "Find",
        "Go to the latest entry or finding of this mutator", "Mutators",
        scope="mutators", check=why_no_row, footer=22,
    ),
    Action(
        "mutator.copy", ("c",), "Copy name",
        "Copy the mutator's name, for `fuzztui mutate`", "Mutators",
        scope="mutators", check=why_no_row, footer=23,
    ),
    Action(
        "entry.copy", ("c",), "Copy path",
        "Copy the path of the entry's file", "Corpus",
        scope="corpus", check=why_no_row, footer=13,
    ),
    Action(
        "entry.parent", ("backspace",), "Parent",
        "Go to the entry from which this one was mutated", "Corpus",
        scope="corpus", check=why_no_row, footer=14,
    ),
    Action(
        "corpus.yields", ("v",), "Yield",
        "What comparisons and mutators have brought, by place", "Corpus",
        scope="corpus", footer=12,
    ),
    Action(
        "finding.copy", ("c",), "Copy repro",
        "Copy the command line that reproduces this finding", "Findings",
        scope="findings", check=why_no_row, footer=10,
    ),
    Action(
        "finding.copy_path", ("C",), "Copy path",
        "Copy the path of the finding's file", "Findings",
        scope="findings", check=why_no_row, footer=11,
    ),
    Action(
        "finding.minimise", ("m",), "Minimise",
        "Look for a smaller input with the same signature", "Findings",
        scope="findings", check=why_not_minimise, footer=13, mode="live",
    ),
    Action(
        "finding.judge", ("V",), "Verdict",
        "Say that the group is known, fixed or not to be fixed, with a note", "Findings",
        scope="findings", check=why_not_judge_finding, footer=14, mode="live",
    ),
    Action(
        "finding.frames", ("f",), "Frames",
        "Say which frames of the stack count for the signature", "Findings",
        scope="findings", check=why_not_judge_finding, footer=15, mode="live",
    ),
    Action(
        "finding.group", ("v",), "Group",
        "Show one row per signature, or one row per file", "Findings",
        scope="findings", footer=12,
    ),
    Action(
        "log.kind", ("f",), "Kind",
        "Show only saved inputs, commands, instances, messages, or all", "Log",
        scope="log", footer=10,
    ),
    Action(
        "log.instance", ("i",), "Instance",
        "Show only the instance or host under the cursor, or all", "Log",
        scope="log", footer=11,
    ),
    Action(
        "log.clock", ("w",), "Clock",
        "Show the time of day, or the time since the campaign started", "Log",
        scope="log", footer=13,
    ),
    Action(
        "log.fields", ("v",), "Fields",
        "Show all fields of the records, by their names in the log", "Log",
        scope="log", footer=12,
    ),
)  # fmt: skip

STEP = 0.01
"""Part of the campaign by which a key moves a replay."""

_REPLAY = (
    Action(
        "replay.play", ("space",), "Play", "Play or pause the replay", "Replay",
        footer=2, mode="replay",
    ),
    Action(
        "replay.back", ("left",), "Back", "Go back by 1% of the campaign", "Replay",
        footer=3, mode="replay", run="replay.step", args=(-STEP,),
    ),
    Action(
        "replay.forward", ("right",), "Forward", "Go forward by 1% of the campaign", "Replay",
        footer=4, mode="replay", run="replay.step", args=(STEP,),
    ),
    Action(
        "replay.slower", ("minus",), "Slower", "Halve the speed", "Replay",
        mode="replay", run="replay.scale", args=(0.5,),
    ),
    Action(
        "replay.faster", ("plus", "equals_sign"), "Faster", "Double the speed", "Replay",
        footer=5, mode="replay", run="replay.scale", args=(2.0,),
    ),
    Action(
        "replay.previous", ("comma",), "Previous mark", "Go to the previous mark on the timeline",
        "Replay", footer=8, mode="replay",
    ),
    Action(
        "replay.next", ("full_stop",), "Next mark", "Go to the next mark on the timeline", "Replay",
        footer=6, mode="replay",
    ),
    Action(
        "replay.kind", ("semicolon",), "Marks",
        "Jump to findings ✗, steering ◇, kills •, new edges ╹, or any mark", "Replay",
        footer=7, mode="replay",
    ),
    *(
        Action(
            f"replay.{name}", (f"ctrl+{key}",), label, f"Go to the {name}", "Replay",
            mode="replay", run="replay.step", args=(by,),
        )
        for name, key, label, by in (("start", "home", "Start", -1.0), ("end", "end", "End", 1.0))
    ),
)  # fmt: skip

_TABLE = tuple(
    Action(
        f"table.{name}", keys, label, text, "Tables", scope="table",
        run=f"table.{run}" if run else "", args=tuple(args),
    )
    for name, keys, label, text, run, *args in (
        ("down", ("down", "j"), "Down", "Go to the next row", "rows", 1),
        ("up", ("up", "k"), "Up", "Go to the previous row", "rows", -1),
        ("page_down", ("pagedown", "ctrl+f"), "Page down", "Scroll one page down", "pages", 1),
        ("page_up", ("pageup", "ctrl+b"), "Page up", "Scroll one page up", "pages", -1),
        ("first", ("home", "g"), "First", "Go to the first row", ""),
        ("last", ("end", "G"), "Last", "Go to the last row; the log then follows the campaign", ""),
        ("left", ("shift+left", "h"), "Scroll left", "Show columns further left", "columns", -8),
        ("right", ("shift+right", "l"), "Scroll right", "Show columns further right", "columns", 8),
        ("select", ("enter",), "Open", "Open the row, or move to its details", ""),
    )
)  # fmt: skip

_CHARTS = (
    Action(
        "overview.arrows", ("left", "right"), "Chart cursor",
        "Name the key that goes to the charts: there the arrows move a cursor", "Charts",
        scope="overview", mode="live",
    ),
    Action(
        "overview.charts", ("v",), "Charts",
        "Show other charts: findings, corpus, growth per minute, library code", "Charts",
        scope="overview", footer=18,
    ),
    Action(
        "overview.window", ("w",), "Window",
        "Charts of the last 5 minutes, of the last hour, or of the whole campaign", "Charts",
        scope="overview", footer=19,
    ),
    *(
        Action(f"chart.{name}", (name,), label, text, "Charts", scope="chart",
               run="chart.move", args=(by,))
        for name, label, text, by in (
            ("left", "Earlier", "With the focus on the charts: the values of an earlier time", -1),
            ("right", "Later", "With the focus on the charts: the values of a later time", 1),
        )
    ),
)  # fmt: skip

_SORTING = (
    # Works from the details pane too.
    Action(
        "table.sort", ("s",), "Sort", "Choose the column to sort by (or click on its title)",
        "Tables", scope="sorting", footer=21,
    ),
    Action(
        "table.reverse", ("S",), "Reverse", "Reverse the order", "Tables", scope="sorting",
    ),
)  # fmt: skip

_MARKING = (
    Action(
        "table.mark", ("space",), "Mark",
        "Mark the row: commands act on all marked rows", "Tables",
        scope="marking", check=why_no_row, footer=19, mode="live",
    ),
    Action(
        "table.mark_range", ("M",), "Mark range",
        "Mark all rows from the last marked one to this one", "Tables",
        scope="marking", check=why_no_row, mode="live",
    ),
)  # fmt: skip

_LISTING = (
    Action(
        "table.filter", ("slash",), "Filter",
        "Show only rows that contain these words", "Tables", scope="listing", footer=20,
    ),
    Action(
        "table.unfilter", ("escape",), "Show all",
        "Unmark all rows, or show all; from the details, back to the table", "Tables",
        scope="listing",
    ),
)  # fmt: skip

_APP = (
    Action(
        "focus.next", ("tab",), "Next pane",
        "Move between table and details; on the Overview to the charts", "Screens",
    ),
    Action(
        "app.help", ("question_mark",), "Help",
        "Show every key, and why a key is grey", "Fuzztui", scope="always", footer=30,
    ),
    Action(
        "app.palette", ("ctrl+p",), "Commands",
        "Search all actions by name", "Fuzztui", scope="always", footer=31,
    ),
    Action(
        "app.theme", ("T",), "Theme", "Choose a theme, with a preview", "Fuzztui", scope="always",
    ),
    Action(
        "app.quit", ("q", "ctrl+q"), "Leave",
        "Close the screens; the campaign continues", "Fuzztui", scope="always", footer=29,
    ),
)  # fmt: skip

ACTIONS: tuple[Action, ...] = (
    *_SCREENS,
    *_STEERING,
    *MUTANTS,
    *_MIXTURE,
    *_PROPERTIES,
    *_TYPES,
    *_SOURCE,
    *_LOOKING,
    *_REPLAY,
    *_TABLE,
    *_CHARTS,
    *_SORTING,
    *_MARKING,
    *_LISTING,
    *HOME,
    *_APP,
)
BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(action.group for action in ACTIONS))

NATIVE = {"focus.next"}
"""Actions whose keys Textual binds; they are listed for the help screen."""


def bindings(scope: str, among: Iterable[Action] = ACTIONS) -> list[BindingType]:
    """Return Textual's bindings of one scope. Ids are kept, so that a keymap can change the keys.

    Textual never sees an action as disabled: pressing a greyed key shows the reason.
    """
    return [
        Binding(",".join(a.keys), f"app.perform('{a.id}')", a.label, show=False, id=a.id)
        for a in among
        if a.scope == scope and a.id not in NATIVE
    ]
