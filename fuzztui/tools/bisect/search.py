"""The search for the first bad commit: git's own bisect, in a worktree of its own."""

from __future__ import annotations

import fcntl
import re
import shutil
from pathlib import Path
from typing import Final, Self

from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.tools.bisect.repository import Commit, Repository
from fuzztui.tools.changes.lines import ChangesError

_RESULT: Final = re.compile(rb"^# (?:possible )?first bad commit: \[([0-9a-f]+)\]", re.MULTILINE)
_STEPS: Final = re.compile(rb"^bisect_steps=(\d+)", re.MULTILINE)


class Bisection:
    """The worktree ``DIRECTORY/tree``, as a context manager: it is removed at the end.

    What ``git bisect log`` prints there is then in ``DIRECTORY/bisect.log``.
    """

    def __init__(self, repository: Repository, directory: Path) -> None:
        self._repository, self._directory = repository, directory
        self.tree = directory / "tree"

    def __enter__(self) -> Self:
        """Make the worktree. Raises :class:`ChangesError`, also if another process has it."""
        self._lock = (self._directory / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise ChangesError(f"{self._directory}: another process bisects this now") from None
        self._remove()  # that of a process that was killed
        add = ("worktree", "add", "--quiet", "--force", "--detach", "--no-checkout")
        self._repository.git(*add, str(self.tree), "HEAD")
        return self

    def __exit__(self, *_: object) -> None:
        try:
            log = self._repository.git("bisect", "log", at=self.tree, may_fail=True)
            if log:
                replace_bytes(self._directory / "bisect.log", log)
        finally:
            self._remove()
            self._lock.close()

    def _remove(self) -> None:
        # The second --force: also a locked one, as "worktree add" leaves it if it is killed.
        remove = ("worktree", "remove", "--force", "--force", str(self.tree))
        self._repository.git(*remove, may_fail=True)
        shutil.rmtree(self.tree, ignore_errors=True)

    def checkout(self, commit: Commit) -> None:
        """Make the tree that of a commit, with no file of another one. Raises ChangesError.

        Submodules come from the user's checkout; those that are not there stay empty.
        """
        git, at = self._repository.git, self.tree
        git("checkout", "--quiet", "--force", "--detach", commit.hash, at=at)
        git("clean", "-ffdxq", at=at)  # also Python's caches, whose sources may have equal times
        paths = ("config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
        for row in git(*paths, at=at, may_fail=True).decode("utf-8", "replace").split("\0"):
            key, _, path = row.partition("\n")
            if "=" in key:  # git would take what follows for the value of another key
                continue
            if path and (own := self._repository.root / path).joinpath(".git").exists():
                url = f"{key.removesuffix('.path')}.url"
                config = {"protocol.file.allow": "always", url: str(own)}
                update = ("submodule", "update", "--quiet", "--init", "--force", "--", path)
                git(*update, at=at, config=config)
                git("clean", "-ffdxq", at=at / path, may_fail=True)

    def start(self, good: Commit, bad: Commit) -> Commit | None:
        """Begin the search. Returns the commit to try next; None: the search is over."""
        # Without its checkouts, as commits whose outcome is known need none.
        start = ("bisect", "start", "--no-checkout", bad.hash, good.hash)
        self._repository.git(*start, at=self.tree)
        return self._next()

    def mark(self, outcome: str, commit: Commit) -> Commit | None:
        """Report an outcome to git: good, bad or skip. Returns the next commit, as :meth:`start`.

        Raises :class:`ChangesError` if git does not take the outcome.
        """
        # It fails if only skipped commits are left, which the log says.
        self._repository.git("bisect", outcome, commit.hash, at=self.tree, may_fail=True)
        if (following := self._next()) == commit:
            raise ChangesError(f"git bisect {outcome} {commit} had no effect in {self.tree}")
        return following

    def _next(self) -> Commit | None:
        if self.result():
            return None
        found = self._repository.git("rev-parse", "BISECT_HEAD", at=self.tree)
        return self._repository.commit(found.decode().strip())

    def steps_left(self) -> int:
        """Return about how many commits are to be tried after the next one."""
        refs = ("refs/bisect/bad", "--not", "--glob=refs/bisect/good-*")
        found = _STEPS.search(
            self._repository.git("rev-list", "--bisect-vars", *refs, at=self.tree)
        )
        return int(found[1]) if found else 0

    def result(self) -> list[Commit]:
        """Return the first bad commit, or all that may be it; empty while the search goes on."""
        found = _RESULT.findall(self._repository.git("bisect", "log", at=self.tree))
        return [self._repository.commit(one.decode()) for one in dict.fromkeys(found)]
