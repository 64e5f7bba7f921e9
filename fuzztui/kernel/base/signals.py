"""Names of signals; signatures and titles of findings of which only the signal is known."""

from __future__ import annotations

import signal

_BY_SIGNAL = "by-signal-"
_UNTRIED = " (by its file name; fuzztui has not run it)"


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11; ``signal 70`` if this system has no name for the signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def signal_signature(number: int) -> str:
    """The signature of all findings with this signal that were not run."""
    return _BY_SIGNAL + signal_name(number).replace(" ", "-")


def signal_title(number: int) -> str:
    """The title of findings with this signal that were not run; the title mentions that."""
    return signal_name(number) + _UNTRIED


def is_by_signal(signature: str) -> bool:
    """Whether a signature is only a signal, so that its findings may have many causes."""
    return signature.startswith(_BY_SIGNAL)
