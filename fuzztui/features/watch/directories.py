"""Find the directories that are instances, and their names in the log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fuzztui.kernel.base.text import short_labels
from fuzztui.kernel.model.passive import ADDED
from fuzztui.kernel.wire.finding_kinds import FOLDERS
from fuzztui.run.observe.afl_names import parse_name
from fuzztui.run.observe.passive import source_of

MAX_INSTANCES = 1000

MAX_NAMED = 3
"""Maximum number of directories that a message names."""

FEW = 100
"""Files of a ``queue/`` of which one must have a name of AFL's."""


class WatchError(Exception):
    """A directory cannot be watched; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class WatchedDirectory:
    """One instance: its name in the log and its directory.

    ``path``: for a symbolic link, its target. ``prefix``: precedes names of peers in the log.
    """

    name: str
    path: str
    prefix: str = ""


class Trees:
    """The directories that the user named: instances, or sync directories of instances.

    Raises :class:`WatchError` if one is not a directory. :meth:`places` finds the instances.
    """

    def __init__(self, directories: Iterable[Path]) -> None:
        self._roots: dict[str, set[str] | None] = {}
        for given in directories:
            path = os.path.abspath(given)  # noqa: PTH100 - a symlink keeps its name
            if not os.path.isdir(path):  # noqa: PTH112
                there = "not a directory" if given.exists() else "no such directory"
                raise WatchError(f"{given}: {there}")
            parent, name = os.path.split(path)
            if is_instance(path) and name:
                only = self._roots.setdefault(parent, set())
                if only is not None:
                    only.add(name)
            else:
                self._roots[path] = None
        self._labels = short_labels(self._roots)

    @property
    def title(self) -> str:
        """A name for the campaign."""
        return " + ".join(self._labels.values())

    def places(self) -> list[WatchedDirectory]:
        """Return the present instances, in order; each once, even if several links lead to it."""
        found: list[WatchedDirectory] = []
        links: list[bool] = []
        for root, only in self._roots.items():
            # A slash separates an instance from its files, so names must not contain one.
            prefix = self._labels[root].replace("/", ":") + ":" if len(self._roots) > 1 else ""
            for name, path, link in _instances(root, only):
                found.append(WatchedDirectory(prefix + name, path, prefix))
                links.append(link)
        # A directory precedes links to it, so that its own name is shown.
        first: dict[str, int] = {}
        for n in sorted(range(len(found)), key=links.__getitem__):
            first.setdefault(os.path.realpath(found[n].path), n)
        return [found[n] for n in sorted(first.values())][:MAX_INSTANCES]

    def nothing(self) -> WatchError | None:
        """Return why nothing can be watched; None if instances exist, or may appear later."""
        if self.places():
            return None
        roots = list(self._roots)
        for root in roots:
            try:
                if not os.listdir(root):  # noqa: PTH208
                    return None
            except OSError as e:
                return WatchError(f"{root}: cannot be read: {e.strerror or e}")
        below = list(islice((path for root in roots for path in _holding_some(root)), MAX_NAMED))
        named = f": {', '.join(below)}" if below else ""
        return WatchError(
            f"{', '.join(roots)}: contains no AFL instance (a directory with fuzzer_stats, or "
            f"with queue/ and crashes/); name the directory given to afl-fuzz -o{named}"
        )


def is_instance(path: str) -> bool:
    """Whether AFL saves, or saved, inputs in this directory.

    A ``queue/`` alone is not enough, as many projects have one. In a passive instance, such as
    fuzztui's ``added/``, nothing fuzzes: False.
    """
    if os.path.lexists(f"{path}/fuzzer_stats"):
        return True
    if os.path.basename(path) == ADDED or not os.path.isdir(f"{path}/queue"):  # noqa: PTH112, PTH119
        return False
    if source_of(path) is not None:
        return False
    finds = [f"{path}/{folder}" for folder in FOLDERS]
    return any(map(os.path.isdir, finds)) or _is_afls(f"{path}/queue")


def _is_afls(queue: str) -> bool:
    """Whether one of the first ``FEW`` files has a name of AFL's."""
    try:
        with os.scandir(queue) as entries:
            return any(parse_name(e.name).id >= 0 for e in islice(entries, FEW))
    except OSError:
        return False


def _instances(root: str, only: set[str] | None) -> Iterator[tuple[str, str, bool]]:
    """Yield name, directory, and whether the name is a symbolic link in ``root``."""
    if only is None and is_instance(root):
        yield os.path.basename(root), root, False  # noqa: PTH119
    for name, link in _folders(root) if only is None else _named(root, only):
        path = f"{root}/{name}"
        if only is not None or is_instance(path):
            # afl-fuzz imports through links, too; its lock is on the link's target.
            yield name, os.path.realpath(path) if link else path, link


def _folders(root: str) -> list[tuple[str, bool]]:
    """Return the visible directories in a directory, sorted, and whether they are links."""
    try:
        with os.scandir(root) as entries:
            return sorted((e.name, e.is_symlink()) for e in entries if _is_visible_dir(e))
    except OSError:
        return []


def _named(root: str, names: set[str]) -> list[tuple[str, bool]]:
    return [(name, os.path.islink(f"{root}/{name}")) for name in sorted(names)]  # noqa: PTH114


def _is_visible_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return not entry.name.startswith(".") and entry.is_dir()
    except OSError:  # a link to itself
        return False


def _holding_some(root: str) -> Iterator[str]:
    """Yield the subdirectories that contain instances."""
    for name, _ in _folders(root):
        if next(_instances(f"{root}/{name}", None), None):
            yield f"{root}/{name}"
