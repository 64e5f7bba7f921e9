"""Ask git what has changed since a branch or commit, also in files that are not committed yet."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.base.text import visible
from fuzztui.tools.changes.lines import (
    MAX_FILE_BYTES,
    ChangedFile,
    ChangedFiles,
    ChangesError,
    changed_files,
)

_LIMIT_S: Final = 120.0

_CONFIG: Final[Mapping[str, str]] = {"core.quotepath": "off", "core.fsmonitor": "false"}

_PLAIN: Final = (
    "--unified=0", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color",
    "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules", "--submodule=short",
)  # fmt: skip
"""Against a user's configuration, which may change what ``git diff`` prints."""


def changes_since(ref: str, directory: Path) -> ChangedFiles:
    """Return what differs between the files of the tree and its merge base with ``ref``.

    Files that are not ignored and unknown to git are new. Raises :class:`ChangesError`.
    """
    # First: outside of a repository git diff compares two files.
    root = Path(os.fsdecode(git(directory, "rev-parse", "--show-toplevel").rstrip(b"\n")))
    commit = _commit(ref, root)
    base = _merge_base(ref, commit, root)
    diff = git(root, "diff", *_PLAIN, base, "--")
    try:
        files = {file.path: file for file in changed_files(diff, root)}
    except ChangesError as e:
        raise ChangesError(f"git diff {base[:10]}: {e}") from None
    for name in git(root, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0"):
        if name and (new := _new(root, os.fsdecode(name))):
            files[new.path] = new
    return ChangedFiles(root, files, f"{ref} ({base[:10]})")


def _new(root: Path, name: str) -> ChangedFile | None:
    path = root / name
    data = None if path.is_symlink() else read_if_regular(path, MAX_FILE_BYTES)
    if data is None:
        return None
    return ChangedFile(path.resolve(), name, ((1, data.count(b"\n") + 1),), None)


def _commit(ref: str, root: Path) -> str:
    """The hash of the commit that ``ref`` names. Raises :class:`ChangesError`."""
    arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if ref and (found := git(root, *arguments, may_fail=True).strip()):
        return found.decode("ascii", "replace")
    remote, slash, branch = ref.partition("/")
    hint = f"; fetch it first: git fetch {remote} {branch}" if slash else ""
    raise ChangesError(f"--since {ref}: there is no such branch or commit in {root}{hint}")


def _merge_base(ref: str, commit: str, root: Path) -> str:
    base = git(root, "merge-base", commit, "HEAD", may_fail=True).split(b"\n")[0]
    if base:
        return base.decode("ascii", "replace")
    if git(root, "rev-parse", "--is-shallow-repository", may_fail=True).strip() == b"true":
        raise ChangesError(
            f"--since {ref}: this clone is shallow and has no common commit with it; on GitHub "
            "set fetch-depth: 0 for actions/checkout, on GitLab GIT_DEPTH: 0; or run: git fetch "
            "--unshallow"
        )
    raise ChangesError(f"--since {ref}: has no common commit with HEAD")


def git(
    directory: Path,
    *arguments: str,
    may_fail: bool = False,
    config: Mapping[str, str] = _CONFIG,
    env: Mapping[str, str] = os.environ,
    limit_s: float = _LIMIT_S,
) -> bytes:
    """Return what git prints. Raises :class:`ChangesError` with git's own message.

    ``may_fail``: return nothing if git fails.
    """
    given = {**_CONFIG, **config}.items()
    command = ["git", *(word for key, value in given for word in ("-c", f"{key}={value}"))]
    command += arguments
    env = {**env, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}
    try:
        done = subprocess.run(
            command, cwd=directory, env=env, capture_output=True, timeout=limit_s, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        raise ChangesError(
            "git is not installed; without git, give a diff: --in-diff FILE"
        ) from None
    except OSError as e:
        raise ChangesError(f"git cannot be run in {directory}: {e.strerror}") from None
    except subprocess.TimeoutExpired:
        raise ChangesError(f"git {arguments[0]} took more than {limit_s:.0f} s") from None
    if done.returncode and not may_fail:
        text = done.stderr.decode("utf-8", "replace").expandtabs(4)
        reason = text.strip().removeprefix("fatal: ")
        raise ChangesError(f"git {arguments[0]}: {visible(reason, lines=True)}")
    return b"" if done.returncode else done.stdout
