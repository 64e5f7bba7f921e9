"""Errors whose text is for the user."""

from __future__ import annotations


class UserError(Exception):
    """The text says what is wrong and what to do. A command prints it, and ends with ``code``."""

    code = 1
    """An exit code of :data:`fuzztui.cli.help.EXIT_CODES`; 2: what users write is wrong."""
