"""Names of types and goals: bounds, labels in file names, the analysis that they are from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from fuzztui.kernel.base.text import listed

MILLION: Final = 1_000_000
"""Probabilities in events are in millionths."""

MAX_NAME: Final = 200
"""Characters of a type's name; types with a longer name are left out."""

MAX_LOCATION: Final = 500
"""Characters of a goal's location; goals with a longer one are left out."""

_TYPED: Final = "typed:"
_TIMES: Final = ",rep:"
_NOT_IN_LABELS: Final = re.compile(r"[^A-Za-z0-9_.<>]")
_MAX_LABEL: Final = 80


def type_label(name: str) -> str:
    """Return a type's name as file names contain it: only harmless characters, the last 80."""
    return _NOT_IN_LABELS.sub("_", name)[-_MAX_LABEL:]


def targeted_op(name: str, times: int) -> str:
    """Return how a child of a targeted mutation was made: ``typed:datetime.date,rep:4``."""
    return f"{_TYPED}{type_label(name)}{_TIMES}{times}"


def label_in(op: str) -> str:
    """Return the type's label in what :func:`targeted_op` returned; "" for other mutations."""
    return op[len(_TYPED) :].partition(_TIMES)[0] if op.startswith(_TYPED) else ""


def analysis_of(modules: Mapping[str, str]) -> str:
    """Return eight hex digits that identify an analysis; an empty string if ``modules`` is empty.

    ``modules``: hashes of the sources of the modules, by name.
    """
    if not modules:
        return ""
    lines = sorted(f"{name} {sha}\n" for name, sha in modules.items())
    return sha256("".join(lines).encode("utf-8", "backslashreplace")).hexdigest()[:8]


def have_changed(files: Sequence[str]) -> str:
    """Return ``a.py has changed`` or ``a.py and b.py have changed``."""
    return f"{listed(files)} {'has' if len(files) == 1 else 'have'} changed"


def stale_message(files: Sequence[str], *, over: bool = False) -> str:
    """Return a warning about edited files, with the remedy. ``over``: the campaign has ended."""
    its = "its" if len(files) == 1 else "their"
    return f"{have_changed(files)} since {its} types were analysed: {remedy(files, over=over)}"


def remedy(files: Sequence[str], *, over: bool = False) -> str:
    """Return the remedy for edited files, as an imperative clause."""
    start, it = "start" if over else "stop and start", "it" if len(files) == 1 else "them"
    return f"{start} the campaign to have {it} analysed again"
