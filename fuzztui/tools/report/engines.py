"""What only some campaigns have, as parts of a page: the sections of features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from fuzztui.kernel.base.page import Note, Page, Part, Section
from fuzztui.kernel.base.text import brief
from fuzztui.kernel.model.feature import features, list_of
from fuzztui.kernel.model.state import State
from fuzztui.tools.report.plain import plain_page


def sections_of_features(state: State) -> Iterator[Section]:
    """Yield the sections that features add; of one that fails, the error."""
    for feature in features():
        if feature.report:
            failed = partial(_failed_section, feature.name)
            yield from feature.made_or(feature.report, _as_sections, failed, state)


def _as_sections(made: Iterable[Section]) -> list[Section]:
    """The sections, if they can be written: what a package makes may be anything."""
    found = list_of(Section, made)
    if wrong := [part for one in found for part in one.parts if not isinstance(part, Part)]:
        raise TypeError(f"{wrong[0]!r:.100} is no part of a page")
    plain_page(Page("", "", found, ""))
    return found


def _failed_section(name: str, error: str) -> list[Section]:
    return [Section(brief(name), [Note(error, is_warning=True)])]
