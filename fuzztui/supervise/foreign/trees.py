"""Which directories are instances, and what they are called in the log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fuzztui.supervise.names import ADDED, parse_name

__all__ = ["Place", "TreeError", "Trees", "is_instance"]

MOST_INSTANCES = 1000

FEW = 100
"""Names by which a directory is known for AFL's."""


class TreeError(Exception):
    """A directory that cannot be watched: what is wrong, and what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """One instance: its name in the log and its directory. ``prefix`` + a sibling is its name."""

    name: str
    path: str
    prefix: str = ""


class Trees:
    """The directories that the user named: instances, or sync directories of instances.

    Raises :class:`TreeError` where there is no directory. What is in them is found by
    :meth:`places`, now and later.
    """

    def __init__(self, directories: Iterable[Path]) -> None:
        self._roots: dict[str, set[str] | None] = {}
        for given in directories:
            path = os.path.abspath(given)  # noqa: PTH100 - a symlink keeps its name
            if not os.path.isdir(path):  # noqa: PTH112
                there = "is not a directory" if given.exists() else "there is no such directory"
                raise TreeError(f"{given}: {there}")
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

    def places(self) -> list[Place]:
        """The instances that are there now, in order."""
        found: list[Place] = []
        seen: set[str] = set()
        for root, only in self._roots.items():
            prefix = f"{self._labels[root]}:" if len(self._roots) > 1 else ""
            for name, path in _instances(root, only):
                if path not in seen and len(found) < MOST_INSTANCES:
                    seen.add(path)
                    found.append(Place(prefix + name, path, prefix))
        return found

    def nothing(self) -> TreeError | None:
        """Why there is nothing to watch, unless the directories are empty and may be filled."""
        if self.places():
            return None
        roots = list(self._roots)
        for root in roots:
            try:
                if not os.listdir(root):  # noqa: PTH208
                    return None
            except OSError as e:
                return TreeError(f"{root} cannot be read: {e.strerror or e}")
        return TreeError(
            f"{', '.join(roots)}: no AFL instance in there (a directory with fuzzer_stats, or "
            "with queue/ and crashes/); name the directory that was given to afl-fuzz -o"
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


def _instances(root: str, only: set[str] | None) -> Iterator[tuple[str, str]]:
    if only is not None:
        yield from ((name, f"{root}/{name}") for name in sorted(only))
        return
    if is_instance(root):
        yield os.path.basename(root), root  # noqa: PTH119
    try:
        with os.scandir(root) as entries:
            # A symlink may lead anywhere; what the user wants to see can be named.
            names = [e.name for e in entries if e.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for name in sorted(names):
        if not name.startswith(".") and is_instance(f"{root}/{name}"):
            yield name, f"{root}/{name}"


def _labels(roots: list[str]) -> dict[str, str]:
    """A short unique name for each."""
    labels: dict[str, str] = {}
    for root in roots:
        base = os.path.basename(root) or "root"  # noqa: PTH119
        label, n = base, 2
        while label in labels.values():
            label, n = f"{base}#{n}", n + 1
        labels[root] = label
    return labels
