"""The registry is consistent: every action can be found, reached and explained."""

from dataclasses import replace

import pytest

from fuzztui.features.corpus.screen.screen import CorpusScreen
from fuzztui.features.findings.screen.screen import FindingsScreen
from fuzztui.features.mutants.screen.screen import MutantsScreen
from fuzztui.features.mutators.screen.actions import MixtureContext
from fuzztui.features.mutators.screen.screen import MutatorsScreen
from fuzztui.features.properties.screen.actions import PropertyContext
from fuzztui.features.properties.screen.screen import PropertiesScreen
from fuzztui.features.source.screen.map import CodeMap
from fuzztui.features.source.screen.screen import SourceScreen
from fuzztui.features.targeting.screen.actions import TargetingContext
from fuzztui.features.targeting.screen.screen import TypesScreen
from fuzztui.features.targets.screen.actions import TargetContext
from fuzztui.features.targets.screen.screen import TargetsScreen
from fuzztui.kernel.wire.commands import COMMAND_NAMES
from fuzztui.kernel.wire.mixture import Mixture
from fuzztui.tui.app.action_app import ActionApp
from fuzztui.tui.app.app import FuzzApp
from fuzztui.tui.app.help import flat, help_sections
from fuzztui.tui.app.home import HomeApp
from fuzztui.tui.base.keynames import key_name
from fuzztui.tui.frame.action_context import ActionContext, HomeContext, RowContext
from fuzztui.tui.frame.actions import ACTIONS, BY_ID, HOME_SCREENS, OPTIONAL, bindings
from fuzztui.tui.frame.footer import actions_for
from fuzztui.tui.frame.listing import ListingScreen
from fuzztui.tui.frame.screen import CampaignScreen
from fuzztui.tui.frame.table import BigTable
from fuzztui.tui.screens.log.screen import LogScreen
from fuzztui.tui.screens.overview.charts import ChartGrid
from fuzztui.tui.screens.overview.screen import OverviewScreen

SCREENS = (
    OverviewScreen, CorpusScreen, FindingsScreen, MutantsScreen, LogScreen, MutatorsScreen,
    TypesScreen, PropertiesScreen, TargetsScreen, SourceScreen,
)  # fmt: skip
HOME = {"home", "runs", "beside"}
"""Scopes that only the home screen has."""
OWNERS = {
    "app": FuzzApp,
    "always": ActionApp,
    **dict.fromkeys(HOME, HomeApp),
    "table": BigTable,
    "sorting": BigTable,
    "marking": BigTable,
    "listing": ListingScreen,
    "fuzzing": CampaignScreen,
    "chart": ChartGrid,
    "map": CodeMap,
    **{screen.TAB: screen for screen in SCREENS},
}
READY = ActionContext(
    state="running", alive=True, row=True, instance="main", capabilities=frozenset(COMMAND_NAMES),
    has_run=True, engine="mu2",
)  # fmt: skip
ABOUT = {
    "mutators": MixtureContext(Mixture(0.25, 0.5, 0.25), mutator="swap-args"),
    "properties": PropertyContext("tests/test_a.py::test_b"),
    "targets": TargetContext("xml"),
    "types": TargetingContext(0.5, 2.0, "m.py:3:then", True, "m.py:3:then", ignored=True),
}
"""The rows under the cursor of screens with actions of their own."""
AT_HOME = ActionContext(row=True, about=HomeContext(1, running=1, resumable=1, live=1))


def test_screens_that_not_every_campaign_has_say_why():
    assert {screen.TAB for screen in SCREENS if screen.ABSENT} == OPTIONAL


def test_ids_are_unique():
    assert len(BY_ID) == len(ACTIONS)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda a: a.id)
