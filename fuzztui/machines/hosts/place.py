"""A host, and the error of one that cannot be used."""

from __future__ import annotations

from fuzztui.run.campaign.places import HERE, HostPlace, places

__all__ = ["HERE", "HostError", "HostPlace", "places"]


class HostError(Exception):
    """A host cannot be used: the reason, and what the user can do (``advice``; "": nothing).

    ``lasting``: it stays so until the user does something, as far as can be known.
    """

    def __init__(self, reason: str, advice: str = "", *, lasting: bool = False) -> None:
        super().__init__(f"{reason.rstrip('.')}; {advice}" if advice else reason)
        self.reason = reason
        self.advice = advice
        self.lasting = lasting
