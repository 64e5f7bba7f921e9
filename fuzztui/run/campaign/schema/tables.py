"""The tables of a campaign file by engine kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fuzztui.engines.keys import Key
from fuzztui.engines.kinds import KINDS, EngineKind, UnknownKind, kind_named
from fuzztui.run.campaign.schema.afl import AFL_ENGINE, AFL_TARGET
from fuzztui.run.campaign.schema.campaign import CAMPAIGN, STOP
from fuzztui.run.campaign.schema.engines import AFL, ENGINE
from fuzztui.run.campaign.schema.python import PYTHON_ENGINE, PYTHON_TARGET
from fuzztui.run.campaign.table import BASE_TABLES, HOSTS, feature_tables, type_problem

ENGINES = (*KINDS, AFL)
"""Kinds of engines that come with fuzztui."""

Keys = dict[str, Sequence[Key]]
"""Keys by table."""


def _python_target(row: EngineKind) -> Keys:
    own = {key.name for key in row.options}  # these take precedence
    left_out = {*row.without, *(() if row.suites else ("examples",))}
    engine = (key for key in PYTHON_ENGINE if key.name not in left_out | own)
    return {
        "target": [key for key in PYTHON_TARGET if key.name not in left_out],
        "engine": [*engine, *row.options],
    }


def table_names() -> Sequence[str]:
    """Return the names of all tables. Raises PluginError."""
    return (*BASE_TABLES, *feature_tables(), HOSTS)


def common_tables() -> Keys:
    """Return the tables that are the same for all engine kinds. Raises PluginError."""
    found: Keys = {"campaign": CAMPAIGN, "stop": STOP}
    for name, table in feature_tables().items():
        first, *others = (table.keys_for(row) for row in (None, *KINDS.values()))
        if first is not None and all(keys == first for keys in others):
            found[name] = first
    return found


def tables_for(kind: str) -> Keys:
    """Return all keys of a campaign of that engine. Raises :class:`UnknownKind`, PluginError."""
    row = None if kind == AFL else kind_named(kind)
    found: Keys = {"target": AFL_TARGET, "engine": AFL_ENGINE} if row is None else {}
    found |= _python_target(row) if row is not None else {}
    head = ENGINE
    if kind not in ENGINES:
        for key in row.options if row is not None else ():
            if problem := type_problem(key):
                raise UnknownKind(kind, f"is unusable: {problem}; upgrade its package")
        head = (replace(ENGINE[0], choices=(*ENGINES, kind)), *ENGINE[1:])
    found["engine"] = [*head, *found["engine"]]
    of_features = {name: table.keys_for(row) for name, table in feature_tables().items()}
    taken = {name: keys for name, keys in of_features.items() if keys is not None}
    return {"campaign": CAMPAIGN, "stop": STOP, **found, **taken}


def kinds_with(table: str) -> list[str]:
    """Return fuzztui's own engine kinds that take a table. Raises PluginError."""
    return [kind for kind in ENGINES if table in tables_for(kind)]
