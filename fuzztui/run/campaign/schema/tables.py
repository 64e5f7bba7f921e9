"""The tables of a campaign file by engine kind."""

from __future__ import annotations

from dataclasses import replace

from fuzztui.engines.kinds import KINDS, EngineKind, Key, kind_named
from fuzztui.run.campaign.schema.afl import AFL_ENGINE, AFL_TARGET
from fuzztui.run.campaign.schema.campaign import CAMPAIGN, NOTIFY, STOP
from fuzztui.run.campaign.schema.engines import AFL, ENGINE
from fuzztui.run.campaign.schema.machines import CLUSTER, HOSTS
from fuzztui.run.campaign.schema.mu2 import MU2_ENGINE
from fuzztui.run.campaign.schema.mutants import MUTANTS
from fuzztui.run.campaign.schema.oracle import AFL_ORACLE, ORACLE
from fuzztui.run.campaign.schema.python import PYTHON_ENGINE, PYTHON_TARGET, THIRD_PARTY
from fuzztui.run.campaign.schema.spoton import SPOTON_ENGINE
from fuzztui.run.campaign.schema.text import TEXT

_MORE: dict[str, tuple[Key, ...]] = {
    "zest": (THIRD_PARTY,),
    "spoton": SPOTON_ENGINE,
    "mu2": MU2_ENGINE,
}
"""By kind: keys of ``[engine]`` that are not in the row of the kind."""


def _python_tables(row: EngineKind) -> dict[str, tuple[Key, ...]]:
    more = (*_MORE.get(row.name, ()), *row.options)
    own = {key.name for key in more}  # these take precedence
    left_out = {*row.without, *(() if row.suites else ("examples",))}
    return {
        "target": tuple(key for key in PYTHON_TARGET if key.name not in left_out),
        "engine": (*(k for k in PYTHON_ENGINE if k.name not in left_out | own), *more),
        "oracle": ORACLE if row.oracle else (),
    }


ENGINES = (*KINDS, AFL)
"""Kinds of engines that come with fuzztui."""

TABLES = (
    *("campaign", "stop", "target", "engine", "mutants", "text", "oracle", "notify", "cluster"),
    HOSTS,
)

TEXTUAL = (AFL, *(row.name for row in KINDS.values() if row.text))
"""Engine kinds that take ``[text]``; ``text`` always mutates inputs as text."""

JUDGED = (*(row.name for row in KINDS.values() if row.oracle), AFL)
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
    tables = {"target": AFL_TARGET, "engine": AFL_ENGINE, "oracle": AFL_ORACLE}
    if row is not None:
        tables = _python_tables(row)
    common = ENGINE
    if kind not in ENGINES:
        common = (replace(ENGINE[0], choices=(*ENGINES, kind)), *ENGINE[1:])
    found = {**COMMON, "target": tables["target"], "engine": common + tables["engine"]}
    found |= {"mutants": MUTANTS} if row is None or row.mutants_first else {}
    found |= {"text": TEXT} if row is None or row.text else {}
    return found | ({"oracle": tables["oracle"]} if tables["oracle"] else {})
