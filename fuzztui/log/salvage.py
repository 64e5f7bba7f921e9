"""Recover records from a damaged member: only those that are certainly as they were written."""

from __future__ import annotations

from dataclasses import dataclass

from fuzztui.log.blocks import SealedBlock, unpack_damaged
from fuzztui.log.lines import Problems, decode_lines
from fuzztui.wire.events import Record

__all__ = ["Recovered", "recover"]


@dataclass(frozen=True, slots=True)
class Recovered:
    """The sound records of a damaged member; ``whole``: there were no others."""

    records: list[Record]
    whole: bool


def recover(raw: bytes, block: SealedBlock | None, after: int) -> Recovered:
    """The records, behind record ``after``, of a member that began where ``raw`` does.

    ``block``: what its header says, if that is sound.
    """
    data, whole = unpack_damaged(raw, block)
    records = decode_lines(data[: data.rfind(b"\n") + 1], after, "", Problems())
    return Recovered(records, whole)
