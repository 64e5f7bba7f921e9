"""How mutants change a roadblock: some send the corpus the other way, others only may do so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from fuzztui.features.fuzzfirst.roadblocks import Roadblock, SourceLayout
from fuzztui.features.fuzzfirst.source_mutants.rank import RankingGroup
from fuzztui.features.fuzzfirst.source_mutants.text import SourceMutant
from fuzztui.kernel.base.text import common_head

_KEYWORD: Final = re.compile(r"\b(if|elif|while|for|switch|match|assert)\b\s*")
_COMPARISON: Final = re.compile(r"==|!=|<=|>=|(?<![<>-])[<>](?![<>])")
_OPPOSITE: Final = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_ALWAYS: Final = {True: "1==1", False: "0==1"}


def mutants_by_roadblock(
    mutants: Sequence[SourceMutant],
    roadblocks: Sequence[Roadblock],
    layouts: Mapping[str, SourceLayout],
) -> list[RankingGroup]:
    """Return the mutants of each roadblock, weighted by what it hides; better: those that open it.

    Each mutant is in one group at most.
    """
    at = {(r.file, r.line): n for n, r in enumerate(roadblocks)}
    leaving = {(r.file, line): n for n, r in enumerate(roadblocks) for line in r.leaving}
    found = [RankingGroup(r.hides) for r in roadblocks]
    for index, mutant in enumerate(mutants):
        layout = layouts[mutant.file]
        deletes = mutant.after.strip() in ("pass", f"/*{mutant.before.strip()}*/")
        if deletes and (number := leaving.get((mutant.file, mutant.line))) is not None:
            found[number].better.append(index)
        elif (number := at.get((mutant.file, layout.starts[mutant.line]))) is not None:
            met, group = roadblocks[number].met, found[number]
            if deletes:  # without its condition, the statement below is always executed
                _, stop = _span(layout.code[mutant.line], first=True)
                below = not layout.code[mutant.line][stop:].strip()
                (group.better if met and below else group.others).append(index)
            elif (change := _change(mutant, layout)) is not None:
                (group.better if _opens(*change, met=met) else group.others).append(index)
    return found


def _change(mutant: SourceMutant, layout: SourceLayout) -> tuple[str, str] | None:
    """Return the condition before and after; None if the mutant does not change it."""
    before, after = mutant.before, mutant.after
    first = layout.starts[mutant.line] == mutant.line
    begin, stop = _span(layout.code[mutant.line], first=first)
    start = common_head(before, after)
    end = len(before) - common_head(before[start:][::-1], after[start:][::-1])
    if end < begin or start < end <= begin or start > stop or start == end == stop:
        return None
    return before[begin:stop], after[begin : len(after) - len(before) + stop]


def _span(code: str, *, first: bool) -> tuple[int, int]:
    """Return where the condition begins and ends in a line; all of it if it has no keyword."""
    begin = 0
    if first and (word := _KEYWORD.search(code)):
        begin = word.end()
    depth = 0
    for at, character in enumerate(code[begin:], begin):
        depth += (character in "([{") - (character in ")]}")
        if (character == ":" and depth == 0) or (character == "{" and depth == 1):
            return begin, at
        if (character == ")" and depth == 0 and code[begin : begin + 1] == "(") or depth < 0:
            return begin, at + (depth == 0)
    return begin, len(code)


def _opens(before: str, after: str, *, met: bool) -> bool:
    """Whether a change of a condition reverses it, or makes it constant in the wanted way."""
    old, new = _bare(before), _bare(after)
    if new == _ALWAYS[met] or new in (f"!({old})", f"not({old})", f"!{old}"):
        return True
    if old in (f"!({new})", f"not({new})"):
        return True
    if re.search(r"&&|\|\||\b(and|or)\b", before):
        return False
    if old in (f"!{new}", f"not{new}"):
        return True
    one, other = _COMPARISON.split(old), _COMPARISON.split(new)
    signs = _COMPARISON.findall(old), _COMPARISON.findall(new)
    return one == other and len(one) == 2 and signs[1] == [_OPPOSITE[signs[0][0]]]


def _bare(condition: str) -> str:
    """Return a condition without blanks and without parentheses around the whole."""
    text = "".join(condition.split())
    while text.startswith("(") and _closes(text) == len(text) - 1:
        text = text[1:-1]
    return text


def _closes(text: str) -> int:
    """Return the index of the parenthesis that closes the first one; -1 if none does."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return at
    return -1
