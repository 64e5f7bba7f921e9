"""The repository of a bisect: which commits are meant, and what is printed about them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.text import visible
from fuzztui.tools.changes.git import git
from fuzztui.tools.changes.lines import ChangesError

_LIMIT_S: Final = 3600.0
"""Seconds that git may take: it checks out large trees."""

_OF_A_HOOK: Final = re.compile(r"GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|PREFIX|NAMESPACE)")

_CONFIG: Final[Mapping[str, str]] = {"core.hooksPath": os.devnull, "log.showSignature": "false"}
"""Hooks are for the user's own checkouts."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, as it is printed."""

    hash: str
    author: str
    date: str
    subject: str

    def __str__(self) -> str:
        return visible(f"{self.hash[:10]} {self.subject}")


class Repository:
    """A repository. Its working tree, index and branches, and a bisect there, are not changed."""

    def __init__(self, directory: Path) -> None:
        """Find the repository of a directory. Raises :class:`ChangesError` if there is none."""
        self.root = directory
        self.root = Path(os.fsdecode(self.git("rev-parse", "--show-toplevel").rstrip(b"\n")))

    def git(
        self,
        *arguments: str,
        at: Path | None = None,
        may_fail: bool = False,
        config: Mapping[str, str] = _CONFIG,
    ) -> bytes:
        """Return what git prints; nothing if it fails and ``may_fail``. Raises ChangesError.

        ``at``: the root of a worktree; None: the user's checkout.
        """
        env = {name: v for name, v in os.environ.items() if not _OF_A_HOOK.fullmatch(name)}
        if at is not None:
            # Without its .git a worktree would be a part of the checkout around it, to be cleaned.
            env["GIT_CEILING_DIRECTORIES"] = str(at.parent)
        config = {**_CONFIG, **config}
        where = at or self.root
        return git(where, *arguments, may_fail=may_fail, config=config, env=env, limit_s=_LIMIT_S)

    def commit(self, ref: str) -> Commit:
        """Return the commit that ``ref`` names. Raises :class:`ChangesError`."""
        form = "--format=%H%x00%an <%ae>%x00%ad%x00%s"
        options = ("-1", "--encoding=UTF-8", "--date=iso-strict", form, "--end-of-options")
        found = self.git("log", *options, f"{ref}^{{commit}}", "--", may_fail=True)
        if not found:
            what = "there is no such commit, tag or branch in"
            raise ChangesError(f"{ref}: {what} {self.root}{self._shallow()}")
        return Commit(*found.decode("utf-8", "replace").rstrip("\n").split("\0"))

    def ends(self, text: str) -> tuple[Commit, Commit]:
        """Return the ends of ``GOOD..BAD``; BAD may be left out. Raises :class:`ChangesError`."""
        before, dots, after = text.partition("..")
        if not before or not dots or after.startswith("."):
            raise ChangesError(f"{text!r} is not GOOD..BAD: two commits, such as v1.0..HEAD")
        after = after or "HEAD"
        good, bad = self.commit(before), self.commit(after)
        base = self.git("merge-base", good.hash, bad.hash, may_fail=True).decode().strip()
        if good != bad and base == good.hash:
            return good, bad
        if base == bad.hash:
            raise ChangesError(f"{text}: {after} is not newer than {before}; name the older first")
        fork = f"; both come from {self.commit(base)}: {base[:10]}..{after}" if base else ""
        raise ChangesError(
            f"{text}: {before} is not an ancestor of {after}{fork or self._shallow()}"
        )

    def stat(self, commit: Commit) -> str:
        """Return the files that a commit changes, as text; of a merge, against its first parent."""
        options = ("--format=", "--stat=80", "--no-color", "--no-ext-diff", "-m", "--first-parent")
        shown = self.git("show", *options, commit.hash, "--").decode("utf-8", "replace")
        return visible(shown, lines=True).strip("\n")

    def _shallow(self) -> str:
        """What to do about missing commits, if the clone is shallow; else an empty string."""
        found = self.git("rev-parse", "--is-shallow-repository", may_fail=True).strip()
        return "; this clone is shallow: git fetch --unshallow" if found == b"true" else ""
