"""The registry of actions: everything that a user can do on the screens.

Key bindings, the footer, the command palette and the help screen are generated from
:data:`ACTIONS`. An action's ``id`` is stable, because users' keymaps contain ids.
:attr:`~fuzztui.tui.frame.action.Action.method` carries out the action.
"""

from __future__ import annotations

from typing import Final

from textual.binding import Binding, BindingType

from fuzztui.kernel.model.feature import own_features
from fuzztui.tui.frame.action import Action
from fuzztui.tui.frame.actions.campaign import CAMPAIGN
from fuzztui.tui.frame.actions.general import GENERAL, SCREENS
from fuzztui.tui.frame.actions.general import OPTIONAL as OPTIONAL
from fuzztui.tui.frame.actions.home import HOME, HOME_SCREENS
from fuzztui.tui.frame.actions.overview import CHARTS, LOG, OVERVIEW
from fuzztui.tui.frame.actions.replay import REPLAY
from fuzztui.tui.frame.actions.tables import LISTING, MARKING, SORTING, TABLE

_ORDER = ("Corpus", "Mutants", "Mutators", "Properties", "Types", "Source", "Findings")
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
