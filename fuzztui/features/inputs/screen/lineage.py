"""Where an entry or a finding comes from, as lines of spans. Pure."""

from __future__ import annotations

from itertools import islice

from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.passive import MUTANT_INPUTS
from fuzztui.kernel.model.state import Entry, Finding, State
from fuzztui.tui.base.canvas import Line, OneLine, TextSpan
from fuzztui.tui.base.text import plain
from fuzztui.tui.labels.details import pair, title
from fuzztui.tui.labels.lineage import Lineage, ParentEntry, origin_of, parents_text
from fuzztui.tui.labels.mutants import brief_change, place

LINEAGE = 12
"""Maximal number of listed ancestors."""

MAX_CHILDREN = 12
"""Maximal number of listed children of an entry."""

_MAX_INDENT = 8
"""Levels of the tree of ancestors that are indented."""

_SEED = "seed:"
"""Prefix of an origin that is the name of a seed, not the key of an entry."""


def credit_lines(row: Entry | Finding, lineage: Lineage) -> list[Line]:
    """Return the mutant credited for a row of the target."""
    mutant = lineage.mutant_behind(row)
    if mutant is None:
        return []
    words = f"{place(mutant)}  {brief_change(mutant.before, mutant.after)}"
    if not lineage.of_target(row):
        return [pair("of mutant", words, "killed")]
    slot = f"  ({plain(mutant.slot)})" if mutant.slot else ""
    return [[*pair("via mutant", words, "killed"), TextSpan(slot, "muted")]]


def lineage_lines(row: Entry | Finding, lineage: Lineage, state: State) -> list[Line]:
    """Return a tree: the ancestors, the oldest first, the row itself, and its children."""
    steps = lineage.line(row, LINEAGE)
    children = lineage.children(row.key) if isinstance(row, Entry) else ()
    if not steps and not children:
        return []
    lines: list[Line] = [[], title("lineage")]
    for depth, step in enumerate(reversed(steps)):
        entry = step.entry
        seed = step.key.startswith(_SEED)
        origin = "of the campaign" if seed else "not in the log"
        if entry is not None:
            origin = origin_text(entry, lineage.parent(entry))
        name = step.key.replace(_SEED, "seed ", 1) if seed else step.key
        lines.append(_branch(depth, "└", name, origin))
    lines.append(_branch(len(steps), "▸", row.key, ""))
    for n, key in enumerate(islice(children, MAX_CHILDREN)):
        last = n == len(children) - 1
        child = state.entries.get(key)
        origin = "" if child is None else child.op or "seed"
        grown = len(lineage.children(key))
        origin += f", {several(grown, 'child', 'children')}" if grown else ""
        lines.append(_branch(len(steps) + 1, "└" if last else "├", key, origin))
    if len(children) > MAX_CHILDREN:
        more = f"{several(len(children) - MAX_CHILDREN, 'child', 'children')} more"
        lines.append(_branch(len(steps) + 1, "└", more, ""))
    return lines


def _branch(depth: int, sign: str, name: str, origin: str) -> Line:
    """A line of the tree; the roots have no sign."""
    lead = " " + "  " * min(depth, _MAX_INDENT) + (f"{sign} " if depth or sign == "▸" else "")
    here = sign == "▸"
    return OneLine(
        [
            TextSpan(lead, "bold" if here else "rule"),
            TextSpan(plain(name), "bold corpus" if here else "corpus"),
            TextSpan("  " + plain(origin) if origin else "", "muted"),
        ]
    )


def origin_text(entry: Entry, parent: ParentEntry | None) -> str:
    """Return how an entry was made, from which parents."""
    once = f", found as #{entry.first}" if entry.first not in (-1, entry.id) else ""
    if entry.sync:
        if entry.instance == MUTANT_INPUTS:
            return transferred_text(entry)
        return f"imported from {origin_of(entry)}{once}"
    if parent is None:
        return (entry.op.replace("orig:", "seed ", 1) or "seed") + once
    return f"{entry.op or '?'} of {parents_text(entry, parent)}{once}"


def transferred_text(row: Entry | Finding) -> str:
    """Return the origin of a row that was transferred from a mutant, or imported from a peer."""
    number = f", its #{row.src[0]}" if row.src else ""
    is_transferred = MUTANT_INPUTS in (row.instance, row.sync)
    verb = "transferred from a" if is_transferred else "imported from"
    return f"{verb} {origin_of(row)}{number}"
