"""Signals by name, and what a finding is called of which nothing but its signal is known."""

from __future__ import annotations

import signal

__all__ = ["is_by_signal", "signal_name", "signal_signature", "signal_title"]

_BY_SIGNAL = "by-signal-"
_UNTRIED = " (by its file name; fuzztui has not run it)"


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11; ``signal 70`` for one that this system has no name for."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def signal_signature(number: int) -> str:
    """The signature of a finding that was not run: one for all with that signal."""
    return _BY_SIGNAL + signal_name(number).replace(" ", "-")


def signal_title(number: int) -> str:
    """Its title, which says so."""
    return signal_name(number) + _UNTRIED


def is_by_signal(signature: str) -> bool:
    """Whether it says no more than that: its findings may well have many causes."""
    return signature.startswith(_BY_SIGNAL)
