"""The options ``--since`` and ``--in-diff``: only what has changed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fuzztui.cli.output import say
from fuzztui.kernel.base.files import real_path
from fuzztui.kernel.base.text import several
from fuzztui.tools.changes.code import CodeChanges
from fuzztui.tools.changes.git import changes_since
from fuzztui.tools.changes.lines import ChangedFiles, read_diff

NO_MODULE = "-"
"""A name that no module can have: an empty list would mean all of them."""


def add_changes(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the two options; ``what``: what is limited to changes, for the help."""
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--since",
        metavar="REF",
        help=f"only {what} that changed since the merge base with a branch or commit, such as "
        "origin/main, in commits or not",
    )
    either.add_argument(
        "--in-diff",
        metavar="FILE",
        type=Path,
        help=f"only {what} that a unified diff has changed; needs no git",
    )


def changes(options: argparse.Namespace) -> ChangedFiles | None:
    """Return the changes to which a command is limited; None: no limit. Raises ChangesError."""
    if options.since is not None:
        return changes_since(options.since, Path.cwd())
    return None if options.in_diff is None else read_diff(options.in_diff, tree())


def code_changes(options: argparse.Namespace) -> CodeChanges | None:
    """As :func:`changes`, with the functions that have changed. Raises ChangesError."""
    found = changes(options)
    return None if found is None else CodeChanges(found)


def tree() -> Path:
    """The directory to which names in a diff are relative: the repository, or the current one."""
    here = Path.cwd()
    return next((path for path in (here, *here.parents) if (path / ".git").exists()), here)


def name_in_tree(path: Path) -> str | None:
    """The name of a file relative to :func:`tree`; None: it is outside, or installed."""
    try:
        path, root = real_path(path), real_path(tree())
    except OSError:
        return None
    name = path.relative_to(root) if path.is_relative_to(root) else None
    return None if name is None or "site-packages" in name.parts else name.as_posix()


def nothing_changed(code: CodeChanges, what: str) -> None:
    """Print that there is nothing to do, and how many functions have changed."""
    functions = sum(len(each.functions) for each in code.by_file.values())
    have = several(functions, "function has", "functions have") if functions else "no function has"
    say(f"no {what}: since {code.changes.what} {have} changed")


def in_scopes(rows: Iterable[Any]) -> str:
    """Return the option ``--set`` by which an engine makes only mutants of the rows' scopes.

    ``rows``: mutants with ``id`` and ``module``; without any, an engine makes no mutants.
    """
    return f"engine.mutate={json.dumps(sorted(set(_scopes(rows))) or [NO_MODULE])}"


def _scopes(rows: Iterable[Any]) -> Iterator[str]:
    for row in rows:
        scope = row.id.removeprefix(f"{row.module}:").rsplit(":", 3)[0]
        yield f"{row.module}:{scope}"
