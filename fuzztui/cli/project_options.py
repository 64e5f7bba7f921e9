"""The options of commands about campaign files and the user's settings."""

from __future__ import annotations

import argparse

from fuzztui.cli.arguments import Run, add_campaign, add_set


def add_check(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui check``; return the command."""
    from fuzztui.cli import check

    add_campaign(parser, optional=True)
    parser.add_argument(
        "--no-run",
        dest="run",
        action="store_false",
        help="only read the file; do not import a Python target in a separate process to check "
        "that an engine can start (AFL++ targets are never run)",
    )
    parser.add_argument(
        "--build", action="store_true", help="run target.build in a temporary directory"
    )
    parser.add_argument(
        "--notify", action="store_true", help="run notify.command once, with a test message"
    )
    add_set(parser)
    return check.check


def add_samples(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui samples``; return the command."""
    from fuzztui.cli import samples

    return samples.samples


def add_schema(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui schema``; return the command."""
    from fuzztui.cli import schema

    return schema.schema


def add_themes(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui themes``; return the command."""
    from fuzztui.cli import themes

    return themes.themes


def add_config(parser: argparse.ArgumentParser) -> Run:
    """Add the options of ``fuzztui config``; return the command."""
    from fuzztui.cli import config

    parser.add_argument(
        "--keys", action="store_true", help="list the ids of all actions with their keys"
    )
    return config.config
