"""Which directories are instances, and what they are called in the log."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fuzztui.observe.afl_names import ADDED, parse_name

__all__ = ["Trees", "WatchError", "WatchedDirectory", "is_instance"]

MAX_INSTANCES = 1000

MAX_NAMED = 3
"""Directories that a message names."""

FEW = 100
"""Names by which a directory is known for AFL's."""


class WatchError(Exception):
    """A directory that cannot be watched: what is wrong, and what to do."""


@dataclass(frozen=True, slots=True)
class WatchedDirectory:
    """One instance: its name in the log and its directory. ``prefix`` + a sibling is its name.

    ``path`` of a symlinked instance is where the link leads.
    """

    name: str
    path: str
    prefix: str = ""


class Trees:
    """The directories that the user named: instances, or sync directories of instances.

    Raises :class:`WatchError` where there is no directory. What is in them is found by
    :meth:`places`, now and later.
    """

    def __init__(self, directories: Iterable[Path]) -> None:
        self._roots: dict[str, set[str] | None] = {}
        for given in directories:
            path = os.path.abspath(given)  # noqa: PTH100 - a symlink keeps its name
            if not os.path.isdir(path):  # noqa: PTH112
                there = "is not a directory" if given.exists() else "there is no such directory"
                raise WatchError(f"{given}: {there}")
            parent, name = os.path.split(path)
            if is_instance(path) and name:
                only = self._roots.setdefault(parent, set())
                if only is not None:
                    only.add(name)
            else:
                self._roots[path] = None
        self._labels = _labels(list(self._roots))

    @property
    def title(self) -> str:
        """What the campaign may be called."""
        return " + ".join(self._labels.values())

    def places(self) -> list[WatchedDirectory]:
        """The instances that are there now, in order; each once, however many links lead to it."""
        found: list[WatchedDirectory] = []
        links: list[bool] = []
        for root, only in self._roots.items():
            # No slash in a name: it separates an instance from its files.
            prefix = self._labels[root].replace("/", ":") + ":" if len(self._roots) > 1 else ""
            for name, path, link in _instances(root, only):
                found.append(WatchedDirectory(prefix + name, path, prefix))
                links.append(link)
        # A directory itself comes before the links to it: its own name is the one to show.
        first: dict[str, int] = {}
        for n in sorted(range(len(found)), key=links.__getitem__):
            first.setdefault(os.path.realpath(found[n].path), n)
        return [found[n] for n in sorted(first.values())][:MAX_INSTANCES]

    def nothing(self) -> WatchError | None:
        """Why there is nothing to watch, unless the directories are empty and may be filled."""
        if self.places():
            return None
        roots = list(self._roots)
        for root in roots:
            try:
                if not os.listdir(root):  # noqa: PTH208
                    return None
            except OSError as e:
                return WatchError(f"{root} cannot be read: {e.strerror or e}")
        below = list(islice((path for root in roots for path in _holding_some(root)), MAX_NAMED))
        named = f": {', '.join(below)}" if below else ""
        return WatchError(
            f"{', '.join(roots)}: no AFL instance in there (a directory with fuzzer_stats, or "
            f"with queue/ and crashes/); name the directory that was given to afl-fuzz -o{named}"
        )


def is_instance(path: str) -> bool:
    """Whether AFL writes, or wrote, its finds there.

    Many a project has a ``queue/``: it takes more than that. Our own ``added/`` is one too
    by its looks, but nobody fuzzes there: it hands seeds to its siblings.
    """
    if os.path.lexists(f"{path}/fuzzer_stats"):
        return True
    if os.path.basename(path) == ADDED or not os.path.isdir(f"{path}/queue"):  # noqa: PTH112, PTH119
        return False
    finds = (f"{path}/crashes", f"{path}/hangs")
    return any(map(os.path.isdir, finds)) or _is_afls(f"{path}/queue")


def _is_afls(queue: str) -> bool:
    """Whether a file in there is named as AFL names them, by the first few."""
    try:
        with os.scandir(queue) as entries:
            return any(parse_name(e.name).id >= 0 for e in islice(entries, FEW))
    except OSError:
        return False


def _instances(root: str, only: set[str] | None) -> Iterator[tuple[str, str, bool]]:
    """Name, directory, and whether ``root`` has a symlink of that name."""
    if only is None and is_instance(root):
        yield os.path.basename(root), root, False  # noqa: PTH119
    for name, link in _folders(root) if only is None else _named(root, only):
        path = f"{root}/{name}"
        if only is not None or is_instance(path):
            # afl-fuzz imports through links too; its lock is on the directory itself.
            yield name, os.path.realpath(path) if link else path, link


def _folders(root: str) -> list[tuple[str, bool]]:
    """The visible directories in a directory, and which of them are symlinks; by name."""
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
    except OSError:  # a link that leads to itself
        return False


def _holding_some(root: str) -> Iterator[str]:
    """The directories in a directory that instances are in."""
    for name, _ in _folders(root):
        if next(_instances(f"{root}/{name}", None), None):
            yield f"{root}/{name}"


def _labels(roots: list[str]) -> dict[str, str]:
    """A short unique name for each: its own, after as many of its parents as distinguish it."""
    parts = {root: root.strip("/").split("/") for root in roots}
    deep = dict.fromkeys(roots, 1)

    def label(root: str) -> str:
        return "/".join(parts[root][-deep[root] :]) or "root"

    while alike := [r for r, n in deep.items() if n < len(parts[r]) and _shared(r, label, roots)]:
        deep |= {root: deep[root] + 1 for root in alike}
    return {root: label(root) for root in roots}


def _shared(root: str, label: Callable[[str], str], roots: Iterable[str]) -> bool:
    return any(label(other) == label(root) for other in roots if other != root)
