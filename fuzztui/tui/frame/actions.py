"""The registry of actions: everything that a user can do on the screens.

Key bindings, the footer, the command palette and the help screen are generated from
:data:`ACTIONS`. An action's ``id`` is stable, because users' keymaps contain ids.
:attr:`~fuzztui.tui.frame.action.Action.method` carries out the action. Features add theirs.

The table of runs on the home screen has the scope ``runs``, the runs side by side have ``beside``,
and both have ``home``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from textual.binding import Binding, BindingType

from fuzztui.kernel.model.feature import own_features
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.action_context import (
    MAX_PANES,
    ActionContext,
    HomeContext,
    WhyNot,
    why_no_row,
    why_not_pause,
    why_not_show,
    why_not_show_hosts,
    why_not_skip_current,
    why_not_steer_instance,
    why_not_undo,
)

_campaign = partial(Action, group="Campaign")

CAMPAIGN = (
    _campaign("campaign.pause", ("p",), "Pause", "Pause the whole campaign, or resume it",
        check=why_not_pause, footer=15, mode="live"),
    _campaign("campaign.stop", ("x",), "Stop", "End the campaign cleanly; all findings are kept",
        check=why_not_pause, footer=15, mode="live"),
    _campaign("app.undo", ("z",), "Undo", "Undo your last steering; again: the one before it",
        check=why_not_undo, mode="live"),
    Action("instance.pause", ("P",), "Pause instance",
        "Pause the instance under the cursor, or resume it", "Campaign", scope="overview",
        check=why_not_steer_instance, footer=10, mode="live"),
    Action("instance.skip_current", ("n",), "Next entry",
        "Make the instance continue with another entry", "Campaign", scope="fuzzing",
        needs="skip-current", does="leave the current entry", check=why_not_skip_current, footer=15,
        mode="live", engine="afl"),
    _campaign("campaign.add_seed", ("a",), "Add seed", "Add an input to the running campaign",
        needs="add-seed", does="add seeds during the campaign", check=why_not_pause, footer=16,
        mode="live", engine="afl", local=True),
)  # fmt: skip

OVERVIEW = (
    Action("overview.hosts", ("t",), "Hosts",
        "Switch between the instances and the hosts with their sums; enter: those of one host",
        "Campaign", scope="overview", check=why_not_show_hosts, footer=11, hosts=True),
    Action("overview.copy_next", ("c",), "Copy command",
        "Copy a command line of the closing card; again: the one after it", "Campaign",
        scope="overview", footer=9, mode="live", ended=True),
)  # fmt: skip

_chart_action = partial(Action, group="Charts", scope="overview")

CHARTS = (
    _chart_action("overview.arrows", ("left", "right"), "Chart cursor",
        "Name the key that goes to the charts: there the arrows move a cursor", mode="live"),
    _chart_action("overview.charts", ("v",), "Charts",
        "Show other charts: findings, corpus, growth per minute, library code", footer=18),
    _chart_action("overview.story", ("y",), "Story",
        "Show the moments that mattered in place of the latest events, or these again", footer=20),
    _chart_action("overview.gain", ("right_square_bracket",), "Largest gain",
        "Show the largest gain of edges and kills in the story (enter: what brought it); again: the"
        " next smaller one", mode="live", args=(1,)),
    _chart_action("overview.larger_gain", ("left_square_bracket",), "Larger gain",
        "Go back to the next larger gain", mode="live", run="overview.gain", args=(-1,)),
    _chart_action("overview.ghost", ("o",), "Earlier run",
        "Show or hide, as a thin line, the earlier run of the same target"),
    _chart_action("overview.ghost_of", ("O",), "Compare",
        "Show another run as a thin line, by its directory", local=True),
    _chart_action("overview.window", ("w",), "Window",
        "Charts of the last 5 minutes, of the last hour, or of the whole campaign", footer=19),
    *(
        Action(f"chart.{name}", (name,), label, text, "Charts", scope="chart",
               run="chart.move", args=(by,))
        for name, label, text, by in (
            ("left", "Earlier", "With the focus on the charts: the values of an earlier time", -1),
            ("right", "Later", "With the focus on the charts: the values of a later time", 1),
        )
    ),
)  # fmt: skip

_log_action = partial(Action, group="Log", scope="log")

LOG = (
    _log_action("log.kind", ("f",), "Kind",
        "Show only saved inputs, commands, instances, messages, or all", footer=10),
    _log_action("log.instance", ("i",), "Instance",
        "Show only the instance or host under the cursor, or all", footer=11),
    _log_action("log.clock", ("w",), "Clock",
        "Show the time of day, or the time since the campaign started", footer=13),
    _log_action("log.fields", ("v",), "Fields",
        "Show all fields of the records, by their names in the log", footer=12),
)  # fmt: skip

STEP = 0.01
"""Part of the campaign by which a key moves a replay."""

_replay = partial(Action, group="Replay", mode="replay")

REPLAY = (
    _replay("replay.play", ("space",), "Play", "Play or pause the replay", footer=2),
    _replay("replay.back", ("left",), "Back", "Go back by 1% of the campaign", footer=3,
        run="replay.step", args=(-STEP,)),
    _replay("replay.forward", ("right",), "Forward", "Go forward by 1% of the campaign", footer=4,
        run="replay.step", args=(STEP,)),
    _replay("replay.slower", ("minus",), "Slower", "Halve the speed", run="replay.scale",
        args=(0.5,)),
    _replay("replay.faster", ("plus", "equals_sign"), "Faster", "Double the speed", footer=5,
        run="replay.scale", args=(2.0,)),
    _replay("replay.previous", ("comma",), "Previous mark",
        "Go to the previous mark on the timeline", footer=9),
    _replay("replay.next", ("full_stop",), "Next mark", "Go to the next mark on the timeline",
        footer=7),
    _replay("replay.kind", ("semicolon",), "Marks",
        "Jump to findings ✗, steering ◇, kills, new edges, or any mark", footer=8),
    _replay("replay.gain", ("right_square_bracket",), "Largest gain",
        "Pause at the largest gain of edges and kills (▁ to █); again: at the next smaller one",
        footer=6, run="replay.gain", args=(1,)),
    _replay("replay.larger_gain", ("left_square_bracket",), "Larger gain",
        "Go back to the next larger gain", run="replay.gain", args=(-1,)),
    *(
        _replay(f"replay.{name}", (f"ctrl+{key}",), label, f"Go to the {name}",
            run="replay.step", args=(by,))
        for name, key, label, by in (("start", "home", "Start", -1.0), ("end", "end", "End", 1.0))
    ),
)  # fmt: skip

TABLE = tuple(
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

SORTING = (
    # Works from the details pane too.
    Action("table.sort", ("s",), "Sort", "Choose the column to sort by (or click on its title)",
        "Tables", scope="sorting", footer=21),
    Action("table.reverse", ("S",), "Reverse", "Reverse the order", "Tables", scope="sorting"),
)  # fmt: skip

MARKING = (
    Action("table.mark", ("space",), "Mark", "Mark the row: commands act on all marked rows",
        "Tables", scope="marking", check=why_no_row, footer=19, mode="live"),
    Action("table.mark_range", ("M",), "Mark range",
        "Mark all rows from the last marked one to this one", "Tables", scope="marking",
        check=why_no_row, mode="live"),
)  # fmt: skip

LISTING = (
    Action("table.filter", ("slash",), "Filter", "Show only rows that contain these words",
        "Tables", scope="listing", footer=20),
    Action("table.unfilter", ("escape",), "Show all",
        "Unmark all rows, or show all; from the details, back to the table", "Tables",
        scope="listing"),
)  # fmt: skip


def _at_home(against: Callable[[HomeContext], str]) -> WhyNot:
    """Return the check of an action of the home screen; ``against`` returns why not, or ""."""

    def why_not(now: ActionContext) -> str:
        if isinstance(now.about, HomeContext):
            return against(now.about)
        return "only on the home screen"

    return why_not


HOME = (
    Action("home.beside", ("v",), "Side by side",
        "Show up to four running campaigns, or the marked ones; again: the table", "Home",
        scope="home", check=_at_home(HomeContext.showing_beside), footer=10),
    Action("home.new", ("n",), "New", "Start a sample, or make a campaign of your own", "Home",
        scope="home", footer=11),
    Action("home.stop", ("x",), "Stop",
        "Stop the campaign of the run, or of the marked ones; everything is saved first", "Home",
        scope="runs", check=_at_home(HomeContext.stopping), footer=12),
    Action("home.resume", ("r",), "Resume", "Resume the run, or the marked ones", "Home",
        scope="runs", check=_at_home(HomeContext.resuming), footer=13),
    *(
        Action(
            f"home.run_{n}", (str(n),), f"Run {n}", f"Side by side: open run {n}", "Home",
            scope="beside", footer=1, run="home.run", args=(n,),
        )
        for n in range(1, MAX_PANES + 1)
    ),
    Action("home.table", ("escape",), "Table", "Side by side: return to the table", "Home",
        scope="beside", run="home.beside"),
)  # fmt: skip

HOME_SCREENS = (
    ("home", "runs", "table", "sorting", "marking", "listing", "always"),
    ("home", "beside", "always"),
)
"""The scopes of the table of runs, and of the runs side by side."""

OPTIONAL = frozenset({"mutants", "mutators", "types", "properties", "targets"})
"""Screens that not every campaign has."""

SCREENS = tuple(
    Action(
        f"view.{tab}", (key,), label, text, "Screens",
        check=why_not_show(tab), run="view", args=(tab,),
    )
    for tab, key, label, text in (
        ("overview", "1", "Overview", "Totals, charts, instances, events"),
        ("corpus", "2", "Corpus", "Every queue entry, its lineage and bytes"),
        ("findings", "3", "Findings", "Crashes and hangs by signature"),
        ("mutants", "4", "Mutants", "Mutants, their score, their killers"),
        ("log", "5", "Log", "Every event of the campaign"),
        ("mutators", "6", "Mutators", "Text mutators: what each one found, and the mixture"),
        ("types", "7", "Types", "Type targeting: the types and the uncovered goals"),
        ("source", "8", "Source", "The target's files: what is covered, mutants, findings by line"),
        ("targets", "9", "Targets", "Several targets: their shares, figures and runs"),
        ("properties", "0", "Properties", "A suite's tests: their shares, corpora and findings"),
    )
)  # fmt: skip

_general = partial(Action, group="Fuzztui", scope="always")

GENERAL = (
    Action("focus.next", ("tab",), "Next pane",
        "Move between table and details; on the Overview to the charts", "Screens"),
    _general("app.help", ("question_mark",), "Help", "Show every key, and why a key is grey",
        footer=30),
    _general("app.palette", ("ctrl+p",), "Commands", "Search all actions by name", footer=31),
    Action("app.find", ("colon",), "Find",
        "Search all findings, functions, mutants, entries, instances and commands, and go there",
        "Fuzztui"),
    Action("app.tour", ("H",), "Tour", "Explain the Overview in five steps", "Fuzztui"),
    Action("app.zoom", ("Z",), "Zoom", "Let the panel with the focus fill the screen, or no more",
        "Fuzztui"),
    _general("app.history", ("ctrl+n",), "Notifications", "Show the notifications until now"),
    _general("app.theme", ("T",), "Theme", "Choose a theme, with a preview"),
    _general("app.quit", ("q", "ctrl+q"), "Leave", "Close the screens; the campaign continues",
        footer=29),
)  # fmt: skip

_ORDER = ("Corpus", "Mutants", "Mutators", "Properties", "Targets", "Types", "Source", "Findings")
"""The groups of features' actions, in the order of the help: a new group has its place here."""


