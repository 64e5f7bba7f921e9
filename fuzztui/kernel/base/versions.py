"""The versions of what commands print as JSON; ``fuzztui.tools.schema.outputs`` has the schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

VERSIONS: Final = dict.fromkeys((
    "bisect", "cluster-check", "compare", "comparisons", "coverage", "coverage-by-line", "doctor",
    "events", "hosts-check", "mutants-list", "mutants-matrix", "mutants-rank", "mutants-show",
    "mutators", "notify", "report", "runs", "score", "score-matrix", "status", "sync", "targets",
    "types",
), 1)  # fmt: skip
"""By the name of a schema. A version grows if a key goes or changes its meaning: then readers must
change. A new key is no new version."""


def versioned(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object of the schema ``name`` with its version, ``v``, as first key."""
    return {"v": VERSIONS[name], **data}
