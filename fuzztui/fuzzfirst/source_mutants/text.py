"""A mutant as a change of one line of a source file."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DELETED", "SourceMutant", "edit", "squeezed"]

DELETED = "...==>.../*...*/..."
"""The :func:`edit` of a statement that was commented out."""

_MAX_BLOCKS = 4


@dataclass(frozen=True, slots=True)
class SourceMutant:
    """``before`` is a line of ``file`` without its end, ``after`` what stands there instead.

    ``id`` is ``FILE#HASH`` of the two lines: it lasts while other lines change. ``line``
    counts from 1. ``operator`` is the rule that made it, in universalmutator's words.
    """

    id: str
    file: str
    line: int
    operator: str
    before: str
    after: str


def edit(before: str, after: str) -> str:
    """What a mutant did, as universalmutator's metric sees it: ``...==>.../*...*/...``.

    What both lines share is ``...``; of lines that share more than three pieces it is the
    whole new line. (universalmutator 1.14.1, ``utils.change``; its order depends on how the
    shared characters are found again, from the left.)
    """
    # Here: with all that it brings it would be a twentieth of the start of every supervisor.
    from Levenshtein import editops, matching_blocks

    before, after = before + "\n", after + "\n"
    blocks = matching_blocks(editops(before, after), before, after)
    if len(blocks) > _MAX_BLOCKS:
        return after[:-1]
    shared = "".join(before[i : i + n] for i, _, n in blocks)
    return f"{_dotted(before, shared)}==>{_dotted(after, shared)}"


def _dotted(text: str, shared: str) -> str:
    out: list[str] = []
    at, dots = 0, False
    for character in text:
        if at < len(shared) and character == shared[at]:
            at += 1
            out += [] if dots else ["..."]
            dots = True
        else:
            out.append(character)
            dots = False
    return "".join(out)


def squeezed(line: str, *, indented: bool) -> str:
    """A line without blanks that mean nothing; ``indented``: those at its begin do."""
    words = " ".join(line.split())
    return line[: len(line) - len(line.lstrip())] + words if indented else words