def _of_features() -> list[Action]:
    lists = (feature.load(feature.actions) for feature in own_features() if feature.actions)
    found = [action for actions in lists for action in actions]
    return sorted(found, key=lambda action: _ORDER.index(action.group))


ACTIONS: tuple[Action, ...] = (
    *SCREENS,
    *CAMPAIGN,
    *_of_features(),
    *OVERVIEW,
    *LOG,
    *REPLAY,
    *TABLE,
    *CHARTS,
    *SORTING,
    *MARKING,
    *LISTING,
    *HOME,
    *GENERAL,
)
TABS: Final = tuple((action.args[0], action.keys[0], action.label) for action in SCREENS)
"""Id, key and title of each screen."""
BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(action.group for action in ACTIONS))

NATIVE = {"focus.next"}
"""Actions whose keys Textual binds; they are listed for the help screen."""


def bindings(scope: str) -> list[BindingType]:
    """Return Textual's bindings of one scope. Ids are kept, so that a keymap can change the keys.

    Textual never sees an action as disabled: pressing a greyed key shows the reason.
    """
    return [
        Binding(",".join(a.keys), f"app.perform('{a.id}')", a.label, show=False, id=a.id)
        for a in ACTIONS
        if a.scope == scope and a.id not in NATIVE
    ]
