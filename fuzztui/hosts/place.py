"""A host, and the error of one that cannot be used."""

from __future__ import annotations

from fuzztui.campaign.places import HERE, HostPlace, places

__all__ = ["HERE", "HostError", "HostPlace", "places"]


class HostError(Exception):
    """A host cannot be used: the reason, and what the user can do (``advice``; "": nothing)."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(f"{reason}; {advice}" if advice else reason)
        self.reason = reason
        self.advice = advice
