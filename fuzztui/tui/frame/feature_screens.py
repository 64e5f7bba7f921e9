"""What features add to the screens: their own screens, and lines of the Overview."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

from fuzztui.kernel.model.feature import features, list_of, own_features
from fuzztui.kernel.model.state import State
from fuzztui.tui.base.canvas import Line, TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.frame.overview_line import AsideList, OverviewLine
from fuzztui.tui.frame.screen import CampaignScreen


@cache
def feature_screens() -> tuple[type[CampaignScreen], ...]:
    """Return the screens of the features of fuzztui itself, which have keys and actions."""
    return tuple(feature.load(feature.screen) for feature in own_features() if feature.screen)


def absent_screens(state: State) -> dict[str, str]:
    """Return the screens that a campaign has not, each with the reason."""
    return {
        screen.TAB: screen.ABSENT
        for screen in feature_screens()
        if screen.ABSENT and not screen.is_present(state)
    }


def overview_lines() -> Iterator[OverviewLine]:
    """Yield the lines that features add to the Overview; of one that fails, the error."""
    for feature in features():
        if feature.overview:
            check = partial(list_of, OverviewLine)
            yield from feature.made_or(feature.overview, check, _failed)


def _failed(error: str) -> list[OverviewLine]:
    return [_Failure(error)]


def aside_lists() -> list[AsideList]:
    """Return the lists that fuzztui's own features add to the right part of the Overview."""
    every = (feature.load(feature.aside) for feature in own_features() if feature.aside)
    return [one for lists in every for one in lists()]


class _Failure(OverviewLine):
    """A line in place of a package's lines, with the error that making them has raised."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def content(self, width: int) -> list[Line]:
        """Draw the error."""
        return [[TextSpan(plain(f" {self._text}")[:width], "failed")]]