def test_every_action_has_its_method_where_its_scope_says(action):
    if action.id != "focus.next":  # Textual's own
        assert callable(getattr(OWNERS[action.scope], action.method[0], None))
    assert action.label
    assert action.help
    stage = "mutants" if action.queue else ""
    ended = "finished" if action.ended else "running"
    about = ABOUT.get(action.scope, RowContext())
    now = replace(READY, stage=stage, state=ended, hosts=action.hosts, about=about)
    if action.scope in HOME:
        now = AT_HOME
    assert action.why_not(now) in ("", "only in a replay")


@pytest.mark.parametrize(
    "scopes", [*(s.scopes() for s in SCREENS), *HOME_SCREENS], ids=lambda s: f"{s[0]}-{s[1]}"
)
@pytest.mark.parametrize("mode", ["live", "replay"])
def test_no_key_means_two_things_on_one_screen(scopes, mode):
    seen = {}
    for action in ACTIONS:
        # Charts and map have the arrow keys while they have the focus; a replay has them else.
        wanted = action.scope in scopes and action.scope not in ("chart", "map")
        if wanted and action.mode in ("", mode):
            for key in action.keys:
                assert key not in seen, f"{key}: {action.id} and {seen[key]}"
                seen[key] = action.id


def test_no_key_means_two_things_on_charts():
    there = [a for a in ACTIONS if a.scope in ("chart", "table", "overview")]
    # This one names the charts, whose own keys come first when they have the focus.
    keys = [key for a in there if a.id != "overview.arrows" for key in a.keys]
    assert len(keys) == len(set(keys))


def test_bindings_carry_the_ids_for_keymaps():
    ids = [b.id for scope in OWNERS for b in bindings(scope)]
    assert sorted([*ids, "focus.next"]) == sorted(BY_ID)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mode": "replay"}, "replay"),
        ({"control": False}, "viewing only"),
        ({"read_only": "opened with --read-only"}, "opened with --read-only"),
        ({"state": "finished"}, "has finished"),
        ({"alive": False}, "no supervisor"),
        ({"alive": False, "hosts": True}, "no hub"),
        ({"state": "starting"}, "still starting"),
        ({"row": False}, "no row"),
        ({"capabilities": None}, "has not reported"),
        ({"capabilities": frozenset({"pause"})}, "main's engine cannot promote"),
    ],
)
def test_why_an_entry_cannot_be_promoted(changes, words):
    assert words in BY_ID["entry.promote"].why_not(replace(READY, **changes))


@pytest.mark.parametrize("changes", [{"read_only": "only look"}, {"remote": True}])
def test_what_a_screen_does_itself_after_the_end_needs_the_run_and_the_right(changes):
    ended = replace(READY, state="finished", alive=False)
    for id in ("finding.minimise", "finding.judge", "app.undo"):
        assert not BY_ID[id].why_not(ended), id
        assert BY_ID[id].why_not(replace(ended, **changes)), id


def test_whether_it_is_paused_decides_the_label():
    pause = BY_ID["campaign.pause"]
    assert pause.title(READY) == "Pause"
    assert pause.title(ActionContext(state="paused")) == "Resume"


def test_the_footer_hides_what_belongs_to_the_other_mode():
    live = {a.id for a in actions_for(CorpusScreen.scopes(), READY)}
    replay = {a.id for a in actions_for(CorpusScreen.scopes(), ActionContext(mode="replay"))}
    assert "campaign.pause" in live - replay
    assert "replay.play" in replay - live


def test_help_names_every_action_of_the_mode_and_the_reasons():
    text = "\n".join(
        "".join(span.text for span in line)
        for line in flat(
            help_sections(ActionContext(state="finished", row=True), CorpusScreen.scopes())
        )
    )
    for action in ACTIONS:
        if action.mode != "replay" and action.scope not in HOME:
            assert action.help in text
    assert "(the campaign has finished)" in text


def test_key_names_are_for_people():
    assert [key_name(k) for k in ("question_mark", "ctrl+p", "shift+left", "x")] == [
        "?", "^p", "⇧←", "x",
    ]  # fmt: skip
