"""``themes``: list the themes of the screens."""

from __future__ import annotations

import argparse

from fuzztui.cli.output import DONE, FAILED, say
from fuzztui.kernel.base.text import brief


def themes(options: argparse.Namespace) -> int:
    """List the themes."""
    from fuzztui.tui.base.themes import load_themes

    found, problems = load_themes()
    for name, theme in found.items():
        print(f"{name:<14} {brief(theme.title)}")
    for problem in problems:
        say(problem)
    return FAILED if problems else DONE
