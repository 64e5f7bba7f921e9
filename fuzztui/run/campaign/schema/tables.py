"""The tables of a campaign file by engine kind."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fuzztui.engines.kinds import KINDS, EngineKind, Option, kind_named
from fuzztui.run.campaign.schema.afl import AFL_ENGINE, AFL_TARGET
from fuzztui.run.campaign.schema.campaign import CAMPAIGN, NOTIFY, STOP
from fuzztui.run.campaign.schema.engines import AFL, ENGINE
from fuzztui.run.campaign.schema.key import Key
from fuzztui.run.campaign.schema.machines import CLUSTER, HOSTS
from fuzztui.run.campaign.schema.mu2 import MU2_ENGINE
from fuzztui.run.campaign.schema.mutants import MUTANTS
from fuzztui.run.campaign.schema.oracle import AFL_ORACLE, ORACLE
from fuzztui.run.campaign.schema.python import PYTHON_ENGINE, PYTHON_TARGET, THIRD_PARTY
from fuzztui.run.campaign.schema.spoton import SPOTON_ENGINE
from fuzztui.run.campaign.schema.text import TEXT


@dataclass(frozen=True, slots=True)
class EngineSchema:
    """The keys of ``[target]``, ``[engine]`` and ``[oracle]`` for one engine kind."""

    target: tuple[Key, ...]
    engine: tuple[Key, ...]
    oracle: tuple[Key, ...] = ()


_MORE: dict[str, tuple[tuple[Key, ...], tuple[Key, ...]]] = {
    "zest": ((), (THIRD_PARTY,)),
    "spoton": ((), SPOTON_ENGINE),
    "mu2": ((), MU2_ENGINE),
}
"""By kind: keys of ``[target]`` and ``[engine]`` whose types an :class:`Option` cannot have."""


def _schema_of(row: EngineKind) -> EngineSchema:
    target, engine = _MORE.get(row.name, ((), ()))
    options = (*engine, *map(_key, row.options))
    return EngineSchema(
        _table(row, PYTHON_TARGET, target),
        _table(row, PYTHON_ENGINE, options),
        ORACLE if row.oracle else (),
    )


def _table(row: EngineKind, common: tuple[Key, ...], more: tuple[Key, ...]) -> tuple[Key, ...]:
    """Return the keys of every engine that the kind accepts, and its own; these take precedence."""
    left_out = {*row.without, *(key.name for key in more), *(() if row.suites else ("examples",))}
    return (*(key for key in common if key.name not in left_out), *more)


def _key(option: Option) -> Key:
    return Key(
        option.name,
        option.type,
        option.help,
        option.default,
        choices=option.choices,
        minimum=option.minimum,
        maximum=option.maximum,
    )


ENGINES: dict[str, EngineSchema] = {
    **{name: _schema_of(row) for name, row in KINDS.items()},
    AFL: EngineSchema(AFL_TARGET, AFL_ENGINE, AFL_ORACLE),
}
"""Engines that come with fuzztui, by kind."""

TABLES = (
    *("campaign", "stop", "target", "engine", "mutants", "text", "oracle", "notify", "cluster"),
    HOSTS,
)

TEXTUAL = (AFL, *(row.name for row in KINDS.values() if row.text))
"""Engine kinds that take ``[text]``; ``text`` always mutates inputs as text."""

JUDGED = tuple(kind for kind, schema in ENGINES.items() if schema.oracle)
"""Engine kinds that take ``[oracle]``."""

FIRST = (AFL, *(row.name for row in KINDS.values() if row.mutants_first))
"""Engine kinds that take ``[mutants]``: fuzz-first works with engines without own mutants."""

COMMON: dict[str, tuple[Key, ...]] = {
    "campaign": CAMPAIGN,
    "stop": STOP,
    "notify": NOTIFY,
    "cluster": CLUSTER,
}
"""The tables that are the same for all engine kinds."""


def tables_for(kind: str) -> dict[str, tuple[Key, ...]]:
    """All keys of a campaign of that engine, by table. Raises :class:`UnknownKind`."""
    row = None if kind == AFL else kind_named(kind)
    schema = ENGINES[kind] if row is None or kind in ENGINES else _schema_of(row)
    common = ENGINE
    if kind not in ENGINES:
        common = (replace(ENGINE[0], choices=(*ENGINES, kind)), *ENGINE[1:])
    tables = {**COMMON, "target": schema.target, "engine": common + schema.engine}
    tables |= {"mutants": MUTANTS} if row is None or row.mutants_first else {}
    tables |= {"text": TEXT} if row is None or row.text else {}
    return tables | ({"oracle": schema.oracle} if schema.oracle else {})
