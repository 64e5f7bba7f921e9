"""Recover records from a damaged member: only records that are certainly as written."""

from __future__ import annotations

from dataclasses import dataclass

from fuzztui.log.blocks import SealedBlock, unpack_damaged
from fuzztui.log.lines import Problems, decode_lines
from fuzztui.wire.events import Record


@dataclass(frozen=True, slots=True)
class Recovered:
    """The sound records of a damaged member; ``whole``: the member had no others."""

    records: list[Record]
    whole: bool


def recover(raw: bytes, block: SealedBlock | None, after: int) -> Recovered:
    """Recover the records behind record ``after`` of a member that begins where ``raw`` does.

    ``block``: the member's header; None if that is damaged.
    """
    data, whole = unpack_damaged(raw, block)
    records = decode_lines(data[: data.rfind(b"\n") + 1], after, "", Problems())
    return Recovered(records, whole)
