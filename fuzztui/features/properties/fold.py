"""The properties of a suite: fold, and what instances together know of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fuzztui.kernel.model.changes import ChangesBuilder, instance
from fuzztui.kernel.model.folding import EventFold
from fuzztui.kernel.model.receipts import Meter, summed
from fuzztui.kernel.model.selectors import ENDED
from fuzztui.kernel.model.state import MAX_PROPERTIES, MAX_PROPERTY_NAME, State
from fuzztui.kernel.model.stats import count
from fuzztui.kernel.wire.commands import MAX_WEIGHT, Command, WeighProperty
from fuzztui.kernel.wire.events import PropertiesFound, PropertyFigures

FIGURES: Final = (
    "trials", "invalid", "entries", "edges", "findings", "cpu_ms", "share", "weight",
)  # fmt: skip
"""What the state keeps of a property, in this order."""


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """One property. Figures are sums over instances, or the most that one of them reports."""

    name: str
    reason: str = ""
    """Why the property is not run; empty: it is run."""
    trials: int = 0
    invalid: int = 0
    entries: int = 0
    edges: int = 0
    """Edges in the instance that has covered the most for the property."""
    findings: int = 0
    killed: int = 0
    """Number of mutants that the property has killed."""
    cpu_s: float = 0.0
    share: float = 0.0
    """Share of the work until the next report, 0 to 1; the mean over the running instances."""
    weights: dict[str, float] = field(default_factory=dict)
    """The weight that users have set, 1 by default, by instance."""
    is_over: bool = False
    """Whether the campaign has ended."""

    @property
    def weight(self) -> float:
        """The weight; of several different ones the largest."""
        return max(self.weights.values(), default=1.0)

    @property
    def state(self) -> str:
        """``not run``, ``failed``, ``off`` (weight 0), ``run``, or after the end ``passed``."""
        if self.reason or (self.is_over and not self.trials):
            return "not run"
        if self.findings:
            return "failed"
        if not self.weight:
            return "off"
        return "passed" if self.is_over else "run"


def properties_found(state: State, e: PropertiesFound, touched: ChangesBuilder) -> None:
    """Note the names, and why some are not run."""
    instance(state, e.instance, touched)
    for name, reason in list(e.reasons.items())[:MAX_PROPERTIES]:
        if isinstance(reason, str) and _is_known_or_fits(state, name):
            state.property_reasons[name[:MAX_PROPERTY_NAME]] = reason[:MAX_PROPERTY_NAME]
    state.other_tests = max(0, count(e.others))
    touched.campaign = True


def property_figures(state: State, e: PropertyFigures, touched: ChangesBuilder) -> None:
    """Note the latest figures of some properties."""
    instance(state, e.instance, touched)
    rows = dict(state.properties.get(e.instance, {}))  # screens see a change by another object
    for name, figures in e.figures.items():
        if not isinstance(figures, dict) or (name not in rows and len(rows) >= MAX_PROPERTIES):
            continue
        rows[name[:MAX_PROPERTY_NAME]] = [_number(figures.get(key)) for key in FIGURES]
    state.properties[e.instance] = rows
    touched.campaign = True


def _is_known_or_fits(state: State, name: str) -> bool:
    return name in state.property_reasons or len(state.property_reasons) < MAX_PROPERTIES


def _number(value: Any) -> float:
    fits = type(value) in (int, float) and 0 <= value <= 1e15
    return float(value) if fits else 0.0


def property_rows(state: State) -> dict[str, PropertyRow]:
    """All properties by name, in the order in which they were found."""
    living = [n for n in state.properties if not _is_over(state, n)] or list(state.properties)
    # An instance reports a property when its figures have changed: shares are of different moments.
    totals = {i: max(1e6, sum(row[6] for row in state.properties[i].values())) for i in living}
    rows: dict[str, PropertyRow] = {}
    names = dict.fromkeys(
        [*state.property_reasons, *(n for r in state.properties.values() for n in r)]
    )
    for name in names:
        every = [r[name] for r in state.properties.values() if name in r]
        shares = [
            state.properties[i][name][6] / totals[i] for i in living if name in state.properties[i]
        ]
        trials, invalid, entries, edges, findings, cpu_ms, _, _ = (
            [row[at] for row in every] for at in range(len(FIGURES))
        )
        rows[name] = PropertyRow(
            name,
            state.property_reasons.get(name, ""),
            trials=int(sum(trials)),
            invalid=int(sum(invalid)),
            entries=int(sum(entries)),
            edges=int(max(edges, default=0)),
            findings=int(sum(findings)),
            killed=state.property_kills.get(name, 0),
            cpu_s=sum(cpu_ms) / 1000,
            share=sum(shares) / len(shares) if shares else 0.0,
            weights=property_weights(state, name),
            is_over=state.state in ENDED,
        )
    return rows


def _is_over(state: State, name: str) -> bool:
    found = state.instances.get(name)
    return found is None or found.state in ENDED


def property_weights(state: State, name: str, instance: str = "") -> dict[str, float]:
    """The weight of a property in each instance, or in one."""
    return {
        one: min(rows[name][7], float(MAX_WEIGHT))
        for one, rows in state.properties.items()
        if name in rows and instance in ("", one)
    }


def has_properties(state: State) -> bool:
    """Whether the campaign has properties."""
    return bool(state.property_reasons or state.properties)


def properties_list(state: State) -> list[dict[str, Any]] | None:
    """The properties for ``status --json``; None if the campaign has none."""
    if not has_properties(state):
        return None
    return [
        {
            "name": row.name,
            "state": row.state,
            "reason": row.reason,
            "trials": row.trials,
            "invalid": row.invalid,
            "entries": row.entries,
            "edges": row.edges,
            "findings": row.findings,
            "killed": row.killed,
            "signatures": sorted(
                {f.signature for f in state.findings.values() if f.property == row.name}
            ),
            "cpu_s": row.cpu_s,
            "share": row.share,
            "weight": row.weight,
        }
        for row in property_rows(state).values()
    ]


def figures(state: State) -> dict[str, Any]:
    """Return what this feature adds to the object of ``fuzztui status --json``."""
    return {"properties": properties_list(state)}


_SINCE: Final = ("trials", "entries", "findings")


def _figures(state: State, instance: str, name: str) -> Iterator[list[float]]:
    for one, rows in state.properties.items():
        if name in rows and instance in ("", one):
            yield [rows[name][FIGURES.index(figure)] for figure in _SINCE]


RECEIPTS: Mapping[type[Command], Meter] = {WeighProperty: summed("property", _figures, *_SINCE)}

FOLDS = (
    EventFold(PropertiesFound, properties_found, rows=lambda e: e.reasons),
    EventFold(PropertyFigures, property_figures, rows=lambda e: e.figures),
)
