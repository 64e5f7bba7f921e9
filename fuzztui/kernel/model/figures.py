"""The figures of an instance, each declared once, as a field of ``Stats``. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from fuzztui.kernel.wire.events import Stats


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure; :func:`~fuzztui.kernel.wire.events.stats.stat` describes the fields."""

    name: str
    key: str
    total: str
    series: bool
    title: str
    within: str
    column: str
    means: str
    status: str
    metric: str

    @property
    def place(self) -> tuple[str, str]:
        """The object in ``status --json`` (empty: the whole), and the key of the figure there."""
        group, _, key = self.status.rpartition(".")
        return group, key

    def of(self, stats: Stats) -> float:
        """Return the number; -1: not reported."""
        number: float = getattr(stats, self.name)
        return number


FIGURES = tuple(Figure(f.name, **f.metadata) for f in fields(Stats) if "key" in f.metadata)
"""All figures, in the order of the fields."""


def titled(stats: Stats, within: str = "") -> Iterator[tuple[Figure, float]]:
    """Yield the known figures with a title that are shown in the line of the figure ``within``.

    Without ``within``: the figures with a line of their own. Such a figure is yielded too, with -1,
    if it is unknown itself and one in its line is known.
    """
    for figure in FIGURES:
        if figure.title and figure.within == within:
            number = figure.of(stats)
            if number >= 0 or (not within and any(titled(stats, figure.name))):
                yield figure, number


def figures_dict(stats: Stats) -> dict[str, Any]:
    """Return the figures for ``status --json``: JSON data, None for a number that is unknown."""
    found: dict[str, Any] = {}
    for figure in FIGURES:
        if figure.status:
            number = figure.of(stats)
            group, key = figure.place
            into = found.setdefault(group, {}) if group else found
            into[key] = number if number >= 0 else None
    return found
